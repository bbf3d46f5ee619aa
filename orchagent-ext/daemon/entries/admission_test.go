// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/switch/engine"
)

// traffic is a switch that counts the packets of flows, and the clock.
type traffic struct {
	t      *testing.T
	log    Entries
	now    time.Time
	counts map[uint32]uint64
	reads  int
}

func newTraffic(t *testing.T, capacity int) *traffic {
	return &traffic{t: t, log: Entries{admission: admission{capacity: capacity}}, now: time.Unix(1000, 0), counts: map[uint32]uint64{}}
}

func (r *traffic) count(f engine.FlowEntry) (packets, octets uint64, err error) {
	r.reads++
	return r.counts[f.DestQP], 100 * r.counts[f.DestQP], nil
}

// come offers a flow that was seen so many times.
func (r *traffic) come(qp uint32, port string, times uint32) (admitted bool) {
	r.t.Helper()
	f := flowEntry(qp)
	if r.log.seen[keyOf(f)] != nil {
		return true
	}
	victim, admit := r.log.offer(port, times, r.count, r.now)
	if victim != nil {
		r.log.remove(victim.FlowEntry)
	}
	if admit {
		r.log.add(f, port, r.now)
	}
	if n := len(r.log.seen); n > r.log.capacity {
		r.t.Fatalf("%d entries of %d", n, r.log.capacity)
	}
	return admit
}

// pass lets time pass, in which some flows send.
func (r *traffic) pass(d time.Duration, flows ...uint32) {
	for range d / (100 * time.Millisecond) {
		r.now = r.now.Add(100 * time.Millisecond)
		for _, qp := range flows {
			if r.log.seen[keyOf(flowEntry(qp))] != nil {
				r.counts[qp] += 10
			}
		}
		if r.now.UnixMilli()%1000 == 0 {
			for _, idle := range r.log.readCounters(r.count, r.now, unhurried) {
				r.log.remove(idle)
			}
		}
	}
}

func (r *traffic) has(flows ...uint32) (n int) {
	for _, qp := range flows {
		if r.log.seen[keyOf(flowEntry(qp))] != nil {
			n++
		}
	}
	return n
}

func TestAdmissionTakesAFlowThatWasSeenTwiceWhileThereIsRoom(t *testing.T) {
	r := newTraffic(t, 100)
	for _, qp := range qps(0, 74) {
		if !r.come(qp, "Ethernet0", 2) {
			t.Fatalf("flow %d of 100 got no entry", qp)
		}
	}
	r.come(74, "Ethernet0", 2)
	if r.come(75, "Ethernet0", 2) {
		t.Error("a flow that was seen twice took one of the last quarter")
	}
	for _, qp := range qps(75, 25) {
		if !r.come(qp, "Ethernet0", 4) {
			t.Errorf("flow %d of 100 got no entry", qp)
		}
	}
	if r.come(100, "Ethernet0", 4) || r.log.refusedCapacity != 1 || r.log.evicted != 0 {
		t.Errorf("full, no flow is idle: %d refused, %d evicted", r.log.refusedCapacity, r.log.evicted)
	}
	if w := r.log.Warning(r.now); !strings.Contains(w, "the 100 entries of flow_capacity of SLUICE|global are in use") || !strings.Contains(w, "Ethernet0, which has 100") {
		t.Errorf("%q", w)
	}
	if w := r.log.Warning(r.now.Add(time.Minute)); w != "" {
		t.Errorf("a minute later: %q", w)
	}
}

