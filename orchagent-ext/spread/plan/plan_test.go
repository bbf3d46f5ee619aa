// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func leafName(i int) string  { return fmt.Sprint("leaf", i) }
func spineName(i int) string { return fmt.Sprint("spine", i) }

// fabric is rows of leaves that have a link to each spine, of these weights, and whose
// demand is given by flows(from, to, class).
func fabric(leaves int, weights []float64, classes []int, flows func(from, to, class int) int) (rows []Row) {
	for l := range leaves {
		r := Row{Leaf: leafName(l), Spines: map[string]float64{}}
		for s, w := range weights {
			r.Spines[spineName(s)] = w
		}
		for to := range leaves {
			for _, c := range classes {
				if n := flows(l, to, c); to != l && n > 0 {
					r.Demand = append(r.Demand, Demand{leafName(to), c, uint32(n)})
				}
			}
		}
		rows = append(rows, r)
	}
	return rows
}

func ones(n int) (w []float64) {
	for range n {
		w = append(w, 1)
	}
	return w
}

// counts are the flows that each leaf sends to, and receives from, each spine; and it
// checks that the quotas are those of the demand.
func counts(t interface{ Fatalf(string, ...any) }, rows []Row, p *Plan) (up, down map[string]map[string]int) {
	up, down = map[string]map[string]int{}, map[string]map[string]int{}
	add := func(m map[string]map[string]int, leaf, spine string, n uint32) {
		if m[leaf] == nil {
			m[leaf] = map[string]int{}
		}
		m[leaf][spine] += int(n)
	}
	planned := uint64(0)
	for _, r := range rows {
		want := map[Demand]uint32{}
		for _, d := range r.Demand {
			want[Demand{d.Leaf, d.Class, 0}] = d.Flows
		}
		for _, q := range p.Leaves[r.Leaf].Quotas {
			sum := uint32(0)
			for spine, n := range q.Flows {
				sum += n
				add(up, r.Leaf, spine, n)
				add(down, q.Leaf, spine, n)
			}
			if sum != want[Demand{q.Leaf, q.Class, 0}] {
				t.Fatalf("%s to %s, class %d: quotas of %d flows, of %d", r.Leaf, q.Leaf, q.Class, sum, want[Demand{q.Leaf, q.Class, 0}])
			}
			planned += uint64(sum)
		}
	}
	if planned != p.Flows-p.Unroutable {
		t.Fatalf("quotas of %d flows, %d planned, %d unroutable", planned, p.Flows, p.Unroutable)
	}
	return up, down
}

// Of flows of one size each uplink and each downlink of a leaf gets as many as any other,
// to one flow: for every number of spines.
func TestPlanIsEvenToOneFlow(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		leaves, spines := rapid.IntRange(2, 8).Draw(r, "leaves"), rapid.IntRange(1, 20).Draw(r, "spines")
		most := rapid.SampledFrom([]int{1, 5, 60}).Draw(r, "most flows")
		rows := fabric(leaves, ones(spines), []int{40}, func(int, int, int) int { return rapid.IntRange(0, most).Draw(r, "flows") })
		p := Make(rows, 7)
		up, down := counts(r, rows, p)
		for _, side := range []map[string]map[string]int{up, down} {
			for leaf, bySpine := range side {
				low, high, sum := 1<<30, 0, 0
				for s := range spines {
					n := bySpine[spineName(s)]
					low, high, sum = min(low, n), max(high, n), sum+n
				}
				if high > (sum+spines-1)/spines || low < sum/spines {
					r.Fatalf("%s: %d to %d flows a spine, of %d over %d spines", leaf, low, high, sum, spines)
				}
			}
		}
	})
}

// Each half has of what a leaf sends, and of what it receives, as much as the other, to one
// flow of each class.
func TestHalvesAreEvenToOneFlow(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		leaves := rapid.IntRange(2, 7).Draw(r, "leaves")
		rows := fabric(leaves, ones(2), []int{30, 40}, func(int, int, int) int { return rapid.IntRange(0, 5).Draw(r, "flows") })
		p := &planner{rows: rows, skew: make([]float64, 2*leaves)}
		var edges []edge
		for i, row := range rows {
			for _, d := range row.Demand {
				to := slices.IndexFunc(rows, func(r Row) bool { return r.Leaf == d.Leaf })
				edges = append(edges, edge{i, to, d.Class, len(edges), d.Flows})
			}
		}
		a, b := p.halve(inOrder(edges))
		more := map[[3]int]int{} // by side, leaf, class: of a less of b
		for sign, half := range map[int][]edge{1: a, -1: b} {
			for _, e := range half {
				more[[3]int{0, e.from, e.class}] += sign * int(e.n)
				more[[3]int{1, e.to, e.class}] += sign * int(e.n)
			}
		}
		for vertex, n := range more {
			if n < -1 || n > 1 {
				r.Fatalf("one half has %d flows more than the other of (side, leaf, class) %v", n, vertex)
			}
		}
	})
}

