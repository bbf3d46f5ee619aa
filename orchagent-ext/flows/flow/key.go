// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"fmt"
	"net/netip"

	"sluice/orchagent-ext/wire/roce"
)

// Key identifies a flow: the path that a packet takes by its outermost IP header,
// and the session that the innermost RoCEv2 names: 5-tuple (protocol and
// destination port are always UDP and 4791), partition key and destination queue
// pair.
//
// Decision: the source queue pair of a datagram is part of the key, since it is
// in every packet. That of a connection is left out: learning it would split the
// flow.
type Key struct {
	Src, Dst  [16]byte // of the path, as they arrive; IPv4 as ::ffff:a.b.c.d
	FlowLabel uint32   // of the path, 20 bits
	DestQP    uint32   // 24 bits
	SrcQP     uint32   // datagrams: of the DETH, 24 bits; others: 0
	SrcPort   uint16
	PKey      uint16

	// InnerSrc and InnerDst are the addresses of the session where they are not those
	// of the path, else 0: both in a tunnel, InnerDst alone where a segment routing
	// header has the final destination.
	InnerSrc, InnerDst [16]byte
}

// KeyOf returns the key of the packet's flow.
//
//conformance:draft-yang/classify
func KeyOf(p *roce.Packet) (k Key) {
	k.set(p)
	return k
}

// set is KeyOf, in place.
func (k *Key) set(p *roce.Packet) {
	k.Src, k.Dst = p.PathSrc16(), p.PathDst16()
	k.FlowLabel, k.DestQP, k.SrcQP = p.FlowLabel(), p.DestQP(), 0
	k.SrcPort, k.PKey = p.SrcPort(), p.PKey()
	if h, ok := p.DETH(); ok {
		k.SrcQP = h.SrcQP
	}
	k.InnerSrc, k.InnerDst = [16]byte{}, [16]byte{}
	switch {
	case p.Tunnelled():
		k.InnerSrc, k.InnerDst = p.Src16(), p.Dst16()
	case p.Segments():
		k.InnerDst = p.Dst16()
	}
}

// Tunnelled reports whether the session is in a tunnel. A tunnel is any outer IP header;
// a segment routing header alone is none.
func (k *Key) Tunnelled() bool { return k.InnerSrc != [16]byte{} }

// Session returns the addresses of the session: source and final destination. Both are of
// 16 octets, IPv4 as ::ffff:a.b.c.d.
func (k *Key) Session() (src, dst [16]byte) {
	src, dst = k.Src, k.Dst
	if k.InnerDst != [16]byte{} {
		dst = k.InnerDst
		if k.Tunnelled() {
			src = k.InnerSrc
		}
	}
	return src, dst
}

// Label returns the flow label of the path, given the source queue pair. The hash takes
// the addresses of the session, and of a tunnel those of the path: the label is its.
func (k *Key) Label(a Algorithm, srcQP uint32) uint32 {
	if k.Tunnelled() {
		return a.Label(srcQP, k.DestQP, k.Src, k.Dst)
	}
	src, dst := k.Session()
	return a.Label(srcQP, k.DestQP, src, dst)
}

// SrcAddr is the source address of the path. IPv4 is plain, never in the mapped form.
func (k *Key) SrcAddr() netip.Addr { return netip.AddrFrom16(k.Src).Unmap() }

// DstAddr is the destination address of the path, as it arrives. With a segment routing
// header it is the active segment. IPv4 is plain.
func (k *Key) DstAddr() netip.Addr { return netip.AddrFrom16(k.Dst).Unmap() }

// SessionSrc is the source address of the session. It equals SrcAddr outside of tunnels.
// IPv4 is plain.
func (k *Key) SessionSrc() netip.Addr {
	src, _ := k.Session()
	return netip.AddrFrom16(src).Unmap()
}

// SessionDst is the final destination address of the session. It is the last segment
// where there is a segment routing header. IPv4 is plain.
func (k *Key) SessionDst() netip.Addr {
	_, dst := k.Session()
	return netip.AddrFrom16(dst).Unmap()
}

// String returns addresses, ports and queue pairs for logs and tests; programs
// should read the fields.
func (k Key) String() string {
	text := fmt.Sprintf("%s:%d > %s label %#05x pkey %#04x qp %#06x", k.SrcAddr(), k.SrcPort, k.DstAddr(), k.FlowLabel, k.PKey, k.DestQP)
	if k.InnerDst != [16]byte{} {
		text += fmt.Sprintf(" of %s > %s", k.SessionSrc(), k.SessionDst())
	}
	return text
}
