// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"math"
	"time"

	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// hold holds packets as [Switch.SetHold] does, by the switch or by the senders.
func (c *core) hold(now int64, t target, d time.Duration, rate uint64) error {
	if c.settings.Source == nil {
		return c.sw.SetHold(t.port, t.match, d, rate)
	}
	c.eachSeen(now, t, func(f *origin) { c.settle(now, f) })
	return nil
}

// holdState returns the state of a hold as [Switch.GetHold] does: how many flows are slowed, and the
// octets that they had at their rates before it.
func (c *core) holdState(now int64, h *held) (state sai.HoldState, err error) {
	if c.settings.Source == nil {
		return c.sw.GetHold(h.port, h.match)
	}
	c.eachSeen(now, h.target, func(f *origin) {
		state.Packets++
		state.Octets += f.rate / 8 * uint64(now-h.since) / uint64(time.Second)
	})
	return state, nil
}

// rateOf returns the rate in bit/s at which the flows of a target arrive; 0: it is not known.
func (c *core) rateOf(now int64, t target) (rate uint64) {
	if c.settings.Source != nil {
		c.eachSeen(now, t, func(f *origin) { rate += f.rate })
	}
	return rate
}

// asks returns the strictest hold that a flow is under, and the PFCM's alone.
func (c *core) asks(f *origin) (all, path enforce.Hold) {
	stricter := func(a, b enforce.Hold) enforce.Hold {
		switch {
		case b.Until == 0 || b.Measure && b.Rate == 0:
			return a
		case a.Until == 0 || b.Rate < a.Rate || b.Rate == a.Rate && b.Until > a.Until:
			return b
		}
		return a
	}
	m := f.matches()
	if out := f.Packet.Out; out != sai.Null && c.settings.members[out] != nil {
		for i := range m[:2] {
			path = stricter(path, c.table.Hold(target{out, m[i]}))
		}
	}
	all = path
	for i := range m {
		if m[i].Kind != sai.HoldStream {
			all = stricter(all, c.table.Hold(target{sai.Null, m[i]}))
		}
	}
	return all, path
}

// settle brings the messages about a flow to the holds of now.
func (c *core) settle(now int64, f *origin) {
	all, path := c.asks(f)
	p := c.settings.members[f.Packet.In]
	if p == nil || !p.Edge {
		c.passOn(now, f, p, path)
		all = enforce.Hold{}
	}
	switch {
	case all.Until <= now || !c.tells(f):
		if f.until != 0 {
			f.since, f.begun = 0, now // the rate from here on is another
		}
		f.until, f.due = 0, 0
		c.senders.due.remove(f)
		return
	case f.until == 0:
		f.cut()
		f.steer.Begin(now, f.rate, p.line(), all.Rate)
		f.since, f.begun, f.told = 0, now, 0
	case all.Rate != f.asked:
		f.steer.Ask(all.Rate)
	}
	f.until, f.asked = all.Until, all.Rate
	c.slow(now, f)
}

// tells reports whether the sender of a flow may be slowed, and counts the reason if not.
func (c *core) tells(f *origin) bool {
	switch {
	case !within(c.settings.Source.Hosts, f.Src):
		count(&f.counted, &c.counters.CNPNotAllowed)
	case c.senderOf(f) == 0:
		count(&f.counted, &c.counters.ClientQPUnknown)
	default:
		f.counted = false
		return true
	}
	return false
}

// senderOf returns the queue pair that a flow is sent from; 0: it was not learned.
func (c *core) senderOf(f *origin) uint32 {
	if f.SrcQP == 0 {
		f.SrcQP = c.pairs.find(f.Pair).qp
	}
	return f.SrcQP
}

// slow sends the messages that are due to the sender of a flow, until its hold ends.
func (c *core) slow(now int64, f *origin) {
	s := &session{rdma: true, src: f.Src, dst: f.Dst, srcPort: f.SrcPort, srcQP: f.SrcQP, dstQP: f.DestQP, pkey: f.PKey, bits: f.Bits}
	if a := c.settings.Advice; c.settings.Source.Advise && a != nil && a.may(s) {
		f.due = min(f.until, f.told+int64(a.Pace.Interval))
		if f.told == 0 || f.told+int64(a.Pace.Interval) <= now {
			qp := f.SrcQP
			if a.Copy {
				qp = f.DestQP
			}
			c.sendAdvice(now, s, qp, uint32(min(max(f.asked/1e6, uint64(a.Target.Min), 1), math.MaxUint32)), a.Receiver)
			f.told, f.due = now, min(f.until, now+int64(a.Pace.Interval))
		}
		c.senders.due.put(f)
		return
	}
	if !f.steer.Due(now) {
		f.due = min(f.until, max(f.steer.Next(), now+1))
		c.senders.due.put(f)
		return
	}
	f.due = min(f.until, f.steer.Next())
	if !c.sendSlowing(now, s) {
		f.due = min(f.until, now+int64(policedFor))
	}
	c.senders.due.put(f)
}

// sendSlowing sends a CNP to the sender of a session, within the limits of its host and of all.
func (c *core) sendSlowing(now int64, s *session) bool {
	host, known := c.senders.buckets[s.src]
	if !known {
		if len(c.senders.buckets) >= maxSeen {
			clear(c.senders.buckets)
		}
		host.rate = Rate{PerSecond: hostCNPs, Burst: hostCNPs / 100}
	}
	took := host.take(now)
	c.senders.buckets[s.src] = host
	if !took || !c.senders.all.take(now) {
		c.counters.CNPPoliced++
		return false
	}
	from := c.settings.router(s.src)
	if c.settings.Source.Receiver {
		from = s.dst
	}
	return c.sendCNP(s, s.srcQP, from)
}

// stepSenders sends the messages that are due to senders, and ends holds that are over.
func (c *core) stepSenders(now int64) {
	for {
		f, ok := c.senders.due.first()
		if !ok || f.due > now {
			return
		}
		c.settle(now, f)
	}
}

// passOn asks the neighbor that a flow comes from for the hold that a downstream neighbor asks
// for, for no longer than that. It is asked again only when that neighbor has, so that holds in
// a loop die.
func (c *core) passOn(now int64, f *origin, p *port, h enforce.Hold) {
	if h.Until <= now {
		if f.passed != nil && now < f.passedTo && c.settings.indexes[f.passed.Index] != nil {
			m := f.passedBy
			m.Action, m.Time = notify.Cancel, 0
			c.sendPFCM(f.passed, &m)
		}
		f.passed = nil
		return
	}
	if p == nil || !p.Notify || !p.reachable() || f.stream == 0 || f.passedTo == h.Until && f.passed == p {
		return
	}
	action := notify.Pause
	if h.Keep > 0 {
		action = notify.Reduce(100 - int(h.Keep))
	}
	m := notify.PFCM{Encapsulation: c.settings.Encapsulation, StreamID: f.stream, Action: action,
		Time: uint16(min((h.Until-now)/int64(time.Microsecond), math.MaxUint16)), Source: f.Packet.Src, Destination: f.Packet.Dst}
	if m.Time == 0 {
		return
	}
	if by := c.held.get(target{f.Packet.Out, f.matches()[0]}); by != nil {
		m.QueueID = uint8(by.by.Queue)
	}
	if !c.send.take(now) {
		c.counters.TxPoliced++
		return
	}
	if c.sendPFCM(p, &m) {
		f.passed, f.passedBy, f.passedTo = p, m, h.Until
	}
}
