// SPDX-License-Identifier: Apache-2.0

package nexthops

import (
	"net/netip"

	"sluice/orchagent-ext/spread/ecmp"
)

// A Group is the next hops by which the kernel forwards to a destination.
type Group struct {
	ID      uint32   // of the next-hop object; 0: the route has its next hops itself
	Members []Member // in the kernel's order
	Buckets []uint16 // of a resilient group: the member of each; else nil

	// Of a switch other than the kernel ([InSwitchOrder]): Members are in its order, and
	// Listed are those of the kernel; or Unordered is the reason for which Members are the
	// kernel's.
	Listed    []Member
	Unordered error
}

// A Member is one next hop.
type Member struct {
	ecmp.Member
	Link    string     // name of its netdev
	Index   int        // interface index
	Gateway netip.Addr // zero: the destination is on the link

	// NoCarrier: the link has lost its carrier. Routes follow up to a second later ([Uncarried]).
	NoCarrier bool
}

// State is whether packets can go there: up, dead or unresolved.
func (m *Member) State() string {
	switch {
	case m.Dead:
		return "dead"
	case m.Unresolved:
		return "unresolved"
	}
	return "up"
}

// A Result is the group for a destination, or the error of reading it.
type Result struct {
	*Group // shared by the destinations that have the same
	Err    error
}

// Model returns the model of the group with the kernel's hash.
func (g *Group) Model(k ecmp.Kernel) (*ecmp.Known, error) {
	var group *ecmp.Group
	var err error
	if g.Buckets != nil {
		group, err = ecmp.Resilient(g.Buckets, len(g.Members))
	} else {
		members := make([]ecmp.Member, len(g.Members))
		for i, m := range g.Members {
			members[i] = m.Member
		}
		group, err = ecmp.Threshold(members)
	}
	if err != nil {
		return nil, err
	}
	return ecmp.OfKernel(k, group)
}
