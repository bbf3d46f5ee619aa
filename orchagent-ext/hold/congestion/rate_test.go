// SPDX-License-Identifier: Apache-2.0

package congestion

import (
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"
)

//conformance:draft-zz/queue
func TestRateLeadsToTheTargetDepth(t *testing.T) {
	target := Target{Bytes: 100_000, Delay: 50 * time.Microsecond, Min: 100, Port: 100_000}
	for _, c := range []struct {
		name string
		m    Measured
		want uint32
	}{
		{"on target", Measured{Rate: 40_000, Depth: 100_000}, 40_000},
		{"twice the depth", Measured{Rate: 40_000, Depth: 200_000}, 20_000},
		{"depth a quarter above", Measured{Rate: 40_000, Depth: 125_000}, 32_000},
		{"ten times the depth: no less than a half", Measured{Rate: 40_000, Depth: 1_000_000}, 20_000},
		{"the delay is the worse", Measured{Rate: 40_000, Depth: 125_000, Delay: 80 * time.Microsecond}, 25_000},
		{"the depth is the worse", Measured{Rate: 40_000, Depth: 160_000, Delay: 60 * time.Microsecond}, 25_000},
		{"lost, on target", Measured{Rate: 40_000, Depth: 100_000, Lost: true}, 20_000},
		{"lost, far above", Measured{Rate: 40_000, Depth: 400_000, Lost: true}, 10_000},
		{"lost with an empty queue: no more", Measured{Rate: 40_000, Lost: true}, 20_000},
		{"below target: a hundredth of the port more", Measured{Rate: 40_000, Depth: 99_999}, 41_000},
		{"at the port's speed", Measured{Rate: 99_900}, 100_000},
		{"at the lower end", Measured{Rate: 120, Depth: 1_000_000}, 100},
		{"nothing left the queue", Measured{Depth: 1_000_000}, 100},
		{"an idle flow gets no advice", Measured{}, 0},
		{"below target, of a sender that paused: what it was told", Measured{Rate: 5_000, Depth: 99_999, Last: 40_000}, 40_000},
		{"below target, of a sender that got more than it was told: a step", Measured{Rate: 60_000, Depth: 99_999, Last: 40_000}, 41_000},
		{"far below target, of a sender that does as it was told: a quarter", Measured{Rate: 8000, Depth: 12_499, Last: 8000}, 10_000},
		{"far below target, of a sender that uses more than half: a quarter", Measured{Rate: 4100, Last: 8000}, 10_000},
		{"far below target, of a sender that was told little: a step", Measured{Rate: 1000, Last: 1000}, 2000},
		{"far below target, of a sender that paused: what it was told", Measured{Rate: 5000, Last: 40_000}, 40_000},
		{"an eighth of the target: a step", Measured{Rate: 8000, Depth: 12_500, Last: 8000}, 9000},
		{"far below target, of a port that others may fill: a step", Measured{Rate: 8000, Last: 8000, Advised: 100_000}, 9000},
		{"above target, of a sender that got more than it was told: a quarter", Measured{Rate: 80_000, Depth: 101_000, Last: 40_000}, 51_000},
		{"above target, of a sender that was told more", Measured{Rate: 40_000, Depth: 200_000, Last: 80_000}, 20_000},
		{"lost, of a sender that was told more", Measured{Rate: 40_000, Lost: true, Last: 80_000}, 20_000},
		{"its share of the target is a quarter", Measured{Rate: 40_000, Depth: 50_000, Flows: 4}, 20_000},
		{"on its share of the target", Measured{Rate: 40_000, Depth: 25_000, Flows: 4}, 40_000},
		{"beside one that has more: its fair share", Measured{Rate: 600, Depth: 1_000_000, Last: 600, Flows: 2, Fair: 7500, Most: 14_400}, 7500},
		{"the one that has more: the fair share, too", Measured{Rate: 14_400, Depth: 1_000_000, Flows: 2, Fair: 7500, Most: 14_400}, 7500},
		{"beside one that has a little more", Measured{Rate: 7000, Depth: 1_000_000, Flows: 2, Fair: 7500, Most: 8000}, 3500},
	} {
		if got := target.Rate(c.m); got != c.want {
			t.Errorf("%s: %d Mbit/s, want %d", c.name, got, c.want)
		}
	}
	slow := Target{Bytes: 1, Delay: 1, Min: 100, Port: 10}
	if got := slow.Rate(Measured{Rate: 5}); got != 10 {
		t.Errorf("port slower than the least rate: %d Mbit/s", got)
	}
	unknown := Target{Bytes: 1, Delay: 1}
	if got := unknown.Rate(Measured{Rate: 1 << 31}); got != 1<<31 {
		t.Errorf("port of unknown speed: %d Mbit/s", got)
	}
	if got := unknown.Rate(Measured{Depth: 10}); got != 1 {
		t.Errorf("no limits and nothing left the queue: %d Mbit/s, and 0 may never be sent", got)
	}
}

