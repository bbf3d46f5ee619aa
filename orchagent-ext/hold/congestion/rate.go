// SPDX-License-Identifier: Apache-2.0

package congestion

import (
	"net/netip"
	"slices"
	"time"
)

// Target has the aim and the bounds of advised rates (SLUICE_RATE_ADVICE).
type Target struct {
	Bytes uint64        // octets that all flows of the queue together may keep there; other than 0
	Delay time.Duration // that packets may wait there; other than 0
	Min   uint32        // Mbit/s; no rate below it is advised
	Port  uint32        // Mbit/s, the speed of the egress port; 0: unknown
	Limit uint32        // Mbit/s, the rate that policies allow the flow; 0: none is for it
}

// reached reports whether a rate in Mbit/s is as high as the port or a policy allows.
func (t *Target) reached(rate uint32) bool {
	return t.Port != 0 && rate >= t.Port || t.Limit != 0 && rate >= t.Limit
}

// Measured has the measurements of a flow in its queue over one interval.
type Measured struct {
	Rate    uint32        // Mbit/s at which the flow left the queue
	Came    uint32        // Mbit/s at which it arrived
	Depth   uint64        // octets of the flow in the queue
	Flows   int           // flows that have octets in the queue, this one included; 0 counts as 1
	Delay   time.Duration // that packets waited
	Lost    bool          // whether the queue dropped packets of the flow
	Last    uint32        // Mbit/s of the last advice to its sender, while that holds, or 0
	Advised uint32        // Mbit/s of the last advice to all flows of the queue together, while that holds
	Fair    uint32        // Mbit/s, at which each of the flows would leave if all got the same; 0: unknown
	Most    uint32        // Mbit/s, at which the largest of them arrives, averaged
}

// climb is the largest rise from one advice to the next, as a factor, for a flow above
// its share, and for one that hardly waits.
const climb = 1.25

// spare is the part of its share below which a flow hardly waits.
const spare = 0.125

// uneven is how much more than the fair share the largest flow has where flows are unequal:
// more than the packets that an interval begins or ends in.
const uneven = 1.25

// unequal reports whether a flow clearly has more than the fair share. That one keeps the
// queue long, so the others are advised no less than the fair share: a sender that follows
// advice beside one that does not would fall to the least rate. Where flows are equal each
// one's rate falls until the queue is short.
func (m *Measured) unequal() bool { return m.Fair != 0 && float64(m.Most) > uneven*float64(m.Fair) }

// idle reports whether the flow neither has octets in the queue nor left any.
func (m *Measured) idle() bool { return m.Rate == 0 && m.Depth == 0 }

// Rate returns the rate to advise, in Mbit/s; 0, no advice, for an idle flow only.
//
// Decision: draft-zz section 5.2 names queue depth, queuing delay and loss as inputs,
// without a formula. The flows that are backlogged share the target. With r the larger of
// the flow's depth ÷ its share and delay ÷ target: the rate at which the flow left the
// queue × 1 ÷ r, between a half and the whole of it; half of that when there was loss;
// and where the flow is below its share and lost nothing, 1 % of the port's speed more.
//
// The last advice bounds that. Below its share the advice stays or rises: a sender that
// paused for a moment would climb for as long as the difference takes in steps of 1 %,
// and leave the port idle. It rises by 1 % of the port's speed at most, above its share
// by a quarter: a flow that got the port of others while those paused would keep it.
//
// After a pause of the port all flows have the least rate, and steps of 1 % leave it idle for
// seconds: the rate that leaves follows a round trip later. A flow that hardly waits, and uses more
// than half of its last advice, rises by a quarter of that, too, so it at most doubles in a round trip;
// and as long as the advice to all flows of the queue is less than the port's speed: where others
// pause, theirs has not changed.
//
// The rate at which a flow leaves is its part of the port; the rate at which it arrives
// is its demand, and following that leaves the port idle after each correction.
//
//conformance:draft-zz/queue
func (t *Target) Rate(m Measured) uint32 {
	if m.idle() {
		return 0
	}
	share := float64(t.Bytes) / float64(max(m.Flows, 1))
	r := max(float64(m.Depth)/share, float64(m.Delay)/float64(t.Delay))
	rate, last := float64(m.Rate), float64(m.Last)
	step := max(float64(t.Port)/100, 1) // less would be lost in whole Mbit/s
	switch {
	case r < 1 && !m.Lost && t.Port != 0:
		if r < spare && m.Advised < t.Port && rate > last/2 {
			rate, step = max(rate, last), max(step, (climb-1)*last)
		}
		if rate += step; m.Last != 0 {
			rate = min(max(rate, last), last+step)
		}
	case r > 1:
		rate *= max(1/r, 0.5)
		fallthrough
	default:
		if m.Last != 0 {
			rate = min(rate, last*climb+step)
		}
	}
	if m.Lost {
		rate /= 2
	}
	if fair := float64(m.Fair); m.unequal() && (rate < fair || r > 1) {
		rate = fair // those above it, too, or the queue would grow
	}
	return t.clamp(rate)
}

