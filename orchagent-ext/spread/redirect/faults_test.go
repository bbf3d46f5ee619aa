// SPDX-License-Identifier: Apache-2.0

package redirect_test

import (
	"errors"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/spread/nexthops"
	"sluice/orchagent-ext/spread/redirect"
)

// route makes the next hops of the destination others, and has them read again.
func (b *bed) route(members []nexthops.Member) {
	b.members[destination] = members
	b.r.Stale()
}

// without are next hops of which some are down.
func without(n int, dead ...int) []nexthops.Member {
	all := uplinks(n)
	for _, i := range dead {
		all[i].Dead = true
	}
	return all
}

// astray are the rules that lead to anything but a live next hop of the flow's route.
func (b *bed) astray() (all []string) {
	for flow, to := range b.rules {
		live := slices.ContainsFunc(b.members[destination], func(m nexthops.Member) bool {
			return target(m.Link, m.Gateway) == to && !m.Dead && !m.Unresolved && !b.uncarried[m.Index]
		})
		if !live {
			all = append(all, flow+" to "+to)
		}
	}
	return all
}

// fault is one row of TestRedirectorInFaults.
type fault struct {
	do    func(b *bed)
	rules int  // that there are right after it
	first bool // it comes before flows are placed
}

// faults are by name. Two of four flows have a rule where loads are even over two uplinks.
var faults = map[string]fault{
	"a neighbor flaps": {do: func(b *bed) {
		for i := range 21 {
			members := uplinks(2)
			members[1].Unresolved = i%2 == 0
			b.route(members)
			b.poll()
			b.run(50 * time.Millisecond)
		}
	}},
	"a link flaps": {do: func(b *bed) {
		for i := range 20 {
			b.route(without(2, []int{1}[:i%2]...))
			b.poll()
			b.run(50 * time.Millisecond)
		}
	}},
	"next hops change links": {do: func(b *bed) {
		moved := uplinks(2)
		moved[0].Link, moved[1].Link = moved[1].Link, moved[0].Link
		b.route(moved)
		b.poll()
		b.run(4 * time.Second)
	}, rules: 2},
	"all links are down":     {do: func(b *bed) { b.route(without(2, 0, 1)); b.poll(); b.run(time.Second) }},
	"the route is withdrawn": {do: func(b *bed) { b.route(nil); b.poll(); b.run(time.Second) }},
	"the group grows":        {do: func(b *bed) { b.flows = 6; b.route(uplinks(3)); b.poll(); b.run(6 * time.Second) }, rules: 4},
	"the group shrinks":      {do: func(b *bed) { b.route(uplinks(1)); b.poll(); b.run(time.Second) }},
	"next hops are unreadable": {do: func(b *bed) {
		b.netErr = errors.New("no answer")
		b.r.Stale()
		b.run(time.Second)
		b.netErr = nil
	}, rules: 2},
	"a link goes down while next hops are unreadable": {do: func(b *bed) {
		b.netErr = errors.New("no answer")
		b.route(without(2, 1))
		b.run(500 * time.Millisecond)
		b.netErr = nil
		b.run(1500 * time.Millisecond)
	}},
	"a carrier is lost while next hops are unreadable": {do: func(b *bed) {
		b.netErr = errors.New("no answer")
		b.uncarried = map[int]bool{2: true}
		b.poll()
		b.netErr = nil
		b.run(1500 * time.Millisecond)
		b.uncarried = nil
	}},
	"carriers are unreadable": {do: func(b *bed) {
		b.carrierErr = errors.New("no answer")
		b.run(time.Second)
		b.carrierErr = nil
	}, rules: 2},
	"a link goes down while the switch fails": {do: func(b *bed) {
		b.swErr = errors.New("no answer")
		b.route(without(2, 1))
		b.run(time.Second)
		b.swErr = nil
		b.run(1500 * time.Millisecond)
	}},
	"the table is full":                           {do: func(b *bed) { b.flows = 8; b.full = true; b.run(2 * time.Second) }},
	"the switch is emptied":                       {do: func(b *bed) { clear(b.rules); b.run(1500 * time.Millisecond) }, rules: 2},
	"samples stop":                                {do: func(b *bed) { b.pass(20 * time.Second) }, rules: 2},
	"flows end":                                   {do: func(b *bed) { b.pass(40 * time.Second) }},
	"samples of another group's ports":            {do: func(b *bed) { b.runAs(4*time.Second, "other7") }, first: true},
	"samples without the port that they leave by": {do: func(b *bed) { b.runAs(4*time.Second, "") }, first: true},
	"the clock steps back": {do: func(b *bed) {
		b.now = b.now.Add(-time.Hour)
		b.route(without(2, 1))
		b.run(100 * time.Millisecond)
	}},
	"the clock steps back and the switch is emptied": {do: func(b *bed) {
		b.now = b.now.Add(-time.Hour)
		clear(b.rules)
		b.run(1500 * time.Millisecond)
	}, rules: 2},
	"the clock steps ahead": {do: func(b *bed) {
		b.now = b.now.Add(time.Hour)
		b.route(without(2, 1))
		b.run(100 * time.Millisecond)
	}},
}

