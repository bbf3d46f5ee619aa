// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"fmt"
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
	other, renumbered := p.fabric.replace(f)
	if renumbered {
		for _, g := range p.groups.byName {
			g.plan.number = 0
		}
	}
	if other {
		for f := range p.Placed {
			f.group.table.SetLeaf(f.flow(), p.fabric.leafOf(f.Dst))
		}
	}
	for _, g := range p.groups.byName {
		p.follow(g)
	}
}

// replace replaces the knowledge of other leaves. It reports whether the directory is another one,
// and whether leaves get other numbers, since those of some that are gone are used up.
func (f *fabric) replace(by Fabric) (other, renumbered bool) {
	other = by.Number != f.Number || (by.Directory == nil) != (f.Directory == nil)
	f.Fabric = by
	if renumbered = other && len(f.leaves) == plan.MaxLeaves; renumbered {
		f.leaves, f.numbers = nil, nil
	}
	return other, renumbered
}

// leafOf returns the number of the leaf of a destination, or -1.
func (f *fabric) leafOf(dst netip.Addr) int {
	if f.Directory == nil {
		return -1
	}
	name := f.Directory.Leaf(dst)
	if name == "" {
		return -1
	}
	return f.number(name)
}

// number returns the number of a leaf by its name, or -1.
func (f *fabric) number(leaf string) int {
	if n, known := f.numbers[leaf]; known {
		return n
	}
	if f.Directory == nil || !f.Directory.Has(leaf) || len(f.leaves) == plan.MaxLeaves {
		return -1
	}
	if f.numbers == nil {
		f.numbers = map[string]int{}
	}
	f.numbers[leaf] = len(f.leaves)
	f.leaves = append(f.leaves, leaf)
	return len(f.leaves) - 1
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
	aside := q.Apply(g.table, p.fabric.number, spines)
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
func (f *fabric) readPrefixes(net Network, links func(func(string) bool)) error {
	to, err := net.Prefixes()
	if err != nil {
		return err
	}
	uplinks := map[string]bool{}
	for link := range links {
		uplinks[link] = true
	}
	var prefixes []string
	for prefix, links := range to {
		if len(links) > 0 && !slices.ContainsFunc(links, func(link string) bool { return uplinks[link] || f.leadsUp(net.Spine(link)) }) {
			prefixes = append(prefixes, prefix.String())
		}
	}
	slices.Sort(prefixes)
	f.prefixes = prefixes[:min(len(prefixes), plan.MaxPrefixes)]
	return nil
}

// leadsUp reports whether the switch of a name, at the other end of a netdev, is a spine of another
// leaf, too: that netdev may be the last uplink, and outside all groups.
func (f *fabric) leadsUp(spine string) bool {
	return spine != "" && f.Directory != nil && f.Directory.HasSpine(spine)
}

// checkReceived measures the rates that uplinks receive, in octets/s.
func (f *fabric) checkReceived(net Network, links func(func(string) bool), now time.Time) {
	octets, rates := map[string]uint64{}, map[string]float64{}
	passed := now.Sub(f.at).Seconds()
	for link := range links {
		n, known := net.Received(link)
		if !known {
			continue
		}
		octets[link] = n
		if was, there := f.received[link]; there && n >= was && passed > 0 {
			rates[link] = float64(n-was) / passed
		}
	}
	f.received, f.rates, f.at = octets, rates, now
}
