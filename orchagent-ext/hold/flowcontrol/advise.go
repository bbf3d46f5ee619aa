// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"net/netip"
	"time"

	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// Advice is how the senders of congested flows are told a rate (draft-zz).
type Advice struct {
	Hosts    []netip.Prefix // who may receive it
	Mask     uint8          // in BTH octet 4: a sender that sets such a bit may, too; 0: none may by that
	Copy     bool           // it names the queue pair of the data packet, as the draft's text says
	Receiver bool           // its IP source is the flow's receiver; otherwise our router id
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

// advised is a flow whose sender is told a rate.
type advised struct {
	congestion.Advice
	at      int64 // when the flow is measured next; 0: its sender is told nothing
	last    int64 // when it was measured last
	octets  uint64
	depth   uint64
	match   sai.HoldMatch
	counted int64 // as long the switch counts the flow
	refused bool  // counted as one whose sender may not be told
	unknown bool  // counted as one whose queue pair is not known
}

// counting is for how long the switch is asked to count a flow.
const counting = time.Second

// nearLimit is how much of a policy's rate a flow must have to be told of it, in percent.
const nearLimit = 90

// beginAdvice begins to measure a flow, where its sender may be told.
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
	f.advised.octets, f.advised.depth, f.advised.last = 0, f.Octets(), now
	f.advised.at = now + int64(a.Pace.Interval)
	c.countFlow(now, f)
	if state, err := c.sw.GetHold(f.q.Port, f.advised.match); err == nil {
		f.advised.octets = state.Octets
	}
}

// countFlow has the switch count the flow's octets for some time more.
func (c *core) countFlow(now int64, f *congested) {
	if now+int64(counting)/2 < f.advised.counted {
		return
	}
	if err := c.sw.SetHold(f.q.Port, f.advised.match, counting, sai.RateCount); err != nil {
		c.counters.HoldFailed++
		c.lastErr = err
		return
	}
	f.advised.counted = now + int64(counting)
}

// measure returns what was seen of a flow since it was measured last, that has so many
// octets in its queue now.
//
// What left the queue is what came less what the queue has more.
//
//conformance:draft-zz/queue
func (c *core) measure(now int64, f *congested, octets uint64) (m congestion.Measured, ok bool) {
	a := &f.advised
	state, err := c.sw.GetHold(f.q.Port, a.match)
	if err != nil || now <= a.last {
		return m, false
	}
	came := state.Octets - min(a.octets, state.Octets)
	left := came + a.depth - min(octets, came+a.depth)
	m.Rate = uint32(left * 8 * 1000 / uint64(now-a.last))
	m.Depth = octets
	a.octets, a.depth, a.last = state.Octets, octets, now
	flows, waiting := c.backlog(now, f)
	m.Flows = flows
	if p := c.settings.members[f.q.Port]; p != nil && p.Speed != 0 {
		m.Delay = time.Duration(waiting * 8 * 1000 / uint64(p.Speed))
	}
	return m, true
}

// backlogged is what waits in a queue of flows that are watched.
type backlogged struct {
	at     int64
	flows  int
	octets uint64
}

// backlog returns how many of the watched flows wait in the queue of a flow, and their
// octets, not older than half an interval.
func (c *core) backlog(now int64, f *congested) (flows int, octets uint64) {
	b := c.backlogs[f.queue]
	if b.at != 0 && now-b.at < int64(c.settings.Advice.Pace.Interval)/2 {
		return max(b.flows, 1), b.octets
	}
	b = backlogged{at: now}
	for _, other := range c.congested {
		if other.queue == f.queue && other.Octets() > 0 {
			b.flows++
			b.octets += other.Octets()
		}
	}
	c.backlogs[f.queue] = b
	return max(b.flows, 1), b.octets
}

// advise measures a flow that has so many octets in its queue, and tells its sender the
// rate that fits: the lower one of its congestion's and its policy's.
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
	target := s.Target
	if p := c.settings.members[f.q.Port]; p != nil {
		target.Port = p.Speed
	}
	rate := a.Congestion(now, f.Congested(), m, &target, &s.Pace)
	if limit := congestion.Lowest(s.Policies, f.session.src, f.session.dst, f.dscp); limit != 0 && uint64(m.Rate)*100 >= uint64(limit)*nearLimit {
		if rate == 0 || limit < rate {
			rate = limit
		}
	}
	c.decided(now, &f.session)
	if rate == 0 {
		if !f.Congested() {
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
		c.sendAdvice(&f.session, qp, rate, s.Receiver)
	}
}

// sendAdvice tells the sender of a session a rate in Mbit/s.
//
//conformance:draft-zz/dest-qp draft-zz/src-qp
func (c *core) sendAdvice(s *session, qp, rate uint32, asReceiver bool) {
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
	packet, err := c.advice.AppendPacket(c.packet[:0], &c.envelope, c.settings.Codes)
	c.route(packet, err, &c.counters.AdviceSent, &c.counters.AdviceFailed)
}

// endAdvice ends the measuring of a flow; what its sender was told runs out.
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
