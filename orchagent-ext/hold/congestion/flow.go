// SPDX-License-Identifier: Apache-2.0

package congestion

import (
	"math"
	"time"
)

// Signal is a change of a flow's congestion that other nodes are to know.
type Signal uint8

// The signals.
const (
	Nothing Signal = iota
	// the depth is at the larger of 80 % of the high-water mark and the low one: a warning
	Alarm
	Stop   // it is above the high-water mark
	Hold   // it is between the marks after Stop, and the last message ends soon
	Resume // it is below the low-water mark after Stop
)

// String returns the name of the signal for logs and tests.
func (s Signal) String() string {
	return [...]string{"nothing", "alarm", "stop", "hold", "resume"}[s]
}

// Flow is the state of one flow in one egress queue. The zero value is a flow before its
// first octet there.
type Flow struct {
	octets    float64 // in the queue since the last observation
	depth     float64 // octets, averaged, at the last observation
	at        int64   // time of the last observation
	refresh   int64   // when the message is repeated; only while congested
	congested bool
	alarmed   bool // since the depth was below the low-water mark
}

// Congested reports whether the flow passed the high-water mark and stayed above the low
// one since.
func (f *Flow) Congested() bool { return f.congested }

// Alarmed reports whether the flow was near the high-water mark and above the low one since.
func (f *Flow) Alarmed() bool { return f.alarmed }

// Octets returns the octets that the flow keeps in the queue since the last
// observation.
func (f *Flow) Octets() uint64 { return uint64(f.octets) }

// Seen is a switch's report of a flow in a queue.
type Seen struct {
	Octets uint64 // that the flow keeps there
	// the queue has less room left than the flow has octets: it counts as above the high-water mark
	Filling bool
	Share   uint64 // octets from which the flow is one that fills the queue; see [Share]
}

// Share returns the octets from which a flow is one that fills a queue: three quarters of
// the mean of the flows that do, which are n others with these octets together, and the
// flow itself. Each flow waits as long as the queue is, so behind elephants a mouse keeps
// many octets there. To hold the mouse would free little. A quarter less than the mean is
// for equal flows, of which each has another number of packets in the queue.
func Share(octets, others uint64, n int) uint64 {
	if n == 0 {
		return 0
	}
	return (octets + others) / uint64(n+1) / 4 * 3
}

// Observe takes what is seen of the flow from time now (ns) on and returns the signal for
// other nodes. Call it whenever the octets change by much, and at the time that
// [Flow.Due] names.
//
// Stop goes out when the flow passes the high-water mark with a share of the queue that
// matters, Resume when it comes below the low one. In between there is a message each
// half of the time that it asks for, Stop or Hold as the depth is then: a flow that
// swings about the high-water mark sends a message at that pace only.
//
//conformance:draft-yang/components draft-yang/detect
func (f *Flow) Observe(now int64, s Seen, t *Threshold) Signal {
	f.depth = f.average(now, float64(s.Octets), t.Average)
	f.octets, f.at = float64(s.Octets), now
	above := f.depth > float64(t.High) || s.Filling
	switch {
	case f.congested && f.depth < t.low() && !s.Filling:
		f.congested, f.alarmed = false, false
		return Resume
	case f.congested && now < f.refresh:
		return Nothing
	case above && (f.congested || s.Octets >= s.Share):
		f.congested, f.refresh = true, now+t.refresh()
		return Stop
	case f.congested:
		f.refresh = now + t.refresh()
		return Hold
	case f.depth < t.low():
		f.alarmed = false
	case f.depth >= t.alarm() && !f.alarmed && s.Octets >= s.Share:
		f.alarmed = true
		return Alarm
	}
	return Nothing
}

// Retry makes a message due at the next [Flow.Observe] of a congested flow: the last one
// failed, and sending is possible again.
func (f *Flow) Retry() { f.refresh = f.at }

// Due returns when Observe is to be called even if the octets stay: a message is to be
// repeated then, or the average will have passed a mark.
func (f *Flow) Due(t *Threshold) (at int64, ok bool) {
	if f.congested {
		at = min(f.refresh, f.passes(t.low(), t.Average))
	} else {
		at = f.passes(float64(t.High), t.Average)
		if !f.alarmed {
			at = min(at, f.passes(t.alarm(), t.Average))
		}
	}
	return at, at != math.MaxInt64
}

// End returns the last signal of a flow, when the flow, the threshold or the feature
// ends, and resets the state.
func (f *Flow) End() Signal {
	s := Nothing
	if f.congested {
		s = Resume
	}
	*f = Flow{}
	return s
}

// average is a first-order low pass: from the last observation on the depth went
// towards the octets that were in the queue.
func (f *Flow) average(now int64, octets float64, tau time.Duration) float64 {
	if tau <= 0 {
		return octets
	}
	return f.octets + (f.depth-f.octets)*math.Exp(-float64(max(now-f.at, 0))/float64(tau))
}

// passes returns when the average passes the mark on its way to the octets that are in
// the queue; the latest time there is if it stays on its side.
func (f *Flow) passes(mark float64, tau time.Duration) int64 {
	before, after := f.depth-mark, f.octets-mark
	if tau <= 0 || before == 0 || after == 0 || before > 0 == (after > 0) {
		return math.MaxInt64
	}
	return f.at + 1 + int64(math.Ceil(float64(tau)*math.Log((f.octets-f.depth)/after)))
}
