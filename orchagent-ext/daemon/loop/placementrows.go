// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"fmt"
	"strings"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/spread/placement"
	"sluice/orchagent-ext/spread/placer"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// describePlacement says what became of placement.
func (o *orch) describePlacement(s *status.Report) {
	var fabric, groups, members []ygot.GoStruct
	defer func() {
		o.rows.Replace(telemetry.TablePlacementFabric, o.encoder.Encode(fabric...))
		o.rows.Replace(telemetry.TablePlacementGroup, o.encoder.Encode(groups...))
		o.rows.Replace(telemetry.TablePlacementMember, o.encoder.Encode(members...))
	}()
	if !policy.Places(o.snapshot) {
		return
	}
	if o.sw.steer != nil {
		groups, members = o.describeRedirects(s)
		return
	}
	p := o.sw.place
	if p == nil {
		reason := o.sw.outcome.Choices[engine.NeedPlacement].Reason
		o.encoder.Fill(&s.Row, "placement", telemetry.Failed)
		o.encoder.Fill(&s.Row, "placement_reason", reason)
		s.Warn("labels are not chosen: " + reason)
		return
	}
	if n := p.NoPort(); n > 0 {
		s.Warn(fmt.Sprintf("the source port of %d flows is not known, so they are not placed: their entries are of an earlier version; they are placed when they come again after 5 minutes without a packet", n))
	}
	reports := p.Reports()
	state, lacks := placementState(reports, p.Err())
	o.encoder.Fill(&s.Row, "placement", state)
	if len(lacks) > 0 {
		o.encoder.Fill(&s.Row, "placement_reason", strings.Join(lacks, "; "))
	}
	for _, lack := range lacks {
		s.Warn("labels are not chosen: " + lack)
	}
	if row := o.describeScope(s, reports); row != nil {
		fabric = append(fabric, row)
	}
	for _, r := range reports {
		g, of := placementGroup(&r)
		groups = append(groups, g)
		for _, m := range of {
			members = append(members, m)
		}
	}
}

// placementState reports whether labels are chosen, and for which next hops they are not, and
// why. err says why next hops cannot be read.
func placementState(groups []placer.Report, err error) (state string, lacks []string) {
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

func placementGroup(r *placer.Report) (*telemetry.PlacementGroup, []*telemetry.PlacementMember) {
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

// describe adds the paths of flows to their rows; shown are the flows of the rows.
func (p *placementTask) describe(all []*telemetry.Flow, shown []engine.FlowEntry) {
	if p == nil {
		return
	}
	for i, f := range all {
		link, movedAt := p.Path(shown[i])
		f.Path = telemetry.Text(link)
		if !movedAt.IsZero() {
			f.MovedAt = telemetry.FineStamp(movedAt)
		}
	}
}

// srcPort is a flow's source port; nil: it is not known.
func srcPort(f engine.FlowEntry) *uint16 {
	if f.SrcPort == 0 {
		return nil
	}
	return &f.SrcPort
}
