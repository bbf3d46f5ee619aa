// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"math"
	"net/netip"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/hold/dcqcn"
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	sai "sluice/sai-shim"
)

// Source has the settings of holds by the senders of flows, for switches that hold no single
// flow: the node that serves a sender slows it by Rate Advice or CNPs, and a node further down
// passes PFCM on.
type Source struct {
	Hosts    []netip.Prefix // who may be slowed; others get nothing
	Advise   bool           // by Rate Advice where [Config.Advice] allows it; else by CNPs
	Receiver bool           // the IP source of CNPs is the flow's receiver; otherwise our router id
}

// Packet is a packet that the CPU has of a flow, and those that it stands for.
type Packet struct {
	In, Out  sai.ObjectID // ports that it came in and leaves by; sai.Null: not known
	Src, Dst netip.Addr   // of the outermost header
	Label    uint32
	Octets   uint64 // on the wire, estimated, of the flow since its packet before that was reported
}

const (
	maxSeen    = 4096        // flows
	seenFor    = time.Second // a flow is slowed if it had a packet within it when the hold began
	sweepEvery = 100 * time.Millisecond

	// CNPs of one host and of all, in a second: 8 flows of a host and 64 in all are stopped,
	// each by some 3,500 CNPs a second.
	hostCNPs, allCNPs = 30_000, 240_000

	// policedFor is after what time a CNP is tried again that these limits denied.
	policedFor = time.Millisecond

	usualSpeed = 100_000 // Mbit/s of a host's link whose speed is not known
)

// origin is a flow of which packets came to the CPU lately.
type origin struct {
	Learned
	stream uint16  // as it leaves; 0: it is not IPv6
	next   *origin // with the same stream

	at     int64  // of its last packet
	octets uint64 // since
	since  int64  // 0: nothing is measured
	rate   uint64 // bit/s, as measured last; 0: not known

	until    int64 // it is slowed until then; 0: it is not
	asked    uint64
	steer    dcqcn.Steer
	told     int64 // when its sender was advised last
	ignores  bool  // counted as one whose sender ignores CNPs
	counted  bool  // as one whose sender cannot be told
	passed   *port // by which PFCM about it was passed on; nil: none was
	passedBy notify.PFCM
	passedTo int64 // as far as was asked then

	due   int64
	index int
}

// when implements timed.
func (f *origin) when() int64 { return f.due }

// place implements timed.
func (f *origin) place() *int { return &f.index }

// senders are the flows that may be held at their senders.
type senders struct {
	flows   map[Pair]*origin
	streams map[uint16]*origin
	due     heapOf[*origin]
	free    []*origin
	hosts   map[netip.Addr]bucket
	all     bucket
	swept   int64
}

// newSenders returns an empty set with all its memory.
func newSenders() *senders {
	s := &senders{flows: make(map[Pair]*origin, maxSeen), streams: make(map[uint16]*origin, maxSeen), hosts: make(map[netip.Addr]bucket, maxSeen),
		all: bucket{rate: Rate{PerSecond: allCNPs, Burst: allCNPs / 100}}}
	all := make([]origin, maxSeen)
	for i := range all {
		s.free = append(s.free, &all[i])
	}
	return s
}

// see takes a packet that the CPU had of a flow.
func (c *core) see(now int64, l *Learned) {
	s := c.senders
	if s == nil || c.settings.Source == nil || l.Packet.In == sai.Null || c.settings.members[l.Packet.In] == nil {
		return
	}
	f := s.flows[l.Pair]
	if f == nil {
		if f = s.take(now); f == nil {
			c.counters.SeenFull++
			return
		}
		*f = origin{}
		s.flows[l.Pair] = f
	} else {
		s.unlink(f)
	}
	qp := f.SrcQP
	f.Learned, f.at = *l, now
	if f.SrcQP == 0 {
		f.SrcQP = qp
	}
	f.stream = pathStream(c.settings.Seed, &l.Packet)
	s.link(f)
	c.measureSeen(now, f)
	c.settle(now, f)
}

// take returns a free flow, after those are forgotten that are idle; nil: there is no room.
func (s *senders) take(now int64) *origin {
	if len(s.free) == 0 && now-s.swept >= int64(sweepEvery) {
		s.swept = now
		for pair, f := range s.flows {
			if f.until == 0 && now-f.at > int64(seenFor) {
				s.unlink(f)
				delete(s.flows, pair)
				s.free = append(s.free, f)
			}
		}
	}
	last := len(s.free) - 1
	if last < 0 {
		return nil
	}
	f := s.free[last]
	s.free = s.free[:last]
	return f
}

