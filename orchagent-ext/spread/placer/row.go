// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"fmt"
	"math"

	"sluice/orchagent-ext/spread/plan"
)

// Row returns the row of this leaf for the others. reason is the reason for which plans
// cannot count on it, or "".
func (p *Placer) Row() (row plan.Row, reason string) {
	row = plan.Row{
		Leaf: p.cfg.Leaf, Prefixes: p.fabric.prefixes, Spines: map[string]float64{}, Sent: map[string]float64{}, Received: map[string]float64{},
		Placed: map[string]map[string]float64{},
	}
	links := map[string]string{} // uplinks whose spine is known
	var nameless []string
	type flows struct {
		leaf  string
		class int
	}
	demand := map[flows]uint32{}
	for g := range p.groups.sorted {
		r, weights, spines := g.table.Report(), map[string]float64{}, p.spines(g)
		for i, weight := range g.weights() {
			spine, link := spines[i], g.members[i].Link
			if spine == "" {
				nameless = append(nameless, link)
				continue
			}
			weights[spine] += float64(weight)
			links[link] = spine
			row.Sent[spine] += round(r.Load[i])
		}
		for spine, weight := range weights {
			row.Spines[spine] = max(row.Spines[spine], weight)
		}
		ofGroup, placed := plan.DemandOf(g.table, p.fabric.leaves, spines)
		for _, d := range ofGroup {
			demand[flows{d.Leaf, d.Class}] += d.Flows
		}
		for leaf, by := range placed {
			if row.Placed[leaf] == nil {
				row.Placed[leaf] = map[string]float64{}
			}
			for spine, rate := range by {
				row.Placed[leaf][spine] += rate
			}
		}
	}
	for link, spine := range links {
		row.Received[spine] += round(p.fabric.rates[link])
	}
	for of, n := range demand {
		row.Demand = append(row.Demand, plan.Demand{Leaf: of.leaf, Class: of.class, Flows: n})
	}
	for _, by := range row.Placed {
		for spine, rate := range by {
			by[spine] = round(rate)
		}
	}
	row.Trim()
	switch {
	case len(p.groups.byName) == 0:
		reason = "no flow goes by a group of next hops"
	case len(nameless) > 0:
		reason = fmt.Sprintf("the switch behind %s is not known: give it a row DEVICE_NEIGHBOR|%s with its name", nameless[0], nameless[0])
	case len(row.Prefixes) == 0:
		reason = "all routes of IPv6 lead by uplinks: others do not know what is behind this switch"
	}
	return row, reason
}

// round keeps three digits: smaller changes are noise.
func round(rate float64) float64 {
	if rate <= 0 || math.IsInf(rate, 0) || math.IsNaN(rate) {
		return 0
	}
	unit := math.Pow10(int(math.Floor(math.Log10(rate))) - 2)
	return math.Round(rate/unit) * unit
}
