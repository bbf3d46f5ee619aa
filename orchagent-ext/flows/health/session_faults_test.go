// SPDX-License-Identifier: Apache-2.0

package health

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/wire/roce"
)

// observe shows a table the packets that pass, and returns both directions.
func observe(t *testing.T, packets []captured, forward, back bool) (f, b *Direction) {
	t.Helper()
	table := NewTable(Config{})
	var p roce.Packet
	for _, c := range packets {
		if c.forward && !forward || !c.forward && !back {
			continue
		}
		if err := p.ParseIP(c.frame, len(c.frame)); err != nil {
			t.Fatal(err)
		}
		seen := Seen{Time: c.at, SrcQP: qpB, From: flow.Ack, Slot: -1}
		if c.forward {
			seen.SrcQP = qpA
		}
		table.Observe(&p, seen)
	}
	for d := range table.All() {
		if d.DestQP == qpB {
			f = kept(d)
		} else {
			b = kept(d)
		}
	}
	return f, b
}

// kept returns a direction that stays as it is.
func kept(d *Direction) *Direction {
	copied := *d
	return &copied
}

// check compares what is told with what was done.
func (w *want) check(t *testing.T, what string, d *Direction, times bool) {
	t.Helper()
	if diff := cmp.Diff(w.Counters, d.Counters); diff != "" {
		t.Errorf("%s: done (-), told (+):\n%s", what, diff)
	}
	compare := func(name string, values []uint64, h *histogram.Coarse) {
		if h == nil {
			h = new(histogram.Coarse)
		}
		slices.Sort(values)
		sum := uint64(0)
		for _, v := range values {
			sum += v
		}
		if h.Count != uint64(len(values)) || h.Sum != sum || len(values) > 0 && (h.Min != values[0] || h.Max != values[len(values)-1]) {
			t.Errorf("%s: %s: %d of sum %d, %d to %d; want %d of sum %d: %v", what, name, h.Count, h.Sum, h.Min, h.Max, len(values), sum, values)
			return
		}
		for _, q := range []float64{0.5, 0.99} {
			if len(values) == 0 {
				break
			}
			exact := float64(values[int(q*float64(len(values)-1))])
			if got := float64(h.Quantile(q)); got < exact*15/16 || got > exact*17/16 {
				t.Errorf("%s: %s: quantile %v is %v, want %v", what, name, q, got, exact)
			}
		}
	}
	compare("messages", w.sizes, d.Sizes())
	if times {
		compare("times", w.rtt, d.RTT())
	} else if d.RTT() != nil {
		t.Errorf("%s: times without the other direction", what)
	}
}

