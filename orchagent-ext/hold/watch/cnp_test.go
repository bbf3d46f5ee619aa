// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/hold/sampled"
	sai "sluice/sai-shim"
)

// cnp is a copy of the CNP that the receiver of a flow sends to the queue pair of its sender.
func cnp(srcQP uint32) packetio.Pair {
	of := packet(0, 0)
	return packetio.Pair{Src: of.Dst, Dst: of.Src, DestQP: srcQP, CNP: true, From: uint64(port)}
}

// from is a sample of a flow whose sender's queue pair is known.
func from(srcQP, qp uint32, queue uint8) packetio.Pair {
	p := packet(qp, queue)
	p.SrcQP = srcQP
	return p
}

// unread is a reading that failed.
func unread(queue sai.ObjectID) reading {
	return reading{queue: queue, Depth: Depth{Err: errors.New("there are no counters")}}
}

// marks returns how often each mark was raised for a flow, by its queue pair.
func marksOf(events []sai.FlowEvent) map[uint32]map[sai.FlowMark]int {
	all := map[uint32]map[sai.FlowMark]int{}
	for _, e := range events {
		if all[e.Session.DestQP] == nil {
			all[e.Session.DestQP] = map[sai.FlowMark]int{}
		}
		all[e.Session.DestQP][e.Mark]++
	}
	return all
}

// TestCNPsConfirmAFlow: a flow with few samples is named once a CNP for it comes.
func TestCNPsConfirmAFlow(t *testing.T) {
	for name, confirms := range map[string]bool{"with a CNP": true, "without": false} {
		f := watched(t)
		samples := []packetio.Pair{from(0x1011, 0x11, 0), from(0x1022, 0x22, 0)}
		if confirms {
			samples = append(samples, cnp(0x1011))
		}
		now := packetio.Monotonic()
		f.interval(now-1e7, []packetio.Pair{packet(0x33, 0)}, full(first, 3*high, 40))
		named := marksOf(f.interval(now, samples, full(first, 3*high, 50)))
		if got := named[0x11][sai.MarkHigh] > 0; got != confirms || named[0x22][sai.MarkHigh] > 0 {
			t.Errorf("%s: %v", name, named)
		}
	}
}

// TestWithoutDepthCNPsAlarmAndNameNone: while readings fail, a flow for which CNPs come has one alarm and
// stays unnamed; the alarm ends with the CNPs.
func TestWithoutDepthCNPsAlarmAndNameNone(t *testing.T) {
	f := watched(t)
	var all []sai.FlowEvent
	begin := packetio.Monotonic()
	for i := range 20 {
		samples := []packetio.Pair{from(0x1011, 0x11, 0), from(0x1011, 0x11, 0), from(0x1022, 0x22, 0), cnp(0x1011)}
		all = append(all, f.interval(begin+int64(i+1)*1e7, samples, unread(first))...)
	}
	if m := marksOf(all); m[0x11][sai.MarkAlarm] != 1 || m[0x11][sai.MarkHigh] != 0 || len(m) != 1 {
		t.Errorf("%v", m)
	}
	state, err := f.GetFlow(first, all[0].Flow)
	if err != nil || state.Octets < high*4/5 || state.Octets > high {
		t.Errorf("%+v: %v", state, err)
	}
	if e, ok := f.Estimated(all[0].Flow); !ok || !e.Blind {
		t.Errorf("known as %+v, %v", e, ok)
	}
	if m := marksOf(f.interval(packetio.Monotonic()+2*warned, nil, unread(first))); m[0x11][sai.MarkLow] != 1 {
		t.Errorf("without CNPs: %v", m)
	}
	if _, err := f.GetFlow(first, all[0].Flow); !errors.Is(err, sai.ErrNotFound) {
		t.Errorf("without CNPs: %v", err)
	}
}

