// SPDX-License-Identifier: Apache-2.0

package enforce

import (
	"cmp"
	"math"
	"slices"
	"time"

	"sluice/orchagent-ext/wire/notify"
)

// PFCBudget is the longest pause of a port's priority without a break, and the length of
// the break: so that translated pauses, which hold all packets of the priority, are no
// PFC storm to the switch at the other end, whose watchdog (pfcwd) would drop.
const PFCBudget = 100 * time.Millisecond

// Pauses translates pauses of flows into PFC, for a port whose neighbor obeys PFC only
// (SLUICE_PFCM translate_pfc, role border). A priority of a port is paused until the last
// of the demands on it ends, or [PFCBudget] is used up.
//
// Decision: draft-yang section 3.4 maps queue and time. PFC cannot reduce, so only pauses
// are translated, and a pause longer than PFC's 65,535 quanta is repeated until it is
// over.
//
// It belongs to one goroutine, and allocates only while it has more demands than ever
// before.
type Pauses struct {
	Budget time.Duration // [PFCBudget], unless set otherwise before the first call; 0: unlimited

	// Exhausted counts how often a priority used up its budget.
	Exhausted uint64

	demands map[Key]pause
	lines   []xoff // by port and priority
}

// line is a priority of a port.
type line struct {
	port     uint32
	priority uint8
}

// compare orders lines by port and priority.
func (l line) compare(o line) int {
	return cmp.Or(cmp.Compare(l.port, o.port), cmp.Compare(l.priority, o.priority))
}

// pause is a demand on a line until a time (ns).
type pause struct {
	line
	until int64
}

// xoff is the last frame of a line.
type xoff struct {
	line
	wanted int64 // until when the demands want it paused; 0: they do not
	until  int64 // for a pause until then; 0: the line is not paused
	again  int64 // when it is to be looked at, though no demand comes
	began  int64 // when the pause began
	rest   int64 // the budget is used up: no pause before
}

// A Frame is a PFC frame to be sent out of a port.
type Frame struct {
	Port uint32 // interface index
	PFC  notify.PFC
}

// NewPauses returns a Pauses without demands. Its budget is [PFCBudget]; it is for one
// goroutine.
func NewPauses() *Pauses { return &Pauses{Budget: PFCBudget, demands: map[Key]pause{}} }

// Receive takes a demand at time now (ns) about a flow that came in by a port. It reports
// false where PFC cannot express it: a reduction, or a queue above the 8 priorities. The
// frames are those of [Pauses.Frames].
//
// The queues 0 to 7 are the priorities of the same number (draft-yang section 3.4:
// "directly mapped").
//
//conformance:draft-yang/pfc-queue
func (p *Pauses) Receive(now int64, k Key, d Demand, port uint32) bool {
	old, ok := p.demands[k]
	switch {
	case d.Verb == Note:
	case d.Verb == End:
		delete(p.demands, k)
	case d.Verb == Extend && ok:
		old.until = now + int64(d.For)
		p.demands[k] = old
	case d.Verb == Extend, d.Keep != 0, k.Queue > 7:
		delete(p.demands, k) // it replaces longer pauses
		return false
	default:
		p.demands[k] = pause{line{port, uint8(k.Queue)}, now + int64(d.For)}
	}
	return true
}

// Clear ends all demands. The next [Pauses.Frames] resumes the priorities that are
// paused.
func (p *Pauses) Clear() { clear(p.demands) }

// Frames appends the frames to be sent at time now (ns): one for each port where a
// priority is to be paused, paused again, or resumed, in the order of the ports. mbps is
// the speed of a port in Mbit/s; while it is 0, unknown, the port is left out.
//
//conformance:draft-yang/pfc
func (p *Pauses) Frames(frames []Frame, now int64, mbps func(port uint32) uint32) []Frame {
	for i := range p.lines {
		p.lines[i].wanted = 0
	}
	for k, d := range p.demands {
		if d.until <= now {
			delete(p.demands, k)
			continue
		}
		x := p.line(d.line)
		x.wanted = max(x.wanted, d.until)
	}
	first := len(frames)
	for i := range p.lines {
		x := &p.lines[i]
		quanta, say := p.next(x, now, mbps(x.port))
		if !say {
			continue
		}
		if last := len(frames); last == first || frames[last-1].Port != x.port {
			frames = append(frames, Frame{Port: x.port})
		}
		m := &frames[len(frames)-1].PFC
		m.Enable |= 1 << x.priority
		m.Quanta[x.priority] = quanta
	}
	p.lines = slices.DeleteFunc(p.lines, func(x xoff) bool { return x.wanted == 0 && x.rest <= now })
	return frames
}

// line returns the last frame of a line. It is valid until the next call.
func (p *Pauses) line(l line) *xoff {
	at, ok := slices.BinarySearchFunc(p.lines, l, func(x xoff, l line) int { return x.compare(l) })
	if !ok {
		p.lines = slices.Insert(p.lines, at, xoff{line: l})
	}
	return &p.lines[at]
}

// Next returns when Frames is to be called even without a new demand; ok is false while
// all lines are open.
func (p *Pauses) Next() (at int64, ok bool) {
	at = math.MaxInt64
	for _, d := range p.demands {
		at = min(at, d.until)
	}
	for i := range p.lines {
		if x := &p.lines[i]; x.wanted != 0 && x.again != 0 {
			at = min(at, x.again)
		}
	}
	return at, at != math.MaxInt64
}

// next returns the quanta to be sent at time now so that the line is paused as long as is
// wanted, 0 to open it, and whether a frame is to be sent. A pause longer than one
// frame's is repeated at half of the frame's time, so that a frame may come late.
func (p *Pauses) next(x *xoff, now int64, mbps uint32) (quanta uint16, say bool) {
	paused, end := x.until != 0, int64(math.MaxInt64)
	if p.Budget > 0 && paused {
		end = x.began + int64(p.Budget)
	}
	switch {
	case x.wanted == 0:
		x.until = 0
		return 0, paused
	case now < x.rest:
		return 0, false
	case !paused:
		x.began, x.rest = now, 0
		if p.Budget > 0 {
			end = now + int64(p.Budget)
		}
	case now >= end:
		p.Exhausted++
		x.rest = now + int64(p.Budget)
		x.until, x.again = 0, x.rest
		return 0, true
	}
	if x.wanted == x.until && now < x.again {
		return 0, false
	}
	until := min(x.wanted, end)
	us := (until - now + int64(time.Microsecond) - 1) / int64(time.Microsecond)
	quanta = notify.Quanta(uint32(us), mbps)
	if quanta == 0 {
		return 0, false
	}
	lasts := int64(notify.QuantaDuration(quanta, mbps))
	x.until, x.again = x.wanted, math.MaxInt64
	if quanta == notify.MaxQuanta && now+lasts < until {
		x.again = now + lasts/2
	} else if until < x.wanted {
		x.again = until
	}
	return quanta, true
}
