// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math"
	"testing"
)

const second = int64(1e9)

// leaves are three that send each other n flows, with loads that are as uneven as skew says.
func leaves(n int, skew float64) []Row {
	rows := fabric(3, ones(2), []int{40}, func(int, int, int) int { return n })
	for i := range rows {
		rows[i].Received = map[string]float64{spineName(0): 1e9 * skew, spineName(1): 1e9 * (2 - skew)}
	}
	return rows
}

// looks looks each second, and returns the first plan, and when it came; nil: none did.
func looks(p *Planner, from, to int64, rows []Row, inForce uint64, shape string) (*Plan, int64) {
	for now := from; now <= to; now++ {
		if made, _ := p.Look(now*second, rows, inForce, shape); made != nil {
			return made, now
		}
	}
	return nil, to
}

// The first plan comes once leaves and links stay; then only what is uneven is worth one.
func TestPlannerPlansWhereItIsWorthIt(t *testing.T) {
	p, rows := &Planner{}, leaves(8, 1.5)
	made, at := looks(p, 0, 30, rows, 0, "")
	if made == nil || at != 5 || made.Leaves["leaf0"].Plan != 1 || made.Uneven > 1.01 {
		t.Fatalf("the first plan is %+v, at %d s", made, at)
	}
	shape := Shape(rows)
	if made, at := looks(p, 6, 14, rows, 1, shape); made != nil {
		t.Errorf("another plan at %d s, while leaves apply the first", at)
	}
	if made, at := looks(p, 15, 40, rows, 1, shape); made == nil || made.Leaves["leaf0"].Plan != 2 {
		t.Errorf("no other plan by %d s, though it is uneven", at)
	}
	if made, _ := looks(p, 100, 200, leaves(8, 1.04), 2, shape); made != nil {
		t.Error("another plan for what is even")
	}
	// One look that is uneven is a burst.
	for now := int64(200); now < 300; now += 2 {
		p.Look(now*second, leaves(8, 1.5), 2, shape)
		if made, _ := p.Look((now+1)*second, leaves(8, 1), 2, shape); made != nil {
			t.Error("another plan for a burst")
		}
	}
}

// One flow to each leaf is as uneven in every plan: none is worth its moves.
func TestPlannerLeavesWhatNoPlanMends(t *testing.T) {
	rows := leaves(1, 2)
	if made, at := looks(&Planner{}, 0, 100, rows, 4, Shape(rows)); made != nil && made.Uneven > 1.98 {
		t.Errorf("a plan at %d s: %.3f", at, made.Uneven)
	}
	rows = fabric(2, ones(2), []int{40}, func(from, _, _ int) int { return 1 - from })
	rows[1].Received = map[string]float64{spineName(0): 1e6}
	if made, at := looks(&Planner{}, 0, 100, rows, 4, Shape(rows)); made != nil {
		t.Errorf("a plan at %d s for one flow: %.3f", at, made.Uneven)
	}
}

// What loads links besides the flows that a plan can move is no reason for a plan; those flows
// are, where they are uneven. Of rows that do not tell what can be moved it is not known.
func TestPlannerCountsFlowsThatCanMove(t *testing.T) {
	placed := func(skew float64) []Row { // by both spines, of all flows
		rows := leaves(8, 1.5)
		for i := range rows {
			rows[i].Placed = map[string]map[string]float64{}
			for _, d := range rows[i].Demand {
				x := float64(d.Flows) * size(d.Class) / 2
				rows[i].Placed[d.Leaf] = map[string]float64{spineName(0): x * skew, spineName(1): x * (2 - skew)}
			}
		}
		return rows
	}
	even, uneven := placed(1), placed(1.5)
	if made, at := looks(&Planner{}, 0, 100, even, 4, Shape(even)); made != nil {
		t.Errorf("a plan at %d s, though the flows that it moves are even: %.3f", at, made.Uneven)
	}
	if made, _ := looks(&Planner{}, 0, 100, uneven, 4, Shape(uneven)); made == nil {
		t.Error("no plan for flows that are uneven")
	}
	even[1].Placed = nil
	if made, _ := looks(&Planner{}, 0, 100, even, 4, Shape(even)); made == nil {
		t.Error("no plan, though a leaf does not tell what can be moved")
	}
	if got := UnevenPlaced(uneven); math.Abs(got-1.5) > 1e-9 {
		t.Errorf("max ÷ mean of flows that can be moved: %.3f", got)
	}
}