// TestStopEndsWhereTheDepthStandsStill: once counters stand still while samples come, the flow that was
// named by them has its stop ended; while CNPs come it has an alarm, and it is named again by counters that
// go on.
func TestStopEndsWhereTheDepthStandsStill(t *testing.T) {
	f := watched(t)
	depths := full(first, 4*high, 0)
	f.reader.read = func(_ context.Context, queues []sai.ObjectID) []Depth {
		all := make([]Depth, len(queues))
		for i, id := range queues {
			if id == first {
				all[i] = depths.Depth
			}
		}
		return all
	}
	clocks, events := clocks{}, make([]sai.FlowEvent, 64)
	rounds := func(n int, goesOn bool) map[sai.FlowMark]int {
		var all []sai.FlowEvent
		for range n {
			for range 10 {
				f.Sample(from(0x1011, 0x11, 0))
			}
			f.Sample(cnp(0x1011))
			if goesOn {
				depths.Octets, depths.Packets, depths.Left = depths.Octets+1, depths.Packets+50, depths.Left+50_000
			}
			f.reader.round(t.Context(), f.settings.Load(), clocks)
			got, _ := f.ReadFlowEvents(events)
			all = append(all, events[:got]...)
		}
		return marksOf(all)[0x11]
	}
	known := func() Readings {
		all := f.Readings()
		return all[slices.IndexFunc(all, func(r Readings) bool { return r.Queue == 0 })]
	}
	if m := rounds(20, true); m[sai.MarkHigh] == 0 || m[sai.MarkLow] != 0 {
		t.Errorf("while counters go on: %v", m)
	}
	at := known().At
	if r := known(); r.All != 20 || r.Useless != 0 || at == 0 || r.Interval != sampled.Interval || r.Samples != 200 {
		t.Errorf("readings: %+v", r)
	}
	if m := rounds(30, false); m[sai.MarkHigh] != 0 || m[sai.MarkLow] != 1 || m[sai.MarkAlarm] != 1 || f.Unproven() == "" {
		t.Errorf("after they stood still: %v; unproven: %q", m, f.Unproven())
	}
	if r := known(); r.All != 50 || r.Useless != 30 || r.At != at || r.Interval <= sampled.Interval {
		t.Errorf("readings that stand still: %+v", r)
	}
	if m := rounds(10, true); m[sai.MarkHigh] == 0 {
		t.Errorf("after they went on: %v", m)
	}
	if f.Configure(nil); f.reader.round(t.Context(), f.settings.Load(), clocks) != 0 {
		t.Error("no queue is watched, and readings go on")
	}
	if all := f.Readings(); len(all) != 0 {
		t.Errorf("no queue is watched: %+v", all)
	}
}

// TestCNPsOfOtherFabricsAreOfNoFlow: CNPs to queue pairs outside the watched queues, of the same hosts or of
// others, are counted and raise no alarm. Two flows of the hosts with unknown senders are ambiguous.
func TestCNPsOfOtherFabricsAreOfNoFlow(t *testing.T) {
	other := cnp(0x1011)
	other.Src = netip.MustParseAddr("2001:db8:9::b")
	for name, tt := range map[string]struct {
		samples []packetio.Pair
		cnp     packetio.Pair
		alarm   bool
	}{
		"another queue pair":          {[]packetio.Pair{from(0x1011, 0x11, 0)}, cnp(0x1099), false},
		"another host":                {[]packetio.Pair{from(0x1011, 0x11, 0)}, other, false},
		"two flows, senders unknown":  {[]packetio.Pair{packet(0x11, 0), packet(0x22, 0)}, cnp(0x1011), false},
		"the only flow of both hosts": {[]packetio.Pair{packet(0x11, 0)}, cnp(0x1011), true},
	} {
		f := watched(t)
		now := packetio.Monotonic()
		events := f.interval(now, append(tt.samples, tt.cnp), unread(first))
		if got := len(events) > 0; got != tt.alarm || (f.thread.cnps == 0) != tt.alarm {
			t.Errorf("%s: %d CNPs of no flow, events %+v", name, f.thread.cnps, events)
		}
	}
}