// TestRedirectorInFaults: whatever happens, no rule leads to anything but a live next hop of the
// route, and there are as many rules as the fault leaves; and 12 s after it, when refusals are
// forgotten, loads are even again.
func TestRedirectorInFaults(t *testing.T) {
	for name, is := range faults {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			if !is.first {
				b.placed()
			}
			is.do(b)
			if wrong := b.astray(); len(wrong) > 0 || len(b.rules) != is.rules {
				t.Errorf("after it the rules are %v: want %d, to live next hops", b.rules, is.rules)
			}
			b.flows, b.full = 4, false
			b.route(uplinks(2))
			b.run(12 * time.Second)
			if wrong := b.astray(); len(wrong) > 0 || len(b.rules) != 2 {
				t.Errorf("12 s after it the rules are %v: want two, to live next hops", b.rules)
			}
		})
	}
}

// poll polls once, and fails where a rule leads astray then: the switch drops its packets.
func (b *bed) poll() {
	b.t.Helper()
	if err := b.r.Poll(b.now); err != nil {
		b.t.Fatal(err)
	}
	if wrong := b.astray(); len(wrong) > 0 {
		b.t.Fatalf("the first poll after a change leaves rules astray: %v", wrong)
	}
}

// pass polls for a time in which no packet is sampled.
func (b *bed) pass(d time.Duration) {
	b.t.Helper()
	for end := b.now.Add(d); b.now.Before(end); b.now = b.now.Add(20 * time.Millisecond) {
		b.poll()
	}
}

// runAs samples the flows of a bed for a time as if they left by a link.
func (b *bed) runAs(d time.Duration, link string) {
	b.t.Helper()
	for end := b.now.Add(d); b.now.Before(end); b.now = b.now.Add(5 * time.Millisecond) {
		for port := range 4 {
			b.r.Sample(redirect.Flow{Src: netip.MustParseAddr("10.0.0.1"), Dst: destination, SrcPort: uint16(port)}, 1, link, 1000, b.now)
		}
		b.poll()
	}
}

// TestRulesOfALinkGoInOneCall: a link with 8 rules goes down, and the first call afterwards has
// none of them, though the switch is at work on others.
func TestRulesOfALinkGoInOneCall(t *testing.T) {
	b := newBed(t)
	b.flows = 16
	if b.run(4 * time.Second); len(b.rules) != 8 {
		t.Fatalf("16 flows share one of two uplinks; the rules are %v: want 8", b.rules)
	}
	b.pending = true
	b.run(100 * time.Millisecond)
	b.route(without(2, 1))
	b.poll()
	if len(b.rules) > 0 {
		t.Errorf("rules to a dead link: %v", b.rules)
	}
}

