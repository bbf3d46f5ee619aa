// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"math"
	"net/netip"
	"time"

	"sluice/orchagent-ext/flows/rtt"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// Advice has the settings of Rate Advice to the senders of congested flows (draft-zz).
type Advice struct {
	Hosts []netip.Prefix // who may receive it
	// in BTH octet 4: a sender that sets such a bit may, too; 0: none may by that
	Mask     uint8
	Copy     bool // it names the queue pair of the data packet, as the draft's text says
	Receiver bool // its IP source is the flow's receiver; otherwise our router id
	Hold     bool // a flow whose sender exceeds its advice is paced here, too
	Policies []congestion.Policy
	Target   congestion.Target // Port is filled in
	Pace     congestion.Pace
}

// may reports whether a sender may receive advice.
//
//conformance:draft-zz/capable
func (a *Advice) may(s *session) bool {
	if s.bits&a.Mask != 0 {
		return true
	}
	for _, p := range a.Hosts {
		if p.Contains(s.src) {
			return true
		}
	}
	return false
}

// advised is a flow whose sender gets advice.
type advised struct {
	congestion.Advice
	at   int64 // when the flow is measured next; 0: its sender is told nothing
	last int64 // when it was measured last
	// At the last measurement: what the switch had counted of the flow, and octets of it in
	// the queue.
	before  sai.HoldState
	depth   uint64
	rate    float64 // Mbit/s at which the flow left, averaged over some intervals
	came    float64 // and at which it arrived, without what was dropped
	effect  rtt.Reaction
	match   sai.HoldMatch
	counted int64  // as long the switch counts the flow
	pace    uint64 // bit/s at which the switch sends it on meanwhile, or [sai.RateCount]
	refused bool   // counted as one whose sender may not be told
	unknown bool   // counted as one whose queue pair is not known
}

// counting is for how long the switch is asked to count a flow.
const counting = time.Second

// nearLimit is the share of a policy's rate from which on a flow's sender is advised of
// it, in percent.
const nearLimit = 90

// beginAdvice begins to measure a flow, where its sender may be advised.
func (c *core) beginAdvice(now int64, f *congested) {
	a := c.settings.Advice
	switch {
	case f.advised.at != 0 || !f.session.rdma:
		return
	case !a.may(&f.session):
		count(&f.advised.refused, &c.counters.AdviceNotAllowed)
		return
	}
	f.advised.match = sai.HoldMatch{Kind: sai.HoldSession, Value: f.session.dstQP, Src: f.session.src, Dst: f.session.dst}
	f.advised.before, f.advised.depth, f.advised.last = sai.HoldState{}, f.Octets(), now
	f.advised.at = now + int64(a.Pace.Interval)
	c.countFlow(now, f)
	if state, err := c.sw.GetHold(f.q.Port, f.advised.match); err == nil {
		f.advised.before = state
	}
}

// countFlow has the switch count the flow's octets for some time more, and pace the flow by
// the advice that its sender exceeds, where that is configured.
func (c *core) countFlow(now int64, f *congested) {
	a, pace := &f.advised, uint64(sai.RateCount)
	if s := c.settings.Advice; s.Hold && !a.Follows() {
		if told := a.Rate(now, &s.Pace); told != 0 {
			pace = uint64(told) * 1e6
		}
	}
	if now+int64(counting)/2 < a.counted && pace == a.pace {
		return
	}
	err := c.sw.SetHold(f.q.Port, a.match, counting, pace)
	if c.holdIs(now, err); err != nil {
		return
	}
	a.counted, a.pace = now+int64(counting), pace
}

// measure returns the measurements of a flow since the last call; octets is its present
// depth in the queue.
//
// Octets that left are those that came, less the growth of the queue and what was dropped: here by
// the hold that paces the flow, or by the queue where the switch counts that.
//
//conformance:draft-zz/queue
func (c *core) measure(now int64, f *congested, octets uint64) (m congestion.Measured, ok bool) {
	a := &f.advised
	state, err := c.sw.GetHold(f.q.Port, a.match)
	if err != nil || now <= a.last {
		return m, false
	}
	since := func(now, before uint64) uint64 { return now - min(before, now) }
	came, lost := since(state.Octets, a.before.Octets), since(state.DroppedPackets, a.before.DroppedPackets)
	left := came + a.depth - min(octets, came+a.depth)
	dropped := uint64(0) // octets
	if packets := since(state.Packets, a.before.Packets); packets > 0 {
		dropped = min(left, came*lost/packets)
	}
	left -= dropped
	const mbps = 8 * 1000 // octets a ns
	rate := func(octets uint64) float64 { return float64(octets*mbps) / float64(now-a.last) }
	m.Rate, m.Came = uint32(rate(left)), uint32(rate(came))
	m.Depth, m.Lost = octets, lost > 0
	a.rate += (rate(left) - a.rate) / smooth
	a.came += (rate(came-min(dropped, came)) - a.came) / smooth
	a.before, a.depth, a.last = state, octets, now
	b := c.backlog(now, f)
	m.Flows, m.Advised = max(b.flows, 1), uint32(min(b.told, math.MaxUint32))
	m.Fair, m.Most = b.shares()
	if p := c.settings.members[f.q.Port]; p != nil && p.Speed != 0 {
		m.Fair = min(m.Fair, p.Speed/uint32(m.Flows))
		m.Delay = time.Duration(b.octets * mbps / uint64(p.Speed))
	}
	return m, true
}

// smooth is over how many intervals the rate of a flow is averaged: in one interval it is
// off by the packets at both ends.
const smooth = 4

