// SPDX-License-Identifier: Apache-2.0

package nic

import "sluice/orchagent-ext/wire/roce"

// acked has the acknowledgements that a flow requested and received. Both count packets
// of the flow, from its first one.
type acked struct {
	asked   uint64 // up to the last one that asked for an acknowledgement
	through uint64 // up to the last one that was acknowledged
	arrived uint64 // of those
}

// counterMask has the bits of a PSN and of an MSN, which count modulo 2²⁴.
const counterMask = 1<<24 - 1 // of a PSN and an MSN

// asks reports whether packet number n asks for an acknowledgement.
func (f *Flow) asks(n uint64) bool { return f.AckEvery > 0 && n%uint64(f.AckEvery) == 0 }

// acknowledge processes a frame other than a notification. The MSN of a [Verifier]'s
// acknowledgement is the number of packets of the flow that arrived up to its PSN; other
// frames are ignored.
func (s *Sender) acknowledge(frame []byte) {
	p := &s.answer
	if p.Parse(frame, len(frame)) != nil || p.Opcode() != roce.RCAck {
		return
	}
	i := s.of(p.Dst(), p.DestQP())
	h, ok := p.AETH()
	if i < 0 || !ok || !h.Ack() {
		return
	}
	if got, want, ok := p.ICRC(); !ok || got != want {
		s.counters.Refused++
		return
	}
	f := &s.flows[i]
	if f.n == 0 {
		return // it is about packets of another program
	}
	last := f.n - 1
	through := last - (last-uint64(p.PSN()))&counterMask + 1
	arrived := through - (through-uint64(h.MSN))&counterMask
	if through > f.acked.asked || arrived > through {
		return
	}
	s.counters.Acks++
	if through >= f.acked.through {
		f.acked.through, f.acked.arrived = through, arrived
	}
}

// Waiting reports whether an acknowledgement that was asked for is missing.
func (s *Sender) Waiting() bool {
	for i := range s.flows {
		if a := s.flows[i].acked; a.through < a.asked {
			return true
		}
	}
	return false
}
