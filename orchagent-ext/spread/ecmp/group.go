// SPDX-License-Identifier: Apache-2.0

package ecmp

import (
	"fmt"
	"sort"
)

// A Member is one next hop of a [Group].
type Member struct {
	Weight int // as `ip route` and `ip nexthop` list it, 1 to 65535
	// Dead: the kernel chooses among the others only. It is the flag dead of a route's
	// next hop, and its flag linkdown where ignore_routes_with_linkdown is 1.
	Dead bool
	// Unresolved: the neighbor's state is none, failed or incomplete. A group of next-hop
	// objects then takes the next member that is resolved; a route keeps its choice.
	Unresolved bool
}

// A Group is how the kernel takes a hash of 31 bits to one of its members. It is
// immutable once made, and safe for concurrent use.
type Group struct {
	bounds  []uint32 // threshold: the last hash of each living member
	members []int    // threshold: the member of each bound
	buckets []uint16 // resilient: the member of each bucket
}

// maxMembers is the most members of a group: the kernel's limit of next hops.
const maxMembers = 1 << 16

// Threshold returns the group of a route with several next hops, in the order that `ip
// route` lists them, or of a next-hop object of type mpath. A member that is Dead has a
// share of 0, and that of an Unresolved one goes to the next. The error is for a weight
// outside 1 to 65535, or for more than 65536 members. Sources: fib_rebalance in
// net/ipv4/fib_semantics.c and nh_hthr_group_rebalance in net/ipv4/nexthop.c, which round
// the bounds alike.
func Threshold(members []Member) (*Group, error) {
	if len(members) > maxMembers {
		return nil, fmt.Errorf("%d members: a group has at most %d", len(members), maxMembers)
	}
	g := &Group{}
	var total, sum uint64
	for i, m := range members {
		if m.Weight < 1 || m.Weight > 65535 {
			return nil, fmt.Errorf("member %d has weight %d: 1 to 65535 are possible", i, m.Weight)
		}
		if !m.Dead {
			total += uint64(m.Weight)
		}
	}
	for i, m := range members {
		if m.Dead {
			continue
		}
		sum += uint64(m.Weight)
		// rounded to the nearest
		g.bounds = append(g.bounds, uint32((sum<<31+total/2)/total-1))
		g.members = append(g.members, i)
	}
	// From the last to the first, since each member takes over from the one before it. The
	// share after the last goes to the first that is resolved, or to the first member if all
	// are unresolved.
	next := -1
	for at, i := range g.members {
		if !members[i].Unresolved {
			next = g.members[at]
			break
		}
	}
	if next < 0 && len(g.members) > 0 {
		next = g.members[0]
	}
	for at := len(g.members) - 1; at >= 0; at-- {
		if members[g.members[at]].Unresolved {
			g.members[at] = next
		}
		next = g.members[at]
	}
	return g, nil
}

// Equal returns a group of n members of the same weight. n of 0 is a group without
// members, whose Choose is -1. The error is that of [Threshold].
func Equal(n int) (*Group, error) {
	members := make([]Member, n)
	for i := range members {
		members[i].Weight = 1
	}
	return Threshold(members)
}

// Resilient returns a next-hop object of type resilient: the member of each of its
// buckets, as `ip nexthop bucket list` shows them. The group has n members. The slice is
// kept: the caller leaves it unchanged. The error is for 0 buckets, more than 65536, or
// one of a member outside 0 to n-1.
func Resilient(buckets []uint16, n int) (*Group, error) {
	if len(buckets) == 0 || len(buckets) > maxMembers {
		return nil, fmt.Errorf("%d buckets: 1 to %d are possible", len(buckets), maxMembers)
	}
	for i, m := range buckets {
		if int(m) >= n {
			return nil, fmt.Errorf("bucket %d belongs to member %d of %d: 0 to %d are possible", i, m, n, n-1)
		}
	}
	return &Group{buckets: buckets}, nil
}

// Choose returns the member for a hash of 31 bits; -1 if all members of the group are
// dead. It is free of allocations.
func (g *Group) Choose(hash uint32) int {
	switch {
	case g.buckets != nil:
		return int(g.buckets[hash%uint32(len(g.buckets))])
	case len(g.bounds) == 0:
		return -1
	}
	at := sort.Search(len(g.bounds), func(i int) bool { return hash <= g.bounds[i] })
	return g.members[at]
}
