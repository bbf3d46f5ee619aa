// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice/orchagent-ext/wire/roce"
)

// observe parses a frame and observes it.
func observe(tb testing.TB, table *Table, f []byte, now int64) *Flow {
	tb.Helper()
	var p roce.Packet
	if err := p.Parse(f, len(f)); err != nil {
		tb.Fatal(err)
	}
	return table.Observe(&p, now)
}

// send is a packet of an RC connection that learns nothing.
func send(tb testing.TB, src, dst uint16, qp uint32) []byte {
	return frame(tb, src, dst, roce.BTH{Opcode: roce.RCSendOnly, DestQP: qp}, make([]byte, 4))
}

func TestObserveCounts(t *testing.T) {
	table := NewTable(Config{Capacity: 16})
	f := send(t, 1, 2, 7)
	observe(t, table, f, 10)
	observe(t, table, send(t, 1, 2, 8), 11)
	got := observe(t, table, f, 25)
	if got.First != 10 || got.Last != 25 || got.Packets != 2 || got.Bytes != 2*uint64(len(f)-14) || table.Len() != 2 {
		t.Errorf("%+v, %d flows", got, table.Len())
	}
}

//conformance:draft-hu/qp-pair draft-yang/classify
func TestKeyOf(t *testing.T) {
	var p roce.Packet
	f := frame(t, 1, 2, roce.BTH{Opcode: roce.UDSendOnly, DestQP: 0xabcdef, PKey: 0x8001}, roce.DETH{QKey: 0x11111111, SrcQP: 0x123456}.Append(nil))
	if err := p.Parse(f, len(f)); err != nil {
		t.Fatal(err)
	}
	p.SetFlowLabel(0xabcde)
	want := Key{Src: host(1), Dst: host(2), FlowLabel: 0xabcde, DestQP: 0xabcdef, SrcQP: 0x123456, SrcPort: 0xc000, PKey: 0x8001}
	if diff := cmp.Diff(want, KeyOf(&p)); diff != "" {
		t.Error(diff)
	}
	if got, want := KeyOf(&p).String(), "2001::1:49152 > 2001::2 label 0xabcde pkey 0x8001 qp 0xabcdef"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLabelIsPinned(t *testing.T) {
	table := NewTable(Config{})
	f := send(t, 1, 2, 7)
	before := table.Label(observe(t, table, f, 0), DraftLiteral)
	if want := DraftLiteral.Label(0, 7, host(1), host(2)); before != want {
		t.Errorf("label %#x of an unknown source QP, want that of 0, %#x", before, want)
	}
	table.announce(endpoint{host(1), host(2), 7}, 55)
	fl := observe(t, table, f, 1)
	if qp, from := table.SrcQP(fl); qp != 55 || from != CM {
		t.Fatalf("source QP %d from %q", qp, from)
	}
	if got := table.Label(fl, DraftLiteral); got != before {
		t.Errorf("learning moved the label from %#x to %#x", before, got)
	}
	other := observe(t, table, frame(t, 1, 2, roce.BTH{Opcode: roce.RCSendOnly, DestQP: 7, PKey: 5}, nil), 1)
	if got, want := table.Label(other, CRC32), CRC32.Label(55, 7, host(1), host(2)); got != want {
		t.Errorf("label %#x of a known source QP, want %#x", got, want)
	}
}

func TestExpireRemovesIdleFlows(t *testing.T) {
	var gone []uint32
	table := NewTable(Config{Capacity: 100, Removed: func(f *Flow, why Reason) {
		if why != Idle {
			t.Errorf("reason %d", why)
		}
		gone = append(gone, f.DestQP)
	}})
	for qp := range uint32(10) {
		observe(t, table, send(t, 1, 2, qp), int64(qp)*100)
	}
	table.Expire(1000, 500, 3) // looks at the flows of 0, 100 and 200
	if diff := cmp.Diff([]uint32{0, 1, 2}, gone); diff != "" {
		t.Error(diff)
	}
	table.Expire(1000, 500, 100)
	if table.Len() != 4 || table.Stats().Idle != 6 {
		t.Errorf("%d flows left, %+v", table.Len(), table.Stats())
	}
	table.Expire(1e9, 1, 100)
	if table.Len() != 0 {
		t.Errorf("%d flows left", table.Len())
	}
	if table.learner.used-uint32(len(table.learner.free)) != 0 {
		t.Error("pairs are left behind")
	}
	observe(t, table, send(t, 1, 2, 3), 1e9)
	if table.Len() != 1 {
		t.Error("no flow after all expired")
	}
}

func TestFullTableEvictsAnIdleFlow(t *testing.T) {
	evicted := 0
	table := NewTable(Config{Capacity: 64, Removed: func(f *Flow, why Reason) {
		if evicted++; why != Evicted {
			t.Errorf("reason %d", why)
		}
	}})
	busy := send(t, 9, 9, 1)
	for n := range uint32(1000) {
		observe(t, table, send(t, 1, 2, n), int64(2*n))
		observe(t, table, busy, int64(2*n+1))
	}
	if table.Len() != 64 || evicted != 1001-64 || table.Stats().Evicted != uint64(evicted) {
		t.Errorf("%d flows, %d evicted, %+v", table.Len(), evicted, table.Stats())
	}
	if f := observe(t, table, busy, 3000); f.Packets != 1001 {
		t.Errorf("the busy flow was evicted: %d packets", f.Packets)
	}
}

// TestTableIsAMap holds the table against a map, over any mix of packets,
// expiry and bursts, and also where all flows have one hash.
func TestTableIsAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const capacity = 20
		want := map[Key]uint64{}
		table := NewTable(Config{Capacity: capacity, Removed: func(f *Flow, _ Reason) {
			if want[f.Key] != f.Packets {
				rt.Fatalf("%v left with %d packets, want %d", f.Key, f.Packets, want[f.Key])
			}
			delete(want, f.Key)
		}})
		if rapid.Bool().Draw(rt, "one hash") {
			table.secret = secret{}
		}
		now := int64(0)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			now += int64(rapid.IntRange(0, 10).Draw(rt, "time"))
			if rapid.IntRange(0, 9).Draw(rt, "what") == 0 {
				table.Expire(now, 20, rapid.IntRange(0, 40).Draw(rt, "budget"))
				continue
			}
			burst := make([]roce.Packet, rapid.IntRange(1, 5).Draw(rt, "burst"))
			for i := range burst {
				f := send(t, 1, uint16(rapid.IntRange(2, 4).Draw(rt, "host")), rapid.Uint32Max(12).Draw(rt, "qp"))
				if err := burst[i].Parse(f, len(f)); err != nil {
					rt.Fatal(err)
				}
			}
			table.ObserveBurst(burst, now, func(i int, f *Flow) {
				want[f.Key]++
				if f.Key != KeyOf(&burst[i]) || f.Packets != want[f.Key] {
					rt.Fatalf("%v has %d packets, want %d", f.Key, f.Packets, want[f.Key])
				}
			})
		}
		got := map[Key]uint64{}
		for f := range table.All() {
			got[f.Key] = f.Packets
		}
		if diff := cmp.Diff(want, got); diff != "" || table.Len() != len(want) {
			rt.Fatalf("%d flows: %s", table.Len(), diff)
		}
	})
}

