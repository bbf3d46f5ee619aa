// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"math"
	"testing"

	"sluice/orchagent-ext/spread/ecmp"
)

func TestQuotasAreFollowedAtIdle(t *testing.T) {
	tab := newTable(t, Config{Leaves: 2, MaxMoves: 4}, equal(4)...)
	rates := same(32) // 16 to each leaf
	flows := tab.fill(rates)
	class := Class(1e6)
	if refused := tab.SetQuotas([]Quota{
		{0, class, []uint32{8, 8, 0, 0}}, {1, class, []uint32{0, 0, 8, 8}},
	}); refused != 0 {
		t.Fatalf("%d quotas refused", refused)
	}
	now := 10 * second
	if moves := tab.Look(now); len(moves) != 0 || tab.Report().Waiting == 0 {
		t.Errorf("%d moves of flows that send, %d wait", len(moves), tab.Report().Waiting)
	}
	want := 0 // flows above the quotas of their members, and no others, move
	for i, f := range flows {
		if _, m, _ := tab.Label(f); (i%2 == 0) != (m < 2) {
			want++
		}
	}
	moved := 0
	for range 20 {
		n := len(tab.Look(tab.pause(flows, now)))
		if moved += n; n > 4 {
			t.Errorf("%d moves in a look", n)
		}
		now = tab.run(flows, rates, now/second+1, 2)
	}
	got := [2][4]int{}
	for i, f := range flows {
		_, m, _ := tab.Label(f)
		got[i%2][m]++
	}
	if got != [2][4]int{{8, 8, 0, 0}, {0, 0, 8, 8}} {
		t.Errorf("flows by leaf and member: %v", got)
	}
	if moved != want {
		t.Errorf("%d moves, want %d", moved, want)
	}
	// A new flow goes to where its leaf has a quota; without quotas, labels stay.
	f := flowOf(100, 16)
	if p := tab.Place(f, 1, f.hash()); p.Member != 2 && p.Member != 3 {
		t.Errorf("%+v", p)
	}
	before, _, _ := tab.Label(flows[0])
	tab.SetQuotas(nil)
	if after, _, _ := tab.Label(flows[0]); after != before {
		t.Errorf("label %d, was %d", after, before)
	}
}

// More flows than the quotas know: members that are full keep what they have.
func TestQuotasThatAreMetMoveNothing(t *testing.T) {
	tab := newTable(t, Config{Leaves: 1, Moves: MovesAny}, equal(2)...)
	tab.fill(same(8)) // 4 on each
	tab.SetQuotas([]Quota{{0, Class(1e6), []uint32{4, 5}}})
	if moves := tab.Look(10 * second); len(moves) != 0 {
		t.Errorf("%d moves: no member has more than its quota", len(moves))
	}
}

func TestQuotasThatNameNothingAreRefused(t *testing.T) {
	tab := newTable(t, Config{Leaves: 2}, 1, 1, 0)
	if got := tab.SetQuotas([]Quota{
		{2, 0, []uint32{1, 1, 0}},       // no such leaf
		{-1, 0, []uint32{1, 1, 0}},      // none
		{0, Classes, []uint32{1, 1, 0}}, // no such class
		{0, 0, []uint32{1, 1}},          // a member too few
		{0, 0, []uint32{1, 1, 1}},       // a member without weight
		{0, 0, []uint32{0, 0, 0}},       // nothing
		{1, 5, []uint32{1, 0, 0}},
	}); got != 6 || tab.Report().QuotasRefused != 6 || len(tab.quotas.flows) != 1 {
		t.Errorf("%d refused, %d in force", got, len(tab.quotas.flows))
	}
}

