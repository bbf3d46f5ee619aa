// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"sluice/orchagent-ext/spread/ecmp"
)

func TestPlaceFillsMembersEvenly(t *testing.T) {
	for _, n := range []int{2, 4, 12, 16, 64} {
		tab := newTable(t, Config{}, equal(n)...)
		for i := range 4 * n {
			f := flowOf(i, 16)
			p := tab.Place(f, -1, f.hash())
			if p.Why != Placed || p.Label == 0 || p.Label > labelMask {
				t.Fatalf("%+v", p)
			}
			if again := tab.Place(f, -1, 12345); again.Label != p.Label || again.Member != p.Member {
				t.Fatalf("the second time %+v, not %+v", again, p)
			}
		}
		r := tab.Report()
		if r.WorstOverMean != 1 || r.HashWorstOverMean <= 1.1 {
			t.Errorf("%d members: max ÷ mean %.3f, by hash %.3f", n, r.WorstOverMean, r.HashWorstOverMean)
		}
	}
}

func TestPlaceFillsMembersByWeight(t *testing.T) {
	weights := []float64{1, 2, 4, 1}
	tab := newTable(t, Config{}, weights...)
	rates := same(64)
	tab.fill(rates)
	for m, want := range weights {
		if got := tab.Report().Load[m] / 1e6; got != want*8 {
			t.Errorf("member %d of weight %v has %.1f flows of 64", m, want, got)
		}
	}
}

// Among members alike in load, a flow goes where fewest go to its destination leaf: flows
// to 8 leaves that begin in random order.
func TestPlaceSpreadsEachDestinationLeaf(t *testing.T) {
	const leaves, members, flows = 8, 8, 8 * 64
	random := rand.New(rand.NewPCG(2, 2))
	tab := newTable(t, Config{Leaves: leaves}, equal(members)...)
	var count [leaves][members]int
	for i, k := range random.Perm(flows) {
		f := flowOf(i, 16)
		count[k%leaves][tab.Place(f, k%leaves, f.hash()).Member]++
	}
	// How far from 8 each: the variance by chance is 7, by turns without regard to leaves
	// not much less.
	variance := 0.0
	for _, members := range count {
		for _, n := range members {
			variance += float64((n-8)*(n-8)) / flows * 8
		}
	}
	if r := tab.Report(); r.WorstOverMean != 1 || variance > 2 {
		t.Errorf("max ÷ mean %.3f, variance of flows to a leaf by a member %.2f", r.WorstOverMean, variance)
	}
}

// Two flows of one host pair that hash to one label.
func TestPlaceKeepsLabelsDistinct(t *testing.T) {
	for _, model := range []ecmp.Model{kernel(t, 1, 1, 1), ecmp.NewObserved(10)} {
		tab := New(Config{})
		tab.group(t, model, 1, 1)
		a, b := flowOf(0, 16), flowOf(1, 16)
		seen := map[uint32]bool{}
		for _, f := range []Flow{a, b, flowOf(2, 16)} {
			p := tab.Place(f, -1, 777)
			if seen[p.Label] || p.Label == 0 {
				t.Errorf("%v: label %d is in use, or 0", model, p.Label)
			}
			seen[p.Label] = true
		}
		far := Flow{a.Src, netip.MustParseAddr("2001:db8:0:9::1"), 5, 49152}
		if p := tab.Place(far, -1, 777); model.String() == "observed" && p.Label != 777 {
			t.Errorf("between other hosts label 777 is free, and %d was taken", p.Label)
		}
		label, _, _ := tab.Label(b)
		tab.Forget(b)
		if tab.on.labels[use{a.Src, a.Dst, label}] != 0 {
			t.Errorf("label %d is not free", label)
		}
	}
}

func TestPlaceSaysWhyItDoesNotPlace(t *testing.T) {
	v4 := Flow{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), 1, 49152}
	l4, err := ecmp.OfKernel(ecmp.Kernel{Seed: 1, Policy: ecmp.PolicyL4}, func() *ecmp.Group { g, _ := ecmp.Equal(4); return g }())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		want    Why
		model   ecmp.Model
		weights []float64
		flow    Flow
	}{
		{NoModel, nil, nil, flowOf(0, 1)},
		{NoModel, ecmp.NewObserved(1), equal(4), flowOf(0, 1)},
		{NotHashed, l4, equal(4), flowOf(0, 1)},
		{NoMember, kernel(t, 1, 1, 1), []float64{0, 0}, flowOf(0, 1)},
		{NoIPv6, kernel(t, 1, 1, 1), equal(2), v4},
	} {
		tab := New(Config{})
		if tt.model != nil {
			tab.group(t, tt.model, tt.weights...)
		}
		p := tab.Place(tt.flow, -1, 4711)
		if p.Why != tt.want || tt.want != NoIPv6 && p.Label != 4711 || tab.Report().Placements[tt.want] != 1 {
			t.Errorf("%v: %v, label %d", tt.want, p.Why, p.Label)
		}
	}
	tab := newTable(t, Config{Capacity: 1}, 1, 1)
	tab.Place(flowOf(0, 1), -1, 1)
	if p := tab.Place(flowOf(1, 1), -1, 4711); p.Why != Full || p.Label != 4711 || tab.Len() != 1 {
		t.Errorf("a full table: %+v, %d flows", p, tab.Len())
	}
	tab.Forget(flowOf(0, 1))
	if p := tab.Place(flowOf(1, 1), -1, 4711); p.Why != Placed {
		t.Errorf("after one left: %v", p.Why)
	}
}

