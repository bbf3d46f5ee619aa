// SPDX-License-Identifier: Apache-2.0

package neighbors

import (
	"net/netip"
	"slices"

	"sluice/orchagent-ext/wire/roce"
)

// Port has the kernel's knowledge of a port: of the netdev that has its addresses, which
// is the PortChannel's for a member of one.
type Port struct {
	Index uint32     // interface index; 0: there is no such netdev
	MAC   roce.MAC   // our own
	Self  netip.Addr // our link-local address; the zero value: there is none yet

	Neighbor    netip.Addr // link-local address; the zero value: unknown, and Why says why
	NeighborMAC roce.MAC   // zero: not resolved yet
	Configured  bool       // Neighbor is the configured one
	// Also are further link-local addresses of the neighbor, in ascending order: entries with its
	// MAC address. Unused places are zero values.
	Also [maxAlso]netip.Addr
	Why  string
}

// maxAlso bounds the further addresses of a neighbor, which it chooses. RFC 4291 section 2.1 allows
// several on an interface; a router that is renamed, or has a virtual one besides (VRRP, RFC 9568), has two.
const maxAlso = 3

// entry is a neighbor that the kernel knows on a port.
type entry struct {
	addr   netip.Addr
	mac    roce.MAC
	router bool // it says that it forwards (RFC 4861 section 4.4, R flag)
	usable bool // it is resolved, or was and has not failed since
}

// Reasons of an unknown neighbor.
const (
	noNetdev    = "there is no such netdev"
	noLinkLocal = "the port has no link-local address"
	noRouter    = "no router with a link-local address has answered on the link: set upstream_neighbor"
	manyRouters = "several routers are on the link: set upstream_neighbor"
)

// choose completes a port by the kernel's neighbors on the link; configured is the
// operator's choice, or the zero value. Addresses with one MAC address are of one router.
//
//conformance:draft-yang/link-local
func (p Port) choose(entries []entry, configured netip.Addr) Port {
	switch {
	case p.Index == 0:
		p.Why = noNetdev
		return p
	case !p.Self.IsValid():
		p.Why = noLinkLocal
	}
	// In the order of addresses, so that a neighbor with several keeps the one that is used.
	slices.SortFunc(entries, func(a, b entry) int { return a.addr.Compare(b.addr) })
	var routers []entry
	for _, e := range entries {
		if !e.usable || !e.addr.IsLinkLocalUnicast() {
			continue
		}
		if e.addr == configured {
			p.NeighborMAC = e.mac
		}
		if e.router {
			routers = append(routers, e)
		}
	}
	switch {
	case configured.IsValid():
		p.Neighbor, p.Configured = configured, true
	case len(routers) == 0:
		if p.Why == "" {
			p.Why = noRouter
		}
		return p
	default:
		p.Neighbor, p.NeighborMAC = routers[0].addr, routers[0].mac
	}
	also := 0
	for _, e := range routers {
		same := e.mac == p.NeighborMAC && e.mac != roce.MAC{}
		switch {
		case e.addr == p.Neighbor:
		case same && also < maxAlso:
			p.Also[also] = e.addr
			also++
		case !same && !p.Configured:
			p.Neighbor, p.NeighborMAC, p.Also, p.Why = netip.Addr{}, roce.MAC{}, [maxAlso]netip.Addr{}, manyRouters
			return p
		}
	}
	return p
}
