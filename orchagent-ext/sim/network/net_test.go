// SPDX-License-Identifier: Apache-2.0

package network

import (
	"testing"
	"time"

	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/sim/topology"
	"sluice/orchagent-ext/wire/notify"
)

// bed is a network with flows of one message each.
type bed struct {
	*Net
	topo *topology.Fabric
	done map[int32]int64 // by queue pair: when its message was there
}

// newBed builds a network.
func newBed(t testing.TB, s topology.Shape, c Config) *bed {
	t.Helper()
	f, err := topology.New(s)
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{Net: New(f, c), topo: f, done: map[int32]int64{}}
	b.Delivered = func(qp int32, _ int64) { b.done[qp] = b.Now() }
	return b
}

// flow sends a message between two hosts by the i-th path.
func (b *bed) flow(src, dst, i int, octets int64) int32 {
	from, to := b.topo.Leaf(src), b.topo.Leaf(dst)
	there, back := b.topo.Pair(from, to), b.topo.Pair(to, from)
	qp := b.AddQP(src, dst, there.First+uint32(i%there.Paths()), back.First+uint32(i%back.Paths()), 0)
	b.Send(qp, octets)
	return qp
}

var small = topology.Shape{Hosts: 32, HostsPerLeaf: 8, Spines: 4, HostGbit: 100, FabricGbit: 200}

// TestMessageTakesTheTimeOfItsLinks: one packet is stored and forwarded at each switch.
func TestMessageTakesTheTimeOfItsLinks(t *testing.T) {
	b := newBed(t, small, Config{})
	qp := b.flow(0, 31, 1, 4096)
	b.Run(Second)
	octets := int64(4096 + Headers)
	want := 2*octets*80 + 2*octets*40 + 3*1000*Nanosecond + 500*Nanosecond
	if b.done[qp] != want {
		t.Errorf("there after %d ps, want %d", b.done[qp], want)
	}
	if b.pool.flying != 0 || b.pairs.all[qp].una != 1 || b.pairs.all[qp].inflight != 0 {
		t.Errorf("%d packets in flight, queue pair %+v", b.pool.flying, b.pairs.all[qp])
	}
}

// marks are of a flow in a queue.
var marks = congestion.Threshold{High: 16_000, Low: 8000, Action: notify.Reduce(100), Duration: time.Millisecond}

// every is each kind of adapter and switch.
var every = map[string]Config{
	"lossy, go-back-N":  {Buffer: 1 << 19, Timeout: 100 * Microsecond},
	"lossy, selective":  {Buffer: 1 << 19, Selective: true, Timeout: 100 * Microsecond},
	"PFC":               {PFC: true, Buffer: 1 << 20},
	"PFC and DCQCN":     {PFC: true, Buffer: 1 << 20, ECN: true, DCQCN: true},
	"sprayed":           {PFC: true, Buffer: 1 << 20, Spray: true, Selective: true},
	"window":            {Window: 64 << 10},
	"lossy with DCQCN":  {Buffer: 1 << 19, ECN: true, DCQCN: true, Timeout: 100 * Microsecond},
	"packets get lost":  {Loss: 0.01, Timeout: 100 * Microsecond},
	"PFCM":              {PFC: true, Buffer: 2 << 20, Hold: &Hold{Threshold: marks, Reaction: 20 * Microsecond, Room: 1 << 20}},
	"advice":            {PFC: true, Buffer: 2 << 20, Advise: &Advise{Threshold: marks, Target: congestion.Target{Bytes: 100_000, Delay: 10 * time.Microsecond, Min: 100}, Pace: congestion.Pace{Interval: 50 * time.Microsecond, Lifetime: 4}, Reaction: 10 * Microsecond}},
	"PFCM to adapters":  {PFC: true, Buffer: 2 << 20, Hold: &Hold{Threshold: marks, Reaction: 20 * Microsecond, Room: 1 << 20, Hosts: true}},
	"CNPs by PFCM":      {PFC: true, Buffer: 2 << 20, DCQCN: true, Hold: &Hold{Threshold: marks, Reaction: 5 * Microsecond, Source: true}},
	"PFCM by samples":   {PFC: true, Buffer: 2 << 20, Sampled: &Sampled{Every: 20 * Microsecond, OneIn: 4}, Hold: &Hold{Threshold: marks, Reaction: 5 * Microsecond, Room: 1 << 20}},
	"lost and repaired": {Loss: 0.01, Timeout: 100 * Microsecond, Selective: true},
}

// load is an incast of 16 hosts beside a permutation.
func (b *bed) load() (octets int64) {
	const size = 150_000
	for h := range 16 {
		b.flow(h, 31, h, size)
		b.flow(h, (h+9)%32, h+1, size)
	}
	return 32 * size
}