// TestTwoQueuesOfAPortAreApart: a flow that has packets in both queues of a port is named for the one that
// it fills alone.
func TestTwoQueuesOfAPortAreApart(t *testing.T) {
	f := watched(t)
	var all []sai.FlowEvent
	for i := range 20 {
		var samples []packetio.Pair
		for range 10 {
			samples = append(samples, packet(0x11, 0), packet(0x11, 1), packet(0x22, 1))
		}
		all = append(all, f.interval(int64(i+1)*1e7, samples, full(first, high/2, uint64(i)*50), full(first+1, 4*high, uint64(i)*100))...)
	}
	for _, e := range all {
		if e.Mark == sai.MarkHigh && e.Queue != first+1 {
			t.Fatalf("named in queue %d: %+v", e.Queue, e)
		}
	}
	if m := marksOf(all); m[0x11][sai.MarkHigh] == 0 || m[0x22][sai.MarkHigh] == 0 {
		t.Errorf("%v", m)
	}
	f.thread.shown = 0
	f.interval(3e8, nil, full(first+1, 4*high, 2100))
	if e, ok := f.Estimated(all[0].Flow); !ok || e.Blind || e.Confidence < 50 || e.Confidence >= 100 {
		t.Errorf("known as %+v, %v", e, ok)
	}
}

// TestThirtyTwoFlowsAtOneInAThousand: 32 flows that fill a queue of 400 Gbit/s together, of which one of a
// thousand packets is a sample, are all named.
func TestThirtyTwoFlowsAtOneInAThousand(t *testing.T) {
	const flows, packets = 32, 118_000 // packets of 4 kB in 10 ms
	f := watched(t)
	f.settings.Load().Rate = 1000
	turn := 0
	var all []sai.FlowEvent
	for i := range 50 {
		var samples []packetio.Pair
		for range packets / 1000 {
			p := packet(uint32(0x100+turn*7%flows), 0)
			p.Octets = 4096
			samples = append(samples, p)
			turn++
		}
		r := full(first, flows*3*high, uint64(i+1)*packets)
		r.Left = r.Packets * 4096
		all = append(all, f.interval(int64(i+1)*1e7, samples, r)...)
	}
	named := map[uint32]bool{}
	for _, e := range all {
		if e.Mark == sai.MarkHigh {
			named[e.Session.DestQP] = true
		}
	}
	if len(named) != flows {
		t.Errorf("%d of %d flows are named", len(named), flows)
	}
}

// TestFillerThatIsNotRoCEv2NamesNoFlow: other packets fill the queue, by its own counters; a small flow
// beside them stays unnamed.
func TestFillerThatIsNotRoCEv2NamesNoFlow(t *testing.T) {
	f := watched(t)
	var all []sai.FlowEvent
	for i := range 50 {
		samples := []packetio.Pair{packet(0x11, 0), packet(0x11, 0)}
		all = append(all, f.interval(int64(i+1)*1e7, samples, full(first, 4*high, uint64(i+1)*200))...) // 10 of 200 packets are the flow's
	}
	if m := marksOf(all); m[0x11][sai.MarkHigh] != 0 {
		t.Errorf("%v", m)
	}
}

// TestReadingsThatFailSlowDown: a queue whose readings fail is read less often.
func TestReadingsThatFailSlowDown(t *testing.T) {
	f := watched(t)
	clocks := clocks{}
	failing := true
	n := uint64(0)
	f.reader.read = func(_ context.Context, queues []sai.ObjectID) []Depth {
		n++
		all := make([]Depth, len(queues))
		for i := range all {
			all[i] = Depth{Reading: sampled.Reading{Octets: n % 7, Packets: n}}
			if failing {
				all[i] = Depth{Err: errors.New("there are no counters")}
			}
		}
		return all
	}
	for range 10 {
		f.reader.round(t.Context(), f.settings.Load(), clocks)
		for range len(f.reader.readings) {
			<-f.reader.readings
		}
	}
	if f.Pace() != 2*sampled.Interval || f.Unproven() != "there are no counters" {
		t.Errorf("each %v: %q", f.Pace(), f.Unproven())
	}
	failing = false
	for range 101 {
		f.reader.round(t.Context(), f.settings.Load(), clocks)
		for range len(f.reader.readings) {
			<-f.reader.readings
		}
	}
	if f.Pace() != sampled.Interval || f.Unproven() != "" {
		t.Errorf("they come again: each %v: %q", f.Pace(), f.Unproven())
	}
}