// Plans that do not help come later and later.
func TestPlansThatDoNotHelpBecomeRare(t *testing.T) {
	p, rows := &Planner{}, leaves(8, 1.5)
	number, plans := uint64(1), 0
	var last, gap int64
	for now := int64(0); now < 3600; now++ {
		if made, _ := p.Look(now*second, rows, number, Shape(rows)); made != nil {
			number, plans, gap, last = number+1, plans+1, now-last, now
		}
	}
	if plans < 3 || plans > 14 || gap < 500 {
		t.Errorf("%d plans in an hour, %d s between the last two", plans, gap)
	}
}

// A leaf that goes, a link that goes, and one whose weight changes each need another plan;
// a leaf that comes back at once needs none.
func TestPlannerFollowsLeavesAndLinks(t *testing.T) {
	all := leaves(8, 1)
	shape := Shape(all)
	for what, change := range map[string]func([]Row) []Row{
		"a leaf is gone":   func(r []Row) []Row { return r[:2] },
		"a link is gone":   func(r []Row) []Row { r[1].Spines[spineName(0)] = 0; return r },
		"a link has less":  func(r []Row) []Row { r[1].Spines[spineName(0)] = 0.5; return r },
		"another leaf":     func(r []Row) []Row { return append(r, Row{Leaf: "new", Spines: map[string]float64{spineName(0): 1}}) },
		"another spine":    func(r []Row) []Row { r[0].Spines["new"] = 1; return r },
		"a spine is named": func(r []Row) []Row { delete(r[0].Spines, spineName(1)); r[0].Spines["x"] = 1; return r },
	} {
		p := &Planner{}
		if made, _ := looks(p, 0, 20, all, 9, shape); made != nil {
			t.Fatalf("%s: a plan before", what)
		}
		changed := change(leaves(8, 1))
		if made, at := looks(p, 21, 24, changed, 9, shape); made != nil {
			t.Errorf("%s: a plan at %d s already", what, at)
		}
		if made, _ := looks(p, 25, 26, all, 9, shape); made != nil {
			t.Errorf("%s: a plan though all is as before", what)
		}
		made, _ := looks(p, 27, 40, changed, 9, shape)
		if made == nil {
			t.Errorf("%s: no plan", what)
			continue
		}
		for leaf, q := range made.Leaves {
			if q.Plan != 10 {
				t.Errorf("%s: %s has plan %d", what, leaf, q.Plan)
			}
		}
	}
}

// What another program wrote as the number in force is no number to count on from.
func TestPlannerBoundsNumbers(t *testing.T) {
	if made, _ := looks(&Planner{}, 0, 20, leaves(8, 1.5), math.MaxUint64, ""); made != nil {
		t.Error("a plan behind the largest number")
	}
}

// A leaf alone, and leaves without flows, have no plan.
func TestPlannerWaitsForLeavesAndFlows(t *testing.T) {
	for what, rows := range map[string][]Row{"none": nil, "one": leaves(8, 2)[:1], "no flows": leaves(0, 1)} {
		if made, _ := looks(&Planner{}, 0, 20, rows, 0, ""); made != nil {
			t.Errorf("%s: a plan", what)
		}
	}
}

func TestShapeIsOfLeavesAndLinks(t *testing.T) {
	if Shape(leaves(8, 1)) != Shape(leaves(3, 2)) {
		t.Error("flows and rates change the shape")
	}
	seen := map[string]string{}
	for i, rows := range [][]Row{nil, leaves(1, 1), leaves(1, 1)[:2], {{Leaf: "a"}}, {{Leaf: "ab"}}, {{Leaf: "a", Spines: map[string]float64{"b": 1}}}} {
		shape := Shape(rows)
		if was, there := seen[shape]; there {
			t.Errorf("rows %d have the shape of %s", i, was)
		}
		seen[shape] = fmt.Sprint(i)
	}
}
