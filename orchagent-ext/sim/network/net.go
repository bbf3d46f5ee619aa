// SPDX-License-Identifier: Apache-2.0

package network

import (
	"sluice/orchagent-ext/sim/heap"
	"sluice/orchagent-ext/sim/topology"
)

// Times in ps.
const (
	Nanosecond  = int64(1000)
	Microsecond = 1000 * Nanosecond
	Millisecond = 1000 * Microsecond
	Second      = 1000 * Millisecond
)

// Octets on the wire beside a packet's payload: Ethernet and its check sequence 18, preamble
// and gap 20, IPv6 40, UDP 8, BTH 12, ICRC 4; an acknowledgement has an AETH of 4, too.
const (
	Headers   = 102
	ackOctets = Headers + 4
	pfcOctets = 84 // a frame of 64 octets, preamble and gap
)

// Config is how adapters and switches work. Rates are in bit/s, times in ps, sizes in octets.
type Config struct {
	MTU      int   // payload of a full packet; 4096
	AckEvery int   // unacknowledged packets of a message, at most; 4
	Window   int64 // octets in flight of a queue pair; 0: unlimited
	// without progress a queue pair sends again from the oldest packet; 4.19 ms: the Local ACK Timeout 10 of IBTA, 4.096 µs × 2^10
	Timeout   int64
	Selective bool // receivers keep packets that came out of order; else go-back-N
	DCQCN     bool // senders obey CNPs, receivers send them

	Buffer int64   // of a switch, shared by its ports; 32 MiB
	Alpha  float64 // of dynamic thresholds: a queue takes at most alpha × the free buffer; 1
	PFC    bool    // lossless: the threshold is of an ingress port, and pauses its sender
	ECN    bool    // queues mark between KMin and KMax
	KMin   int64   // at 40 Gbit/s, in proportion elsewhere; 5 kB (DCQCN, table 2)
	KMax   int64   // 200 kB
	PMax   float64 // probability at KMax; 0.01
	Spray  bool    // each packet takes a random path of its pair

	Hold   *Hold   // flows of congested queues are held upstream (PFCM); nil: off
	Advise *Advise // senders of congested queues are advised rates; nil: off

	Sampled *Sampled // switches estimate the flows of a queue; nil: they know them

	Loss float64 // probability that a packet is lost on the last link, for truth; 0
	Seed uint64
}

// withDefaults fills in defaults for values that are 0.
func (c Config) withDefaults() Config {
	if c.MTU == 0 {
		c.MTU = 4096
	}
	if c.AckEvery == 0 {
		c.AckEvery = 4
	}
	if c.Timeout == 0 {
		c.Timeout = 4096 * Nanosecond << 10
	}
	if c.Buffer == 0 {
		c.Buffer = 32 << 20
	}
	if c.Alpha == 0 {
		c.Alpha = 1
	}
	if c.KMin == 0 {
		c.KMin = 5000
	}
	if c.KMax == 0 {
		c.KMax = 200_000
	}
	if c.PMax == 0 {
		c.PMax = 0.01
	}
	return c
}

// Stats are the counts of a run.
type Stats struct {
	Events    uint64 // arrivals of packets, and timers
	Packets   uint64 // data packets that arrived, each once
	Octets    uint64 // of the application in them
	Drops     uint64 // packets dropped for lack of buffer
	Lost      uint64 // by Config.Loss
	Pauses    uint64 // PFC frames that pause
	Marks     uint64 // packets marked CE
	CNPs      uint64
	NAKs      uint64
	Timeouts  uint64
	Repeated  uint64 // data packets sent again
	PFCMs     uint64
	Advices   uint64
	Holds     uint64 // flows held, at one switch each
	HoldDrops uint64 // packets of held flows beyond the room
}

// Net is a running network. Its parts are the calendar (now, queue of links, timers), links with
// the pool of packets, switches, hosts with pairs of queues, and the watch of flows in queues.
type Net struct {
	cfg    Config
	topo   *topology.Fabric
	now    int64
	queue  *heap.Numbered[int64] // of links, by the time of their events in ps
	timers timers
	random random

	links    []link
	pool     pool
	switches []buffer
	hosts    []host
	pairs    pairs
	codec    codec
	watch    *watch // of queues by flow; nil: unneeded

	// Delivered is called when the last packet of a message is there in order. at is the
	// time when the message began.
	Delivered func(qp int32, began int64)
	// Timer is called for timers set by [Net.At].
	Timer func(arg int32)

	Stats Stats
}

// New returns a network without queue pairs. topo is read only and may be shared.
func New(topo *topology.Fabric, cfg Config) *Net {
	cfg = cfg.withDefaults()
	n := &Net{
		cfg: cfg, topo: topo, pool: pool{free: -1}, random: random(cfg.Seed*0x9e3779b97f4a7c15 + 0x1234567),
		links: make([]link, len(topo.Links)), queue: heap.New[int64](len(topo.Links)), timers: newTimers(),
		switches: make([]buffer, topo.Switches), hosts: make([]host, topo.Hosts),
		codec: newCodec(topo),
	}
	for i := range n.links {
		t := &topo.Links[i]
		l := &n.links[i]
		*l = link{
			head: -1, tail: -1, wireHead: -1, wireTail: -1, from: t.From - int32(topo.Hosts), to: t.To - int32(topo.Hosts),
			psPerOctet: int64(t.PSPerOctet), delay: t.Delay,
		}
		scale := 200 / float64(t.PSPerOctet) // 40 Gbit/s: 200 ps an octet
		l.kMin, l.kMax = int64(float64(cfg.KMin)*scale), int64(float64(cfg.KMax)*scale)
	}
	for i := range n.hosts {
		n.hosts[i].tail = -1
	}
	for i := range n.switches {
		n.switches[i].shared = cfg.Buffer
	}
	if cfg.PFC {
		reserve(n.switches, n.links, cfg.MTU)
	}
	if cfg.Hold != nil || cfg.Advise != nil {
		n.watch = newWatch(cfg, topo.Switches)
	}
	return n
}

// PacketPeak is the most packets that were in flight at once.
func (n *Net) PacketPeak() int { return len(n.pool.packets) }

// Now is the time of the simulation, ps.
func (n *Net) Now() int64 { return n.now }

// Run runs until a time, or until nothing is left to happen; it reports whether more would.
func (n *Net) Run(until int64) bool {
	for {
		id, at, ok := n.queue.First()
		if _, due, set := n.timers.due.First(); set && (!ok || due <= at) {
			if due > until {
				break
			}
			t := n.timers.pop()
			n.now = t.at
			n.Stats.Events++
			n.fire(t)
			continue
		}
		if !ok {
			return false
		}
		if at > until {
			break
		}
		n.now = at
		n.Stats.Events++
		n.arrive(id)
	}
	n.now = max(n.now, until)
	return true
}

// At sets a timer: [Net.Timer] is called with arg at a time.
func (n *Net) At(at int64, arg int32) { n.timers.push(timer{at: at, kind: timerCaller, arg: arg}) }

// fire acts on a timer.
func (n *Net) fire(t timer) {
	switch t.kind {
	case timerCaller:
		n.Timer(t.arg)
	case timerHost:
		n.hosts[t.arg].wake = 0
		n.wakeHost(t.arg)
	case timerTimeout:
		n.timeout(t.arg)
	case timerCNP:
		n.slow(t.arg)
	case timerPause:
		n.pause(t.arg, true)
	case timerResume:
		n.pause(t.arg, false)
	default:
		n.watch.fire(n, t)
	}
}
