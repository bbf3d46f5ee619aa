// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"math"
	"time"

	"sluice/orchagent-ext/hold/congestion"
	sai "sluice/sai-shim"
)

// A flow for which there is a rate policy (draft-zz section 5.1) is advised of it while
// it is near its limit, congested or free. It is known by the packet path, which reports
// flows, with their source queue pair where that is known; its octets are counted by the switch, whichever
// port it leaves by.

// limited is such a flow.
type limited struct {
	congestion.Advice
	Learned
	limit uint32 // Mbit/s
	// The switch counts octets from the begin of its counting hold; last and active are
	// ns of CLOCK_MONOTONIC.
	octets uint64 // counted at last
	last   int64
	active int64 // when it had a packet
	told   int64 // until when the congestion of its queue decides
}

const (
	// flows: a switch counts them in the place of holds, of which it may have 256
	maxLimited  = 64
	limitedIdle = time.Minute // after which a flow is forgotten
)

// limit takes a flow that was seen, where a policy is for it.
//
//conformance:draft-zz/policy
func (c *core) limit(now int64, l *Learned) {
	a := c.settings.Advice
	if a == nil || len(a.Policies) == 0 || l.SrcPort == 0 {
		return
	}
	if l.SrcQP == 0 && !a.Copy {
		return // its sender is told once its queue pair is known
	}
	rate := congestion.Lowest(a.Policies, l.Src, l.Dst, l.DSCP)
	known := c.limited.get(l.Pair)
	switch {
	case rate == 0 || !a.may(&session{src: l.Src, bits: l.Bits}):
		c.limited.remove(l.Pair)
	case known != nil:
		known.Learned, known.limit = *l, rate
	case c.limited.len() == maxLimited:
		c.counters.LimitedFull++
	default:
		*c.limited.add(l.Pair) = limited{Learned: *l, limit: rate, last: now, active: now}
		c.limits = min(c.limits, now)
	}
}

// match returns the match by which the switch counts the flow.
func (l *limited) match() sai.HoldMatch {
	return sai.HoldMatch{Kind: sai.HoldSession, Value: l.DestQP, Src: l.Src, Dst: l.Dst}
}

// stepLimits measures the flows with a policy and advises their senders.
func (c *core) stepLimits(now int64) {
	a := c.settings.Advice
	if a == nil || c.limited.len() == 0 {
		c.limited.clear()
		c.limits = math.MaxInt64
		return
	}
	c.limits = now + int64(a.Pace.Interval)
	for i := c.limited.len() - 1; i >= 0; i-- {
		l := c.limited.all[i]
		at := target{sai.Null, l.match()}
		if c.held.get(at) != nil { // a hold of the same packets: counting would end it
			continue
		}
		state, err := c.sw.GetHold(sai.Null, at.match)
		if state.Remaining < counting/2 {
			if c.sw.SetHold(sai.Null, at.match, counting, sai.RateCount) != nil {
				c.counters.HoldFailed++
			}
		}
		octets := state.Octets
		if err != nil {
			octets = 0
		}
		came := octets - min(l.octets, octets)
		span := now - l.last
		l.octets, l.last = octets, now
		switch {
		case came > 0:
			l.active = now
		case now-l.active > int64(limitedIdle):
			c.limited.remove(l.Pair)
		}
		// An interval of another length, such as the first, would give another rate.
		if span <= 0 || err != nil || now < l.told || came*8*1000/uint64(span)*100 < uint64(l.limit)*nearLimit {
			continue
		}
		if l.Tell(now, l.limit, &a.Pace) {
			s := session{rdma: true, src: l.Src, dst: l.Dst, srcPort: l.SrcPort, srcQP: l.SrcQP, dstQP: l.DestQP, pkey: l.PKey}
			qp := l.SrcQP
			if a.Copy {
				qp = l.DestQP
			}
			c.sendAdvice(now, &s, qp, l.limit, a.Receiver)
		}
	}
}

// decided records that the congestion of its queue decides the advice for a flow.
func (c *core) decided(now int64, s *session) {
	if l := c.limited.get(Pair{Src: s.src, Dst: s.dst, DestQP: s.dstQP}); l != nil {
		l.told = now + 2*int64(c.settings.Advice.Pace.Interval)
	}
}