// TestBurstAtIsObserve: packets of a burst that came at times of their own do what they do
// one by one, also where flows leave a full table within the burst.
func TestBurstAtIsObserve(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		one, many := NewTable(Config{Capacity: 6}), NewTable(Config{Capacity: 6})
		one.secret, many.secret = secret{}, secret{}
		now := int64(0)
		for range rapid.IntRange(1, 20).Draw(rt, "bursts") {
			burst := make([]roce.Packet, rapid.IntRange(1, 8).Draw(rt, "burst"))
			times, want := make([]int64, len(burst)), make([]Flow, len(burst))
			for i := range burst {
				f := send(t, 1, uint16(rapid.IntRange(2, 4).Draw(rt, "host")), rapid.Uint32Max(3).Draw(rt, "qp"))
				if err := burst[i].Parse(f, len(f)); err != nil {
					rt.Fatal(err)
				}
				now += int64(rapid.IntRange(0, 10).Draw(rt, "time"))
				times[i] = now
				want[i] = *one.Observe(&burst[i], now)
			}
			many.ObserveBurstAt(burst, times, func(i int, f *Flow) {
				if *f != want[i] {
					rt.Fatalf("packet %d: %+v, want %+v", i, *f, want[i])
				}
			})
		}
	})
}

func TestObserveDoesNotAllocate(t *testing.T) {
	table := NewTable(Config{Capacity: 32})
	var packets []roce.Packet
	for n := range uint32(48) { // more than the table holds
		for _, f := range [][]byte{
			send(t, 1, 2, n),
			frame(t, 2, 1, roce.BTH{Opcode: roce.RCAck, DestQP: 1000 + n}, roce.AETH{}.Append(nil)),
			frame(t, 1, 2, roce.BTH{Opcode: roce.UDSendOnly, DestQP: 1}, roce.CM{Attribute: roce.CMReq, LocalCommID: n, LocalQPN: n}.Append(nil)),
			frame(t, 2, 1, roce.BTH{Opcode: roce.UDSendOnly, DestQP: 1}, roce.CM{Attribute: roce.CMRep, RemoteCommID: n, LocalQPN: n}.Append(nil)),
		} {
			var p roce.Packet
			if err := p.Parse(f, len(f)); err != nil {
				t.Fatal(err)
			}
			packets = append(packets, p)
		}
	}
	now := int64(0)
	if n := testing.AllocsPerRun(100, func() {
		for i := range packets {
			now++
			table.Label(table.Observe(&packets[i], now), DraftLiteral)
		}
		table.ObserveBurst(packets, now, nil)
		table.Expire(now, 20, 10)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestSlotsAreUniqueAndReused(t *testing.T) {
	const capacity = 8
	slots := map[int]Key{}
	table := NewTable(Config{Capacity: capacity, Removed: func(f *Flow, _ Reason) {
		if slots[f.Slot()] != f.Key {
			t.Errorf("slot %d is of %v when %v leaves it", f.Slot(), slots[f.Slot()], f.Key)
		}
		delete(slots, f.Slot())
	}})
	for i := range uint16(3 * capacity) {
		f := observe(t, table, send(t, 1, 2, uint32(i)), int64(i))
		if k, taken := slots[f.Slot()]; taken || f.Slot() < 0 || f.Slot() >= capacity {
			t.Errorf("flow %d has slot %d, of %v", i, f.Slot(), k)
		}
		slots[f.Slot()] = f.Key
	}
	for f := range table.All() {
		if slots[f.Slot()] != f.Key {
			t.Errorf("slot %d of %v became that of %v", f.Slot(), slots[f.Slot()], f.Key)
		}
	}
}

func TestClockSetBackDoesNotKeepFlows(t *testing.T) {
	const hour = 3600e9
	table := NewTable(Config{})
	observe(t, table, send(t, 1, 2, 7), hour)
	table.Expire(10, 100, 1)
	if table.Len() != 1 {
		t.Fatal("the flow left when the clock was set back")
	}
	if table.Expire(110, 100, 1); table.Len() != 0 {
		t.Error("the flow stays until the clock is where it was")
	}
}