// clamp keeps a rate within the limits. A port or a policy that is slower than the least rate that
// may be advised has the last word.
func (t *Target) clamp(rate float64) uint32 {
	rate = max(rate, float64(t.Min), 1)
	for _, most := range [...]uint32{t.Port, t.Limit} {
		if most != 0 {
			rate = min(rate, float64(most))
		}
	}
	return uint32(min(rate, 1<<32-1))
}

// Policy is a rate that the operator set for flows (SLUICE_RATE_POLICY): of each flow, or of all of a port
// together.
type Policy struct {
	Src, Dst netip.Prefix // the zero value: any
	DSCP     int          // -1: any
	Rate     uint32       // Mbit/s of each flow; 0: Percent alone counts
	Percent  uint8        // of the speed of the port that flows leave by, for all of them; 0: Rate alone counts
}

// limit returns the rate of each of so many flows of the policy that leave by a port, in Mbit/s; 0: none, since
// the speed of the port is unknown (0).
func (p *Policy) limit(port uint32, flows int) uint32 {
	if p.Percent == 0 || port == 0 {
		return p.Rate
	}
	share := max(uint32(uint64(port)*uint64(p.Percent)/100/uint64(max(flows, 1))), 1)
	if p.Rate == 0 {
		return share
	}
	return min(p.Rate, share)
}

// Matches reports whether the policy is for packets of this kind, or with [AnyDSCP] for some of them.
//
//conformance:draft-zz/policy
func (p *Policy) Matches(src, dst netip.Addr, dscp uint8) bool {
	in := func(prefix netip.Prefix, a netip.Addr) bool { return !prefix.IsValid() || prefix.Contains(a) }
	return in(p.Src, src) && in(p.Dst, dst) && (p.DSCP < 0 || p.DSCP == int(dscp) || dscp == AnyDSCP)
}

// AnyDSCP is the DSCP of a flow of which no packet was seen: policies of every class may be for it.
const AnyDSCP = 0xff

// Lowest returns the lowest rate of the policies that match, in Mbit/s, or 0. Addresses
// are IPv4 or IPv6; IPv4 mapped into IPv6 must be unmapped before. port is the speed of the port that the flow
// leaves by, in Mbit/s, 0: unknown; flows returns how many flows share what a policy has there.
//
//conformance:draft-zz/policy
func Lowest(policies []Policy, src, dst netip.Addr, dscp uint8, port uint32, flows func(policy int) int) uint32 {
	lowest := uint32(0)
	for i := range policies {
		p := &policies[i]
		if !p.Matches(src, dst, dscp) {
			continue
		}
		n := 1
		if p.Percent != 0 {
			n = flows(i)
		}
		if limit := p.limit(port, n); limit != 0 && (lowest == 0 || limit < lowest) {
			lowest = limit
		}
	}
	return lowest
}

// Match reports whether a policy is for packets of this kind, as [Policy.Matches] has it.
func Match(policies []Policy, src, dst netip.Addr, dscp uint8) bool {
	return slices.ContainsFunc(policies, func(p Policy) bool { return p.Matches(src, dst, dscp) })
}
