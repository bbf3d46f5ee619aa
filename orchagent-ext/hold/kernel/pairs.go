// SPDX-License-Identifier: Apache-2.0

package kernel

// pairRoom is how many pairs a generation has room for. Pairs that rest while as many
// others are recorded or looked up are forgotten.
const pairRoom = 1 << 14

// Pairs are the learned queue pairs: two generations, so that it stays bounded.
type Pairs struct{ young, old map[Pair]Known }

// Known is the knowledge about a pair.
type Known struct {
	QP   uint32 // that it sends from; 0: unknown
	PKey uint16
	Bits uint8 // of BTH octet 4
	Seen bool  // PKey and Bits are of a packet
}

// NewPairs returns pairs with the room for two generations.
func NewPairs() *Pairs {
	return &Pairs{make(map[Pair]Known, pairRoom), make(map[Pair]Known, pairRoom)}
}

// Add records a pair. A report without the source queue pair leaves the known one.
func (p *Pairs) Add(l *Learned) {
	qp := l.SrcQP
	if qp == 0 {
		qp = p.Find(l.Pair).QP // another packet has shown it
	}
	p.put(l.Pair, Known{qp, l.PKey, l.Bits, l.SrcPort != 0})
}

// put records a pair in the young generation. When that is full the old one is dropped.
func (p *Pairs) put(k Pair, v Known) {
	if len(p.young) >= pairRoom {
		p.young, p.old = p.old, p.young
		clear(p.young)
	}
	p.young[k] = v
}

// Find returns the knowledge about a pair; the zero value where there is none.
func (p *Pairs) Find(k Pair) Known {
	if v, ok := p.young[k]; ok {
		return v
	}
	v, ok := p.old[k]
	if ok {
		p.put(k, v)
	}
	return v
}

// Sender returns the queue pair that a session is sent from, and records it there; 0: it was not
// learned.
func (p *Pairs) Sender(s *Session) uint32 {
	if s.SrcQP == 0 && s.RDMA {
		s.SrcQP = p.Find(s.Pair()).QP
	}
	return s.SrcQP
}
