// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"math"
	"net/netip"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/hold/dcqcn"
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

// Packet is a packet that the CPU has of a flow, and those that it represents.
type Packet struct {
	In, Out  sai.ObjectID // ports that it came in and leaves by; sai.Null: not known
	Src, Dst netip.Addr   // of the outermost header
	Label    uint32
	Octets   uint64 // on the wire, estimated, of the flow since its packet before that was reported
	At       int64  // when the switch had it, ns of CLOCK_MONOTONIC; 0: not known
	Samples  uint32 // that they are estimated from; 0: they are counted
}

const (
	maxSeen = 4096 // flows
	// maxOfTarget bounds the work for one message, where flows share a Stream ID or their hosts.
	maxOfTarget = 256
	seenFor     = time.Second // a flow is slowed if it had a packet within it when the hold began
	sweepEvery  = 100 * time.Millisecond

	// CNPs of one host and of all, in a second: 8 flows of a host and 64 in all are stopped,
	// each by some 3,500 CNPs a second.
	hostCNPs, allCNPs = 30_000, 240_000

	// policedFor is after what time a CNP is tried again that these limits denied.
	policedFor = time.Millisecond
)

// origin is a flow of which packets came to the CPU lately.
type origin struct {
	Learned
	stream uint16 // as it leaves; 0: it is not IPv6
	next   [numLists]*origin

	at      int64  // of its last packet, when it came to this task
	begun   int64  // its sender has been slowed, or no longer, since then
	octets  uint64 // since
	samples uint32 // that they are of; counted packets are countedAs
	since   int64  // begin of the window, a packet's own time; 0: nothing is measured
	last    int64  // as far as octets goes, the time of a packet, too
	rate    uint64 // bit/s, of the flow while it is not slowed; 0: not known
	long    part   // of its windows, by which the rate goes
	latest  part   // of the latest ones alone

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
	streams map[uint16]*origin // lists
	hosts   map[about]*origin  // lists, by the addresses of the session
	due     heapOf[*origin]
	free    []*origin
	buckets map[netip.Addr]bucket // of CNPs, by host
	all     bucket
	swept   int64
}

// newSenders returns an empty set with all its memory.
func newSenders() *senders {
	s := &senders{flows: make(map[Pair]*origin, maxSeen), streams: make(map[uint16]*origin, maxSeen), hosts: make(map[about]*origin, maxSeen), buckets: make(map[netip.Addr]bucket, maxSeen),
		all: bucket{rate: Rate{PerSecond: allCNPs, Burst: allCNPs / 100}}}
	all := make([]origin, maxSeen)
	for i := range all {
		s.free = append(s.free, &all[i])
	}
	return s
}

// slows reports whether a flow may be held at its sender, or passed on to a neighbor; false for
// nil settings.
func (s *settings) slows(l *Learned) bool {
	if s == nil || s.Source == nil {
		return false
	}
	p := s.members[l.Packet.In]
	return p != nil && (!p.Edge || within(s.Source.Hosts, l.Src))
}

// see takes a packet that the CPU had of a flow.
func (c *core) see(now int64, l *Learned) {
	s := c.senders
	if s == nil || !c.settings.slows(l) {
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
		enlist(s.hosts, about{l.Src, l.Dst}, f, byHosts)
		enlist(s.streams, 0, f, byStream)
	}
	qp := f.SrcQP
	f.Learned, f.at = *l, now
	if f.SrcQP == 0 {
		f.SrcQP = qp
	}
	if stream := pathStream(c.settings.Seed, &l.Packet); stream != f.stream {
		delist(s.streams, f.stream, f, byStream)
		enlist(s.streams, stream, f, byStream)
		f.stream = stream
	}
	c.measureSeen(now, f)
	c.settle(now, f)
}