// A sender that does as it is told, into a queue that drains at the port's speed,
// comes to a queue about the target and stays, whatever it began with.
//
//conformance:draft-zz/queue
func TestRateSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const interval = 10 * time.Millisecond
		const octets = 125_000 * 10 / 1000 // of 1 Mbit/s in an interval
		target := Target{Bytes: 10 << 20, Delay: time.Second, Min: 100, Port: 100_000}
		rate := rapid.Uint32Range(100, 100_000).Draw(t, "rate")
		depth := rapid.Uint64Range(0, 100<<20).Draw(t, "depth")
		capacity := rapid.Uint32Range(2_000, 90_000).Draw(t, "capacity")
		for i := range 5000 {
			in := depth + uint64(rate)*octets
			out := min(in, uint64(capacity)*octets)
			depth = in - out
			rate = target.Rate(Measured{Rate: rate, Depth: depth, Delay: time.Duration(i % 2)})
			// 1 % of the port a step, over a queue of at most twice the target: the
			// excess of a few intervals at the rate that filled it.
			if i > 2500 && depth > 2*target.Bytes+uint64(100_000*octets) {
				t.Fatalf("interval %d of %v: %d octets queued at %d of %d Mbit/s", i, interval, depth, rate, capacity)
			}
		}
	})
}

//conformance:draft-zz/policy
func TestLowestRateOfThePoliciesThatMatchCounts(t *testing.T) {
	p := netip.MustParsePrefix
	policies := []Policy{
		{DSCP: -1, Rate: 50_000},
		{Src: p("2001:db8:1::/48"), DSCP: -1, Rate: 20_000},
		{Src: p("2001:db8:1::/48"), Dst: p("2001:db8:2::/48"), DSCP: 26, Rate: 10_000},
		{Src: p("10.0.0.0/8"), DSCP: -1, Rate: 5_000},
	}
	for _, c := range []struct {
		src, dst string
		dscp     uint8
		want     uint32
	}{
		{"2001:db8:9::1", "2001:db8:2::1", 26, 50_000},
		{"2001:db8:1::1", "2001:db8:2::1", 0, 20_000},
		{"2001:db8:1::1", "2001:db8:2::1", 26, 10_000},
		{"10.1.2.3", "192.0.2.1", 26, 5_000},
	} {
		if got := Lowest(policies, netip.MustParseAddr(c.src), netip.MustParseAddr(c.dst), c.dscp, 0, nil); got != c.want {
			t.Errorf("%s to %s, DSCP %d: %d, want %d", c.src, c.dst, c.dscp, got, c.want)
		}
	}
	if got := Lowest(policies[1:], netip.MustParseAddr("::1"), netip.MustParseAddr("::1"), 0, 0, nil); got != 0 {
		t.Errorf("no policy matches, and the rate is %d", got)
	}
}

// The priority of DSCP 26 has 30 % of the port, and each of its flows an equal part of it; 7 Mbit/s is
// the most of one.
//
//conformance:draft-zz/policy
func TestFlowsOfAPolicyShareItsPartOfThePort(t *testing.T) {
	a := netip.MustParseAddr("2001:db8::1")
	policies := []Policy{{DSCP: 26, Percent: 30}, {DSCP: 10, Percent: 60, Rate: 7}, {DSCP: 10, Percent: 90}}
	for _, c := range []struct {
		dscp  uint8
		port  uint32
		flows int
		want  uint32
	}{
		{26, 40_000, 0, 12_000}, // one that is not counted yet
		{26, 40_000, 1, 12_000},
		{26, 40_000, 5, 2_400},
		{26, 400_000, 7, 17_142}, // 17142.857
		{26, 10, 4, 1},           // 0.75: no rate of 0 is advised
		{26, 0, 1, 0},            // the speed of the port is unknown
		{10, 40_000, 1, 7},
		{10, 40, 6, 4}, // 24 for 6
		{10, 0, 1, 7},
		{12, 40_000, 1, 0},
	} {
		if got := Lowest(policies, a, a, c.dscp, c.port, func(int) int { return c.flows }); got != c.want {
			t.Errorf("DSCP %d, %d flows on a port of %d: %d, want %d", c.dscp, c.flows, c.port, got, c.want)
		}
	}
	if !Match(policies, a, a, 26) || Match(policies, a, a, 12) {
		t.Error("a policy without a rate is for its flows, and for them alone")
	}
}

