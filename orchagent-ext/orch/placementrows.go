// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"fmt"
	"math"
	"strings"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/place"
	"sluice/orchagent-ext/placing"
	"sluice/orchagent-ext/telemetry"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// describePlacement says what became of placement.
func (o *orch) describePlacement(s *status) {
	var fabric, groups, members []ygot.GoStruct
	defer func() {
		o.rows.Replace(telemetry.TablePlacementFabric, o.encode(fabric...))
		o.rows.Replace(telemetry.TablePlacementGroup, o.encode(groups...))
		o.rows.Replace(telemetry.TablePlacementMember, o.encode(members...))
	}()
	if !places(o.snapshot) {
		return
	}
	p := o.sw.place
	if p == nil {
		reason := o.sw.outcome.Choices[asic.NeedPlacement].Reason
		o.fill(&s.State, "placement", telemetry.Failed)
		o.fill(&s.State, "placement_reason", reason)
		s.warn("labels are not chosen: " + reason)
		return
	}
	if n := p.NoPort(); n > 0 {
		s.warn(fmt.Sprintf("the source port of %d flows is not known, so they are not placed: their entries are of an earlier version; they are placed when they come again after 5 minutes without a packet", n))
	}
	reports := p.Reports()
	state, lacks := placementState(reports, p.Err())
	o.fill(&s.State, "placement", state)
	if len(lacks) > 0 {
		o.fill(&s.State, "placement_reason", strings.Join(lacks, "; "))
	}
	for _, lack := range lacks {
		s.warn("labels are not chosen: " + lack)
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

// placementState says whether labels are chosen, and for which next hops they are not, and
// why. err says why next hops cannot be read.
func placementState(groups []placing.Report, err error) (state string, lacks []string) {
	if err != nil {
		lacks = append(lacks, "next hops cannot be read: "+firstLine(err))
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

// rounded is a number with so many decimals, as the model has it; nil: it is none.
func rounded(v float64, decimals int) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	unit := math.Pow10(decimals)
	v = math.Round(v*unit) / unit
	return &v
}

func placementGroup(r *placing.Report) (*telemetry.PlacementGroup, []*telemetry.PlacementMember) {
	byHash := uint64(0)
	for why, n := range r.Placements {
		if place.Why(why) != place.Placed && place.Why(why) != place.Unreachable {
			byHash += n
		}
	}
	g := &telemetry.PlacementGroup{
		Name: &r.Name, Reason: telemetry.Text(r.Reason), Model: telemetry.Text(r.Model), ModelErrorPercent: rounded(r.ModelErrorPercent, 1),
		Flows: telemetry.Small(r.Flows), Unknown: telemetry.Small(r.Unknown), Held: telemetry.Small(r.Held), Waiting: telemetry.Small(r.Waiting),
		WorstOverMean: rounded(r.WorstOverMean, 3), HashWorstOverMean: rounded(r.HashWorstOverMean, 3), Floor: rounded(r.Floor, 3),
		Moves: telemetry.Count(r.Moves - r.Undone), UnsafeMoves: &r.Unsafe, Undone: &r.Undone, Unreachable: &r.Unreachable, Rerouted: &r.Rerouted,
		Degradations: &r.Degradations, QuotasIgnored: telemetry.Count(r.Ignored), Placed: telemetry.Count(r.Placements[place.Placed] + r.Placements[place.Unreachable]), ByHash: &byHash,
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
			Group: &r.Name, Name: &m.Name, Weight: rounded(m.Weight, 3), PredictedRate: telemetry.Count(uint64(m.Predicted)),
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
func (p *placement) describe(all []*telemetry.Flow, shown []asic.FlowEntry) {
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
func srcPort(f asic.FlowEntry) *uint16 {
	if f.SrcPort == 0 {
		return nil
	}
	return &f.SrcPort
}
