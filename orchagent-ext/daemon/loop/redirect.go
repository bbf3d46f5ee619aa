// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"errors"
	"fmt"
	"time"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/orchagent-ext/spread/redirect"
	"sluice/orchagent-ext/spread/redirector"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
)

// redirectPace is the time between two readings of samples.
const redirectPace = 20 * time.Millisecond

// redirectTask places flows by entries to next hops, while that is the method.
type redirectTask struct {
	*redirector.Redirector
	settings redirect.Config
	news     *nexthops.News // nil: next hops are read now and then
	due      *time.Timer
	err      error // of the last poll
}

// stopped ends it. The engine removes the entries with its next reconciliation.
func (t *redirectTask) stopped() *redirectTask {
	if t != nil {
		t.due.Stop()
		if t.news != nil {
			t.news.Close()
		}
	}
	return nil
}

// changed can be read from when next hops have changed; nil: there is no news.
func (t *redirectTask) changed() <-chan struct{} {
	if t.news == nil {
		return nil
	}
	return t.news.Changed()
}

// redirectSettings are what entries are decided by.
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

// redirect brings placement by entries to what is configured.
func (o *orch) redirect() {
	sw := o.sw
	if sw.outcome.Method(engine.NeedPlacement) != engine.Redirect || !policy.Places(o.snapshot) {
		sw.steer = sw.steer.stopped()
		return
	}
	c := redirectSettings(o.snapshot)
	if sw.steer != nil && sw.steer.settings == c {
		return
	}
	sw.steer = sw.steer.stopped()
	sw.steer = &redirectTask{settings: c, due: time.NewTimer(0), Redirector: redirector.New(c, &network{o}, sw.engine, o.Log)}
	news, err := nexthops.Subscribe()
	if err != nil {
		o.Log.Warn("changes of next hops are seen late", "error", err)
		return
	}
	sw.steer.news = news
}

// hopsChanged has next hops read again. Entries to a link that went down are removed at once.
func (o *orch) hopsChanged() {
	switch {
	case o.sw == nil:
	case o.sw.steer != nil:
		o.sw.steer.Stale()
		o.pollRedirects()
	case o.sw.place != nil:
		o.sw.place.Stale(o.Now())
	}
}

// pollRedirects reads samples, and changes entries.
func (o *orch) pollRedirects() {
	t, now := o.sw.steer, o.Now()
	samples := o.path.Samples()
	for range len(samples) { // nil has none
		s := <-samples
		t.Sample(redirect.Flow{Src: s.Src, Dst: s.Dst, SrcPort: s.SrcPort}, s.From, o.sw.PortName(s.To), s.Octets, now)
	}
	err := t.Poll(now)
	if err != nil && (t.err == nil || t.err.Error() != err.Error()) {
		o.Log.Warn("flows cannot be redirected", "error", err)
	}
	t.err = err
	t.due.Reset(redirectPace)
}

// describeRedirects says what became of placement by entries to next hops.
func (o *orch) describeRedirects(s *status.Report) (groups, members []ygot.GoStruct) {
	r := o.sw.steer.Report(o.Now())
	state := telemetry.Active
	if why := errors.Join(r.Err, o.sw.steer.err, r.Refused); why != nil {
		state = telemetry.Degraded
		o.encoder.Fill(&s.Row, "placement_reason", task.FirstLine(why))
		s.Warn("flows are not placed: " + task.FirstLine(why))
	}
	o.encoder.Fill(&s.Row, "placement", state)
	if most := time.Duration(o.sw.steer.settings.PerLink) * r.RuleTime; most > slowLink {
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

// slowLink is how long the entries to a link may take to go before the operator is told.
const slowLink = 200 * time.Millisecond
