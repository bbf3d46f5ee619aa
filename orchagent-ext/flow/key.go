// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"fmt"
	"net/netip"

	"sluice/orchagent-ext/roce"
)

// Key tells flows apart: the 5-tuple (protocol and destination port are always
// UDP and 4791), flow label, partition key and destination queue pair.
//
// Decision: the source queue pair of a datagram is part of the key, since it
// stands in every packet. That of a connection is not: learning it would split
// the flow.
type Key struct {
	Src, Dst  [16]byte // IPv4 as ::ffff:a.b.c.d; Dst is the final destination
	FlowLabel uint32   // as received, 20 bits
	DestQP    uint32   // 24 bits
	SrcQP     uint32   // datagrams: of the DETH, 24 bits; others: 0
	SrcPort   uint16
	PKey      uint16
}

// KeyOf returns the key of the packet's flow.
func KeyOf(p *roce.Packet) (k Key) {
	k.set(p)
	return k
}

// set is KeyOf, in place.
func (k *Key) set(p *roce.Packet) {
	k.Src, k.Dst = p.Src16(), p.Dst16()
	k.FlowLabel, k.DestQP, k.SrcQP = p.FlowLabel(), p.DestQP(), 0
	k.SrcPort, k.PKey = p.SrcPort(), p.PKey()
	if h, ok := p.DETH(); ok {
		k.SrcQP = h.SrcQP
	}
}

// SrcAddr is the source address.
func (k *Key) SrcAddr() netip.Addr { return netip.AddrFrom16(k.Src).Unmap() }

// DstAddr is the destination address.
func (k *Key) DstAddr() netip.Addr { return netip.AddrFrom16(k.Dst).Unmap() }

func (k Key) String() string {
	return fmt.Sprintf("%s:%d > %s label %#05x pkey %#04x qp %#06x", k.SrcAddr(), k.SrcPort, k.DstAddr(), k.FlowLabel, k.PKey, k.DestQP)
}
