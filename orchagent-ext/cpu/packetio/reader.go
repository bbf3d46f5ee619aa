// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"time"

	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// Frame is one packet to the CPU.
type Frame struct {
	Data            []byte // Ethernet frame, less the frame check sequence, maybe cut
	Length          int    // octets that it had on the wire
	Ingress, Egress uint32 // interface indexes that it came in and goes out by; 0: unknown
	From, To        uint64 // the same as the source numbers its ports; 0: unknown
	Why             Why
	At              int64 // ns since 1970: when the kernel had it; 0: unknown
}

// Why is the reason for which the CPU has a packet.
type Why uint8

// Why the CPU has a packet.
const (
	Sampled Why = iota // it is one of so many, or every packet comes to the CPU
	Copied             // every packet like it comes to the CPU
	Either             // RDMA-CM and CNPs come to the CPU, all of them, and samples of everything
)

// Source is where packets come from.
type Source interface {
	// Receive waits for packets, for [Patience] at most, fills in up to len(frames),
	// and returns how many. The data is valid until the next call. It returns the
	// context's error when that ends first.
	Receive(ctx context.Context, frames []Frame) (int, error)
}

// Patience is how long a reader waits for packets before it looks after its flows.
const Patience = 500 * time.Millisecond

// Stats counts packets by their fate. Each is counted once in the first four.
type Stats struct {
	RoCE        uint64 // followed
	Tunnelled   uint64 // followed; labels inside tunnels stay
	NotRoCE     uint64
	Malformed   uint64
	QueueFull   uint64 // news of flows that found the queue full
	NewFlows    uint64 // news that went out
	SeenOnce    uint64 // unlabelled packets of new flows
	FlowsKnown  uint64 // flows in the table now
	SamplesFull uint64 // samples for placement that found the queue full
	Unfollowed  uint64 // packets of connections beyond the room of Config.Health
	Datagrams   uint64 // that stay at their label, since entries cannot match their source queue pair
}

// Config of a Reader.
type Config struct {
	Labels     bool // report flows that are to be labelled
	Algorithm  flow.Algorithm
	ZeroOnly   bool          // report unlabelled flows only
	Computed   bool          // the switch computes labels: packets come with them
	ZeroSrcQP  bool          // the source queue pair of a connection counts as 0 in any case
	Capacity   int           // flows; 0: 65,536
	Idle       time.Duration // after which a flow is forgotten; 0: 5 minutes
	Queue      int           // news that wait for the control path; 0: 4,096
	Now        func() time.Time
	Metering   *Metering // nil: export is off
	Health     *Health   // nil: health is off
	RoundTrips bool      // round-trip times to hosts are measured
	Samples    int       // of packets that wait for placement; 0: samples are off

	// Learned is called with a source queue pair when it becomes known, and at times later.
	// It must return at once. It may be nil.
	Learned func(Pair)

	// Watched is called with each packet of RoCEv2. It must return at once. It may be nil.
	Watched func(Pair)

	// Seen: Learned is called for the packets of every flow, at times, with its path and
	// octets: how many packets each represents. 0: it is not.
	Seen uint32
}

// Reader reads one source. Its Run is the packet path.
type Reader struct {
	source Source
	config Config
	table  *flow.Table
	news   chan NewFlow
	paths  chan Sample // nil: samples are off

	probation *flow.Probation // nil: labels are off

	seen    []lately       // of each flow, by its slot; nil: see [Config.Seen]
	ports   []ports        // reported of each flow, by its slot; nil: labels are off
	meter   *ipfix.Meter   // or nil
	biflows *ipfix.Biflows // after meter, or nil
	lost    uint64         // by the source, when that was asked last
	health  *healthReader  // or nil
	times   *timesReader   // or nil
	now     int64
	packets [flow.MaxBurst]roce.Packet
	from    [flow.MaxBurst]int // of packets: the frame
	frames  []Frame
	each    func(i int, f *flow.Flow) // observed; made once, since it is an allocation

	roce, tunnelled, notRoCE, malformed, full, told, once, known, datagrams, unfollowed, samplesFull atomic.Uint64
}

const (
	defaultFlows = 65536
	defaultIdle  = 5 * time.Minute
	defaultQueue = 4096
	expireBudget = 64      // flows that are looked at a burst
	restBudget   = 1 << 16 // and after a pause of the packets
)