// TestAdmissionNeverTakesTheEntryOfALiveFlowForOneOfItsPort: but that of an idle one,
// first of one whose entry no packet has met.
func TestAdmissionNeverTakesTheEntryOfALiveFlowForOneOfItsPort(t *testing.T) {
	r := newTraffic(t, 100)
	live, slow, junk := qps(0, 90), qps(90, 5), qps(95, 5)
	for _, qp := range qps(0, 100) {
		r.come(qp, "Ethernet0", 4)
	}
	r.pass(1100*time.Millisecond, append(live, slow...)...)
	for i := range uint32(5) {
		if !r.come(1000+i, "Ethernet0", 4) {
			t.Errorf("no entry for a flow, though %d are idle", r.has(junk...))
		}
	}
	if r.has(junk...) != 0 || r.has(live...) != 90 || r.has(slow...) != 5 {
		t.Errorf("%d unused, %d live, %d slow flows have their entry", r.has(junk...), r.has(live...), r.has(slow...))
	}
	if r.come(2000, "Ethernet0", 4) {
		t.Error("a flow got an entry, though none was idle")
	}
	r.pass(4*time.Second, append(live, qps(1000, 5)...)...)
	for i := range uint32(10) {
		r.come(3000+i, "Ethernet0", 4)
	}
	if r.has(slow...) != 0 || r.has(live...) != 90 || r.has(qps(1000, 5)...) != 5 || r.has(qps(3000, 10)...) != 5 {
		t.Errorf("%d slow, %d live, %d new flows have their entry", r.has(slow...), r.has(live...), r.has(qps(3000, 10)...))
	}
}

// TestAdmissionKeepsAFlowThatPauses: one that has paused before for as long is not
// idle.
func TestAdmissionKeepsAFlowThatPauses(t *testing.T) {
	r := newTraffic(t, 2)
	r.come(1, "Ethernet0", 4)
	r.come(2, "Ethernet0", 4)
	for range 3 {
		r.pass(time.Second, 1, 2)
		r.pass(5*time.Second, 2)
	}
	if r.come(3, "Ethernet0", 4) {
		t.Error("a flow that pauses for 5 s lost its entry after 5 s")
	}
	r.pass(10*time.Second, 2)
	if !r.come(3, "Ethernet0", 4) || r.has(1, 2, 3) != 2 || r.has(2) != 1 {
		t.Errorf("%v", r.log.seen)
	}
}

// TestAdmissionGivesEachPortItsShare: of flows that all live.
func TestAdmissionGivesEachPortItsShare(t *testing.T) {
	r := newTraffic(t, 90)
	hog := qps(0, 200)
	for _, qp := range hog {
		r.come(qp, "Ethernet0", 8)
	}
	heavy := slices.DeleteFunc(slices.Clone(hog), func(qp uint32) bool { return qp%2 == 1 })
	r.pass(2*time.Second, hog...)
	r.pass(2*time.Second, heavy...)
	for i, port := range []string{"Ethernet4", "Ethernet8"} {
		own := qps(uint32(1000*(i+1)), 60)
		for range 30 {
			for _, qp := range own {
				r.come(qp, port, 8)
			}
			r.pass(time.Second, append(append(hog, qps(1000, 60)...), qps(2000, 60)...)...)
		}
	}
	for _, port := range []string{"Ethernet0", "Ethernet4", "Ethernet8"} {
		if n := r.log.has(port); n < 29 || n > 31 {
			t.Errorf("%s has %d of 90 entries", port, n)
		}
	}
	evicted := r.log.evicted
	for _, qp := range qps(5000, 1000) { // more of the hog take nothing from the others
		r.come(qp, "Ethernet0", 1000)
	}
	if r.log.evicted != evicted {
		t.Errorf("%d live flows lost their entries", r.log.evicted-evicted)
	}
}

