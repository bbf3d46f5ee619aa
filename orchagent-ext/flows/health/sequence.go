// SPDX-License-Identifier: Apache-2.0

package health

// Event is the meaning of a packet's PSN, given those before it.
type Event uint8

// The events.
const (
	InOrder   Event = iota // the next one, or the first that is seen
	Gap                    // PSNs before it are missing
	Reordered              // it was missing, and was overtaken
	Recovered              // it was missing, and was sent again
	Duplicate              // it was here before
	// its PSN has nothing to do with those before: another connection
	Restart
)

// eventNames are the names of events in output.
var eventNames = [...]string{"", "gap", "reordered", "retransmit", "retransmit", "restart"}

// String is a word such as "gap" or "retransmit"; empty for InOrder. Recovered and
// Duplicate are both "retransmit": the sender did the same.
func (e Event) String() string { return eventNames[e] }

// Retransmitted reports whether the packet was sent again.
func (e Event) Retransmitted() bool { return e == Recovered || e == Duplicate }

const (
	psnMask = 1<<24 - 1
	// farJump is how far a PSN may be from the expected one: more than a sender has
	// outstanding, and than an adapter sends in a few ms.
	farJump = 1 << 16
	// maxHoles is how many ranges of missing PSNs are remembered. An older one
	// stays missing.
	maxHoles = 8
)

// ahead is how far PSN a is ahead of b, from -2^23 to 2^23-1.
func ahead(a, b uint32) int {
	d := int(a-b) & psnMask
	if d >= 1<<23 {
		d -= 1 << 24
	}
	return d
}

// hole is a range of PSNs that are missing.
type hole struct {
	first, n uint32
	opened   int64 // when it was noticed
	asked    bool  // a NAK asked for it
	// before the first PSN that was seen: none of it counts as missing before it comes
	early bool
}

// sequence follows the PSNs of one sender.
type sequence struct {
	start int64
	holes *[maxHoles]hole // the oldest first
	first uint32          // the first PSN that was seen
	next  uint32          // the PSN behind the newest one
	n     uint8           // holes
	begun bool
	old   bool // it has gone so far that PSNs before the first one are void
}

// see judges a PSN that counts for span PSNs (more than one: a read request, which has
// those of its responses). missing is how many are missing before it, or how many it
// brings back of those that were counted as missing: 0 for a PSN before the first one.
func (s *sequence) see(psn, span uint32, now, patience int64) (e Event, missing uint32) {
	if !s.begun {
		s.restart(psn, span, now)
		return InOrder, 0
	}
	d := ahead(psn, s.next)
	switch {
	case d > farJump || d < -farJump:
		s.restart(psn, span, now)
		return Restart, 0
	case d >= 0:
		if d > 0 {
			s.open(hole{first: s.next, n: uint32(d), opened: now})
			e, missing = Gap, uint32(d)
		}
		s.next = (psn + span) & psnMask
		s.old = s.old || ahead(s.next, s.first) > 4*farJump
		return e, missing
	case !s.old && ahead(psn, s.first) < 0:
		// Those between it and the first one were lost with it before the observer, and follow;
		// or the observer came late, and some never will.
		if rest := uint32(ahead(s.first, psn)) - 1; rest > 0 && s.n < maxHoles {
			copy(s.holes[1:], s.holes[:s.n])
			s.holes[0] = hole{first: (psn + 1) & psnMask, n: rest, opened: s.start, early: true}
			s.n++
		}
		s.first = psn
		if now-s.start <= patience {
			return Reordered, 0
		}
		return Recovered, 0
	}
	return s.behind(psn, now, patience)
}

// restart begins the sequence again at psn, as a new connection or a counter that
// jumped does.
func (s *sequence) restart(psn, span uint32, now int64) {
	*s = sequence{holes: s.holes, begun: true, first: psn, next: (psn + span) & psnMask, start: now}
}

// open remembers a hole. The oldest one goes if there are too many.
func (s *sequence) open(h hole) {
	if s.n == maxHoles {
		copy(s.holes[:], s.holes[1:])
		s.n--
	}
	s.holes[s.n] = h
	s.n++
}

// behind judges a PSN before the newest one: it closes a hole, or was here.
func (s *sequence) behind(psn uint32, now, patience int64) (e Event, missing uint32) {
	for i := range s.holes[:s.n] {
		h := s.holes[i]
		at := ahead(psn, h.first)
		if at < 0 || at >= int(h.n) {
			continue
		}
		rest := h
		rest.first, rest.n = (psn+1)&psnMask, h.n-uint32(at)-1
		s.holes[i].n = uint32(at)
		if at == 0 {
			s.holes[i] = rest
			if rest.n == 0 {
				copy(s.holes[i:], s.holes[i+1:s.n])
				s.n--
			}
		} else if rest.n > 0 && s.n < maxHoles {
			copy(s.holes[i+2:], s.holes[i+1:s.n])
			s.holes[i+1] = rest
			s.n++
		}
		if !h.early {
			missing = 1
		}
		if h.asked || now-h.opened > patience {
			return Recovered, missing
		}
		return Reordered, missing
	}
	return Duplicate, 0
}

// ask notes that a NAK asked for everything from a PSN on.
func (s *sequence) ask(psn uint32) {
	for i := range s.holes[:s.n] {
		if h := &s.holes[i]; ahead(h.first+h.n-1, psn) >= 0 {
			h.asked = true
		}
	}
}
