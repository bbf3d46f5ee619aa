// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"strings"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/spread/placement"
	"sluice/orchagent-ext/spread/placer"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// Describe adds the state of placement to a report, and replaces its rows in a mirror of
// STATE_DB. on: placement is configured.
func (p *Placement) Describe(s *status.Report, e *status.Encoder, mirror *sonicdb.Mirror, on bool, outcome *engine.Outcome) {
	var fabric, groups, members []ygot.GoStruct
	switch {
	case !on:
	case p.redirects.runs():
		groups, members = p.redirects.describe(s, e)
	default:
		fabric, groups, members = p.describeLabels(s, e, outcome.Choices[engine.NeedPlacement].Reason)
	}
	mirror.Replace(telemetry.TablePlacementFabric, e.Encode(fabric...))
	mirror.Replace(telemetry.TablePlacementGroup, e.Encode(groups...))
	mirror.Replace(telemetry.TablePlacementMember, e.Encode(members...))
}

// describeLabels adds the state of placement by labels to a report, and returns its rows. reason
// is why the switch has no method.
func (p *Placement) describeLabels(s *status.Report, e *status.Encoder, reason string) (fabric, groups, members []ygot.GoStruct) {
	l := p.labels
	if l == nil {
		e.Fill(&s.Row, "placement", telemetry.Failed)
		e.Fill(&s.Row, "placement_reason", reason)
		s.Warn("labels are not chosen: " + reason)
		return nil, nil, nil
	}
	if n := l.NoPort(); n > 0 {
		s.Warn(fmt.Sprintf("the source port of %d flows is not known, so they are not placed: their entries are of an earlier version; they are placed when they come again after 5 minutes without a packet", n))
	}
	reports := l.Reports()
	state, lacks := labelState(reports, l.Err())
	e.Fill(&s.Row, "placement", state)
	if len(lacks) > 0 {
		e.Fill(&s.Row, "placement_reason", strings.Join(lacks, "; "))
	}
	for _, lack := range lacks {
		s.Warn("labels are not chosen: " + lack)
	}
	if row := p.describeScope(s, reports); row != nil {
		fabric = append(fabric, row)
	}
	for _, r := range reports {
		g, of := groupRows(&r)
		groups = append(groups, g)
		for _, m := range of {
			members = append(members, m)
		}
	}
	return fabric, groups, members
}

// labelState returns the state of placement by labels, and the next hops whose labels are those
// of the hash, with the reasons. err is why next hops cannot be read; nil: they can.
func labelState(groups []placer.Report, err error) (state string, lacks []string) {
	if err != nil {
		lacks = append(lacks, "next hops cannot be read: "+task.FirstLine(err))
	}
	for i := range groups {
		if g := &groups[i]; g.Reason != "" {
			lacks = append(lacks, fmt.Sprintf("next hops %s: %s", g.Name, g.Reason))
		}
	}
	if len(lacks) > 0 {
		return telemetry.Degraded, lacks
	}
	return telemetry.Active, nil
}

// groupRows returns the rows of a group, and of its members.
func groupRows(r *placer.Report) (*telemetry.PlacementGroup, []*telemetry.PlacementMember) {
	byHash := uint64(0)
	for why, n := range r.Placements {
		if placement.Why(why) != placement.Placed && placement.Why(why) != placement.Unreachable {
			byHash += n
		}
	}
	g := &telemetry.PlacementGroup{
		Name: &r.Name, Reason: telemetry.Text(r.Reason), Model: telemetry.Text(r.Model), ModelErrorPercent: status.Rounded(r.ModelErrorPercent, 1),
		Flows: telemetry.Small(r.Flows), Unknown: telemetry.Small(r.Unknown), Held: telemetry.Small(r.Held), Waiting: telemetry.Small(r.Waiting),
		WorstOverMean: status.Rounded(r.WorstOverMean, 3), HashWorstOverMean: status.Rounded(r.HashWorstOverMean, 3), Floor: status.Rounded(r.Floor, 3),
		Moves: &r.Moves, UnsafeMoves: &r.Unsafe, MovesRefused: &r.Undone, Unreachable: &r.Unreachable, Rerouted: &r.Rerouted,
		Degradations: &r.Degradations, QuotasIgnored: telemetry.Count(r.Ignored), Placed: telemetry.Count(r.Placements[placement.Placed] + r.Placements[placement.Unreachable]), ByHash: &byHash,
		Adopted: &r.Adopted, Shared: &r.Shared, ClockSteps: &r.ClockSteps, CounterResets: &r.CounterResets,
	}
	state := telemetry.Active
	if r.Reason != "" {
		state = telemetry.Degraded
	}
	rows.SetEnum(&g.State, state)
	if r.Reason == "" && r.NoBetter {
		g.Reason = telemetry.Text("no better placement: the load is above the threshold, and moving any flow would gain nothing")
	}
	scope := "local"
	if r.Plan != 0 {
		scope, g.Plan = "fabric", &r.Plan
	}
	rows.SetEnum(&g.Scope, scope)
	order := "kernel"
	if r.Ordered {
		order = "asic_db"
	}
	rows.SetEnum(&g.MemberOrder, order)
	if r.Lacks != nil {
		g.MemberOrderReason = telemetry.Text(text.Printable(r.Lacks.Error()))
	}
	var members []*telemetry.PlacementMember
	for i := range r.Members {
		m := &r.Members[i]
		row := &telemetry.PlacementMember{
			Group: &r.Name, Name: &m.Name, Weight: status.Rounded(m.Weight, 3), PredictedRate: telemetry.Count(uint64(m.Predicted)),
			HashRate: telemetry.Count(uint64(m.Hash)), Flows: telemetry.Small(m.Flows),
		}
		if m.Measured >= 0 {
			row.MeasuredRate = telemetry.Count(uint64(m.Measured))
		}
		members = append(members, row)
	}
	return g, members
}