func TestPlanOfSizesAndWeights(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	classes := []int{30, 32, 34, 35, 36, 38, 40}
	for _, weights := range [][]float64{ones(16), ones(12), ones(7), {1, 2, 4, 1}, {100, 100, 50}} {
		rows := fabric(16, weights, classes, func(int, int, int) int { return random.IntN(8) })
		p := Make(rows, 1)
		counts(t, rows, p)
		t.Logf("%d spines, weights %v: uplinks %.3f, downlinks %.3f", len(weights), weights, p.Up, p.Down)
		if p.Up > 1.01 || p.Down > 1.01 {
			t.Errorf("weights %v: max ÷ mean of uplinks %.3f, of downlinks %.3f", weights, p.Up, p.Down)
		}
		if !bytes.Equal(text(t, p), text(t, Make(rows, 1))) {
			t.Errorf("weights %v: the same rows, another plan", weights)
		}
	}
}

// A leaf without a link to a spine, a leaf without any, a leaf without a row.
func TestPlanGoesAroundMissingLinks(t *testing.T) {
	rows := fabric(8, ones(4), []int{40}, func(int, int, int) int { return 12 })
	rows[0].Spines = map[string]float64{"spine0": 0, "spine1": 1, "spine2": 1, "spine3": 1}
	rows[1].Spines = map[string]float64{}
	rows[2].Demand = append(rows[2].Demand, Demand{"leaf99", 40, 5})
	p := Make(rows, 1)
	if p.Stray != 5 || p.Unroutable != 2*7*12 {
		t.Errorf("%d stray flows, %d unroutable", p.Stray, p.Unroutable)
	}
	for leaf, q := range p.Leaves {
		for _, one := range q.Quotas {
			if (leaf == "leaf0" || one.Leaf == "leaf0") && one.Flows["spine0"] > 0 || leaf == "leaf1" || one.Leaf == "leaf1" {
				t.Errorf("%s: %+v", leaf, one)
			}
		}
	}
	if p.Up > 1.15 || p.Down > 1.15 {
		t.Errorf("max ÷ mean of uplinks %.3f, of downlinks %.3f", p.Up, p.Down)
	}
	for _, rows := range [][]Row{nil, {{Leaf: "a"}}, fabric(2, nil, []int{1}, func(int, int, int) int { return 3 })} {
		if p := Make(rows, 1); p.Flows != p.Unroutable {
			t.Errorf("%d flows, %d unroutable, without a spine", p.Flows, p.Unroutable)
		}
	}
}

func TestUnevenIsTheWorstOfLeavesThatReceive(t *testing.T) {
	row := func(a, b, c float64) Row {
		return Row{Spines: map[string]float64{"a": 1, "b": 1, "c": 2, "d": 0}, Received: map[string]float64{"a": a, "b": b, "c": c, "d": 9}}
	}
	for _, tt := range []struct {
		rows []Row
		want float64
	}{
		{nil, 0}, {[]Row{row(0, 0, 0)}, 0}, {[]Row{row(10, 10, 20)}, 1}, {[]Row{row(20, 0, 20)}, 2},
		{[]Row{row(10, 10, 20), row(1, 0, 0)}, 1}, // who receives next to nothing does not count
		{[]Row{row(10, 10, 20), row(5, 0, 0)}, 4},
	} {
		if got := Uneven(tt.rows); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.rows, got, tt.want)
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	random := rand.New(rand.NewPCG(5, 5))
	for _, spines := range []int{16, 12} {
		rows := fabric(32, ones(spines), []int{40}, func(int, int, int) int { return 56 + random.IntN(14) })
		b.Run(fmt.Sprint(spines), func(b *testing.B) {
			flows := uint64(0)
			for b.Loop() {
				flows = Make(rows, 1).Flows
			}
			b.ReportMetric(float64(flows), "flows")
		})
	}
}

// BenchmarkPlan1024 plans for 1024 leaves with 16 spines, of which each sends to so many others.
func BenchmarkPlan1024(b *testing.B) {
	for _, others := range []int{32, 128} {
		b.Run(fmt.Sprint(others), func(b *testing.B) { planOf(b, 1024, others) })
	}
}

// BenchmarkPlanAllToAll plans for 1024 leaves of which each sends to all others, which no job of that size does.
func BenchmarkPlanAllToAll(b *testing.B) { planOf(b, 1024, 1023) }

func planOf(b *testing.B, leaves, others int) {
	random := rand.New(rand.NewPCG(5, 5))
	rows := fabric(leaves, ones(16), []int{40}, func(from, to, _ int) int {
		if (to-from+leaves)%leaves > others {
			return 0
		}
		return 1 + random.IntN(8)
	})
	flows := uint64(0)
	for b.Loop() {
		flows = Make(rows, 1).Flows
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s")
	b.ReportMetric(float64(flows), "flows")
}

func text(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
