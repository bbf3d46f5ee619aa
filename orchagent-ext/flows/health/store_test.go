// SPDX-License-Identifier: Apache-2.0

package health

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/wire/roce"
)

// TestSlabsGiveMemoryTwice: a value that was given back comes again, empty, and no other moves.
func TestSlabsGiveMemoryTwice(t *testing.T) {
	var s slab[[3]int]
	addresses := map[uint32]*[3]int{}
	for i := range 3 * chunkSize {
		n, v := s.take()
		if *v != [3]int{} || n != uint32(i+1) || s.at(n) != v {
			t.Fatalf("value %d is %v, number %d", i, *v, n)
		}
		*v, addresses[n] = [3]int{i}, v
	}
	s.give(0)
	s.give(7)
	number := uint32(0)
	if v := s.ensure(&number); number != 7 || *v != [3]int{} || s.ensure(&number) != v || s.get(7) != v || s.get(0) != nil {
		t.Errorf("number %d: %v", number, v)
	}
	for n, v := range addresses {
		if s.at(n) != v {
			t.Errorf("value %d has moved", n)
		}
	}
	if n, _ := s.take(); n != 3*chunkSize+1 {
		t.Errorf("the next one is %d", n)
	}
}

// TestArraysGrow: values stay when others come, and one that was given back comes again, empty.
func TestArraysGrow(t *testing.T) {
	for _, reserved := range []int{0, 100} {
		a := newArray[int](reserved)
		for i := range 1000 {
			n := a.take()
			if n != uint32(i+1) || *a.at(n) != 0 || a.used() != i+1 {
				t.Fatalf("number %d of %d: %d, want a zero value", n, a.used(), *a.at(n))
			}
			*a.at(n) = i + 5
		}
		for i := range 1000 {
			if v := *a.at(uint32(i + 1)); v != i+5 {
				t.Fatalf("value %d is %d", i, v)
			}
		}
		a.give(7)
		if n := a.take(); n != 7 || *a.at(7) != 0 || a.take() != 1001 {
			t.Errorf("number %d: %d", n, *a.at(7))
		}
	}
}

// TestRoutesKnowTheWayBack as long as a direction takes it, and one between a host and itself is its
// own way back.
func TestRoutesKnowTheWayBack(t *testing.T) {
	s := newStore(0)
	out, back, self := route{1, host1, host2}, route{1, host2, host1}, route{1, host1, host1}
	a := s.routes.acquire(out)
	if n := s.routes.acquire(route{2, host2, host1}); s.routes.at(a).reverse != 0 || s.routes.at(n).reverse != 0 {
		t.Error("a way back at another point")
	}
	b := s.routes.acquire(back)
	if s.routes.acquire(out) != a || s.routes.at(a).reverse != b || s.routes.at(b).reverse != a {
		t.Errorf("%d and %d: %+v, %+v", a, b, *s.routes.at(a), *s.routes.at(b))
	}
	s.routes.release(b)
	s.routes.release(a)
	if s.routes.at(a).reverse != 0 || len(s.routes.by) != 2 {
		t.Errorf("%+v of %d", *s.routes.at(a), len(s.routes.by))
	}
	if again := s.routes.acquire(back); s.routes.at(again).reverse != a || s.routes.at(a).reverse != again {
		t.Errorf("%+v", *s.routes.at(again))
	}
	n := s.routes.acquire(self)
	if s.routes.at(n).reverse != n {
		t.Errorf("%+v", *s.routes.at(n))
	}
	s.routes.release(n)
	if len(s.routes.by) != 3 {
		t.Errorf("%d routes", len(s.routes.by))
	}
}

var host1, host2 = [16]byte{0xfd, 15: 1}, [16]byte{0xfd, 15: 2}

// TestTalliesCountAsHistograms: values that wait for their histogram, and sizes in a row, count as in
// a histogram of their own, at every number of them.
func TestTalliesCountAsHistograms(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 4))
	s := newStore(0)
	s.states.take()
	s.births.take()
	one := s.at(1)
	one.occupy(ends{s.routes.acquire(route{}), 1, 0})
	var want, got histogram.Coarse
	for i := range 500 {
		v := [...]uint64{7, 7, 7, 7, 7, 4096, 1 << 20, math.MaxUint32, math.MaxUint32 + 1, 1 << 40}[random.IntN(10)]
		for range 1 + random.IntN(2*fewTimes) {
			want.Add(v)
			one.sized(v)
		}
		if h := one.histogram(one.state.messages.sizes, one.state.messages.size, &got); h == nil || *h != want {
			t.Fatalf("after %d sizes: %v, want %v", i, h, want)
		}
	}
	if h := one.histogram(0, run{}, &got); h != nil {
		t.Errorf("%v without a value", h)
	}
}

