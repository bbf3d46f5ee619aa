// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"fmt"
	"hash/fnv"
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

// alike reports whether two groups have the same members in the same order, with the same
// buckets.
func alike(a, b *nexthops.Group) bool {
	return slices.Equal(a.Members, b.Members) && slices.Equal(a.Buckets, b.Buckets)
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
