// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"math"
	"net/netip"
	"testing"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/hold/sampled"
	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
)

const (
	port  sai.ObjectID = 7
	first sai.ObjectID = 70 // queue 0 of the port, and queue 1 after it
	high               = 100_000
	rate               = 5
)

// watched returns flows that watch two queues of a port. Nothing reads them but the test.
func watched(t *testing.T) *Flows {
	t.Helper()
	f, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	c := &Config{Queues: map[sai.ObjectID]flowcontrol.Queue{}, Rate: rate}
	for i := range sai.ObjectID(2) {
		c.Queues[first+i] = flowcontrol.Queue{Port: port, Number: uint8(i), Threshold: congestion.Threshold{High: high, Low: high / 2}}
	}
	c.Ports = map[sai.ObjectID]*engine.Classes{port: classes()}
	f.Configure(c)
	return f
}

// classes are those of a port where three bits of DSCP are the queue.
func classes() *engine.Classes {
	c := &engine.Classes{}
	for dscp := range c.Class {
		c.Class[dscp] = uint8(dscp / 8)
	}
	for class := range c.Queue {
		c.Queue[class] = uint8(class)
	}
	return c
}

// packet is a sample of a flow, by its queue pair, that goes to queue 0 or 1.
func packet(qp uint32, queue uint8) packetio.Pair {
	src, dst := netip.MustParseAddr("2001:db8::a"), netip.MustParseAddr("2001:db8::b")
	return packetio.Pair{Src: src, Dst: dst, PathSrc: src, PathDst: dst, DestQP: qp, DSCP: queue * 8, From: 3, To: uint64(port), Octets: 1000, SrcPort: 49152}
}

// interval is an interval of 10 ms: samples, then readings of queues.
func (f *Flows) interval(at int64, samples []packetio.Pair, readings ...reading) []sai.FlowEvent {
	for _, s := range samples {
		f.Sample(s)
	}
	for i := range readings {
		readings[i].at = at
		f.reader.readings <- readings[i]
	}
	events := make([]sai.FlowEvent, 64)
	n, _ := f.ReadFlowEvents(events)
	return events[:n]
}

// full is a reading of a queue that sent so many packets of 1000 octets, and holds some octets.
func full(queue sai.ObjectID, octets, packets uint64) reading {
	return reading{queue: queue, Depth: Depth{Reading: sampled.Reading{Octets: octets, Packets: packets}, Left: 1000 * packets}}
}

// A flow that fills one queue of a port is raised with the packet's fields; another queue's is not,
// and when the queue has drained the flow is gone.
func TestFlowsAreRaisedForTheirOwnQueue(t *testing.T) {
	f := watched(t)
	var events []sai.FlowEvent
	for i := range 20 {
		var samples []packetio.Pair
		for range 10 {
			samples = append(samples, packet(0x11, 0), packet(0x22, 1))
		}
		events = f.interval(int64(i+1)*1e7, samples, full(first, 4*high, uint64(i)*50), full(first+1, high/4, uint64(i)*50))
	}
	if len(events) != 1 {
		t.Fatalf("%d events: %+v", len(events), events)
	}
	e := events[0]
	if e.Queue != first || e.Mark != sai.MarkHigh || e.Session.DestQP != 0x11 || e.InPort != 3 || e.Octets != 4*high || e.Length != 40 || e.Arrival.Src.Addr() != netip.MustParseAddr("2001:db8::a") {
		t.Errorf("%+v", e)
	}
	state, err := f.GetFlow(first, e.Flow)
	if err != nil || state.Octets != 4*high {
		t.Errorf("%+v: %v", state, err)
	}
	if events = f.interval(2e9, nil, full(first, 0, 2000)); len(events) != 1 || events[0].Mark != sai.MarkLow {
		t.Errorf("the queue has drained: %+v", events)
	}
	if _, err := f.GetFlow(first, e.Flow); !errors.Is(err, sai.ErrNotFound) {
		t.Errorf("the queue has drained: %v", err)
	}
}

// A queue that grows will have more until the next reading: its flows are judged by the middle of that
// time, within the buffer's room.
func TestFlowsAreJudgedByTheMiddleOfAnInterval(t *testing.T) {
	for name, tt := range map[string]struct {
		before, octets, room uint64
		named                bool
		want                 uint64 // octets of the flow
	}{
		"it grows past the mark":       {high * 6 / 10, high * 9 / 10, 0, true, high * 105 / 100},
		"it stays below the mark":      {high * 9 / 10, high * 9 / 10, 0, false, high * 9 / 10},
		"it shrinks to below the mark": {high * 99 / 100, high * 9 / 10, 0, false, high * 9 / 10},
		"the buffer ends there":        {high * 6 / 10, high * 9 / 10, high * 9 / 10, false, high * 9 / 10},
	} {
		f := watched(t)
		c := *f.settings.Load().Config
		c.Room = map[sai.ObjectID]uint64{first: tt.room}
		f.Configure(&c)
		named := false
		for i, octets := range []uint64{tt.before, tt.before, tt.before, tt.octets} {
			var samples []packetio.Pair
			for range 40 {
				samples = append(samples, packet(0x11, 0))
			}
			for _, e := range f.interval(int64(i+1)*1e7, samples, full(first, octets, uint64(i)*200)) {
				named = named || e.Mark == sai.MarkHigh
			}
		}
		state, err := f.GetFlow(first, 1)
		if named != tt.named || state.Octets != tt.want || err != nil {
			t.Errorf("%s: named %v, %d octets: want %v, %d: %v", name, named, state.Octets, tt.named, tt.want, err)
		}
	}
}

