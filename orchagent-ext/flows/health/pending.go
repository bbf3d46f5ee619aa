// SPDX-License-Identifier: Apache-2.0

package health

import "math/bits"

const (
	// maxPending is how many requests of a direction wait for an acknowledgement at most, so that its
	// memory is bounded.
	maxPending = 16
	// firstPending of them are in one cache line, which is enough where they are answered soon.
	firstPending = 5
)

// pending is requests that wait for an acknowledgement: a ring whose first part lies apart.
type pending struct {
	sent [firstPending]int64 // ns, or flow.NoTime
	psn  [firstPending]uint32
	more uint32 // number of the others; 0: they were never needed
}

// morePending is the rest of the ring.
type morePending struct {
	sent [maxPending - firstPending]int64
	psn  [maxPending - firstPending]uint32
}

// pendings is the memory of rings.
type pendings struct {
	array[pending]
	more array[morePending]
}

// put writes a place of a ring beyond its first part.
func (s *pendings) put(p *pending, at uint8, psn uint32, sent int64) {
	if p.more == 0 {
		p.more = s.more.take()
	}
	m := s.more.at(p.more)
	m.psn[at-firstPending], m.sent[at-firstPending] = psn, sent
}

// read returns a place of a ring that was written.
func (s *pendings) read(ring uint32, at int) (psn uint32, sent int64) {
	p := s.at(ring)
	if at < firstPending {
		return p.psn[at], p.sent[at]
	}
	m := s.more.at(p.more)
	return m.psn[at-firstPending], m.sent[at-firstPending]
}

// release gives a ring back; 0 is none.
func (s *pendings) release(n uint32) {
	if n != 0 {
		if more := s.at(n).more; more != 0 {
			s.more.give(more)
		}
		s.give(n)
	}
}

// waits is which requests of a direction wait for an acknowledgement.
type waits struct {
	ring    uint32 // number in pendings; 0: none has waited
	waiting uint16 // a bit for each place of the ring
	at      uint8  // the next place
}

// put makes a request wait that was sent at a time. In a full ring the oldest one is forgotten.
func (w *waits) put(all *pendings, psn uint32, sent int64) {
	if w.waiting == 0 {
		w.at = 0 // in the first line
	}
	if w.ring == 0 {
		w.ring = all.take()
	}
	ring, at := all.at(w.ring), w.at
	if at < firstPending {
		ring.psn[at], ring.sent[at] = psn, sent
	} else {
		all.put(ring, at, psn, sent)
	}
	w.waiting |= 1 << at
	w.at = (at + 1) % maxPending
}

// drop forgets the requests that a function names.
func (w *waits) drop(all *pendings, named func(psn uint32, sent int64) bool) {
	for left := w.waiting; left != 0; left &= left - 1 {
		i := bits.TrailingZeros16(left)
		if named(all.read(w.ring, i)) {
			w.waiting &^= 1 << i
		}
	}
}