// link adds a flow to those of its stream.
func (s *senders) link(f *origin) {
	if f.stream != 0 {
		f.next = s.streams[f.stream]
		s.streams[f.stream] = f
	}
}

// unlink removes a flow from those of its stream.
func (s *senders) unlink(f *origin) {
	if f.stream == 0 {
		return
	}
	first := s.streams[f.stream]
	switch {
	case first != f:
		for first.next != f {
			first = first.next
		}
		first.next = f.next
	case f.next != nil:
		s.streams[f.stream] = f.next
	default:
		delete(s.streams, f.stream)
	}
	f.next = nil
}

// measureSeen measures the rate at which a flow arrives, where enough time is over.
func (c *core) measureSeen(now int64, f *origin) {
	if f.since == 0 {
		f.octets, f.since = 0, now // its octets came before
		return
	}
	f.octets += f.Packet.Octets
	span := now - f.since
	if span < int64(firstCheck)*5 {
		return
	}
	rate := f.octets * 8 * uint64(time.Second) / uint64(span)
	f.octets, f.since = 0, now
	if f.until == 0 {
		f.rate = rate
		return
	}
	f.steer.Measured(now, rate)
	if ignores := f.steer.Ignores(); ignores != f.ignores {
		if f.ignores = ignores; ignores {
			c.counters.CNPNotFollowing++
		}
	}
}

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

// eachSeen calls a function with each flow of a target that is slowed or had a packet lately.
func (c *core) eachSeen(now int64, t target, call func(*origin)) {
	s := c.senders
	take := func(f *origin) {
		if f != nil && c.of(f, t) && (f.until != 0 || f.passed != nil || now-f.at <= int64(seenFor)) {
			call(f)
		}
	}
	switch t.match.Kind {
	case sai.HoldStream:
		for f := s.streams[uint16(t.match.Value)]; f != nil; f = f.next {
			take(f)
		}
	case sai.HoldSession:
		take(s.flows[Pair{t.match.Src, t.match.Dst, t.match.Value}])
	default:
		for _, f := range s.flows {
			take(f)
		}
	}
}

// of reports whether a flow is one of a target's. A target of a port has only flows that are
// known to leave by it.
func (c *core) of(f *origin, t target) bool {
	if t.port != sai.Null && f.Packet.Out != t.port {
		return false
	}
	for _, m := range f.matches() {
		if m == t.match {
			return true
		}
	}
	return false
}

// matches returns the matches of holds that a flow may be under: those of its path by PFCM,
// then those of its session by PPFC.
func (f *origin) matches() [4]sai.HoldMatch {
	return [...]sai.HoldMatch{
		{Kind: sai.HoldStream, Value: uint32(f.stream)},
		{Kind: sai.HoldPair, Src: f.Packet.Src, Dst: f.Packet.Dst},
		{Kind: sai.HoldSession, Src: f.Src, Dst: f.Dst, Value: f.DestQP},
		{Kind: sai.HoldTuple, Src: f.Src, Dst: f.Dst, Protocol: protocolUDP, Value: uint32(f.SrcPort)<<16 | roce.UDPPort},
	}
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
	case all.Until <= now:
		f.until, f.due = 0, 0
		c.senders.due.remove(f)
		return
	case !c.tells(f):
		f.until, f.due = 0, 0
		c.senders.due.remove(f)
		return
	case f.until == 0:
		speed := p.Speed
		if speed == 0 {
			speed = usualSpeed
		}
		f.steer.Begin(now, f.rate, uint64(speed)*1e6, all.Rate)
		f.since, f.told = 0, 0
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

// slow sends what is due to the sender of a flow, until its hold ends.
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
	host, known := c.senders.hosts[s.src]
	if !known {
		if len(c.senders.hosts) >= maxSeen {
			clear(c.senders.hosts)
		}
		host.rate = Rate{PerSecond: hostCNPs, Burst: hostCNPs / 100}
	}
	took := host.take(now)
	c.senders.hosts[s.src] = host
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

// stepSenders sends what is due to senders, and ends what is over.
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
		if f.passed != nil && c.settings.indexes[f.passed.Index] != nil {
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
	if by := c.held[target{f.Packet.Out, f.matches()[0]}]; by != nil {
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

// pathStream returns the Stream ID of a packet's path; 0: it is not IPv6.
func pathStream(seed uint32, p *Packet) uint16 {
	if !p.Src.Is6() || !p.Dst.Is6() {
		return 0
	}
	return flow.HashStreamID(seed, p.Src.As16(), p.Dst.As16(), p.Label)
}
