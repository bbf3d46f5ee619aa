// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"fmt"
	"time"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/spread/redirect"
	"sluice/orchagent-ext/spread/redirector"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
)

// redirectPace is the time between two readings of samples.
const redirectPace = 20 * time.Millisecond

// redirects places flows by entries to next hops.
type redirects struct {
	*redirector.Redirector
	settings redirect.Config
	watch    watch
}

// stopped ends it. The engine removes the entries with its next reconciliation.
func (r *redirects) stopped() *redirects {
	if r != nil {
		r.watch.stop()
	}
	return nil
}

// redirectSettings returns the settings by which entries are decided.
func redirectSettings(s *config.Snapshot) redirect.Config {
	c := redirect.Config{PerLink: int(*s.Placement.MaxEntriesPerLink)}
	switch s.Placement.Moves {
	case config.MovesAny:
		c.Moves = redirect.MovesAny
	case config.MovesNever:
		c.Moves = redirect.MovesNever
	}
	return c
}

// reconcileRedirects brings placement by entries to its settings.
func (p *Placement) reconcileRedirects(want *Settings) {
	if !want.redirects() {
		p.redirects = p.redirects.stopped()
		return
	}
	c := redirectSettings(want.Snapshot)
	if r := p.redirects; r != nil {
		if r.settings.Moves = c.Moves; r.settings == c {
			r.SetMoves(c.Moves)
			return
		}
	}
	p.redirects = p.redirects.stopped()
	p.redirects = &redirects{settings: c, watch: newWatch(p.env.Log), Redirector: redirector.New(c, &p.network, p.env.Engine, p.env.Log)}
	p.redirects.Held = p.heldFlows
}

// heldFlows returns which flows are held now, as entries to next hops know them: of a hold that
// names a label or a queue pair, all between its two hosts.
func (p *Placement) heldFlows() func(redirect.Flow) bool {
	if p.env.Held == nil {
		return nil
	}
	held := p.env.Held()
	return func(f redirect.Flow) bool {
		return held(engine.FlowEntry{Src: f.Src, Dst: f.Dst, SrcPort: f.SrcPort})
	}
}

// pollRedirects reads samples, and changes entries.
func (p *Placement) pollRedirects(samples <-chan packetio.Sample) {
	r, now := p.redirects, p.env.Now()
	for range len(samples) { // 0 where samples is nil
		s := <-samples
		r.Sample(redirect.Flow{Src: s.Src, Dst: s.Dst, SrcPort: s.SrcPort}, s.From, p.env.PortName(s.To), s.Octets, now)
	}
	r.watch.polled(r.Poll(now), p.env.Log, "flows cannot be redirected")
	r.watch.due.Reset(redirectPace)
}

// describeRedirects adds the state of placement by entries to a report, and returns its rows.
func (p *Placement) describeRedirects(s *status.Report, e *status.Encoder) (groups, members []ygot.GoStruct) {
	r := p.redirects.Report(p.env.Now())
	state := telemetry.Active
	if why := errors.Join(r.Err, p.redirects.watch.err, r.Refused); why != nil {
		state = telemetry.Degraded
		e.Fill(&s.Row, "placement_reason", task.FirstLine(why))
		s.Warn("flows are not placed: " + task.FirstLine(why))
	}
	e.Fill(&s.Row, "placement", state)
	if most := time.Duration(p.redirects.settings.PerLink) * r.RuleTime; most > slowLink {
		s.Warn(fmt.Sprintf("the switch takes %v for an entry: where a link goes down, packets of flows that are redirected there are lost for up to %v. A lower max_entries_per_link of SLUICE_PLACEMENT|global bounds that", r.RuleTime.Round(time.Millisecond), most.Round(10*time.Millisecond)))
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		row := &telemetry.PlacementGroup{
			Name: &g.Name, Flows: telemetry.Small(g.Flows), Unknown: telemetry.Small(g.Unknown), Entries: telemetry.Small(g.Rules),
			WorstOverMean: status.Rounded(g.Worst, 3), HashWorstOverMean: status.Rounded(g.Hash, 3), Floor: status.Rounded(g.Floor, 3),
			Moves: telemetry.Count(g.Moves), UnsafeMoves: &g.Unsafe, MovesRefused: telemetry.Count(g.Refused),
			EntryMs: status.Rounded(r.RuleTime.Seconds()*1000, 1),
		}
		rows.SetEnum(&row.State, telemetry.Active)
		rows.SetEnum(&row.Scope, "local")
		groups = append(groups, row)
		for k := range g.Members {
			m := &g.Members[k]
			members = append(members, &telemetry.PlacementMember{Group: &g.Name, Name: &m.Name, Weight: status.Rounded(m.Weight, 3), Flows: telemetry.Small(m.Flows)})
		}
	}
	return groups, members
}

// slowLink is how long the entries to a link may take to go before it is a warning.
const slowLink = 200 * time.Millisecond