// take returns a free flow, after those are forgotten that are idle; nil: there is no room.
func (s *senders) take(now int64) *origin {
	if len(s.free) == 0 && now-s.swept >= int64(sweepEvery) {
		s.swept = now
		for pair, f := range s.flows {
			if f.until == 0 && now-f.at > int64(seenFor) {
				delist(s.streams, f.stream, f, byStream)
				delist(s.hosts, about{f.Src, f.Dst}, f, byHosts)
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

// Lists of flows in [senders]; each has its next element in the flow.
const (
	byStream = iota
	byHosts
	numLists
)

// enlist adds a flow to those with a key.
func enlist[K comparable](lists map[K]*origin, k K, f *origin, list int) {
	f.next[list], lists[k] = lists[k], f
}

// delist removes a flow from those with a key.
func delist[K comparable](lists map[K]*origin, k K, f *origin, list int) {
	first, next := lists[k], f.next[list]
	switch {
	case first != f:
		for first.next[list] != f {
			first = first.next[list]
		}
		first.next[list] = next
	case next != nil:
		lists[k] = next
	default:
		delete(lists, k)
	}
	f.next[list] = nil
}

// A window of measurement ends once it has enough samples, at the latest after longestWindow; the
// relative error of one is 1 ÷ √samples. A flow's rate is of many windows, so that its error is small,
// until the latest ones alone, whose error is 9 %, show that it has changed.
const (
	shortestWindow = 5 * time.Millisecond
	longestWindow  = 500 * time.Millisecond
	enoughSamples  = 16
	rateWindows    = 64
	latestWindows  = 8
	changed        = 4 // part of the rate by which the latest windows differ after a change

	countedAs = 1 << 20 // samples, whose error does not matter
)

// measureSeen measures the rate at which a flow arrives, where its samples suffice. A window begins
// and ends with a sample, and is the shorter the sooner those came: the mean of the rates of many
// would be too high, so each counts by its length. The times are those at which
// the switch had the samples, where it reports them: on a busy machine they wait for the CPU, and
// come many at once.
func (c *core) measureSeen(now int64, f *origin) {
	at := f.Packet.At
	if at == 0 {
		at = now
	}
	switch {
	case at <= f.begun: // it was on the way when the rate changed
		return
	case f.until == 0 && !f.steer.Recovered(at):
		f.since = 0
		return
	case f.since == 0:
		f.octets, f.samples, f.since, f.last = 0, 0, at, at // its octets came before
		return
	}
	f.octets, f.last = f.octets+f.Packet.Octets, at
	if f.Packet.Samples == 0 {
		f.samples = countedAs
	}
	f.samples = min(f.samples+f.Packet.Samples, countedAs)
	span := at - f.since
	if span < int64(shortestWindow) || f.samples < enoughSamples && span < int64(longestWindow) {
		return
	}
	rate := f.octets * 8 * uint64(time.Second) / uint64(span)
	switch {
	case f.until == 0:
		f.average(float64(f.octets), float64(span))
	case !f.steer.Measured(now, rate, f.samples):
		return // too soon after the last one: the window goes on
	}
	f.octets, f.samples, f.since = 0, 0, at
	if ignores := f.steer.Ignores(); ignores != f.ignores {
		if f.ignores = ignores; ignores {
			c.counters.CNPNotFollowing++
		}
	}
}

// part has the octets of windows of measurement and their time in ns, of which older ones count less.
type part struct{ octets, span float64 }

// add takes a window, as one of n that count.
func (p *part) add(octets, span, n float64) {
	p.octets, p.span = p.octets*(1-1/n)+octets, p.span*(1-1/n)+span
}

// rate returns the mean rate in bit/s.
func (p *part) rate() float64 { return p.octets * 8 * float64(time.Second) / p.span }

// cut ends the window of a flow that is not slowed with its last packet, as it will be slowed from now
// on. Without it windows that a hold ends would be left out: those whose samples came late.
func (f *origin) cut() {
	if f.since != 0 && f.last > f.since {
		f.average(float64(f.octets), float64(f.last-f.since))
	}
}

// average takes a window of the flow while it is not slowed.
func (f *origin) average(octets, span float64) {
	f.latest.add(octets, span, latestWindows)
	f.long.add(octets, span, rateWindows)
	if rate, latest := f.long.rate(), f.latest.rate(); math.Abs(latest-rate) > rate/changed {
		f.long = f.latest
	}
	f.rate = uint64(f.long.rate())
}

// eachSeen calls a function with each flow of a target that is slowed or had a packet lately, of
// those that were seen first lately.
func (c *core) eachSeen(now int64, t target, call func(*origin)) {
	s, list := c.senders, byHosts
	f := s.hosts[about{t.match.Src, t.match.Dst}]
	if t.match.Kind == sai.HoldStream {
		list, f = byStream, s.streams[uint16(t.match.Value)]
	}
	for n := 0; f != nil; f, n = f.next[list], n+1 {
		if n == maxOfTarget {
			c.counters.SeenFull++
			return
		}
		if c.of(f, t) && (f.until != 0 || f.passed != nil || now-f.at <= int64(seenFor)) {
			call(f)
		}
	}
}

// of reports whether a flow is one of a target's. A target of a port has only flows that are
// known to leave by it.
func (c *core) of(f *origin, t target) bool {
	if t.port != sai.Null && f.Packet.Out != t.port || t.match.Kind == sai.HoldStream && f.stream == 0 {
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

// pathStream returns the Stream ID of a packet's path; 0: it is not IPv6.
func pathStream(seed uint32, p *Packet) uint16 {
	if !p.Src.Is6() || !p.Dst.Is6() {
		return 0
	}
	return flow.HashStreamID(seed, p.Src.As16(), p.Dst.As16(), p.Label)
}
