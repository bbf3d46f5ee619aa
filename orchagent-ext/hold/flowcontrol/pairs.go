// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import "net/netip"

// Pair is a queue pair that sends, as packets name the one that receives.
type Pair struct {
	Src, Dst netip.Addr
	DestQP   uint32
}

// Learned is the source queue pair of a [Pair].
type Learned struct {
	Pair
	SrcQP uint32 // 0: not known yet

	// Of a packet of the flow; SrcPort is 0 before the first packet, and the others are
	// unknown then.
	SrcPort, PKey uint16
	DSCP, Bits    uint8 // Bits of BTH octet 4, the low 6

	Packet Packet // of holds at senders; the zero value: it is unknown
}

// pairRoom is how many pairs a generation has room for. Pairs that rest while as many
// others are recorded or looked up are forgotten.
const pairRoom = 1 << 14

// pairs are the learned queue pairs: two generations, so that it stays bounded.
type pairs struct{ young, old map[Pair]known }

// known is the answer about a pair.
type known struct {
	qp   uint32 // that it sends from; 0: unknown
	pkey uint16
	bits uint8 // of BTH octet 4
	seen bool  // pkey and bits are of a packet
}

// newPairs returns pairs with the room for two generations.
func newPairs() pairs {
	return pairs{make(map[Pair]known, pairRoom), make(map[Pair]known, pairRoom)}
}

// add records a pair in the young generation. When that is full the old one is dropped.
func (p *pairs) add(l Learned) {
	if l.SrcQP == 0 {
		l.SrcQP = p.find(l.Pair).qp // another packet has shown it
	}
	p.put(l.Pair, known{l.SrcQP, l.PKey, l.Bits, l.SrcPort != 0})
}

// put keeps an answer about a pair. Of the two halves the older one goes when the other is full.
func (p *pairs) put(k Pair, v known) {
	if len(p.young) >= pairRoom {
		p.young, p.old = p.old, p.young
		clear(p.young)
	}
	p.young[k] = v
}

// find returns the answer about a pair; the zero value where there is none.
func (p *pairs) find(k Pair) known {
	if v, ok := p.young[k]; ok {
		return v
	}
	v, ok := p.old[k]
	if ok {
		p.put(k, v)
	}
	return v
}
