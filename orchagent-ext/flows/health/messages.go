// SPDX-License-Identifier: Apache-2.0

package health

import (
	"math"

	"sluice/orchagent-ext/wire/roce"
)

// messages has the path MTU, the sizes of messages, and the message that is being sent.
type messages struct {
	mtu uint32 // octets; 0: unknown
	// begun: the PSN of a send of several packets whose first one was seen, with messageBegun, so that its
	// octets hold, too; or messageOrphan: birth.orphan holds
	begun, octets uint32
	size          run    // of messages, in octets
	sizes         uint32 // a tally of those before
}

const (
	messageBegun  = 1 << 24
	messageOrphan = 1 << 25
)

// orphan is the last packet of a send whose first one was missed.
type orphan struct{ psn, octets uint32 }

// first remembers the first packet of a send.
func (m *messages) first(psn, octets uint32) {
	m.begun, m.octets = m.begun&messageOrphan|psn|messageBegun, octets
}

// last returns the octets of a send that ends with a packet; ok is false where its first one was missed.
func (m *messages) last(psn, octets uint32) (all uint64, ok bool) {
	n := ahead(psn, m.begun&psnMask)
	if m.begun&messageBegun == 0 || n <= 0 {
		return 0, false
	}
	m.begun &^= messageBegun
	return uint64(n)*uint64(m.octets) + uint64(octets), true
}

// size takes the size of messages from their packets, each PSN once.
func (s seat) size(op roce.Opcode, psn, octets, announced uint32) {
	m, f := &s.state.messages, &s.state.flags
	switch op {
	case roce.RCSendFirst:
		m.mtu = max(m.mtu, octets)
		f.put(sending, true)
		if m.begun&messageOrphan != 0 {
			if o := s.birth().orphan; ahead(o.psn, psn) > 0 {
				s.sized(uint64(ahead(o.psn, psn))*uint64(octets) + uint64(o.octets))
				m.begun &^= messageOrphan
				return
			}
		}
		m.first(psn, octets)
	case roce.RCWriteFirst:
		m.mtu = max(m.mtu, octets)
		f.put(sending, true)
		s.sized(uint64(announced))
	case roce.RCSendMiddle, roce.RCWriteMiddle:
		m.mtu = max(m.mtu, octets)
		f.put(sending, true)
	case roce.RCSendLast, roce.RCSendLastImm, roce.RCSendLastInv:
		f.put(sending, false)
		if all, ok := m.last(psn, octets); ok {
			s.sized(all)
			return
		}
		s.birth().orphan = orphan{psn, octets}
		m.begun |= messageOrphan
	case roce.RCWriteLast, roce.RCWriteLastImm:
		f.put(sending, false)
	case roce.RCSendOnly, roce.RCSendOnlyImm, roce.RCSendOnlyInv:
		f.put(sending, false)
		s.sized(uint64(octets))
	case roce.RCWriteOnly, roce.RCWriteOnlyImm, roce.RCReadRequest:
		f.put(sending, false)
		s.sized(uint64(announced))
	}
}

// fewTimes is how often a size comes in a row and still waits in a tally.
const fewTimes = 4

// sized counts a message of so many octets in the histogram of sizes. Those of one size in a row are
// counted when another one comes.
func (s seat) sized(octets uint64) {
	m := &s.state.messages
	if m.size.goesOn(octets) {
		return
	}
	before := m.size
	if m.size = (run{uint32(octets), 1}); octets > math.MaxUint32 {
		m.size = run{}
	}
	if before.times == 0 && octets <= math.MaxUint32 {
		return
	}
	t := s.tally(&m.sizes)
	if before.times > fewTimes {
		s.in.histograms.ensure(&t.histogram).AddTimes(uint64(before.value), before.times)
	} else {
		for range before.times {
			t.add(uint64(before.value), &s.in.histograms)
		}
	}
	if octets > math.MaxUint32 {
		t.add(octets, &s.in.histograms)
	}
}
