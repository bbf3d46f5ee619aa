// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"

	"sluice/orchagent-ext/spread/placement"
)

// Quotas are the planner's result for one leaf, as JSON.
type Quotas struct {
	Plan   uint64  `json:"plan"` // which plan it is of
	Quotas []Quota `json:"quotas"`
}

// A Quota is the number of flows of a class to a destination leaf by each spine.
type Quota struct {
	Leaf  string            `json:"leaf"`
	Class int               `json:"class"`
	Flows map[string]uint32 `json:"flows"` // by spine
}

// ParseQuotas decodes quotas and checks every bound.
func ParseQuotas(text []byte) (q Quotas, err error) {
	if err := decode(text, &q); err != nil {
		return Quotas{}, err
	}
	if len(q.Quotas) > MaxDemands {
		return Quotas{}, fmt.Errorf("%d quotas: at most %d are possible", len(q.Quotas), MaxDemands)
	}
	for _, one := range q.Quotas {
		if err := checkName("destination leaf", one.Leaf); err != nil {
			return Quotas{}, err
		}
		if len(one.Flows) > MaxSpines {
			return Quotas{}, fmt.Errorf("quota of %d spines: at most %d are possible", len(one.Flows), MaxSpines)
		}
		for _, n := range one.Flows {
			if n > MaxFlows {
				return Quotas{}, fmt.Errorf("quota of %d flows: at most %d are possible", n, MaxFlows)
			}
		}
	}
	return q, nil
}

// Apply sets the quotas of a leaf's table. leaf returns the table's number of a
// destination leaf, or -1; spines names the spine of each of its members. Members to one
// spine share its quota by turns. It returns the number of quotas that were set aside:
// for an unknown leaf or spine.
func (q Quotas) Apply(t *placement.Table, leaf func(name string) int, spines []string) (aside int) {
	var list []placement.Quota
	for turn, one := range q.Quotas {
		flows := make([]uint32, len(spines))
		good := leaf(one.Leaf) >= 0
		for spine, n := range one.Flows {
			var members []int
			for m, name := range spines {
				if name == spine {
					members = append(members, m)
				}
			}
			if len(members) == 0 {
				good = good && n == 0
				continue
			}
			for k := range members {
				share := n / uint32(len(members))
				if uint32(k) < n%uint32(len(members)) {
					share++
				}
				flows[members[(k+turn)%len(members)]] = share
			}
		}
		if !good {
			aside++
			continue
		}
		list = append(list, placement.Quota{Leaf: leaf(one.Leaf), Class: one.Class, Flows: flows})
	}
	return aside + t.SetQuotas(list)
}

// DemandOf is the demand of a leaf's table: of the flows that a plan can move. names are of
// its destination leaves, by number; spines name the spine of each of its members. placed is
// how many octets/s of them, by size class, go by each spine to each leaf now.
func DemandOf(t *placement.Table, names, spines []string) (demand []Demand, placed map[string]map[string]float64) {
	type to struct {
		leaf  string
		class int
	}
	flows := map[to]uint32{}
	placed = map[string]map[string]float64{}
	t.Demand(func(leaf, class, member int, n uint32) {
		if leaf >= len(names) {
			return
		}
		name := names[leaf]
		flows[to{name, class}] += n
		if member >= len(spines) || spines[member] == "" {
			return
		}
		if placed[name] == nil {
			placed[name] = map[string]float64{}
		}
		placed[name][spines[member]] += float64(n) * placement.ClassRate(class)
	})
	for of, n := range flows {
		demand = append(demand, Demand{of.leaf, of.class, n})
	}
	slices.SortFunc(demand, func(a, b Demand) int { return cmp.Or(cmp.Compare(a.Leaf, b.Leaf), a.Class-b.Class) })
	return demand, placed
}
