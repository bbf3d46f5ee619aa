// SPDX-License-Identifier: Apache-2.0

package congestion

import "time"

// Pace is the interval and the lifetime of advice to a flow's sender
// (SLUICE_RATE_ADVICE).
type Pace struct {
	Interval time.Duration // no two messages for a flow are closer
	Lifetime int           // for how many intervals a rate holds; at least 1
	RTT      time.Duration // to the senders and back; 0: unknown
}

// effect returns for how long advice shows in the packets that come: its lifetime, and the time until the
// last ones come that were sent by it.
func (p *Pace) effect() int64 { return int64(p.Interval)*int64(p.Lifetime) + int64(p.RTT) }

// trips returns the intervals of a round trip, rounded up.
func (p *Pace) trips() int { return int((p.RTT + p.Interval - 1) / max(p.Interval, 1)) }

// refresh returns the time after which an unchanged rate is repeated, in ns: half its
// lifetime, in whole intervals and at least one.
func (p *Pace) refresh() int64 { return int64(p.Interval) * int64(max(p.Lifetime/2, 1)) }

// Advice is the last advice to a flow's sender. The zero value is a sender before its
// first.
type Advice struct {
	rate uint32
	at   int64
	in   bool // the flow passed the high-water mark, and an advice has been of use since
	idle int  // intervals since the flow had a packet

	ceiling float64 // Mbit/s that the sender should send at most by now
	excess  int     // intervals above it, less those below; 0 to exceedingAfter
	exceeds bool
}

// When a sender counts as one that does not follow its advice.
const (
	exceedingAfter = 20  // intervals above the ceiling, more than below it, and those of a round trip
	excessOf       = 1.5 // times the ceiling: senders pace in bursts
	// the ceiling falls to the advised rate by a tenth each interval: a round trip takes time
	slowing = 0.9
)

// Follow takes the rate in Mbit/s at which the flow arrived in an interval, and reports
// whether its sender follows its last advice. A sender without advice counts as one that follows.
// It is to be called each interval.
func (a *Advice) Follow(now int64, came uint32, p *Pace) bool {
	last := float64(a.Rate(now, p))
	switch {
	case last == 0:
		a.ceiling = 0
	case a.ceiling == 0:
		a.ceiling = max(last, float64(came))
	default:
		a.ceiling = max(last, a.ceiling*slowing)
	}
	if last != 0 && float64(came) > a.ceiling*excessOf {
		a.excess = min(a.excess+1, exceedingAfter+p.trips())
	} else {
		a.excess = max(a.excess-1, 0)
	}
	a.exceeds = a.excess >= exceedingAfter+p.trips() || a.exceeds && a.excess > 0
	return !a.exceeds
}

// Follows reports the last result of [Advice.Follow].
func (a *Advice) Follows() bool { return !a.exceeds }

// Congestion returns the rate that the flow's congestion asks to advise, in Mbit/s; 0:
// none. above says whether the flow was above its high-water mark in the interval. It is
// to be called each interval.
//
// Decision: no congestion, no advice. A flow is advised from when it passes the
// high-water mark until it has been idle for the lifetime of an advice, or until the rate
// has reached the speed of the port or the rate of its policies: a limit without effect. The last
// advice runs out then. (To stop as soon as the flow is below the mark would release the sender in the
// middle of the target; to stop when it is idle for one interval would release a sender
// that paused for a moment, and it would fill the queue again.)
func (a *Advice) Congestion(now int64, above bool, m Measured, t *Target, p *Pace) uint32 {
	m.Last = a.Rate(now, p)
	rate := t.Rate(m)
	if rate != 0 {
		a.idle = 0
	} else if a.idle++; a.idle < p.Lifetime+p.trips() {
		rate = m.Last
	}
	switch {
	case above && rate != 0:
		a.in = true
	case rate == 0, t.reached(rate):
		a.in = false
	}
	if !a.in {
		return 0
	}
	return rate
}

// Rate returns the advised rate that is in force at time now (ns), in Mbit/s, or 0.
func (a *Advice) Rate(now int64, p *Pace) uint32 {
	if a.rate == 0 || now-a.at >= p.effect() {
		return 0
	}
	return a.rate
}

// Send reports whether a message with the rate (Mbit/s) is to be sent at time now (ns),
// and then takes it as sent: at most one an interval, and only when the rate is another
// one or the last message is to be refreshed. With a rate of 0 it is silent, and the last
// advice runs out.
//
//conformance:draft-zz/near-source
func (a *Advice) Send(now int64, rate uint32, p *Pace) bool {
	if rate == 0 {
		return false
	}
	if a.rate != 0 {
		wait := int64(p.Interval)
		if rate == a.rate {
			wait = p.refresh()
		}
		if now-a.at < wait {
			return false
		}
	}
	a.rate, a.at = rate, now
	return true
}
