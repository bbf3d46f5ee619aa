// SPDX-License-Identifier: Apache-2.0

package enforce

import (
	"maps"
	"math"
	"slices"
	"time"

	"sluice/orchagent-ext/notify"
)

// Pauses translates pauses of flows into PFC, for a port whose neighbour knows nothing
// better (SLUICE_PFCM translate_pfc, role border). A priority of a port is paused until
// the last of the demands on it ends.
//
// Decision: draft-yang section 3.4 maps queue and time. PFC cannot reduce, so only
// pauses are translated, and a pause longer than PFC's quanta can say is repeated
// until it is over.
//
// It belongs to one goroutine.
type Pauses struct {
	demands map[Key]pause
	lines   map[line]*xoff
}

// line is a priority of a port.
type line struct {
	port     uint32
	priority uint8
}

type pause struct {
	line
	until int64
}

// xoff is what was sent last for a line.
type xoff struct {
	until int64 // for a pause until then; 0: nothing was sent
	again int64 // when it is to be repeated, since PFC could not say all of it
}

// A Frame is a PFC frame to be sent out of a port.
type Frame struct {
	Port uint32 // interface index
	PFC  notify.PFC
}

// NewPauses returns a Pauses without any.
func NewPauses() *Pauses {
	return &Pauses{demands: map[Key]pause{}, lines: map[line]*xoff{}}
}

// Receive takes a demand at time now (ns) about a flow that came in by a port. It
// reports false where PFC cannot say it: a reduction, or a queue that is no priority.
// The frames are those of [Pauses.Frames].
//
// The queues 0 to 7 are the priorities of the same number (draft-yang section 3.4:
// "directly mapped").
func (p *Pauses) Receive(now int64, k Key, d Demand, port uint32) bool {
	old, ok := p.demands[k]
	switch {
	case d.Verb == Tell:
	case d.Verb == End:
		delete(p.demands, k)
	case d.Verb == Extend && ok:
		old.until = now + int64(d.For)
		p.demands[k] = old
	case d.Verb == Extend, d.Keep != 0, k.Queue > 7:
		delete(p.demands, k) // it replaces what it cannot say
		return false
	default:
		p.demands[k] = pause{line{port, uint8(k.Queue)}, now + int64(d.For)}
	}
	return true
}

// Frames appends the frames to be sent at time now (ns): one for each port where a
// priority is to be paused, paused again, or resumed, in the order of the ports. mbps
// is the speed of a port in Mbit/s; while it is 0, not known, nothing is sent there.
func (p *Pauses) Frames(frames []Frame, now int64, mbps func(port uint32) uint32) []Frame {
	wanted := map[line]int64{}
	for k, d := range p.demands {
		if d.until <= now {
			delete(p.demands, k)
			continue
		}
		wanted[d.line] = max(wanted[d.line], d.until)
		if p.lines[d.line] == nil {
			p.lines[d.line] = &xoff{}
		}
	}
	said := map[uint32]*notify.PFC{}
	for l, x := range p.lines {
		until := wanted[l]
		quanta, say := x.next(now, until, mbps(l.port))
		if until == 0 {
			delete(p.lines, l)
		}
		if !say {
			continue
		}
		m := said[l.port]
		if m == nil {
			m = new(notify.PFC)
			said[l.port] = m
		}
		m.Enable |= 1 << l.priority
		m.Quanta[l.priority] = quanta
	}
	for _, port := range slices.Sorted(maps.Keys(said)) {
		frames = append(frames, Frame{port, *said[port]})
	}
	return frames
}

// Next returns when Frames is to be called even if no demand comes; there is no need to
// while nothing is paused.
func (p *Pauses) Next() (at int64, ok bool) {
	at = math.MaxInt64
	for _, d := range p.demands {
		at = min(at, d.until)
	}
	for _, x := range p.lines {
		if x.until != 0 {
			at = min(at, x.again)
		}
	}
	return at, at != math.MaxInt64
}

// next returns the quanta to be sent so that the line is paused until the time given,
// 0 for not at all, and whether anything is to be sent. What PFC cannot say at once is
// repeated when half of what it said is over, so that a frame may come late.
func (x *xoff) next(now, until int64, mbps uint32) (quanta uint16, say bool) {
	if until == 0 {
		return 0, x.until != 0
	}
	if until == x.until && now < x.again {
		return 0, false
	}
	us := (until - now + int64(time.Microsecond) - 1) / int64(time.Microsecond)
	quanta = notify.Quanta(uint32(us), mbps)
	if quanta == 0 {
		return 0, false
	}
	lasts := int64(notify.QuantaDuration(quanta, mbps))
	x.until, x.again = until, math.MaxInt64
	if quanta == notify.MaxQuanta && now+lasts < until {
		x.again = now + lasts/2
	}
	return quanta, true
}