func TestClassesAreHalfPowersOfTwo(t *testing.T) {
	for _, tt := range []struct {
		rate float64
		want int
	}{{0, 0}, {-1, 0}, {1, 0}, {2, 2}, {2.83, 3}, {4, 4}, {1e6, 39}, {1e30, Classes - 1}} {
		if got := Class(tt.rate); got != tt.want {
			t.Errorf("class of %g: %d, want %d", tt.rate, got, tt.want)
		}
	}
	for c := range Classes {
		if got := Class(ClassRate(c)); got != c {
			t.Errorf("the rate of class %d is of class %d", c, got)
		}
	}
}

// A flow whose rate swings about the bound of a class stays in its class; one that is
// another size now has another.
func TestRatesThatSwingKeepTheirClass(t *testing.T) {
	bound := math.Exp2(20) // of classes 39 and 40
	class := Class(bound * 1.01)
	for _, rate := range []float64{bound * 0.9, bound * 1.1, bound * 0.86, bound * 1.6} {
		if got := stay(class, rate); got != class {
			t.Errorf("%.2f of the bound: class %d, want %d", rate/bound, got, class)
		}
	}
	for _, rate := range []float64{bound * 0.8, bound * 1.8, bound * 8, 0} {
		if got := stay(class, rate); got != Class(rate) || got == class {
			t.Errorf("%.2f of the bound: class %d, want %d", rate/bound, got, Class(rate))
		}
	}
}

// A leaf that becomes known later counts from then on.
func TestSetLeafCountsTheFlow(t *testing.T) {
	tab := newTable(t, Config{Leaves: 2}, 1, 1)
	f := flowOf(1, 1)
	tab.Place(f, -1, f.hash())
	demand := func() (n uint32) {
		tab.Demand(func(leaf, _, _ int, flows uint32) {
			if leaf == 1 {
				n += flows
			}
		})
		return n
	}
	if n := demand(); n != 0 {
		t.Errorf("%d flows to leaf 1", n)
	}
	tab.SetLeaf(f, 1)
	if n := demand(); n != 1 || tab.on.loads.toLeaf[2]+tab.on.loads.toLeaf[3] != 1 {
		t.Errorf("%d flows to leaf 1; %v", n, tab.on.loads.toLeaf)
	}
	for _, leaf := range []int{7, -1} {
		if tab.SetLeaf(f, leaf); demand() != 0 || tab.on.loads.toLeaf[2]+tab.on.loads.toLeaf[3] != 0 {
			t.Errorf("leaf %d: %v", leaf, tab.on.loads.toLeaf)
		}
	}
}

// Flows that no quota could move are in no demand: those whose path is not known, and all
// where the model is wrong or flows never move.
func TestDemandIsOfFlowsThatCanMove(t *testing.T) {
	count := func(tab *Table) (flows uint32, members int) {
		tab.Demand(func(_, _, member int, n uint32) { flows, members = flows+n, members|1<<member })
		return flows, members
	}
	fill := func(c Config) *Table {
		c.Leaves = 1
		tab := newTable(t, c, 1, 1)
		for i := range 32 {
			f := flowOf(i, 32)
			tab.Adopt(f, 0, f.hash(), f.hash())
		}
		return tab
	}
	tab := fill(Config{})
	if n, members := count(tab); n != 32 || members != 3 {
		t.Errorf("%d flows, members %b", n, members)
	}
	tab.check.degraded = true
	if n, _ := count(tab); n != 0 {
		t.Errorf("the model is wrong, and a plan counts on %d flows", n)
	}
	if n, _ := count(fill(Config{Moves: MovesNever})); n != 0 {
		t.Errorf("flows never move, and a plan counts on %d", n)
	}
	tab = fill(Config{})
	if _, err := tab.SetGroup(ecmp.NewObserved(8), []Member{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}}); err != nil {
		t.Fatal(err)
	}
	f := flowOf(1, 32)
	if tab.Observe(f, 1); tab.Len() != 32 {
		t.Fatal("flows were lost")
	}
	if n, members := count(tab); n != 1 || members != 2 {
		t.Errorf("one path is known, and a plan counts on %d flows of members %b", n, members)
	}
}
