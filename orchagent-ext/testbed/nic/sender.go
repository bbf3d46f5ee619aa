// SPDX-License-Identifier: Apache-2.0

package nic

import (
	"math"
	"net/netip"
	"time"

	"sluice/orchagent-ext/cli/advised"
	"sluice/orchagent-ext/hold/dcqcn"
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// Obey has the kinds of notifications that an adapter obeys; it counts the others.
type Obey struct{ PFCM, PFC, Advice, CNP bool }

// Config is an adapter and its traffic.
type Config struct {
	// Flows are sent at their own rates.
	Flows     []Flow
	LineRate  uint64   // bit/s of the link, of all flows together
	MAC, Next roce.MAC // its own, and its router's
	// Obey has the notifications that the adapter obeys.
	Obey       Obey
	Priority   uint8  // IEEE 802.1Qbb priority of all flows
	StreamSeed uint32 // of Stream IDs, scope hash
	// Points are the code points of notifications.
	Points   notify.CodePoints
	Lifetime time.Duration // of a Rate Advice
	Connect  bool          // flows are connected by RDMA-CM before they send
	Packets  uint64        // it ends after so many; 0: endless
	// Realtime: the thread goes before others, where it may: an adapter does not wait for
	// the host's CPUs
	Realtime bool
}

// Counters of an adapter.
type Counters struct {
	Packets, Octets uint64 // sent, of IP packets
	// Held: sum over the flows of the time in which PFCM or PFC held them
	Held time.Duration
	PFCM uint64 // messages received, by kind
	// PFC counts PFC frames.
	PFC uint64
	// Advice counts messages of Rate Advice.
	Advice uint64
	// CNP counts CNPs.
	CNP  uint64
	Acks uint64 // acknowledgements received
	// Acknowledged: packets up to the last one of each flow that was acknowledged
	Acknowledged uint64
	Arrived      uint64 // of those, as their receiver reports
	// Took is the time since the begin of sending.
	Took time.Duration
	// Refused: notifications that are not obeyed by configuration, or about another sender's
	// flow
	Refused uint64
}

// Sender decides when each flow sends. Times are nanoseconds on any one clock. It
// belongs to one goroutine.
type Sender struct {
	c        Config
	flows    []sending
	start    int64
	free     int64 // when the link is idle again
	paused   int64 // until when PFC pauses the priority
	holds    *enforce.Table[int]
	changes  []enforce.Change[int]
	packet   notify.Packet
	answer   roce.Packet
	streams  map[uint16][]int
	advice   *advised.Table
	counters Counters
}

// sending is the state of a flow.
type sending struct {
	interval int64 // between packets at the rate that the application offers
	offered  int64 // when the next packet is offered
	sent     int64 // when the last one was sent
	n        uint64
	acked    acked
	hold     enforce.Hold
	heldAt   int64
	advised  uint64     // bit/s, or 0
	slowed   dcqcn.Rate // by CNPs
}

// NewSender returns an adapter whose flows begin at start, spread over one interval
// between their packets or bursts.
func NewSender(c Config, start int64) *Sender {
	s := &Sender{c: c, start: start, free: start, holds: enforce.NewTable[int](len(c.Flows) + 1024), streams: map[uint16][]int{}, advice: advised.New(c.Lifetime)}
	for i := range c.Flows {
		f := &c.Flows[i]
		interval := f.interval(f.Rate)
		begin := start + interval*int64(max(f.Burst, 1))*int64(i)/int64(len(c.Flows))
		s.flows = append(s.flows, sending{interval: interval, offered: begin, sent: math.MinInt64 / 2})
		id := f.streamID(c.StreamSeed)
		s.streams[id] = append(s.streams[id], i)
	}
	return s
}

// Counters returns the counters up to now.
func (s *Sender) Counters(now int64) Counters {
	c := s.counters
	c.Took = time.Duration(now - s.start)
	for i := range s.flows {
		c.Acknowledged += s.flows[i].acked.through
		c.Arrived += s.flows[i].acked.arrived
		if f := &s.flows[i]; f.hold.Until != 0 && f.hold.Rate == 0 {
			c.Held += time.Duration(now - f.heldAt)
		}
	}
	return c
}

// Ended reports whether all packets that the configuration wants were sent.
func (s *Sender) Ended() bool { return s.c.Packets > 0 && s.counters.Packets >= s.c.Packets }

// Next returns the flow whose packet goes out next and when. Times in the past
// mean at once.
func (s *Sender) Next(now int64) (flow int, at int64) {
	s.apply(now, s.holds.Expire(s.changes[:0], now))
	s.expire(now)
	at = math.MaxInt64
	for i := range s.flows {
		// Of those that wait for the link the one that has waited longest goes first.
		if t := s.ready(now, i); t < at || t == at && at != math.MaxInt64 && s.flows[i].offered < s.flows[flow].offered {
			flow, at = i, t
		}
	}
	if end, ok := s.holds.Next(); ok && end < at {
		flow, at = -1, end // after the end of a hold at the earliest
	}
	if end, ok := s.advice.Next(); ok && end < at {
		flow, at = -1, end // or an advice does
	}
	return flow, at
}

// ready is when the next packet of a flow may go out.
func (s *Sender) ready(now int64, i int) int64 {
	f := &s.flows[i]
	if f.hold.Until != 0 && f.hold.Rate == 0 {
		return math.MaxInt64
	}
	at := max(f.offered, s.free)
	if s.c.Obey.PFC {
		at = max(at, s.paused)
	}
	if rate := s.limit(now, f); rate != math.MaxUint64 {
		at = max(at, f.sent+s.c.Flows[i].interval(rate))
	}
	return at
}

// limit is the rate that notifications leave to a flow, in bit/s.
func (s *Sender) limit(now int64, f *sending) uint64 {
	rate := uint64(math.MaxUint64)
	if f.hold.Until != 0 {
		rate = f.hold.Rate
	}
	if f.advised != 0 {
		rate = min(rate, f.advised)
	}
	return min(rate, f.slowed.At(now))
}

// catchUp is by how much the link may make good for a sender that woke up late.
const catchUp = int64(time.Millisecond)

// Send takes the flow's next packet as sent at now. It returns the packet's number
// and when it was offered.
func (s *Sender) Send(now int64, flow int) (n uint64, offered int64) {
	f, octets := &s.flows[flow], s.c.Flows[flow].Octets()
	n, offered = f.n, f.offered
	f.n++
	if s.c.Flows[flow].asks(n) {
		f.acked.asked = f.n
	}
	f.sent = max(s.ready(now, flow), now-catchUp)
	if burst := uint64(max(s.c.Flows[flow].Burst, 1)); f.n%burst == 0 {
		f.offered += f.interval * int64(burst)
	}
	if !s.c.Flows[flow].Backlog {
		offered = max(offered, now-catchUp)
		f.offered = max(f.offered, now-catchUp)
	}
	s.free = max(s.free, now-catchUp) + int64(octets*8)*int64(time.Second)/int64(s.c.LineRate)
	f.slowed.Sent(octets)
	s.counters.Packets++
	s.counters.Octets += uint64(octets)
	return n, offered
}

// Receive takes a frame that the adapter received at now, and reports whether it
// was a notification.
func (s *Sender) Receive(now int64, frame []byte) bool {
	err := s.packet.Parse(frame, s.c.Points)
	if err == notify.ErrNotNotification { //nolint:errorlint // the parser returns it as it is
		s.acknowledge(frame)
		return false
	}
	if err != nil {
		s.counters.Refused++
		return true
	}
	switch s.packet.Kind {
	case notify.KindPFCM:
		s.counters.PFCM++
		s.pfcm(now)
	case notify.KindPFC:
		s.counters.PFC++
		s.pfc(now)
	case notify.KindRateAdvice:
		s.counters.Advice++
		s.advise(now)
	case notify.KindCNP:
		s.counters.CNP++
		s.cnp(now)
	}
	return true
}

// pfcm obeys a PFCM: it holds or slows the flows with its Stream ID between its two
// hosts.
func (s *Sender) pfcm(now int64) {
	m := &s.packet.PFCM
	if !s.c.Obey.PFCM {
		return
	}
	var about []enforce.Target[int]
	for _, i := range s.streams[m.StreamID] {
		if f := &s.c.Flows[i]; f.Src == m.Source && f.Dst == m.Destination {
			about = append(about, enforce.Target[int]{Flow: i, Rate: f.Rate})
		}
	}
	if about == nil {
		s.counters.Refused++
		return
	}
	changes, _ := s.holds.Receive(s.changes[:0], now, enforce.PFCMKey(m, s.packet.Envelope.Src, 0), enforce.OfPFCM(m), about)
	s.apply(now, changes)
}

// apply carries out changes of holds, and adds the time that flows were stopped.
func (s *Sender) apply(now int64, changes []enforce.Change[int]) {
	s.changes = changes
	for _, c := range changes {
		f := &s.flows[c.Flow]
		was, is := f.hold.Until != 0 && f.hold.Rate == 0, c.Hold.Until != 0 && c.Hold.Rate == 0
		if was && !is {
			s.counters.Held += time.Duration(now - f.heldAt)
			s.release(now, c.Flow)
		} else if is && !was {
			f.heldAt = now
		}
		f.hold = c.Hold
	}
}

// release restarts the offer of a flow without backlog: packets that its application
// would have offered during the hold are left out.
func (s *Sender) release(now int64, flow int) {
	if f := &s.flows[flow]; !s.c.Flows[flow].Backlog {
		f.offered = max(f.offered, now)
	}
}

// pfc obeys a PFC frame for the priority of the flows: it stops all of them for the
// frame's quanta at the line rate, or with 0 lets them go.
func (s *Sender) pfc(now int64) {
	m := &s.packet.PFC
	if !s.c.Obey.PFC || m.Enable&(1<<s.c.Priority) == 0 {
		return
	}
	mbps := uint32(s.c.LineRate / 1_000_000)
	until := now + int64(notify.QuantaDuration(m.Quanta[s.c.Priority], mbps))
	s.counters.Held += time.Duration((until - max(now, min(s.paused, until))) * int64(len(s.flows)))
	if s.paused > until {
		s.counters.Held -= time.Duration((s.paused - until) * int64(len(s.flows)))
	}
	s.paused = until
}

// advise obeys a Rate Advice for one queue pair.
func (s *Sender) advise(now int64) {
	m := &s.packet.RateAdvice
	if !s.c.Obey.Advice {
		return
	}
	i := s.of(s.packet.Envelope.Dst, m.DestinationQP)
	if i < 0 {
		s.counters.Refused++
		return
	}
	rate, _ := s.advice.Take(now, advised.QueuePair{Host: s.packet.Envelope.Dst, QP: m.DestinationQP}, advised.Source{Node: s.packet.Envelope.Src, QP: m.SourceQP}, m.Rate)
	s.flows[i].advised = uint64(rate.Mbps) * 1_000_000
}

// expire ends the advice that is over.
func (s *Sender) expire(now int64) {
	for _, r := range s.advice.Expire(now) {
		if i := s.of(r.Host, r.QP); i >= 0 {
			s.flows[i].advised = uint64(r.Mbps) * 1_000_000
		}
	}
}

// cnp slows one queue pair down, as DCQCN's reaction point.
func (s *Sender) cnp(now int64) {
	if !s.c.Obey.CNP {
		return
	}
	if i := s.of(s.packet.Envelope.Dst, s.packet.CNP.DestQP); i >= 0 {
		s.flows[i].slowed.Notify(now, s.c.Flows[i].Rate, s.c.LineRate)
	} else {
		s.counters.Refused++
	}
}

// of returns the index of the flow that a host sends from a queue pair, or -1.
func (s *Sender) of(host netip.Addr, qp uint32) int {
	for i := range s.c.Flows {
		if f := &s.c.Flows[i]; f.SrcQP == qp && f.Src == host {
			return i
		}
	}
	return -1
}