// TestFaultsAreToldExactly: on 20 connections with losses before and behind the observer,
// swaps, duplicates, NAKs, marks and stalls every figure is what was done, from both
// directions and from either.
func TestFaultsAreToldExactly(t *testing.T) {
	names := slices.Sorted(maps.Keys(faults))
	for seed := range uint64(20) {
		s := newSession(t, seed)
		faults["one acknowledgement for two"](s) // shows the first PSN and the path MTU
		for range 60 {
			faults[names[s.random.IntN(len(names))]](s)
		}
		f, b := observe(t, s.packets, true, true)
		s.want[0].check(t, "forward of both", f, true)
		s.want[1].check(t, "back of both", b, false)
		if f.Lost() != 0 || b.Lost() != 0 {
			t.Errorf("lost: %d, %d", f.Lost(), b.Lost())
		}
		f, _ = observe(t, s.packets, true, false)
		s.want[0].check(t, "forward alone", f, false)
		_, b = observe(t, s.packets, false, true)
		s.want[1].check(t, "back alone", b, false)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestEachFaultAlone: so that a failure of the test above has a name.
func TestEachFaultAlone(t *testing.T) {
	for name, fault := range faults {
		s := newSession(t, 7)
		faults["none"](s)
		fault(s)
		faults["none"](s)
		f, b := observe(t, s.packets, true, true)
		s.want[0].check(t, name+": forward", f, true)
		if b != nil {
			s.want[1].check(t, name+": back", b, false)
		}
	}
}

// TestOutstandingFaults: what was lost and has not come again is lost; a PSN far from those
// before begins another connection; directions beyond the capacity leave.
func TestOutstandingFaults(t *testing.T) {
	s := newSession(t, 1)
	s.psn = 100
	for range 12 { // more holes than are remembered
		m := s.message(3)
		s.send(m[:1])
		s.send(m[2:])
	}
	s.psn += 1 << 20
	s.send(s.message(1))
	f, _ := observe(t, s.packets, true, false)
	if f.Gaps != 12 || f.Missing != 12 || f.Lost() != 12 || f.Restarts != 1 || f.Duplicates+f.Recovered+f.Reordered != 0 {
		t.Errorf("%+v", f.Counters)
	}

	removed := 0
	table := NewTable(Config{Capacity: 10, Removed: func(*Direction) { removed++ }})
	var p roce.Packet
	if err := p.ParseIP(s.packets[0].frame, len(s.packets[0].frame)); err != nil {
		t.Fatal(err)
	}
	for point := range uint32(100) {
		table.Observe(&p, Seen{Time: int64(point), Point: point, Slot: int(point % 7)})
	}
	left := 0
	for d := range table.All() {
		left++
		if d.Packets != 1 || d.Peer() != nil {
			t.Errorf("%+v", d)
		}
	}
	if removed != 90 || left != 10 || len(table.by) != 10 {
		t.Errorf("%d left, %d and %d are there", removed, left, len(table.by))
	}
}

// TestObserveDoesNotAllocate for connections that are known.
func TestObserveDoesNotAllocate(t *testing.T) {
	s := newSession(t, 2)
	for range 20 {
		faults["loss before"](s)
		faults["read loss"](s)
	}
	table := NewTable(Config{})
	packets := make([]roce.Packet, len(s.packets))
	for i, c := range s.packets {
		if err := packets[i].ParseIP(c.frame, len(c.frame)); err != nil {
			t.Fatal(err)
		}
	}
	all := func() {
		for i := range packets {
			table.Observe(&packets[i], Seen{Time: s.packets[i].at, SrcQP: packets[i].DestQP() ^ qpA ^ qpB, From: flow.Ack})
		}
	}
	all()
	if n := testing.AllocsPerRun(10, all); n != 0 {
		t.Errorf("%v allocations in %d packets", n, len(packets))
	}
}

// TestAnswersBeforeTheirPeerIsKnown: a request whose acknowledgement came before it could
// be told whose it was waits for nothing: a pause afterwards is no stall.
func TestAnswersBeforeTheirPeerIsKnown(t *testing.T) {
	s := newSession(t, 3)
	faults["none"](s)
	s.now += 1e9
	faults["none"](s)
	table := NewTable(Config{})
	var p roce.Packet
	for i, c := range s.packets {
		if err := p.ParseIP(c.frame, len(c.frame)); err != nil {
			t.Fatal(err)
		}
		from := flow.None
		if i == len(s.packets)-1 {
			from = flow.Ack
		}
		table.Observe(&p, Seen{Time: c.at, SrcQP: p.DestQP() ^ qpA ^ qpB, From: from})
	}
	for d := range table.All() {
		if d.Stalls != 0 || d.RTT() != nil && d.RTT().Max > 1e6 {
			t.Errorf("%+v", d.Counters)
		}
	}
}

// TestTimeoutsAreWithoutANAK: a sender that goes back by itself after a pause has timed out, once
// for all packets that it sends again; one that a NAK asked has not, however late it is.
func TestTimeoutsAreWithoutANAK(t *testing.T) {
	for name, tt := range map[string]struct {
		pause int64 // ns before packets are sent again
		nak   uint8 // syndrome; 0: none
		back  bool  // the other direction passes, too
		want  uint64
	}{
		"time-out":                     {67e6, 0, true, 1},
		"sequence NAK":                 {10 * us, 0x60, true, 0},
		"sequence NAK that comes late": {20e6, 0x60, true, 0},
		"receiver not ready":           {20e6, 0x2e, true, 0},
		"sent again at once":           {10 * us, 0, true, 0},
		"one direction":                {67e6, 0, false, 0},
	} {
		s := newSession(t, 5)
		for range 4 {
			faults["none"](s)
		}
		m := s.message(4)
		s.send(m)
		if tt.nak != 0 {
			s.refuse(m[1].psn, tt.nak, roce.NAKSequence)
		}
		s.now += tt.pause
		s.again(m[1:], 0)
		s.acknowledge(m[3], 0, false)
		faults["none"](s)
		f, _ := observe(t, s.packets, true, tt.back)
		if f.Timeouts != tt.want || f.Duplicates != 3 {
			t.Errorf("%s: %d time-outs, want %d; %d packets were here before", name, f.Timeouts, tt.want, f.Duplicates)
		}
	}
}