// What leaves a queue is shared out among its flows: half for each of two that are sampled alike.
// Packets of TCP, which no sample shows, have their part by the queue's own counters.
func TestOctetsThatLeftAreSharedOut(t *testing.T) {
	for name, tt := range map[string]struct {
		packets uint64 // that leave in an interval
		want    float64
	}{"two flows": {50, 0.5}, "and as much of TCP": {100, 0.25}} {
		f := watched(t)
		match := sai.HoldMatch{Kind: sai.HoldSession, Src: packet(0, 0).Src, Dst: packet(0, 0).Dst, Value: 0x11}
		var begin, end sai.HoldState
		for i := range uint64(40) {
			var samples []packetio.Pair
			for range 5 {
				samples = append(samples, packet(0x11, 0), packet(0x22, 0))
			}
			f.interval(int64(i+1)*1e7, samples, full(first, high, i*tt.packets))
			if i == 20 {
				begin, _ = f.GetHold(port, match)
			}
		}
		end, err := f.GetHold(port, match)
		part := float64(end.Octets-begin.Octets) / float64(19*tt.packets*1000)
		if err != nil || math.Abs(part-tt.want) > 0.02 {
			t.Errorf("%s: a part of %.3f of what left, want %.3f: %v", name, part, tt.want, err)
		}
	}
}

// What a queue drops is shared out among its flows: a quarter and three quarters of it.
func TestDropsAreSharedOut(t *testing.T) {
	f := watched(t)
	for i := range uint64(60) {
		samples := []packetio.Pair{packet(0x22, 0)}
		for range 3 {
			samples = append(samples, packet(0x11, 0), packet(0x33, 1))
		}
		drops := full(first, high, i*16) // and 4 dropped: the 20 that 4 samples are of
		drops.Dropped = i * 4
		f.interval(int64(i+1)*1e7, samples, drops, full(first+1, high, i*20))
	}
	for qp, want := range map[uint32]uint64{0x11: 177, 0x22: 59, 0x33: 0} {
		got, err := f.GetHold(port, sai.HoldMatch{Kind: sai.HoldSession, Src: packet(0, 0).Src, Dst: packet(0, 0).Dst, Value: qp})
		if err != nil || got.DroppedPackets+3 < want || got.DroppedPackets > want+3 {
			t.Errorf("queue pair %#x: %d packets, want %d: %v", qp, got.DroppedPackets, want, err)
		}
	}
}

// A counter that goes backwards, as after a clear, adds nothing to the octets of a flow.
func TestClearedCountersAddNoOctets(t *testing.T) {
	f := watched(t)
	left := func() float64 { return f.thread.flows[key{first, packet(0, 0).Src, packet(0, 0).Dst, 0x11}].left }
	for i := range uint64(10) {
		f.interval(int64(i+1)*1e7, []packetio.Pair{packet(0x11, 0)}, full(first, high, 1000+i*50))
	}
	before := left()
	f.interval(11e7, []packetio.Pair{packet(0x11, 0)}, full(first, high, 3))
	if before == 0 || left() != before {
		t.Errorf("%.0f octets before, %.0f after", before, left())
	}
	if f.interval(12e7, []packetio.Pair{packet(0x11, 0)}, full(first, high, 53)); left() <= before {
		t.Error("counting does not go on")
	}
}

// Queues that are no longer watched lose their flows, and their samples go nowhere.
func TestQueuesThatAreNotWatchedAreForgotten(t *testing.T) {
	f := watched(t)
	f.interval(1e7, []packetio.Pair{packet(0x11, 0)}, full(first, 4*high, 50))
	f.Configure(nil)
	f.Sample(packet(0x11, 0))
	f.interval(2e7, nil)
	if len(f.thread.flows)+len(f.thread.byID)+len(f.thread.queues)+len(f.samples) != 0 {
		t.Errorf("%d flows, %d queues, %d samples", len(f.thread.flows), len(f.thread.queues), len(f.samples))
	}
}

// The queues are read until the end, and a library that fails leaves the method unproven.
func TestReadingsThatFailAreUnproven(t *testing.T) {
	f := watched(t)
	read := make(chan int, 1)
	f.reader.read = func(_ context.Context, queues []sai.ObjectID) []Depth {
		select {
		case read <- len(queues):
		default:
		}
		return []Depth{{Err: errors.New("no statistics")}, {Err: errors.New("no statistics")}}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.Run(ctx) }()
	for deadline := time.Now().Add(time.Minute); f.Unproven() == ""; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the method counts as proven")
		}
	}
	if n := <-read; n != 2 {
		t.Errorf("%d queues are read", n)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Taking samples and readings is free of allocations, once the flows are known.
func TestTakingSamplesAllocatesNothing(t *testing.T) {
	f := watched(t)
	samples, events := []packetio.Pair{packet(0x11, 0), packet(0x22, 0), packet(0x33, 1)}, make([]sai.FlowEvent, 64)
	at := int64(0)
	turn := func() {
		at += 1e7
		for i := range samples {
			f.Sample(samples[i])
		}
		r := full(first, 4*high, uint64(at/1e5))
		r.at = at
		f.reader.readings <- r
		f.ReadFlowEvents(events)
	}
	turn()
	if n := testing.AllocsPerRun(100, turn); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
