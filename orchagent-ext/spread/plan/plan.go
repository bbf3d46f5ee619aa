// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"math"
	"slices"

	"sluice/orchagent-ext/spread/placement"
)

// A Plan has the quotas of every leaf.
type Plan struct {
	Leaves map[string]Quotas

	Flows      uint64 // planned
	Unroutable uint64 // flows between leaves of disjoint spines
	Stray      uint64 // flows to leaves that lack a row
	// max ÷ mean of a leaf's uplinks, and of the downlinks to a leaf, as planned
	Up, Down float64
	Uneven   float64 // [Uneven] after it
}

// maxParts bounds the parts into which spines of different weights are taken.
const maxParts = 256

// edge is flows of one class between two leaves.
type edge struct {
	from, to, class int
	id              int // which of the plan's: edges alike have the same
	n               uint32
}

// planner makes one plan.
type planner struct {
	rows   []Row
	spines []string
	parts  []int       // the spine of each part
	weight [][]float64 // by leaf and spine
	flows  [][]uint32  // by edge and spine
	skew   []float64   // scratch: by vertex (leaf as source, leaf as destination)
	walker walker      // scratch
}

// Make plans for these rows. number names the plan in the quotas.
func Make(rows []Row, number uint64) *Plan {
	p := &planner{rows: rows}
	plan := &Plan{Leaves: map[string]Quotas{}}
	leaves := map[string]int{}
	for i := range rows {
		leaves[rows[i].Leaf] = i
	}
	p.findSpines()
	var edges []edge
	for i := range rows {
		plan.Leaves[rows[i].Leaf] = Quotas{Plan: number}
		for _, d := range rows[i].Demand {
			to, known := leaves[d.Leaf]
			switch {
			case d.Flows == 0 || to == i && known:
			case !known:
				plan.Stray += uint64(d.Flows)
			default:
				edges = append(edges, edge{i, to, d.Class, len(edges), d.Flows})
				plan.Flows += uint64(d.Flows)
			}
		}
	}
	p.skew = make([]float64, 2*len(rows))
	if len(p.parts) == 0 {
		plan.Unroutable = plan.Flows
		return plan
	}
	order := inOrder(edges)
	p.flows = make([][]uint32, len(edges))
	all := make([]uint32, len(edges)*len(p.spines))
	for i := range p.flows {
		p.flows[i], all = all[:len(p.spines)], all[len(p.spines):]
	}
	p.split(order, 0, len(p.parts))
	plan.Unroutable = p.repair(edges, order)
	p.refine(edges)
	p.write(plan, edges)
	return plan
}

// findSpines takes a spine as many parts as it has more weight than the lightest.
func (p *planner) findSpines() {
	most := map[string]float64{}
	for i := range p.rows {
		for spine, w := range p.rows[i].Spines {
			most[spine] = max(most[spine], w)
		}
	}
	least, total := math.Inf(1), 0.0
	for _, spine := range slices.Sorted(maps.Keys(most)) {
		if w := most[spine]; w > 0 && len(p.spines) < maxParts {
			p.spines = append(p.spines, spine)
			least = min(least, w)
			total += w
		}
	}
	unit := least
	if total/unit > maxParts {
		unit = total / maxParts
	}
	for s, spine := range p.spines {
		for range max(1, int(math.Round(most[spine]/unit))) {
			p.parts = append(p.parts, s)
		}
	}
	p.weight = make([][]float64, len(p.rows))
	for i := range p.rows {
		p.weight[i] = make([]float64, len(p.spines))
		for s, spine := range p.spines {
			p.weight[i][s] = p.rows[i].Spines[spine]
		}
	}
}

// give takes flows to a part.
func (p *planner) give(e *edge, part int) { p.flows[e.id][p.parts[part]] += e.n }

// inOrder returns edges by their classes, the largest first, and of a class by their numbers.
func inOrder(edges []edge) []edge {
	edges = slices.Clone(edges)
	slices.SortStableFunc(edges, func(a, b edge) int { return b.class - a.class })
	return edges
}

// rates are the rates of the classes, in octets/s.
var rates = func() (all [placement.Classes]float64) {
	for class := range all {
		all[class] = placement.ClassRate(class)
	}
	return all
}()

// size returns the rate of a flow of the class, in octets/s.
func size(class int) float64 { return rates[class] }

// tip is how far out of balance a vertex pair is already: positive if the first side has
// more.
func (p *planner) tip(e *edge) float64 { return p.skew[e.from] + p.skew[len(p.rows)+e.to] }

// lean adds octets to the imbalance of an edge's two leaves.
func (p *planner) lean(e *edge, octets float64) {
	p.skew[e.from] += octets
	p.skew[len(p.rows)+e.to] += octets
}