// New returns a reader of a source.
func New(source Source, c Config) *Reader {
	if c.Capacity == 0 {
		c.Capacity = defaultFlows
	}
	if c.Idle == 0 {
		c.Idle = defaultIdle
	}
	if c.Queue == 0 {
		c.Queue = defaultQueue
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	r := &Reader{source: source, config: c, news: make(chan NewFlow, c.Queue)}
	if c.Samples > 0 {
		r.paths = make(chan Sample, c.Samples)
	}
	if c.Labels {
		r.ports, r.probation = make([]ports, c.Capacity), flow.NewProbation()
	}
	if c.Seen != 0 {
		r.seen = make([]lately, c.Capacity)
	}
	t := flow.Config{Capacity: c.Capacity}
	if c.Learned != nil {
		t.Learned = func(src, dst netip.Addr, destQP, srcQP uint32) {
			c.Learned(Pair{Src: src, Dst: dst, DestQP: destQP, SrcQP: srcQP})
		}
	}
	if c.Metering != nil {
		t.Removed = r.metered(&c)
	}
	r.table = flow.NewTable(t)
	if r.meter != nil {
		r.meter.Follow(r.table)
	}
	if c.Health != nil {
		r.health = newHealthReader(&c)
	}
	if c.RoundTrips {
		r.times = newTimesReader()
	}
	r.each = r.observed
	return r
}

// News is the queue of flows that are to be labelled.
func (r *Reader) News() <-chan NewFlow { return r.news }

// Stats returns the counts so far. It may be called from any goroutine.
func (r *Reader) Stats() Stats {
	return Stats{
		RoCE: r.roce.Load(), Tunnelled: r.tunnelled.Load(), NotRoCE: r.notRoCE.Load(), Malformed: r.malformed.Load(),
		QueueFull: r.full.Load(), NewFlows: r.told.Load(), SeenOnce: r.once.Load(), FlowsKnown: r.known.Load(), Unfollowed: r.unfollowed.Load(), SamplesFull: r.samplesFull.Load(), Datagrams: r.datagrams.Load(),
	}
}

// Run reads until the context ends, and returns nil then.
func (r *Reader) Run(ctx context.Context) error {
	var frames [flow.MaxBurst]Frame
	if s, ok := r.source.(lossy); ok {
		r.lost = s.RingFull()
	}
	for {
		n, err := r.source.Receive(ctx, frames[:])
		if ctx.Err() != nil {
			r.flush()
			return nil
		}
		if err != nil {
			return err
		}
		r.burst(frames[:n])
	}
}

// burst processes the packets of one burst: it parses all, looks their flows up together,
// since the table's cache misses overlap then, and reports and counts them.
func (r *Reader) burst(frames []Frame) {
	now := r.config.Now().UnixNano()
	r.now, r.frames = now, frames
	n, bad, octets := 0, uint64(0), uint64(0)
	for i := range frames {
		err := r.packets[n].Parse(frames[i].Data, frames[i].Length)
		switch {
		case err == nil:
			r.from[n] = i
			n++
		case errors.Is(err, roce.ErrNotRoCE):
			r.notRoCE.Add(1)
		default:
			r.malformed.Add(1)
			bad++
			octets += uint64(len(frames[i].Data))
		}
	}
	lost := r.justLost()
	r.ignored(bad+lost, octets)
	if r.health != nil {
		r.health.sight.look(len(frames), lost, now)
	}
	r.roce.Add(uint64(n))
	if r.paths != nil {
		r.path(n)
	}
	r.table.ObserveBurst(r.packets[:n], now, r.each)
	budget := expireBudget
	if len(frames) == 0 {
		budget = restBudget
	}
	r.table.Expire(now, int64(r.config.Idle), budget)
	if r.meter != nil {
		r.ignored(r.meter.Omitted())
		r.meter.Tick()
	}
	if r.biflows != nil {
		r.biflows.Tick(now)
	}
	if r.health != nil {
		if len(frames) == 0 {
			budget = healthFlows + 1
		} else {
			budget = healthBudget
		}
		r.health.tell(now, budget)
		r.unfollowed.Store(r.health.table.Unfollowed())
	}
	if r.times != nil {
		r.times.tell(now)
	}
	r.known.Store(uint64(r.table.Len()))
}