// A member that no label reaches: its ECMP share is nothing, though it has weight.
func TestPlaceTakesTheBestMemberThatLabelsReach(t *testing.T) {
	tab := New(Config{})
	tab.group(t, kernel(t, 1, 1, 0, 1, 1), equal(4)...)
	for i := range 90 {
		f := flowOf(i, 16)
		tab.Place(f, -1, f.hash())
	}
	r := tab.Report()
	if r.Load[1] != 0 || r.Load[0] != 30 || r.Load[2] != 30 || r.Load[3] != 30 || r.Placements[Unreachable] == 0 {
		t.Errorf("%v, unreachable %d", r.Load, r.Placements[Unreachable])
	}
}

func TestAdoptKeepsLabels(t *testing.T) {
	rates := zipf(64)
	before := newTable(t, Config{Moves: MovesAny}, equal(4)...)
	flows := before.fill(rates)
	now := int64(10) * second
	before.settle(t, &now, flows, rates, 10)

	after := newTable(t, Config{Moves: MovesAny}, equal(4)...)
	for _, f := range flows {
		label, member, _ := before.Label(f)
		if p := after.Adopt(f, -1, f.hash(), label); p.Label != label || p.Member != member {
			t.Fatalf("adopted as %+v, was label %d, member %d", p, label, member)
		}
		if p := after.Place(f, -1, f.hash()); p.Label != label {
			t.Fatalf("placed again: label %d, was %d", p.Label, label)
		}
	}
	after.run(flows, rates, 0, 10)
	if moves := after.Look(10 * second); len(moves) != 0 {
		t.Errorf("%d moves after the restart: %+v", len(moves), moves)
	}
	// A new flow gets no label of those.
	labels := map[uint32]bool{}
	for _, f := range flows[:16] {
		label, _, _ := after.Label(f)
		labels[label] = true
	}
	f := flows[0]
	f.DestQP = 999
	if p := after.Place(f, -1, flows[0].hash()); labels[p.Label] {
		t.Errorf("the new flow got label %d, which another has", p.Label)
	}
	// Two flows that came with one label keep it, and are counted.
	if after.Adopt(Flow{f.Src, f.Dst, 1000, 1}, -1, 5, after.on.flows.entries[0].label); after.Report().Shared != 1 {
		t.Error("a label of two flows is not counted")
	}
}

// What has no label after a restart gets one as a new flow does; IPv4 gets none.
func TestAdoptPlacesFlowsWithoutALabel(t *testing.T) {
	tab := newTable(t, Config{}, 1, 1)
	f := flowOf(0, 16)
	if p := tab.Adopt(f, -1, f.hash(), 1<<20); p.Label == 0 || p.Why != Placed || tab.Report().Placements[Placed] != 1 {
		t.Errorf("%+v", p)
	}
	v4 := Flow{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), 1, 49152}
	if p := tab.Adopt(v4, -1, 1, 5); p.Why != NoIPv6 || tab.Len() != 1 {
		t.Errorf("IPv4: %+v, %d flows", p, tab.Len())
	}
}

// A link goes down and comes back: the flows' paths are predicted again, then evened out.
func TestSetGroupFollowsMembersAndWeights(t *testing.T) {
	rates := same(64)
	tab := newTable(t, Config{Moves: MovesAny}, equal(4)...)
	flows := tab.fill(rates)
	now := 10 * second
	for _, weights := range [][]float64{{1, 0, 1, 1}, {1, 1, 1, 1}, {1, 2, 4, 1}, {1, 1, 1, 1, 1, 1}} {
		rerouted := tab.group(t, kernel(t, 1, weights...), weights...)
		if rerouted == 0 {
			t.Errorf("%v: no flow was rerouted", weights)
		}
		moves := tab.settle(t, &now, flows, rates, 5)
		r := tab.Report()
		for m, w := range weights {
			if w == 0 && r.Load[m] != 0 {
				t.Errorf("%v: load %.0f on the dead member", weights, r.Load[m])
			}
		}
		if r.WorstOverMean > 1.05*r.Floor {
			t.Errorf("%v: max ÷ mean %.3f after %d moves, floor %.3f", weights, r.WorstOverMean, moves, r.Floor)
		}
	}
	for _, bad := range [][]Member{{{"a", 1}, {"a", 1}}, {{"a", -1}}} {
		if _, err := tab.SetGroup(kernel(t, 1, 1, 1), bad); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
	if got := len(tab.on.group.members); got != 6 {
		t.Errorf("after a refused group %d members", got)
	}
}

// What the path of new flows calls allocates nothing, while flows come and go.
func TestPlaceDoesNotAllocate(t *testing.T) {
	tab := newTable(t, Config{Capacity: 1000, Leaves: 4}, equal(8)...)
	for i := range 999 {
		f := flowOf(i, 16)
		tab.Place(f, i%4, f.hash())
	}
	i, now := 0, second
	if got := testing.AllocsPerRun(2000, func() {
		f := flowOf(1000+i%500, 16)
		tab.Place(f, i%4, uint32(i))
		tab.Label(f)
		tab.hold(f, i%2 == 0)
		tab.Sample(f, uint64(i), now)
		tab.Forget(f)
		i++
		now += 1e6
	}); got != 0 {
		t.Errorf("%v allocations for each flow", got)
	}
}