// loads are the octets/s of each uplink and downlink, as planned.
func (p *planner) loads(edges []edge) (up, down [][]float64) {
	up, down = make([][]float64, len(p.rows)), make([][]float64, len(p.rows))
	for i := range p.rows {
		up[i], down[i] = make([]float64, len(p.spines)), make([]float64, len(p.spines))
	}
	for _, e := range edges {
		octets := size(e.class)
		for s, n := range p.flows[e.id] {
			if n > 0 {
				up[e.from][s] += float64(n) * octets
				down[e.to][s] += float64(n) * octets
			}
		}
	}
	return up, down
}

// repair takes flows off spines without a link to one of their leaves, the largest first,
// each to the spine where the busier of its two links is least so. It returns the number
// of flows that lack a common spine. order is the edges by class.
func (p *planner) repair(edges, order []edge) (unroutable uint64) {
	up, down := p.loads(edges)
	for _, e := range order {
		flows := p.flows[e.id]
		for s := range flows {
			for flows[s] > 0 && (p.weight[e.from][s] <= 0 || p.weight[e.to][s] <= 0) {
				best, least := -1, 0.0
				for o := range flows {
					a, b := p.weight[e.from][o], p.weight[e.to][o]
					if a <= 0 || b <= 0 {
						continue
					}
					if c := max(up[e.from][o]/a, down[e.to][o]/b); best < 0 || c < least {
						best, least = o, c
					}
				}
				if best < 0 {
					unroutable += uint64(flows[s])
					flows[s] = 0
					break
				}
				flows[s]--
				flows[best]++
				up[e.from][s] -= size(e.class)
				down[e.to][s] -= size(e.class)
				up[e.from][best] += size(e.class)
				down[e.to][best] += size(e.class)
			}
		}
	}
	return unroutable
}

// maxPasses bounds the refining of a plan.
const maxPasses = 32

// refine evens out the sum of the size classes: a flow goes to another spine if that
// lowers the sum of the squares of all loads ÷ weight. Flows of one class alone are as
// even as they can be, and stay.
func (p *planner) refine(edges []edge) {
	up, down := p.loads(edges)
	for range maxPasses {
		better := false
		for _, e := range edges {
			x, flows := size(e.class), p.flows[e.id]
			worst, least := -1, -1
			var high, low float64
			for s := range flows {
				a, b := p.weight[e.from][s], p.weight[e.to][s]
				if a <= 0 || b <= 0 {
					continue
				}
				// The squares lose this much by a flow less, and gain that much by one more.
				less := (2*up[e.from][s]-x)/a + (2*down[e.to][s]-x)/b
				more := (2*up[e.from][s]+x)/a + (2*down[e.to][s]+x)/b
				if flows[s] > 0 && (worst < 0 || less > high) {
					worst, high = s, less
				}
				if least < 0 || more < low {
					least, low = s, more
				}
			}
			if worst < 0 || least == worst || high-low <= 1e-9*high {
				continue
			}
			flows[worst]--
			flows[least]++
			up[e.from][worst] -= x
			down[e.to][worst] -= x
			up[e.from][least] += x
			down[e.to][least] += x
			better = true
		}
		if !better {
			return
		}
	}
}

// write makes the quotas of the edges' spines.
func (p *planner) write(plan *Plan, edges []edge) {
	for _, e := range edges {
		q := Quota{Leaf: p.rows[e.to].Leaf, Class: e.class, Flows: map[string]uint32{}}
		for s, n := range p.flows[e.id] {
			if n > 0 {
				q.Flows[p.spines[s]] = n
			}
		}
		if len(q.Flows) > 0 {
			of := plan.Leaves[p.rows[e.from].Leaf]
			of.Quotas = append(of.Quotas, q)
			plan.Leaves[p.rows[e.from].Leaf] = of
		}
	}
	up, down := p.loads(edges)
	planned := make([]Row, len(p.rows))
	for i := range p.rows {
		planned[i] = Row{Spines: map[string]float64{}, Sent: map[string]float64{}, Received: map[string]float64{}}
		for s, spine := range p.spines {
			planned[i].Spines[spine], planned[i].Sent[spine], planned[i].Received[spine] = p.weight[i][s], up[i][s], down[i][s]
		}
		plan.Up = max(plan.Up, uneven(up[i], p.weight[i]))
		plan.Down = max(plan.Down, uneven(down[i], p.weight[i]))
	}
	plan.Uneven = Uneven(planned)
}

// uneven is max ÷ mean of load ÷ weight; 0 without load.
func uneven(load, weight []float64) (worst float64) {
	sum, weights := 0.0, 0.0
	for s, w := range weight {
		if w > 0 {
			sum += load[s]
			weights += w
		}
	}
	for s, w := range weight {
		if w > 0 && sum > 0 {
			worst = max(worst, load[s]/w/(sum/weights))
		}
	}
	return worst
}