// TestRulesOfADeadLinkGoAlone: flows that go elsewhere instead have their rules made afterwards,
// since a switch takes a time for each.
func TestRulesOfADeadLinkGoAlone(t *testing.T) {
	b := newBed(t)
	b.flows = 18
	b.route(uplinks(3))
	if b.run(6 * time.Second); len(b.rules) != 12 {
		t.Fatalf("18 flows share one of three uplinks; the rules are %v: want 12", b.rules)
	}
	before := maps.Clone(b.rules)
	b.route(without(3, 1))
	b.now = b.now.Add(time.Second) // a decision is due
	b.poll()
	for flow, to := range b.rules {
		if before[flow] != to {
			t.Errorf("beside the removals flow %s gets a rule to %s", flow, to)
		}
	}
	b.run(2 * time.Second)
	if len(b.rules) <= 6 {
		t.Errorf("2 s later the rules are %v: want more than 6", b.rules)
	}
}

// TestRulesGoWithTheCarrierOfALink: the kernel reports that a carrier is down up to a second
// late, and the switch drops packets from the first moment on.
func TestRulesGoWithTheCarrierOfALink(t *testing.T) {
	b := newBed(t)
	b.placed()
	b.uncarried = map[int]bool{2: true}
	b.now = b.now.Add(20 * time.Millisecond)
	reads, asked := b.reads, b.asked
	b.poll()
	if len(b.rules) > 0 {
		t.Errorf("rules to a link without a carrier: %v", b.rules)
	}
	if b.reads > reads || b.asked > asked+1 {
		t.Errorf("before its rules go, next hops are read %d times and carriers %d times: want 0 and 1", b.reads-reads, b.asked-asked)
	}
	b.run(20 * time.Millisecond)
	reads = b.reads
	b.run(200 * time.Millisecond)
	if b.reads > reads {
		t.Errorf("next hops are read again %d times, though nothing changes", b.reads-reads)
	}
	b.uncarried = nil
	b.r.Stale() // by the kernel's event
	b.run(12 * time.Second)
	if len(b.rules) != 2 {
		t.Errorf("with the carrier the rules are %v: want two", b.rules)
	}
}

// TestSamplesThatAreLostChangeNoDecision: of each three samples two are lost.
func TestSamplesThatAreLostChangeNoDecision(t *testing.T) {
	b := newBed(t)
	b.lose = 3
	if b.run(6 * time.Second); len(b.rules) != 2 {
		t.Errorf("the rules are %v: want two", b.rules)
	}
	if r := b.r.Report(b.now); r.Groups[0].Worst > 1.1 {
		t.Errorf("max ÷ mean is %v", r.Groups[0].Worst)
	}
}

// TestQueuePairsOfOneSourcePortAreOneFlow: packets of two queue pairs with one 5-tuple count
// together, and have one rule.
func TestQueuePairsOfOneSourcePortAreOneFlow(t *testing.T) {
	b := newBed(t)
	b.twice = true
	b.placed()
	if r := b.r.Report(b.now); r.Groups[0].Flows != 4 {
		t.Errorf("%d flows: want 4, with two queue pairs each", r.Groups[0].Flows)
	}
}

// TestRedirectorReportsWhyFlowsStay: flows that would even out the load, by reason.
func TestRedirectorReportsWhyFlowsStay(t *testing.T) {
	for name, tt := range map[string]struct {
		config redirect.Config
		do     func(b *bed)
		want   func(o redirect.Obstacles) int
	}{
		"held": {redirect.Config{Moves: redirect.MovesAny}, func(b *bed) {
			b.r.Holds = allHeld{}
		}, func(o redirect.Obstacles) int { return o.Held }},
		"not idle": {redirect.Config{}, func(*bed) {}, func(o redirect.Obstacles) int { return o.Waiting }},
		"full":     {redirect.Config{Moves: redirect.MovesAny}, func(b *bed) { b.full = true }, func(o redirect.Obstacles) int { return o.Refused }},
		"a bound":  {redirect.Config{Moves: redirect.MovesAny, PerPort: 1}, func(*bed) {}, func(o redirect.Obstacles) int { return o.Bounded }},
		"a link":   {redirect.Config{Moves: redirect.MovesAny, PerLink: 1}, func(*bed) {}, func(o redirect.Obstacles) int { return o.Bounded }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBedOf(t, tt.config)
			tt.do(b)
			b.run(2 * time.Second)
			r := b.r.Report(b.now)
			if len(r.Groups) != 1 || tt.want(r.Groups[0].Obstacles) == 0 {
				t.Errorf("report is %+v", r.Groups)
			}
		})
	}
}
