// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/wire/roce"
)

// TestBurstsTellTheSame: bursts of packets of connections with faults leave each direction
// as one packet at a time does, also where directions leave for others.
func TestBurstsTellTheSame(t *testing.T) {
	var packets []roce.Packet
	var seen []Seen
	for seed := range uint64(6) {
		s := newSession(t, seed)
		for name := range faults {
			faults[name](s)
		}
		for _, c := range s.packets {
			var p roce.Packet
			if err := p.ParseIP(c.frame, len(c.frame)); err != nil {
				t.Fatal(err)
			}
			slot := 2 * int(seed)
			if c.forward {
				slot++
			}
			packets = append(packets, p)
			seen = append(seen, Seen{Time: c.at, Point: uint32(seed), SrcQP: p.DestQP() ^ qpA ^ qpB, From: flow.Ack, Slot: slot})
		}
	}
	for _, capacity := range []int{64, 3} {
		t1, t2 := NewTable(Config{Capacity: capacity}), NewTable(Config{Capacity: capacity})
		type meaning struct {
			event   Event
			missing uint32
		}
		one, burst := make([]meaning, len(packets)), make([]meaning, len(packets))
		for i := range packets {
			e, missing := t1.Observe(&packets[i], seen[i])
			one[i] = meaning{e, missing}
		}
		for i, n := 0, 1; i < len(packets); i, n = i+n, n%MaxBurst+1 {
			n = min(n, len(packets)-i)
			t2.ObserveBurst(packets[i:i+n], seen[i:i+n], func(at int, e Event, missing uint32) { burst[i+at] = meaning{e, missing} })
		}
		if !slices.Equal(one, burst) {
			t.Errorf("capacity %d: the events of bursts differ", capacity)
		}
		if diff := cmp.Diff(figures(t1), figures(t2)); diff != "" {
			t.Errorf("capacity %d: one at a time (-), bursts (+):\n%s", capacity, diff)
		}
		if n := testing.AllocsPerRun(10, func() { t2.ObserveBurst(packets[:MaxBurst], seen[:MaxBurst], nil) }); n != 0 && capacity == 64 {
			t.Errorf("%v allocations a burst", n)
		}
	}
}

// told is what a direction tells.
type told struct {
	Key      Key
	Counters Counters
	RTT      []uint64
	Sizes    []uint64
}

func figures(table *Table) (all []told) {
	for d := range table.All() {
		one := told{Key: d.Key, Counters: d.Counters}
		for _, h := range []struct {
			from *histogram.Coarse
			to   *[]uint64
		}{{d.RTT(), &one.RTT}, {d.Sizes(), &one.Sizes}} {
			if h.from != nil {
				*h.to = []uint64{h.from.Count, h.from.Sum, h.from.Min, h.from.Max, h.from.Quantile(0.5)}
			}
		}
		all = append(all, one)
	}
	return all
}

// TestStateLiesInCacheLines: an acknowledgement needs one line of a direction, other packets need two, and
// values that a packet rarely needs are in lines of their own.
func TestStateLiesInCacheLines(t *testing.T) {
	const line = 64
	var d state
	for name, sizes := range map[string][2]uintptr{
		"state": {unsafe.Sizeof(d), 2 * line}, "its second line": {unsafe.Offsetof(d.requests), line},
		"pending": {unsafe.Sizeof(pending{}), line}, "tally": {unsafe.Sizeof(tally{}), line},
	} {
		if sizes[0] != sizes[1] {
			t.Errorf("%s: %d octets, want %d", name, sizes[0], sizes[1])
		}
	}
	table := NewTable(Config{Capacity: 1000, Reserve: 1000})
	for range 3000 {
		table.store.states.take()
		table.store.pendings.take()
		table.store.tallies.take()
	}
	for n := range uint32(3000) {
		for name, at := range map[string]unsafe.Pointer{
			"state": unsafe.Pointer(table.store.states.at(n + 1)), "pending": unsafe.Pointer(table.store.pendings.at(n + 1)), "tally": unsafe.Pointer(table.store.tallies.at(n + 1)),
		} {
			if uintptr(at)%line != 0 {
				t.Fatalf("%s %d begins within a line", name, n)
			}
		}
	}
}
