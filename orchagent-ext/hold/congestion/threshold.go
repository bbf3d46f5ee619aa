// SPDX-License-Identifier: Apache-2.0

package congestion

import (
	"math"
	"time"

	"sluice/orchagent-ext/wire/notify"
)

// Threshold has the marks at which a flow in an egress queue is congested, and the
// request to the nodes upstream (SLUICE_THRESHOLD).
type Threshold struct {
	High     uint64        // octets; a flow that keeps more in the queue is congested
	Low      uint64        // octets, below High; a congested flow that keeps less is not any more
	Average  time.Duration // time constant over which the depth is averaged, or 0
	Action   notify.Action // demand of a PFCM
	Duration time.Duration // for how long; whole microseconds, at most 65,535
}

// alarm is the depth from which a PPFC alarm is sent: 80 % of the high-water mark, and at
// least the low one, where a flow that has drained would raise it.
func (t *Threshold) alarm() float64 { return max(t.low(), 0.8*float64(t.High)) }

// low is the depth below which congestion ends. Where the mark is 0 that is an empty
// queue.
func (t *Threshold) low() float64 { return max(float64(t.Low), 1) }

// refresh is when a message is repeated while the flow stays congested: at half the
// time that it asks for.
func (t *Threshold) refresh() int64 { return int64(t.Duration / 2) }

// micros is the duration as the messages have it.
func (t *Threshold) micros() uint16 {
	return uint16(min(t.Duration.Microseconds(), math.MaxUint16))
}

// PFCM returns the action and time (µs) of a PFCM for a signal. ok is false for [Nothing]
// and [Alarm].
//
// Decision: PFCM lacks a "hold", and draft-yang section 2 has its action maintained while
// congestion lasts: below the high-water mark and above the low one the action is
// refreshed.
//
//conformance:draft-yang/signal
func (t *Threshold) PFCM(s Signal) (action notify.Action, us uint16, ok bool) {
	switch s {
	case Stop, Hold:
		return t.Action, t.micros(), true
	case Resume:
		return notify.Cancel, 0, true
	default:
		return 0, 0, false
	}
}

// PPFC returns the action type and pause duration (µs) of a PPFC for a signal. ok is
// false for [Nothing].
//
//conformance:draft-xz/trigger
func (t *Threshold) PPFC(s Signal) (pt notify.PT, us uint16, ok bool) {
	switch s {
	case Alarm:
		return notify.Alarm, 0, true
	case Stop:
		return notify.Stop, t.micros(), true
	case Hold:
		return notify.Hold, t.micros(), true
	case Resume:
		return notify.Resume, 0, true
	default:
		return 0, 0, false
	}
}