// TestEveryMessageArrives: whatever is lost on the way, each message is there in the end, once,
// and nothing is left in flight or in a buffer.
func TestEveryMessageArrives(t *testing.T) {
	for name, c := range every {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, small, c)
			b.load()
			for id := range b.pairs.all {
				b.Release(int32(id))
			}
			if b.Run(Second) {
				t.Fatalf("a second is not enough: %+v, %+v", b.Stats, b.pairs.all)
			}
			if len(b.done) != 32 || b.Stats.Packets != 32*((150_000+4095)/4096) {
				t.Errorf("%d messages and %d packets arrived", len(b.done), b.Stats.Packets)
			}
			if c.Hold != nil && (b.Stats.PFCMs == 0 || b.Stats.Holds == 0 || len(b.watch.held) != 0) || c.Advise != nil && b.Stats.Advices == 0 {
				t.Errorf("%+v", b.Stats)
			}
			if c.Hold != nil && c.Hold.Hosts && b.Stats.HoldDrops > 0 {
				t.Errorf("%d packets found no room, though adapters hold their flows", b.Stats.HoldDrops)
			}
			if c.PFC && c.Advise == nil && c.Hold == nil && (b.Stats.Drops > 0 || b.Stats.Pauses == 0) {
				t.Errorf("%d drops, %d pauses with PFC", b.Stats.Drops, b.Stats.Pauses)
			}
			if c.Buffer != 0 && !c.PFC && !c.DCQCN && (b.Stats.Drops == 0 || b.Stats.Repeated == 0) || c.DCQCN && b.Stats.CNPs == 0 {
				t.Errorf("%+v", b.Stats)
			}
			if b.pool.flying != 0 || len(b.pairs.free) != 32 {
				t.Errorf("%d packets in flight, %d queue pairs free", b.pool.flying, len(b.pairs.free))
			}
			for i := range b.switches {
				if b.switches[i].used != 0 {
					t.Errorf("switch %d has %d octets", i, b.switches[i].used)
				}
			}
			for i := range b.links {
				if l := &b.links[i]; l.depth != 0 || l.ingress != 0 || l.paused || l.head >= 0 {
					t.Errorf("link %s: %+v", b.topo.Links[i].Name, l)
				}
			}
		})
	}
}

// TestRunsOfOneSeedAreTheSame, to the octet and the picosecond.
func TestRunsOfOneSeedAreTheSame(t *testing.T) {
	run := func(seed uint64) (Stats, map[int32]int64) {
		b := newBed(t, small, Config{Buffer: 1 << 19, ECN: true, DCQCN: true, Timeout: 100 * Microsecond, Loss: 0.001, Seed: seed})
		b.load()
		b.Run(Second)
		return b.Stats, b.done
	}
	first, at := run(1)
	again, atAgain := run(1)
	other, _ := run(2)
	if first != again || first == other {
		t.Errorf("%+v, %+v, with another seed %+v", first, again, other)
	}
	for qp, t1 := range at {
		if atAgain[qp] != t1 {
			t.Errorf("queue pair %d: %d and %d ps", qp, t1, atAgain[qp])
		}
	}
}

// TestPacketsAllocateNothing once the pools are as large as the load needs.
func TestPacketsAllocateNothing(t *testing.T) {
	b := newBed(t, small, Config{PFC: true, Buffer: 1 << 20, ECN: true, DCQCN: true})
	b.Delivered = func(qp int32, _ int64) { b.Send(qp, 300_000) }
	b.load()
	b.Run(5 * Millisecond)
	before := b.Stats.Packets
	if n := testing.AllocsPerRun(5, func() { b.Run(b.Now() + Millisecond) }); n > 1 {
		t.Errorf("%v allocations in a millisecond", n)
	}
	if b.Stats.Packets == before {
		t.Error("no packet arrived")
	}
}

// BenchmarkEvents is packet events by a 100 Gbit/s fabric under a permutation.
func BenchmarkEvents(b *testing.B) {
	bed := newBed(b, topology.Shape{Hosts: 1024, HostsPerLeaf: 32, Spines: 16, HostGbit: 100, FabricGbit: 200}, Config{PFC: true, ECN: true, DCQCN: true})
	bed.Delivered = func(qp int32, _ int64) { bed.Send(qp, 1<<20) }
	for h := range 1024 {
		for k := range 4 {
			bed.flow(h, (h*37+101)%1024, h*7+k*3, 1<<20)
		}
	}
	bed.Run(100 * Microsecond)
	start := bed.Stats.Events
	b.ResetTimer()
	for b.Loop() {
		bed.Run(bed.Now() + 10*Microsecond)
	}
	b.ReportMetric(float64(bed.Stats.Events-start)/b.Elapsed().Seconds(), "events/s")
}

// TestResumeFollowsItsPause: ports are advanced late, so that a resume can be decided after a
// pause and for an earlier time. A sender that got them in that order would stay paused.
func TestResumeFollowsItsPause(t *testing.T) {
	b := newBed(t, small, Config{PFC: true})
	from := &b.links[0]
	b.now = Microsecond
	from.xoff, from.xoffAt, from.ingress = true, b.now, 1000
	b.frame(0, b.now, 0xffff)
	b.release(&b.links[small.Hosts], &packet{in: 0, octets: 1000}, b.now-100)
	first, second := b.timers.pop(), b.timers.pop()
	if first.kind != timerPause || second.kind != timerResume || from.xoff {
		t.Errorf("timers %+v, %+v", first, second)
	}
}