//conformance:draft-zz/near-source
func TestAdviceIsRepeatedAndExpires(t *testing.T) {
	pace := &Pace{Interval: 10 * time.Millisecond, Lifetime: 3}
	const ms = int64(time.Millisecond)
	var a Advice
	if a.Rate(0, pace) != 0 {
		t.Error("an advice that never was holds")
	}
	target := &Target{Bytes: 100_000, Delay: time.Second, Min: 100, Port: 100_000}
	if rate := a.Congestion(0, true, Measured{}, target, pace); rate != 0 {
		t.Errorf("an idle flow of a port of 100 Gbit/s is advised %d Mbit/s", rate)
	}
	if rate := a.Congestion(0, false, Measured{Rate: 10, Depth: 10}, target, pace); rate != 0 {
		t.Errorf("a flow that never passed the high-water mark is advised %d Mbit/s", rate)
	}
	for _, c := range []struct {
		above bool
		m     Measured
		want  uint32
	}{
		{true, Measured{Rate: 40_000, Depth: 200_000}, 20_000},
		{false, Measured{Rate: 20_000, Depth: 50_000}, 21_000}, // below the mark, and still advised
		{false, Measured{Rate: 99_500}, 0},                     // 100 %: the advice limits nothing
		{false, Measured{Rate: 40_000, Depth: 50_000}, 0},      // it would have to pass the mark again
		{true, Measured{Rate: 40_000, Depth: 200_000}, 20_000},
		{false, Measured{}, 0},
		{false, Measured{Rate: 40_000, Depth: 50_000}, 0},
	} {
		if rate := a.Congestion(0, c.above, c.m, target, pace); rate != c.want {
			t.Errorf("above %v, %+v: advised %d Mbit/s, want %d", c.above, c.m, rate, c.want)
		}
	}
	// A flow that is idle for less than the lifetime of an advice is told what it was.
	if rate := a.Congestion(0, true, Measured{Rate: 40_000, Depth: 200_000}, target, pace); rate != 20_000 || !a.Send(0, rate, pace) {
		t.Errorf("told %d", rate)
	}
	for i, want := range []uint32{20_000, 20_000, 0, 0} {
		if rate := a.Congestion(int64(i)*ms, false, Measured{}, target, pace); rate != want {
			t.Errorf("idle for %d intervals: advised %d Mbit/s, want %d", i+1, rate, want)
		}
	}
	a = Advice{}
	for _, c := range []struct {
		at   int64 // ms
		rate uint32
		tell bool
		now  uint32 // what holds then
	}{
		{100, 0, false, 0},
		{100, 5000, true, 5000},
		{105, 4000, false, 5000}, // too soon
		{110, 4000, true, 4000},
		{119, 4000, false, 4000}, // not due
		{120, 4000, true, 4000},  // refreshed
		{149, 0, false, 4000},
		{150, 0, false, 0}, // ran out
		{151, 4000, true, 4000},
	} {
		if got := a.Send(c.at*ms, c.rate, pace); got != c.tell {
			t.Errorf("at %d ms, %d Mbit/s: %v", c.at, c.rate, got)
		}
		if got := a.Rate(c.at*ms, pace); got != c.now {
			t.Errorf("at %d ms %d Mbit/s hold, want %d", c.at, got, c.now)
		}
	}
	long := &Pace{Interval: time.Millisecond, Lifetime: 10}
	if at := a.at + long.refresh(); at != 156*ms {
		t.Errorf("with a lifetime of 10 intervals due at %d", at)
	}
}

// A flow's state is a few words beside the flow, and deciding allocates nothing.
func TestNoAllocation(t *testing.T) {
	var f Flow
	th := marks()
	now := int64(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += 100 * us
		f.Observe(now, Seen{Octets: uint64(now) % 200_000}, th)
		f.Due(th)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A sender that needs some round trips to slow down follows; one that does not slow down
// is found within a second, and again one that follows after it does.
func TestSenderThatExceedsItsAdviceIsFound(t *testing.T) {
	p := &Pace{Interval: 10 * time.Millisecond, Lifetime: 3}
	for name, tt := range map[string]struct {
		came    func(i int) uint32 // Mbit/s, in interval i
		follows bool               // after 100 intervals
	}{
		"at once":            {func(int) uint32 { return 1000 }, true},
		"after a round trip": {func(i int) uint32 { return max(1000, uint32(10_000)>>(i/2)) }, true},
		"a bit too much":     {func(int) uint32 { return 1300 }, true},
		"twice of it":        {func(int) uint32 { return 2000 }, false},
		"as it likes":        {func(int) uint32 { return 10_000 }, false},
		"in bursts":          {func(i int) uint32 { return uint32(i%2) * 2000 }, true},
		"in the end it obeys": {func(i int) uint32 {
			if i < 60 {
				return 10_000
			}
			return 1000
		}, true},
	} {
		var a Advice
		for i := range 100 {
			now := int64(i+1) * int64(p.Interval)
			a.Send(now, 1000, p)
			if got := a.Follow(now, tt.came(i), p); got != a.Follows() || i == 99 && got != tt.follows {
				t.Errorf("%s: interval %d: it follows: %v, want %v", name, i, got, tt.follows)
			}
		}
	}
	var silent Advice
	for i := range 100 {
		if !silent.Follow(int64(i), 1_000_000, p) {
			t.Fatal("a sender who was told nothing does not follow")
		}
	}
}