// TestRingKeepsTheNewestRequests, of more than there is room for.
func TestRingKeepsTheNewestRequests(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 5))
	all := newStore(0).pendings
	var w waits
	var want []uint32
	for psn := range uint32(2000) {
		w.put(&all, psn, int64(psn)*10)
		if want = append(want, psn); len(want) > maxPending {
			want = want[1:]
		}
		if random.IntN(9) == 0 {
			until := psn - random.Uint32N(4)
			for len(want) > 0 && want[0] <= until {
				want = want[1:]
			}
			w.drop(&all, func(psn uint32, sent int64) bool {
				if sent != int64(psn)*10 {
					t.Fatalf("PSN %d was sent at %d", psn, sent)
				}
				return psn <= until
			})
		}
		got := map[uint32]bool{}
		w.drop(&all, func(psn uint32, _ int64) bool { got[psn] = true; return false })
		for _, one := range want {
			if !got[one] || len(got) != len(want) {
				t.Fatalf("%v wait, want %v", got, want)
			}
		}
	}
	if w.waiting == 0 && w.ring == 0 || all.used() != 1 || all.more.used() != 1 {
		t.Errorf("%+v of %d rings and %d", w, all.used(), all.more.used())
	}
	all.release(w.ring)
	if len(all.free) != 1 || len(all.more.free) != 1 {
		t.Errorf("%d and %d are free", len(all.free), len(all.more.free))
	}
}

// TestCountsBeyondTheirRange: counts of the hot state that are full go on in the direction's Counters.
func TestCountsBeyondTheirRange(t *testing.T) {
	table := NewTable(Config{})
	p, _ := benchPacket(t, 1, 2, roce.BTH{Opcode: roce.RCSendOnly}, make([]byte, 64))()
	psn := uint32(0)
	come := func() {
		binary.BigEndian.PutUint32(p.BTHBytes()[8:], psn)
		table.Observe(&p, Seen{Time: 5})
		psn++
	}
	come()
	d := table.store.at(1).state
	before := table.At(0).Octets
	d.traffic, d.ce, d.payload = traffic{packets: 1<<31 - 1, octets: 1<<31 - 1, acks: 1<<31 - 2, ect: 9}, 8, 1<<31-1
	come()
	c := table.At(0).Counters
	if c.Packets != 1<<31 || c.Octets != 1<<31-1+before || c.Acks != 1<<31-2 || c.NAKs[roce.NotNAK] != c.Acks || c.ECT != 9 || c.CE != 8 || c.Payload != 1<<31-1+64 {
		t.Errorf("%+v", c)
	}
	if d.traffic.packets != 0 || d.payload != 0 || d.ce != 0 {
		t.Errorf("%+v", d)
	}
	come()
	if got := table.At(0); got.Packets != c.Packets+1 || got.Payload != c.Payload+64 {
		t.Errorf("%+v, want one packet more than %+v", got.Counters, c)
	}
}

// TestPortsComeAndGo: ports that get other numbers again and again take no memory that grows, and each
// direction has the pair of its last packet.
func TestPortsComeAndGo(t *testing.T) {
	const points = 3
	table := NewTable(Config{Capacity: points - 1})
	p, _ := benchPacket(t, 1, 2, roce.BTH{Opcode: roce.RCSendOnly}, make([]byte, 64))()
	last := map[uint32]portPair{}
	for i := range uint64(1000) {
		point, pair := uint32(i/7%points), portPair{i / 3 % 100, 7 * (i / 50 % 2)}
		if i%11 == 0 {
			pair = portPair{}
		}
		table.Observe(&p, Seen{Time: int64(i), Point: point, In: pair.in, Out: pair.out})
		last[point] = pair
		for d := range table.All() {
			if got := (portPair{d.In, d.Out}); got != last[d.Point] {
				t.Fatalf("packet %d: point %d has ports %v, want %v", i, d.Point, got, last[d.Point])
			}
		}
	}
	if n := table.store.ports.used(); n > points-1 || len(table.store.ports.by) > points-1 {
		t.Errorf("%d pairs of ports, %d with a number", n, len(table.store.ports.by))
	}
}

// TestSeatsKeepNothing of a direction that left: what a full table tells of each direction, when it leaves and at
// the end, is what a table tells that only had the packets since it came. Its memory serves again.
func TestSeatsKeepNothing(t *testing.T) {
	all := randomStream(t, 5, 30_000)
	for _, capacity := range []int{5, 40} {
		lives, left := map[Key]*stream{}, 0
		check := func(d *Direction) {
			own, packets := NewTable(Config{}), lives[d.Key]
			delete(lives, d.Key)
			for i := range packets.packets {
				own.Observe(&packets.packets[i], packets.seen[i])
			}
			if left++; line(d) != line(own.At(0)) {
				t.Fatalf("%s, want %s", line(d), line(own.At(0)))
			}
		}
		table := NewTable(Config{Capacity: capacity, Removed: check})
		for i := range all.packets {
			p, seen := &all.packets[i], all.seen[i]
			seen.From = flow.None // so that a direction is independent of the other one
			k := keyOf(p, seen)
			if lives[k] == nil {
				lives[k] = new(stream)
			}
			lives[k].packets, lives[k].seen = append(lives[k].packets, *p), append(lives[k].seen, seen)
			table.Observe(p, seen)
		}
		for d := range table.All() {
			check(d)
		}
		if left < 500 || len(lives) != 0 {
			t.Errorf("capacity %d: %d directions left, and %d never came", capacity, left, len(lives))
		}
		m := &table.store
		if rings, rests, tallies, histograms := m.pendings.used(), int(m.rests.used), m.tallies.used(), int(m.histograms.used); rings > capacity || m.pendings.more.used() > capacity ||
			rests > capacity || tallies > 2*capacity || histograms > 2*capacity || m.routes.used() > capacity || len(m.routes.by) > capacity || len(table.by) != capacity {
			t.Errorf("capacity %d: %d rings, %d rests, %d tallies, %d histograms, %d routes", capacity, rings, rests, tallies, histograms, m.routes.used())
		}
	}
}
