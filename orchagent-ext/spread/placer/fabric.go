// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"time"

	"sluice/orchagent-ext/spread/plan"
)

// A Fabric is a leaf's knowledge of the others, in scope fabric.
type Fabric struct {
	Err       error           // reason of scope local, or nil
	Number    uint64          // of the directory: another number is another directory
	Directory *plan.Directory // of the leaves, or nil
	Quotas    *plan.Quotas    // of this leaf in the plan in force, or nil
}

// fabric is scope fabric: destinations are known by their leaf.
type fabric struct {
	Fabric
	leaves   []string // by number, as the tables have them
	numbers  map[string]int
	prefixes []string // behind this leaf

	received map[string]uint64 // by netdev of an uplink: octets at the last check
	at       time.Time
	rates    map[string]float64 // octets/s
}

// planned is the plan that a group follows, or followed.
type planned struct {
	number  uint64 // or 0
	shape   string // of the group when it was applied
	inForce bool
	ignored uint64 // quotas of unknown leaves and spines
}

// SetFabric replaces the knowledge of other leaves. Labels stay; in time flows move to
// the quotas of a plan that is another one.
func (p *Placer) SetFabric(f Fabric) {
	other := f.Number != p.fabric.Number || (f.Directory == nil) != (p.fabric.Directory == nil)
	p.fabric.Fabric = f
	if other {
		if len(p.fabric.leaves) == plan.MaxLeaves { // of some that are gone
			p.fabric.leaves, p.fabric.numbers = nil, nil
			for _, g := range p.groups {
				g.plan.number = 0
			}
		}
		for f := range p.Placed {
			f.group.table.SetLeaf(f.flow(), p.leafOf(f.Dst))
		}
	}
	for _, g := range p.groups {
		p.follow(g)
	}
}

// leafOf returns the number of the leaf of a destination, or -1.
func (p *Placer) leafOf(dst netip.Addr) int {
	if p.fabric.Directory == nil {
		return -1
	}
	name := p.fabric.Directory.Leaf(dst)
	if name == "" {
		return -1
	}
	return p.number(name)
}

// number returns the number of a leaf by its name, or -1.
func (p *Placer) number(leaf string) int {
	if n, known := p.fabric.numbers[leaf]; known {
		return n
	}
	if p.fabric.Directory == nil || !p.fabric.Directory.Has(leaf) || len(p.fabric.leaves) == plan.MaxLeaves {
		return -1
	}
	if p.fabric.numbers == nil {
		p.fabric.numbers = map[string]int{}
	}
	p.fabric.numbers[leaf] = len(p.fabric.leaves)
	p.fabric.leaves = append(p.fabric.leaves, leaf)
	return len(p.fabric.leaves) - 1
}

// spines are the switches behind the members of a group.
func (p *Placer) spines(g *group) []string {
	names := make([]string, len(g.members))
	for i := range g.members {
		names[i] = p.net.Spine(g.members[i].Link)
	}
	return names
}

// follow applies the quotas of a plan that is another one, and of one whose next hops are
// there again. Without any, moves even out this leaf's own uplinks.
func (p *Placer) follow(g *group) {
	q, is := p.fabric.Quotas, &g.plan
	if p.fabric.Err != nil || q == nil {
		if is.inForce {
			g.table.SetQuotas(nil)
			is.inForce = false
		}
		return
	}
	spines := p.spines(g)
	shape := fmt.Sprint(spines, g.weights())
	if q.Plan == is.number && (is.inForce || shape != is.shape) {
		return
	}
	aside := q.Apply(g.table, p.number, spines)
	if q.Plan != is.number {
		is.ignored += uint64(aside)
	}
	is.number, is.shape, is.inForce = q.Plan, shape, true
}

// weights are those of the members; 0: it is down.
func (g *group) weights() []int {
	all := make([]int, len(g.members))
	for i, m := range g.members {
		if !m.Dead && !m.Unresolved {
			all[i] = m.Weight
		}
	}
	return all
}

// readPrefixes reads which prefixes are behind this leaf: those to which no uplink leads.
func (p *Placer) readPrefixes() error {
	to, err := p.net.Prefixes()
	if err != nil {
		return err
	}
	uplinks := map[string]bool{}
	for _, g := range p.groups {
		for i := range g.members {
			uplinks[g.members[i].Link] = true
		}
	}
	var prefixes []string
	for prefix, links := range to {
		if len(links) > 0 && !slices.ContainsFunc(links, func(link string) bool { return uplinks[link] || p.leadsUp(link) }) {
			prefixes = append(prefixes, prefix.String())
		}
	}
	slices.Sort(prefixes)
	p.fabric.prefixes = prefixes[:min(len(prefixes), plan.MaxPrefixes)]
	return nil
}

// leadsUp reports whether the switch behind a netdev is a spine of another leaf, too:
// that netdev may be the last uplink, and outside all groups.
func (p *Placer) leadsUp(link string) bool {
	name, d := p.net.Spine(link), p.fabric.Directory
	return name != "" && d != nil && d.HasSpine(name)
}

// checkReceived measures the rates that uplinks receive, in octets/s.
func (p *Placer) checkReceived(now time.Time) {
	f := &p.fabric
	octets, rates := map[string]uint64{}, map[string]float64{}
	passed := now.Sub(f.at).Seconds()
	for _, g := range p.groups {
		for i := range g.members {
			link := g.members[i].Link
			n, known := p.net.Received(link)
			if !known {
				continue
			}
			octets[link] = n
			if was, there := f.received[link]; there && n >= was && passed > 0 {
				rates[link] = float64(n-was) / passed
			}
		}
	}
	f.received, f.rates, f.at = octets, rates, now
}

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
	for _, name := range slices.Sorted(maps.Keys(p.groups)) {
		g := p.groups[name]
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
	case len(p.groups) == 0:
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
