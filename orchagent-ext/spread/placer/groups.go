// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"sluice/orchagent-ext/spread/nexthops"
	"sluice/orchagent-ext/spread/placement"
)

// groups are those of next hops: each destination's is one of byName, or nil.
type groups struct {
	dests  map[netip.Addr]*group // nil: a single next hop, or an unknown one
	byName map[string]*group
	swept  time.Time // unused destinations were forgotten
}

// add adds destinations that are new, without a group, and reports whether there are any. It drops
// those above the limit.
func (s *groups) add(dsts []netip.Addr) (news bool) {
	for _, dst := range dsts {
		if _, known := s.dests[dst]; !known && len(s.dests) < mostDests {
			s.dests[dst], news = nil, true
		}
	}
	return news
}

// sweep forgets destinations without a flow, at intervals, since flows may come back.
func (s *groups) sweep(now time.Time, flows func(func(*Flow) bool)) {
	if now.Sub(s.swept) < readEvery && !now.Before(s.swept) {
		return
	}
	s.swept = now
	used := make(map[netip.Addr]bool, len(s.dests))
	for f := range flows {
		used[f.Dst] = true
	}
	maps.DeleteFunc(s.dests, func(dst netip.Addr, g *group) bool { return g != nil && !used[dst] })
}

// replace makes the groups those to the sorted destinations that were read, and returns what each
// is to be. New ones have an empty table; one whose members are others now keeps its table.
func (s *groups) replace(dsts []netip.Addr, results map[netip.Addr]nexthops.Result, table placement.Config) map[string]*nexthops.Group {
	wanted := map[string]*nexthops.Group{}
	nameAt := make(map[netip.Addr]string, len(dsts))
	for _, dst := range dsts {
		g := results[dst].Group
		if g == nil || len(g.Members) < 2 || dst.Is4() {
			continue
		}
		name := nameOf(g)
		for n := 2; wanted[name] != nil && !alike(wanted[name], g); n++ {
			name = fmt.Sprintf("%s/%d", nameOf(g), n)
		}
		nameAt[dst], wanted[name] = name, g
	}
	for _, dst := range dsts {
		was, name := s.dests[dst], nameAt[dst]
		if was == nil || name == "" || s.byName[name] != nil || wanted[was.name] != nil {
			continue
		}
		delete(s.byName, was.name)
		was.name, s.byName[name] = name, was
	}
	maps.DeleteFunc(s.byName, func(name string, _ *group) bool { return wanted[name] == nil })
	for name := range wanted {
		if s.byName[name] == nil {
			s.byName[name] = &group{name: name, table: placement.New(table)}
		}
	}
	for _, dst := range dsts {
		s.dests[dst] = s.byName[nameAt[dst]] // nil for ""
	}
	return wanted
}

// sorted yields the groups by name.
func (s *groups) sorted(yield func(*group) bool) {
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		if !yield(s.byName[name]) {
			return
		}
	}
}

// links yields the netdevs of all members.
func (s *groups) links(yield func(string) bool) {
	for _, g := range s.byName {
		for i := range g.members {
			if !yield(g.members[i].Link) {
				return
			}
		}
	}
}

// refresh reads next hops again where they may have changed, and brings groups and flows to them.
// Labels stay.
func (p *Placer) refresh(now time.Time) {
	if !p.reading.due(now) {
		return
	}
	p.groups.sweep(now, p.flows)
	dsts := slices.SortedFunc(maps.Keys(p.groups.dests), netip.Addr.Compare)
	results, read := p.reading.groups(now, dsts)
	if !read {
		return
	}
	for name, w := range p.groups.replace(dsts, results, p.cfg.Table) {
		p.shape(p.groups.byName[name], w)
	}
	for f := range p.flows {
		if now := p.groups.dests[f.Dst]; now != f.group {
			f.leave()
			f.join(now)
		}
	}
	if p.cfg.Leaf != "" {
		p.reading.err = p.fabric.readPrefixes(p.net, p.groups.links)
	}
}

// shape gives a group its members and its model, where they are others now.
func (p *Placer) shape(g *group, w *nexthops.Group) {
	g.ordered, g.lacks = w.Listed != nil, w.Unordered
	shape := fmt.Sprint(p.reading.hash, p.reading.hashErr, w.Members, w.Buckets)
	if g.shape == shape {
		return
	}
	g.shape = shape
	members, names := make([]placement.Member, len(w.Members)), namesOf(w.Members)
	for i, m := range w.Members {
		members[i] = placement.Member{Name: names[i], Weight: float64(m.Weight)}
		if m.Dead || m.Unresolved {
			members[i].Weight = 0
		}
	}
	if !slices.Equal(g.names, names) {
		g.sent, g.gaveUp = nil, false // the new ones may fit
	}
	g.members, g.names = w.Members, names
	g.model, g.linear, g.reason = p.modelOf(w, g.gaveUp)
	n, err := g.table.SetGroup(g.model, members)
	if err != nil {
		g.reason = err.Error()
		return
	}
	g.rerouted += uint64(n)
	g.plan.inForce = false
	p.follow(g)
}
