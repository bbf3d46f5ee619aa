// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"fmt"
	"hash/fnv"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/orchagent-ext/spread/placement"
)

// group is a group of next hops, with the flows that go there.
type group struct {
	name    string
	members []nexthops.Member
	names   []string // of members, each once
	// table has the flows of the group, and predicts their members with model.
	table  *placement.Table
	model  ecmp.Model
	linear *ecmp.Linear // learned model, while it holds
	shape  string       // inputs of the model
	reason string       // reason that flows rest, besides a wrong model, or ""
	gaveUp bool         // the learned model failed: only observations are known
	// members are in the order of the switch, not in that of the kernel
	ordered bool
	lacks   error // reason against it, or nil
	plan    planned

	// rerouted counts flows whose path changed with the members; at is the time of sent,
	// and rates are over the time since the reading before it, nil before two readings.
	rerouted uint64
	sent     []uint64 // by member, at the last check; nil: unknown
	at       time.Time
	rates    []float64 // by member: octets/s that its port sent
}

// longestName is how long the name of a group may be.
const longestName = 64

// nameOf names a group by its netdevs, as the kernel lists them.
func nameOf(g *nexthops.Group) string {
	members := g.Members
	if g.Listed != nil {
		members = g.Listed
	}
	links := make([]string, len(members))
	for i := range members {
		links[i] = members[i].Link
	}
	name := strings.Join(links, ",")
	if len(name) <= longestName {
		return name
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // always succeeds
	return fmt.Sprintf("%s+%d#%08x", links[0], len(links)-1, h.Sum32())
}

// readHash reads how the kernel hashes.
func (p *Placer) readHash() {
	before, beforeErr := p.hash, p.hashErr
	p.hash, p.hashErr = p.net.Hash()
	if p.hash != before || (p.hashErr == nil) != (beforeErr == nil) {
		p.stale = true
	}
}

// refresh reads next hops again where they may have changed.
func (p *Placer) refresh(now time.Time) {
	if now.Sub(p.readAt) >= readEvery || now.Before(p.readAt) {
		p.stale = true
	}
	if !p.stale || now.Sub(p.staleAt) < settleNews && !now.Before(p.staleAt) || p.readErr != nil && now.Sub(p.readAt) < retryGroups {
		return
	}
	p.stale, p.readAt = false, now
	if p.hash == (ecmp.Kernel{}) && p.hashErr == nil {
		p.hash, p.hashErr = p.net.Hash()
	}
	p.sweep(now)
	dsts := slices.Collect(maps.Keys(p.dests))
	results, err := p.net.Groups(dsts)
	if err != nil {
		if p.readErr == nil || p.readErr.Error() != err.Error() {
			p.log.Warn("next hops cannot be read; flows keep their labels", "error", err)
		}
		p.readErr, p.stale = err, true
		return
	}
	p.regroup(dsts, results)
	if p.readErr = nil; p.cfg.Leaf != "" {
		p.readErr = p.readPrefixes()
	}
}

// sweep forgets destinations without a flow, at intervals, since flows may come back.
func (p *Placer) sweep(now time.Time) {
	if now.Sub(p.swept) < readEvery && !now.Before(p.swept) {
		return
	}
	p.swept = now
	used := make(map[netip.Addr]bool, len(p.dests))
	for f := range p.flows {
		used[f.Dst] = true
	}
	maps.DeleteFunc(p.dests, func(dst netip.Addr, g *group) bool { return g != nil && !used[dst] })
}

// regroup brings groups and flows to the next hops that there are now. Labels stay.
func (p *Placer) regroup(dsts []netip.Addr, results map[netip.Addr]nexthops.Result) {
	slices.SortFunc(dsts, netip.Addr.Compare)
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
	p.rename(dsts, nameAt, wanted)
	for name, g := range p.groups {
		if wanted[name] == nil {
			p.dissolve(g)
			delete(p.groups, name)
		}
	}
	for name, w := range wanted {
		if p.groups[name] == nil {
			p.groups[name] = &group{name: name, table: placement.New(p.cfg.Table)}
		}
		p.shape(p.groups[name], w)
	}
	for _, dst := range dsts {
		p.dests[dst] = p.groups[nameAt[dst]] // nil for ""
	}
	for f := range p.flows {
		if now := p.dests[f.Dst]; now != f.group {
			f.leave()
			f.join(now)
		}
	}
}

// rename keeps the table of a group whose members are others now: of a destination that had
// it, and has a group that is new.
func (p *Placer) rename(dsts []netip.Addr, nameAt map[netip.Addr]string, wanted map[string]*nexthops.Group) {
	for _, dst := range dsts {
		was, name := p.dests[dst], nameAt[dst]
		if was == nil || name == "" || p.groups[name] != nil || wanted[was.name] != nil {
			continue
		}
		delete(p.groups, was.name)
		was.name, p.groups[name] = name, was
	}
}

// dissolve lets the flows of a group go.
func (p *Placer) dissolve(g *group) {
	for f := range p.flows {
		if f.group == g {
			f.group = nil
		}
	}
	for dst, at := range p.dests {
		if at == g {
			p.dests[dst] = nil
		}
	}
}

// alike reports whether two groups have the same members in the same order, with the same
// buckets.
func alike(a, b *nexthops.Group) bool {
	return slices.Equal(a.Members, b.Members) && slices.Equal(a.Buckets, b.Buckets)
}

// shape gives a group its members and its model, where they are others now.
func (p *Placer) shape(g *group, w *nexthops.Group) {
	g.ordered, g.lacks = w.Listed != nil, w.Unordered
	shape := fmt.Sprint(p.hash, p.hashErr, w.Members, w.Buckets)
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

// namesOf are the netdevs of next hops; of several by one netdev each has its number, too.
func namesOf(members []nexthops.Member) []string {
	count := make(map[string]int, len(members))
	for i := range members {
		count[members[i].Link]++
	}
	names := make([]string, len(members))
	for i := range members {
		if names[i] = members[i].Link; count[names[i]] > 1 {
			names[i] = fmt.Sprintf("%s#%d", names[i], i)
		}
	}
	return names
}

// mostMembers is how many next hops a group may have: the search of a label takes as many
// tries, and more.
const mostMembers = 1024

// observations is the number of flows that a model of type [ecmp.Observed] remembers.
const observations = 16384

// modelOf is the model of a group; reason is the reason of a model that cannot predict.
func (p *Placer) modelOf(w *nexthops.Group, gaveUp bool) (m ecmp.Model, linear *ecmp.Linear, reason string) {
	nothing := ecmp.NewObserved(1)
	switch n := len(w.Members); {
	case n > mostMembers:
		return nothing, nil, fmt.Sprintf("the group has %d next hops: labels are chosen among at most %d", n, mostMembers)
	case !p.cfg.Kernel && gaveUp:
		return ecmp.NewObserved(observations), nil, ""
	case !p.cfg.Kernel:
		linear = ecmp.NewLinear(len(w.Members))
		return linear, linear, ""
	}
	if p.hashErr != nil {
		return nothing, nil, "how the kernel hashes is not known: " + p.hashErr.Error()
	}
	if p.cfg.Seed != 0 && p.hash.Seed != p.cfg.Seed {
		return nothing, nil, fmt.Sprintf("net.ipv4.fib_multipath_hash_seed is %d, and Sluice set it to %d: another program has changed it. Labels stay, and are not chosen until it is %d again", p.hash.Seed, p.cfg.Seed, p.cfg.Seed)
	}
	known, err := w.Model(p.hash)
	if err != nil {
		return nothing, nil, err.Error()
	}
	if !known.HashesLabel() {
		reason = "ECMP does not hash the flow label: set manage_switch_hash=true in SLUICE_FLOW_LABEL|global"
	}
	return known, nil, reason
}

// member is the member of a netdev, or -1.
func (g *group) member(link string) int {
	return slices.IndexFunc(g.members, func(m nexthops.Member) bool { return m.Link == link })
}

// check compares the octets that ports sent with the predicted ones.
func (g *group) check(read func(link string) (uint64, bool), now time.Time) {
	sent := make([]uint64, len(g.members))
	for i := range g.members {
		octets, known := read(g.members[i].Link)
		// what it sends says nothing of one next hop
		if !known || g.names[i] != g.members[i].Link {
			g.sent, g.rates = nil, nil
			return
		}
		sent[i] = octets
	}
	passed := now.Sub(g.at).Seconds()
	if g.sent != nil && passed > 0 {
		more := make([]uint64, len(sent))
		g.rates = make([]float64, len(sent))
		for i := range sent {
			if sent[i] >= g.sent[i] {
				more[i] = sent[i] - g.sent[i]
			}
			g.rates[i] = float64(more[i]) / passed
		}
		_ = g.table.Check(more) // there are as many as members
	} else {
		g.table.Unchecked()
	}
	g.sent, g.at = sent, now
	// what is observed is left
	if l := g.linear; l != nil && (l.GaveUp() || l.Score().Wrong()) {
		g.gaveUp, g.linear, g.shape = true, nil, ""
	}
}
