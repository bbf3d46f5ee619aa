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

// sequence follows the PSNs of one sender, as long as none is missing: then it needs its [gaps], too.
type sequence struct {
	// next: the PSN behind the newest one; above it the number of holes
	next uint32
	// first: the first PSN that was seen; above it sequenceBegun and sequenceOld
	first uint32
}

const (
	holesShift    = 24      // of sequence.next
	sequenceBegun = 1 << 24 // a PSN was seen
	// sequenceOld: it has gone so far that PSNs before the first one are void
	sequenceOld = 1 << 25
)

// begun reports whether a PSN was seen.
func (s *sequence) begun() bool { return s.first&sequenceBegun != 0 }

// old reports whether PSNs before the first one are void.
func (s *sequence) old() bool { return s.first&sequenceOld != 0 }

// begin begins the sequence at psn.
func (s *sequence) begin(psn, span uint32) {
	*s = sequence{next: (psn + span) & psnMask, first: psn | sequenceBegun}
}

// follows judges the next PSN, which counts for span PSNs, if psn is that one.
func (s *sequence) follows(psn, span uint32) bool {
	if s.next&psnMask != psn || !s.begun() {
		return false
	}
	s.proceed((psn + span) & psnMask)
	return true
}

// proceed makes a PSN ahead the next one.
func (s *sequence) proceed(next uint32) {
	s.goTo(next)
	if !s.old() && ahead(next, s.first&psnMask) > 4*farJump {
		s.first |= sequenceOld
	}
}

// goTo makes a PSN the next one, whatever its distance.
func (s *sequence) goTo(next uint32) { s.next = s.next&^psnMask | next }

// gaps is a sequence with the values that it needs while PSNs are missing.
type gaps struct {
	*sequence
	holes *[maxHoles]hole // the oldest first
	start *int64          // when the sequence began, ns
}

// holesOpen returns how many ranges of PSNs are missing.
func (s *sequence) holesOpen() int { return int(s.next >> holesShift) }

// missing returns the holes.
func (g gaps) missing() []hole { return g.holes[:g.holesOpen()] }

// resize changes the number of holes.
func (g gaps) resize(by int32) { g.next = uint32(int32(g.next) + by<<holesShift) }

// see judges a PSN that counts for span PSNs (more than one: a read request, which has
// those of its responses), in a sequence that has begun. missing is how many are missing
// before it, or how many it brings back of those that were counted as missing: 0 for a PSN
// before the first one.
func (g gaps) see(psn, span uint32, now, patience int64) (e Event, missing uint32) {
	next, first := g.next&psnMask, g.first&psnMask
	d := ahead(psn, next)
	switch {
	case d > farJump || d < -farJump:
		g.restart(psn, span, now)
		return Restart, 0
	case d >= 0:
		if d > 0 {
			g.open(hole{first: next, n: uint32(d), opened: now})
			e, missing = Gap, uint32(d)
		}
		g.proceed((psn + span) & psnMask)
		return e, missing
	case !g.old() && ahead(psn, first) < 0:
		// Those between it and the first one were lost with it before the observer, and follow;
		// or the observer came late, and some never will.
		if n := g.holesOpen(); ahead(first, psn) > 1 && n < maxHoles {
			copy(g.holes[1:], g.holes[:n])
			g.holes[0] = hole{first: (psn + 1) & psnMask, n: uint32(ahead(first, psn)) - 1, opened: *g.start, early: true}
			g.resize(1)
		}
		g.first = g.first&^psnMask | psn
		if now-*g.start <= patience {
			return Reordered, 0
		}
		return Recovered, 0
	}
	return g.behind(psn, now, patience)
}

// restart begins the sequence again at psn, as a new connection or a counter that
// jumped does.
func (g gaps) restart(psn, span uint32, now int64) {
	g.begin(psn, span)
	*g.start = now
}

// open remembers a hole. The oldest one goes if there are too many.
func (g gaps) open(h hole) {
	if g.holesOpen() == maxHoles {
		copy(g.holes[:], g.holes[1:])
		g.resize(-1)
	}
	g.holes[g.holesOpen()] = h
	g.resize(1)
}

// behind judges a PSN before the newest one: it closes a hole, or was here.
func (g gaps) behind(psn uint32, now, patience int64) (e Event, missing uint32) {
	for i, h := range g.missing() {
		at := ahead(psn, h.first)
		if at < 0 || at >= int(h.n) {
			continue
		}
		rest, n := h, g.holesOpen()
		rest.first, rest.n = (psn+1)&psnMask, h.n-uint32(at)-1
		g.holes[i].n = uint32(at)
		if at == 0 {
			g.holes[i] = rest
			if rest.n == 0 {
				copy(g.holes[i:], g.holes[i+1:n])
				g.resize(-1)
			}
		} else if rest.n > 0 && n < maxHoles {
			copy(g.holes[i+2:], g.holes[i+1:n])
			g.holes[i+1] = rest
			g.resize(1)
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
func (g gaps) ask(psn uint32) {
	for i := range g.missing() {
		if h := &g.holes[i]; ahead(h.first+h.n-1, psn) >= 0 {
			h.asked = true
		}
	}
}