// backlogged is the backlog of the watched flows of a queue, summed up at time at (ns):
// flows with octets there, and octets of all of them.
type backlogged struct {
	at     int64
	flows  int
	octets uint64

	measured   uint64  // octets of the flows that the switch counts
	rate, most float64 // Mbit/s: at which those leave, and at which the largest arrives
	other      uint64  // octets of the largest of the rest
	told       uint64  // Mbit/s, of the advice in force to all of them
}

// shares returns the rate at which each flow would leave if all got the same, and that of
// the flow that has most, in Mbit/s; 0, 0: both are unknown. Flows that the switch leaves out of its
// counts leave by their share of the queue.
func (b *backlogged) shares() (fair, most uint32) {
	if b.measured == 0 || b.flows == 0 {
		return 0, 0
	}
	octet := b.rate / float64(b.measured)
	return uint32(math.Round(octet * float64(b.octets) / float64(b.flows))), uint32(max(b.most, octet*float64(b.other)))
}

// queued are the octets of a flow that wait in its queue, without those in the hold that paces it: no
// other flow waits for these.
func (f *congested) queued() uint64 {
	octets := f.Octets()
	if f.advised.at == 0 {
		return octets
	}
	return octets - min(f.advised.before.WaitingOctets, octets)
}

// backlog returns how the watched flows wait in the queue of a flow, not older than half
// an interval.
func (c *core) backlog(now int64, f *congested) backlogged {
	b := c.backlogs[f.queue]
	if b.at != 0 && now-b.at < int64(c.settings.Advice.Pace.Interval)/2 {
		return b
	}
	b = backlogged{at: now}
	for _, other := range c.congested.all {
		if other.queue != f.queue {
			continue
		}
		b.told += uint64(other.advised.Rate(now, &c.settings.Advice.Pace))
		octets := other.queued()
		if octets == 0 {
			continue
		}
		b.flows++
		b.octets += octets
		if a := &other.advised; a.at != 0 {
			b.measured += octets
			b.rate += a.rate
			b.most = max(b.most, a.came)
		} else {
			b.other = max(b.other, octets)
		}
	}
	c.backlogs[f.queue] = b
	return b
}

// advise measures a flow whose depth in the queue is octets, and advises its sender of
// the rate that fits: the lower one of its congestion's and its policy's.
//
//conformance:draft-zz/policy draft-zz/queue
func (c *core) advise(now int64, f *congested, octets uint64) {
	s, a := c.settings.Advice, &f.advised
	a.at = now + int64(s.Pace.Interval)
	c.countFlow(now, f)
	m, ok := c.measure(now, f, octets)
	if !ok {
		return
	}
	if took, ok := a.effect.Came(now, int64(s.Pace.Interval), m.Came); ok {
		c.hosts.Add(f.session.src, took, rtt.Advice, now)
	}
	target := s.Target
	if p := c.settings.members[f.q.Port]; p != nil {
		target.Port = p.Speed
	}
	rate := a.Congestion(now, f.Congested(), m, &target, &s.Pace)
	if followed := a.Follows(); !a.Follow(now, m.Came, &s.Pace) && followed {
		c.counters.AdviceNotFollowing++
	}
	if limit := congestion.Lowest(s.Policies, f.session.src, f.session.dst, f.dscp); limit != 0 && uint64(m.Rate)*100 >= uint64(limit)*nearLimit {
		if rate == 0 || limit < rate {
			rate = limit
		}
	}
	c.decided(now, &f.session)
	if rate == 0 {
		if !f.Congested() && !f.Alarmed() {
			c.endAdvice(f)
		}
		return
	}
	qp := f.session.dstQP
	if !s.Copy {
		if qp = c.sender(&f.session); qp == 0 {
			count(&a.unknown, &c.counters.AdviceQPUnknown)
			return
		}
	}
	if a.Tell(now, rate, &s.Pace) {
		a.effect.Advised(now, m.Came, rate)
		c.sendAdvice(now, &f.session, qp, rate, s.Receiver)
	}
}

// sendAdvice sends a rate in Mbit/s to the sender of a session.
//
//conformance:draft-zz/dest-qp draft-zz/src-qp
func (c *core) sendAdvice(now int64, s *session, qp, rate uint32, asReceiver bool) {
	c.advice = notify.RateAdvice{PKey: s.pkey, DestQP: qp, Rate: rate, Version: notify.RateAdviceVersion, DestinationQP: qp, SourceQP: s.dstQP}
	c.envelope = notify.DefaultEnvelope(notify.KindRateAdvice)
	c.envelope.Src, c.envelope.Dst, c.envelope.SrcPort = c.settings.router(s.src), s.src, s.srcPort
	if asReceiver {
		c.envelope.Src = s.dst
	}
	if !c.envelope.Src.IsValid() {
		c.counters.AdviceNoRouterID++
		return
	}
	if !c.sendClient.take(now) {
		c.counters.AdvicePoliced++
		return
	}
	packet, err := c.advice.AppendPacket(c.packet[:0], &c.envelope, c.settings.Codes)
	c.route(packet, err, &c.counters.AdviceSent, &c.counters.AdviceFailed)
}

// endAdvice ends the measuring of a flow; the last advice runs out.
func (c *core) endAdvice(f *congested) {
	if f.advised.at == 0 {
		return
	}
	f.advised.at = 0
	if f.advised.counted != 0 {
		f.advised.counted = 0
		_ = c.sw.SetHold(f.q.Port, f.advised.match, 0, 0) // it ends by itself, too
	}
}
