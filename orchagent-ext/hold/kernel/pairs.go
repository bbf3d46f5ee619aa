// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"net/netip"

	sai "sluice/sai-shim"
)

// pairRoom is how many pairs, and how many connections, a generation has room for.
const pairRoom = 1 << 14

// sharing is how many queue pairs of one connection are known: those that were seen last.
const sharing = 16

// managementQP is the queue pair of RDMA-CM, which is for no data (IBTA volume 1).
const managementQP = 1

// Pairs are the learned queue pairs, and those that share a connection of UDP: a bounded number.
type Pairs struct {
	known       generations[Pair, Known]
	connections generations[connection, shared]
}

// Known is the knowledge about a pair.
type Known struct {
	QP   uint32 // that it sends from; 0: unknown
	PKey uint16
	Bits uint8 // of BTH octet 4
	DSCP uint8
	Seen bool // PKey, Bits, DSCP, SrcPort and Out are of a packet

	SrcPort uint16
	Out     sai.ObjectID // port that it left by; sai.Null: unknown
}

// connection has the part of a 5-tuple in which connections of RoCEv2 differ: the protocol is UDP, and
// the destination port 4791.
type connection struct {
	src, dst netip.Addr
	srcPort  uint16
}

// shared are the queue pairs that share a connection, the places in turn.
type shared struct {
	to   [sharing]uint32 // destination queue pairs; 0: none
	last uint8           // place of the one that was added last
}

// NewPairs returns pairs with the room for two generations.
func NewPairs() *Pairs {
	return &Pairs{newGenerations[Pair, Known](pairRoom), newGenerations[connection, shared](pairRoom)}
}

// Add records a pair. A report that lacks the source queue pair, or a packet, leaves the known ones.
func (p *Pairs) Add(l *Learned) {
	v := p.Find(l.Pair)
	if l.SrcQP != 0 {
		v.QP = l.SrcQP
	}
	if l.SrcPort != 0 {
		v.PKey, v.Bits, v.DSCP, v.Seen, v.SrcPort, v.Out = l.PKey, l.Bits, l.DSCP, true, l.SrcPort, l.Packet.Out
	}
	p.known.put(l.Pair, v, pairRoom)
	if l.SrcPort != 0 && l.DestQP > managementQP {
		p.share(connection{l.Src, l.Dst, l.SrcPort}, l.DestQP)
	}
}

// share records that packets to a queue pair have a connection.
func (p *Pairs) share(c connection, to uint32) {
	s, _ := p.connections.find(c, pairRoom)
	for _, known := range s.to {
		if known == to {
			return
		}
	}
	s.last = (s.last + 1) % sharing
	s.to[s.last] = to
	p.connections.put(c, s, pairRoom)
}

// Find returns the knowledge about a pair; the zero value where there is none.
func (p *Pairs) Find(k Pair) Known {
	v, _ := p.known.find(k, pairRoom)
	return v
}

// OfConnection calls a function with the session of each queue pair whose packets have the addresses
// and the source port of UDP, and returns their number. Of more than 16 it has those that were seen first
// lately.
func (p *Pairs) OfConnection(src, dst netip.Addr, srcPort uint16, call func(Session)) (n int) {
	s, _ := p.connections.find(connection{src, dst, srcPort}, pairRoom)
	for _, to := range s.to {
		k := Pair{Src: src, Dst: dst, DestQP: to}
		v := p.Find(k)
		if to == 0 || !v.Seen || v.SrcPort != srcPort {
			continue // forgotten, or by another connection now
		}
		call((&Learned{Pair: k, SrcQP: v.QP, SrcPort: srcPort, PKey: v.PKey, DSCP: v.DSCP, Bits: v.Bits}).Session())
		n++
	}
	return n
}

// Sender returns the queue pair that a session is sent from, and records it there; 0: it was not
// learned.
func (p *Pairs) Sender(s *Session) uint32 {
	if s.SrcQP == 0 && s.RDMA {
		s.SrcQP = p.Find(s.Pair()).QP
	}
	return s.SrcQP
}
