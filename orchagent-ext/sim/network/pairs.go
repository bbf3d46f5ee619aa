// SPDX-License-Identifier: Apache-2.0

package network

import (
	"math"

	"sluice/orchagent-ext/hold/dcqcn"
)

// QP is one direction of a connection: the sender's state, and the receiver's.
type QP struct {
	src, dst   int32
	path, back uint32 // of data, and of acknowledgements
	peer       int32  // next in the host's list of those that may send; -1: outside of it
	inflight   int32  // packets in the network, of both directions

	// PSNs: to be sent next; oldest without acknowledgement; after the last message
	next, una, end uint32
	most           uint32 // PSN after the newest that was ever sent
	expect         uint32 // PSN that the receiver waits for
	repaired       uint32 // with selective repeat: PSN before which holes were sent again
	last           uint16 // payload of a message's last packet
	unacked        uint8  // packets since the last acknowledgement
	nak            bool   // the receiver reported missing packets
	timing         bool   // a timer is set
	released       bool   // to be freed once all packets have landed
	hurry          bool   // with selective repeat: una is to be sent again

	nextAt int64 // pacing: earliest time of the next packet
	// time of the last acknowledgement of something, or of the first packet after a rest
	progress int64
	cnpAt    int64  // time after which the receiver may send a CNP
	rate     int32  // of n.rates, plus 1; 0: before the first CNP
	advised  uint32 // Mbit/s; 0: unadvised
	label    uint32 // flow label, or 0
	Tag      int32  // the caller's

	packets, octets uint64 // sent, repeated ones too

	ends   [messages]uint32 // PSN after a message
	began  [messages]int64
	oldest uint8 // of these, the receiver's
	count  uint8
}

// Hosts returns the sender and the receiver of a queue pair.
func (q *QP) Hosts() (src, dst int) { return int(q.src), int(q.dst) }

// Outstanding is how many messages of a queue pair are under way.
func (q *QP) Outstanding() int { return int(q.count) }

// lastOf reports whether a PSN is the last of a message under way.
func (q *QP) lastOf(psn uint32) bool {
	if psn+1 == q.end {
		return true
	}
	for i := range q.count {
		if q.ends[(q.oldest+i)%messages] == psn+1 {
			return true
		}
	}
	return false
}

// maySend reports whether a queue pair has a packet that its window allows.
func (q *QP) maySend(c *Config) bool {
	return q.hurry || q.next != q.end && (c.Window == 0 || int64(q.next-q.una)*int64(c.MTU) < c.Window)
}

// pairs are the queue pairs, with their state that only some have.
type pairs struct {
	all      []QP
	free     []int32
	rates    []dcqcn.Rate // of queue pairs that had a CNP
	freeRate []int32
	keepers  []keeper // by queue pair, with selective repeat
}

// add adds a queue pair, and returns its number. A timer of the one that had the number before
// may still be set.
func (s *pairs) add(q QP) int32 {
	k := len(s.free)
	if k == 0 {
		s.all = append(s.all, q)
		return int32(len(s.all) - 1)
	}
	id := s.free[k-1]
	s.free = s.free[:k-1]
	q.timing = s.all[id].timing
	s.all[id] = q
	return id
}

// remove frees the number of a queue pair.
func (s *pairs) remove(id int32) {
	q := &s.all[id]
	q.released = false
	if q.rate != 0 {
		s.freeRate = append(s.freeRate, q.rate)
		q.rate = 0
	}
	s.free = append(s.free, id)
}

// rate returns the rate by DCQCN of a queue pair, which begins with the first CNP.
func (s *pairs) rate(q *QP) *dcqcn.Rate {
	if q.rate == 0 {
		if k := len(s.freeRate); k > 0 {
			q.rate = s.freeRate[k-1]
			s.freeRate = s.freeRate[:k-1]
			s.rates[q.rate-1] = dcqcn.Rate{}
		} else {
			s.rates = append(s.rates, dcqcn.Rate{})
			q.rate = int32(len(s.rates))
		}
	}
	return &s.rates[q.rate-1]
}

// pace returns the rate of a queue pair, in bit/s; 0: only the link limits it.
func (s *pairs) pace(q *QP, at int64) uint64 {
	rate := uint64(q.advised) * 1e6
	if q.rate != 0 {
		if r := s.rates[q.rate-1].At(at / Nanosecond); r != math.MaxUint64 && (rate == 0 || r < rate) {
			rate = r
		}
	}
	return rate
}

// keeper returns that of a queue pair.
func (s *pairs) keeper(id int32) *keeper {
	for int(id) >= len(s.keepers) {
		s.keepers = append(s.keepers, keeper{})
	}
	return &s.keepers[id]
}
