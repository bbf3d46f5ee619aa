// SPDX-License-Identifier: Apache-2.0

package neighbors

import (
	"net/netip"

	"sluice/orchagent-ext/wire/roce"
)

// Port has the kernel's knowledge of a port: of the netdev that has its addresses, which
// is the PortChannel's for a member of one.
type Port struct {
	Index uint32     // interface index; 0: there is no such netdev
	MAC   roce.MAC   // our own
	Self  netip.Addr // our link-local address; the zero value: there is none yet

	Neighbor    netip.Addr // link-local address; the zero value: not known, and Why says why
	NeighborMAC roce.MAC   // zero: not resolved yet
	Configured  bool       // Neighbor is what the operator configured
	Why         string
}

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
// operator's choice, or the zero value.
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
	routers := 0
	for _, e := range entries {
		if !e.usable || !e.addr.IsLinkLocalUnicast() {
			continue
		}
		if configured.IsValid() {
			if e.addr == configured {
				p.NeighborMAC = e.mac
			}
			continue
		}
		if e.router {
			routers++
			p.Neighbor, p.NeighborMAC = e.addr, e.mac
		}
	}
	switch {
	case configured.IsValid():
		p.Neighbor, p.Configured = configured, true
	case routers > 1:
		p.Neighbor, p.NeighborMAC, p.Why = netip.Addr{}, roce.MAC{}, manyRouters
	case routers == 0 && p.Why == "":
		p.Why = noRouter
	}
	return p
}