// TestAdmissionUnderAFlood: all good flows keep and get their entries, whatever one
// port sends.
func TestAdmissionUnderAFlood(t *testing.T) {
	for _, port := range []string{"Ethernet0", "Ethernet4"} { // of the good flows; the flood is on Ethernet0
		r := newTraffic(t, 1024)
		random := rand.New(rand.NewPCG(1, 2))
		old, fresh := qps(1<<23, 32), qps(1<<23+100, 32)
		for _, qp := range old {
			r.come(qp, port, 4)
		}
		r.pass(time.Second, old...)
		flood := func(d time.Duration, live ...uint32) {
			for range d / (100 * time.Millisecond) {
				for range 500 { // a second: 5,000 that were seen four times
					r.come(random.Uint32N(1<<23), "Ethernet0", 4)
				}
				r.pass(100*time.Millisecond, live...)
			}
		}
		flood(10*time.Second, old...)
		evicted := r.log.evicted
		if evicted > 10*evictionRate+evictionBurst {
			t.Errorf("%d evictions in 10 s", evicted)
		}
		took := time.Duration(0)
		for times := uint32(4); r.has(fresh...) < 32; times *= 2 {
			if took += 250 * time.Millisecond; took > 2*time.Second {
				t.Fatalf("%s: %d of 32 new flows have an entry", port, r.has(fresh...))
			}
			for _, qp := range fresh {
				r.come(qp, port, times)
			}
			flood(250*time.Millisecond, append(old, fresh...)...)
		}
		flood(10*time.Second, append(old, fresh...)...)
		if r.has(old...) != 32 || r.has(fresh...) != 32 {
			t.Errorf("%s: %d of 32 old, %d of 32 new flows have an entry", port, r.has(old...), r.has(fresh...))
		}
		t.Logf("%s: the last of 32 new flows got its entry within %v; %d evicted, %d refused in 21 s", port, took, r.log.evicted, r.log.refusedCapacity)
	}
}

// TestAdmissionToALowerCapacity keeps the flows that send most.
func TestAdmissionToALowerCapacity(t *testing.T) {
	r := newTraffic(t, 100)
	for _, qp := range qps(0, 80) {
		r.come(qp, "Ethernet0", 4)
	}
	for _, qp := range qps(80, 20) {
		r.come(qp, "Ethernet4", 4)
	}
	r.pass(4*time.Second, append(qps(0, 25), qps(80, 20)...)...)
	r.log.capacity = 50
	if gone := r.log.excess(r.now); len(gone) != 50 || len(r.log.seen) != 50 {
		t.Errorf("%d gone, %d are left", len(gone), len(r.log.seen))
	}
	if r.has(qps(0, 25)...) != 25 || r.has(qps(80, 20)...) != 20 {
		t.Errorf("%d and %d flows that send have an entry", r.has(qps(0, 25)...), r.has(qps(80, 20)...))
	}
}

// TestAdmissionOfASwitchWithLessRoom: its room is the limit, for a while.
func TestAdmissionOfASwitchWithLessRoom(t *testing.T) {
	r := newTraffic(t, 100)
	for _, qp := range qps(0, 50) {
		r.come(qp, "Ethernet0", 4)
	}
	r.log.full(1, "Ethernet0", r.now)
	if r.come(50, "Ethernet0", 4) {
		t.Error("an entry for which there is no room")
	}
	if w := r.log.Warning(r.now); !strings.Contains(w, "the switch has room for 50 entries of flow_capacity=100") {
		t.Errorf("%q", w)
	}
	r.now = r.now.Add(roomTime)
	if !r.come(50, "Ethernet0", 4) {
		t.Error("the switch is not asked again")
	}
}

// TestAdmissionAtACounterThatCannotBeRead takes no entry away.
func TestAdmissionAtACounterThatCannotBeRead(t *testing.T) {
	r := newTraffic(t, 1)
	r.come(1, "Ethernet0", 4)
	r.pass(time.Second, 1)
	broken := func(engine.FlowEntry) (uint64, uint64, error) { return 0, 0, errors.New("busy") }
	if idle := r.log.readCounters(broken, r.now, unhurried); len(idle) > 0 || r.has(1) != 1 {
		t.Errorf("%v lost their entries", idle)
	}
}

func qps(first, n uint32) []uint32 {
	all := make([]uint32, n)
	for i := range all {
		all[i] = first + uint32(i)
	}
	return all
}
