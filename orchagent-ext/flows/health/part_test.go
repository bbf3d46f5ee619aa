// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// shown shows a table packets, of which part says which come without their neighbors.
func shown(t *testing.T, table *Table, packets []captured, part func(i int) bool) (f, b *Direction) {
	t.Helper()
	var p roce.Packet
	for i, c := range packets {
		if err := p.ParseIP(c.frame, len(c.frame)); err != nil {
			t.Fatal(err)
		}
		seen := Seen{Time: c.at, SrcQP: qpB, From: flow.Ack, Slot: 1, Part: part(i), In: 3, Out: 4}
		if c.forward {
			seen.SrcQP, seen.Slot = qpA, 0
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

// TestSamplesTellNothingOfSequences: of one packet in three only what its own header says
// is counted: no gap, and no message.
func TestSamplesTellNothingOfSequences(t *testing.T) {
	s := newSession(t, 5)
	for _, name := range []string{"none", "loss before", "swap", "receiver not ready", "no access", "notification", "read loss"} {
		for range 5 {
			faults[name](s)
		}
	}
	var sampled []captured
	var want want
	var p roce.Packet
	for i := 0; i < len(s.packets); i += 3 {
		c := s.packets[i]
		sampled = append(sampled, c)
		if err := p.ParseIP(c.frame, len(c.frame)); err != nil {
			t.Fatal(err)
		}
		if h, ok := p.AETH(); ok && !c.forward && p.Opcode() == roce.RCAck {
			want.NAKs[h.NAK()]++
		}
		if p.Opcode() == roce.CNP {
			want.CNPs++
		}
		if !c.forward {
			want.Packets++
		}
	}
	f, b := shown(t, NewTable(Config{Untimed: true, Reserve: 2, Capacity: 4}), sampled, func(int) bool { return true })
	if want.NAKs[roce.NAKRNR] == 0 || want.NAKs[roce.NotNAK] == 0 || want.CNPs == 0 {
		t.Fatalf("the sample has too little: %+v", want.Counters)
	}
	if b.NAKs != want.NAKs || b.Acks != want.NAKs[roce.NotNAK] || b.CNPs != want.CNPs || b.Packets != want.Packets {
		t.Errorf("%+v, want %+v", b.Counters, want.Counters)
	}
	for _, d := range []*Direction{f, b} {
		if d.Gaps+d.Missing+d.Reordered+d.Recovered+d.Duplicates+d.Retransmitted+d.Payload+d.Stalls+d.Restarts+d.Resumed != 0 || d.Sizes() != nil || d.RTT() != nil {
			t.Errorf("told of a part: %+v", d.Counters)
		}
		if d.In != 3 || d.Out != 4 || d.SrcPort != 0xc000 {
			t.Errorf("path %d, %d, port %d", d.In, d.Out, d.SrcPort)
		}
	}
}

// TestPacketsLostOnTheWayToTheObserver: what is missing where only a part came is no gap,
// and what was missing before that is not lost for good: it cannot be told.
func TestPacketsLostOnTheWayToTheObserver(t *testing.T) {
	s := newSession(t, 1)
	s.psn = 100
	s.send(s.message(3))
	m := s.message(4)
	s.send(m[:1]) // m[1] is missing when the observer becomes blind
	s.send(m[2:3])
	blind := len(s.packets)
	s.send(m[3:])
	sees := len(s.packets)
	s.psn += 20
	s.send(s.message(2))
	m = s.message(3)
	s.send(m[:1])
	s.send(m[2:]) // and one is missing where every packet comes
	f, _ := shown(t, NewTable(Config{}), s.packets, func(i int) bool { return i >= blind && i < sees })
	if f.Gaps != 2 || f.Missing != 2 || f.Unsettled != 1 || f.Lost() != 1 || f.Resumed != 1 || f.Restarts != 0 {
		t.Errorf("%+v, lost %d", f.Counters, f.Lost())
	}
}

// TestReservedTable: nothing is allocated, also not for directions that come and go; one
// that sends keeps its place, and a direction that takes the place of another has nothing
// of it.
func TestReservedTable(t *testing.T) {
	s := newSession(t, 9)
	faults["read"](s)
	faults["none"](s)
	var p roce.Packet
	const room, keep = 16, 1000
	table := NewTable(Config{Capacity: room, Keep: keep, Reserve: 8, Untimed: true})
	now, point := int64(1e9), uint32(0)
	come := func() {
		point++
		for _, c := range s.packets {
			if err := p.ParseIP(c.frame, len(c.frame)); err != nil {
				t.Fatal(err)
			}
			seen := Seen{Time: now, Point: point, SrcQP: qpB, From: flow.Ack, Slot: 1}
			if c.forward {
				seen.SrcQP, seen.Slot = qpA, 0
			}
			table.Observe(&p, seen)
		}
	}
	for range room / 2 {
		come()
	}
	if table.Unfollowed() != 0 || table.store.states.used() != room {
		t.Fatalf("%d unfollowed, %d are there", table.Unfollowed(), table.store.states.used())
	}
	come() // there is no room
	if table.Unfollowed() != uint64(len(s.packets)) || table.Follows(0) || table.Follows(1) {
		t.Errorf("%d unfollowed, want %d", table.Unfollowed(), len(s.packets))
	}
	now += keep
	if n := testing.AllocsPerRun(200, func() { now += keep; come() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	f, whole := (*Direction)(nil), 0
	for i := range room + 1 {
		d := table.At(i)
		if (d == nil) != (i == room) {
			t.Fatalf("direction %d: %v", i, d)
		}
		if d != nil && d.Point == point {
			whole++
			if peer := d.Peer(); peer == nil || peer.Point != point || peer.DestQP == d.DestQP {
				t.Errorf("peer %+v", peer)
			}
			if d.DestQP == qpB {
				f = kept(d)
			}
		} else if d != nil && d.Peer() != nil && d.Peer().Point != d.Point {
			t.Errorf("a direction of point %d has a peer of %d", d.Point, d.Peer().Point)
		}
	}
	if whole != 2 || len(table.by) != room {
		t.Fatalf("%d of the last, %d in all", whole, len(table.by))
	}
	if f.Gaps+f.Duplicates+f.Restarts != 0 || f.RTT() != nil || f.Sizes() == nil || f.Sizes().Count != 2 || f.Payload != s.want[0].Payload {
		t.Errorf("%+v, sizes %+v", f.Counters, f.Sizes())
	}
}

// TestFirstPacketsLostBeforeTheObserver: the first packets of a connection are lost before they come
// here, and sent again, at once or late: they are messages, and no duplicates.
func TestFirstPacketsLostBeforeTheObserver(t *testing.T) {
	for seed := range uint64(20) {
		for _, pause := range []int64{0, 50e6} { // ns; within patience, and beyond
			for lost := 1; lost <= 3; lost++ {
				s := newSession(t, seed)
				m := s.message(1)
				for range 3 {
					m = append(m, s.message(1+s.random.IntN(3))...)
				}
				s.send(m[lost:])
				s.want[0].Missing += uint64(lost)
				s.now += pause
				s.refuse(m[0].psn, 0x60, roce.NAKSequence)
				s.again(m, lost)
				s.acknowledge(m[len(m)-1], 0, false)
				for _, both := range []bool{true, false} {
					f, _ := observe(t, s.packets, true, both)
					s.want[0].check(t, "forward", f, both)
					if f.Lost() != 0 {
						t.Errorf("lost: %d", f.Lost())
					}
				}
				if t.Failed() {
					t.Fatalf("seed %d, %d lost, pause %d ns", seed, lost, pause)
				}
			}
		}
	}
}
