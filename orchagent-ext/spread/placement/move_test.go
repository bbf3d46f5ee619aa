// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestMovesEvenOutSizes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		n     int
		rates []float64
		most  int // moves
	}{
		{"Zipf over 4", 4, zipf(64), 20},
		{"lognormal over 16", 16, lognormal(256, 1, 3), 40},
		{"equal over 8", 8, same(64), 20},
	} {
		tab := newTable(t, Config{Moves: MovesAny}, equal(tt.n)...)
		flows := tab.adopt(tt.rates)
		before := tab.Report()
		now := 10 * second
		moves := tab.settle(t, &now, flows, tt.rates, 10)
		r := tab.Report()
		if r.WorstOverMean > max(1.05, r.Floor) || moves > tt.most || r.HashWorstOverMean < before.WorstOverMean-0.01 {
			t.Errorf("%s: max ÷ mean %.3f, then %.3f (by hash %.3f, floor %.3f) after %d moves", tt.name, before.WorstOverMean, r.WorstOverMean, r.HashWorstOverMean, r.Floor, moves)
		}
		if got := tab.Look(now + 10*second); len(got) != 0 {
			t.Errorf("%s: %d moves after it settled", tt.name, len(got))
		}
	}
}

func TestMovesEvenOutWeights(t *testing.T) {
	weights := []float64{4, 4, 2, 2, 1, 1, 1, 1}
	rates := lognormal(256, 1, 5)
	tab := newTable(t, Config{Moves: MovesAny}, weights...)
	flows := tab.adopt(rates)
	before, now := tab.Report().WorstOverMean, 10*second
	moves := tab.settle(t, &now, flows, rates, 10)
	if r := tab.Report(); r.WorstOverMean > max(1.05, r.Floor) {
		t.Errorf("%.3f, then %.3f after %d moves, floor %.3f", before, r.WorstOverMean, moves, r.Floor)
	}
}

func TestMovesOfThePermission(t *testing.T) {
	rates := zipf(64)
	for _, tt := range []struct {
		moves Moves
		prep  func(*Table, []Flow, int64) int64 // returns the time of the look
		want  bool
	}{
		{MovesAny, func(_ *Table, _ []Flow, now int64) int64 { return now }, true},
		{MovesNever, func(_ *Table, _ []Flow, now int64) int64 { return now }, false},
		{MovesIdle, func(_ *Table, _ []Flow, now int64) int64 { return now }, false},
		// Two samples alike, as far apart as idle_us asks.
		{MovesIdle, func(tab *Table, flows []Flow, now int64) int64 {
			for _, f := range flows {
				tab.Sample(f, tab.on.flows.lookup(&f).meter.octets, now+1e6)
				tab.Sample(f, tab.on.flows.lookup(&f).meter.octets, now+50e6)
			}
			return now + 50e6
		}, true},
		{MovesIdle, func(tab *Table, flows []Flow, now int64) int64 {
			for _, f := range flows {
				tab.Sample(f, tab.on.flows.lookup(&f).meter.octets, now+49e6)
			}
			return now + 49e6
		}, false},
		// What was idle at a sample may not be so at a later look.
		{MovesIdle, func(tab *Table, flows []Flow, now int64) int64 {
			for _, f := range flows {
				tab.Sample(f, tab.on.flows.lookup(&f).meter.octets, now+60e6)
			}
			return now + 61e6
		}, false},
		// It was idle, and then it sent again.
		{MovesIdle, func(tab *Table, flows []Flow, now int64) int64 {
			now = tab.pause(flows, now) + 1e6
			for _, f := range flows {
				tab.Sample(f, tab.on.flows.lookup(&f).meter.octets+1, now)
			}
			return now
		}, false},
		// It was held meanwhile: its packets waited.
		{MovesIdle, func(tab *Table, flows []Flow, now int64) int64 {
			now = tab.pause(flows, now)
			for _, f := range flows {
				tab.hold(f, true)
				tab.hold(f, false)
			}
			return now
		}, false},
		{MovesAny, func(tab *Table, flows []Flow, now int64) int64 {
			for _, f := range flows {
				tab.hold(f, true)
			}
			return now
		}, false},
	} {
		tab := newTable(t, Config{Moves: tt.moves}, equal(4)...)
		flows := tab.adopt(rates)
		at := tt.prep(tab, flows, 10*second)
		moves := tab.Look(at)
		if (len(moves) > 0) != tt.want {
			t.Errorf("moves %d, look at %d: %d moves, want some: %v", tt.moves, at, len(moves), tt.want)
		}
		if waiting := tab.Report().Waiting; tt.moves == MovesIdle && !tt.want && waiting == 0 {
			t.Errorf("moves idle, look at %d: none waits", at)
		}
	}
}

func TestUndoGivesTheOldLabelBack(t *testing.T) {
	tab := newTable(t, Config{Moves: MovesAny}, equal(4)...)
	tab.adopt(zipf(64))
	before := tab.Report().Load
	moves := slices.Clone(tab.Look(10 * second))
	if len(moves) == 0 {
		t.Fatal("no moves")
	}
	for _, m := range slices.Backward(moves) {
		tab.Undo(m)
		if label, member, _ := tab.Label(m.Flow); label != m.From || member != m.FromMember {
			t.Errorf("label %d, member %d after undoing %+v", label, member, m)
		}
	}
	for m, load := range tab.Report().Load {
		if math.Abs(load-before[m]) > 1 {
			t.Errorf("load of member %d is %.0f, was %.0f", m, load, before[m])
		}
	}
}

// Rates that swing between two sets do not make flows move all the time.
func TestMovesEndThoughRatesSwing(t *testing.T) {
	tab := newTable(t, Config{Moves: MovesAny, RestNS: 2 * second}, equal(4)...)
	a := zipf(64)
	b := slices.Clone(a)
	slices.Reverse(b)
	flows := tab.adopt(a)
	moves, now := 0, 10*second
	for k := range int64(60) {
		rates := a
		if k%2 == 1 {
			rates = b
		}
		now = tab.run(flows, rates, now/second, 1)
		if k >= 30 {
			moves += len(tab.Look(now))
		} else {
			tab.Look(now)
		}
	}
	if moves > 64 {
		t.Errorf("%d moves in 30 s of rates that swing each second", moves)
	}
}

func TestSampleOutlivesClocksAndCountersThatStep(t *testing.T) {
	tab := newTable(t, Config{Moves: MovesIdle}, equal(4)...)
	flows := tab.adopt(same(8))
	f := flows[0]
	e := tab.on.flows.lookup(&f)
	rate := e.meter.rate
	tab.Sample(f, e.meter.octets+1e6, 5*second) // the clock stepped back
	tab.Sample(f, 10, 6*second)                 // the entry was made again
	tab.Sample(f, 10, 6*second)                 // twice at once
	tab.Sample(Flow{}, 1, 6*second)             // a flow that the table does not have
	if r := tab.Report(); r.ClockSteps != 1 || r.CounterResets != 1 || r.Stray != 1 || e.meter.rate != rate {
		t.Errorf("%d clock steps, %d counter resets, %d stray, rate %.0f (was %.0f)", r.ClockSteps, r.CounterResets, r.Stray, e.meter.rate, rate)
	}
	tab.Sample(f, 1e6+10, 7*second)
	if math.Abs(e.meter.rate-1e6) > 1 {
		t.Errorf("after that the rate is %.0f", e.meter.rate)
	}
	if tab.mover.movable(e, 7*second) {
		t.Error("a flow that just sent counts as idle")
	}
	// Two samples of one moment: what came between them counts with the next.
	tab.Sample(f, 2e6, 7*second)
	tab.Sample(f, 2e6+10, 8*second)
	if math.Abs(e.meter.rate-1e6) > 1 {
		t.Errorf("after two samples of one moment the rate is %.0f", e.meter.rate)
	}
}

// Whatever happens: labels are distinct between two hosts, members are those of the
// model, held flows keep their labels, no look makes more moves than it may or a spread
// worse, and the sums are right.
func TestTableHoldsItsRules(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(r, "members")
		weights := func() (w []float64) {
			for range n {
				w = append(w, float64(rapid.IntRange(0, 3).Draw(r, "weight")))
			}
			return w
		}
		cfg := Config{
			Capacity: 40, Leaves: 3, Moves: Moves(rapid.IntRange(0, 2).Draw(r, "moves")),
			MaxMoves: rapid.IntRange(1, 5).Draw(r, "max moves"), RestNS: 1,
		}
		w := weights()
		tab := newTable(t, cfg, w...)
		held, entered := map[Flow]uint32{}, uint32(1<<19)
		now := second
		for range rapid.IntRange(1, 60).Draw(r, "steps") {
			f := flowOf(rapid.IntRange(0, 50).Draw(r, "flow"), 25)
			now += int64(rapid.IntRange(0, 1e9).Draw(r, "ns"))
			switch rapid.IntRange(0, 10).Draw(r, "step") {
			case 0, 1, 2:
				tab.Place(f, rapid.IntRange(-1, 3).Draw(r, "leaf"), rapid.Uint32Range(0, 20).Draw(r, "hash"))
			case 3, 4, 5:
				if e := tab.on.flows.lookup(&f); e != nil {
					tab.Sample(f, e.meter.octets+uint64(rapid.IntRange(0, 1e9).Draw(r, "octets")), now)
				}
			case 6:
				if _, ok := tab.on.flows.index[f]; ok {
					hold := rapid.Bool().Draw(r, "hold")
					tab.hold(f, hold)
					delete(held, f)
					if hold {
						held[f], _, _ = tab.Label(f)
					}
				}
			case 7:
				tab.Forget(f)
				delete(held, f)
			case 8:
				w = weights()
				tab.group(t, kernel(t, 1, w...), w...)
			case 9:
				if entered++; tab.on.flows.lookup(&f) == nil {
					tab.Enter(f, rapid.IntRange(-1, 3).Draw(r, "leaf"), entered)
				}
			case 10:
				if e := tab.on.flows.lookup(&f); e != nil && e.meter.seen {
					now = max(now, e.meter.sampled+tab.cfg.IdleNS)
					tab.Sample(f, e.meter.octets, now)
				}
			}
			before := tab.on.loads.spread()
			moves := tab.Look(now)
			after := tab.on.loads.spread()
			if after.worst > before.worst+1e-6*after.mean+1e-9 {
				r.Fatalf("%d moves made the worst %.3f, was %.3f, mean %.3f", len(moves), after.worst, before.worst, after.mean)
			}
			if len(moves) > cfg.MaxMoves || cfg.Moves == MovesNever && slices.ContainsFunc(moves, func(m Move) bool { return !m.first }) {
				r.Fatalf("%d moves, permission %d, at most %d", len(moves), cfg.Moves, cfg.MaxMoves)
			}
			labels := map[use]bool{}
			for f := range tab.on.flows.index {
				e := tab.on.flows.lookup(&f)
				u := use{f.Src, f.Dst, e.label}
				if labels[u] || e.label == 0 || e.label > labelMask {
					r.Fatalf("label %d is of two flows, or none", e.label)
				}
				labels[u] = true
				if want := tab.on.predict(e, e.label); e.member != want {
					r.Fatalf("member %d, predicted %d", e.member, want)
				}
				if label, ok := held[f]; ok && label != e.label {
					r.Fatal("a held flow moved")
				}
			}
			if len(tab.on.labels) != len(labels) {
				r.Fatalf("%d labels in use, of %d flows", len(tab.on.labels), len(labels))
			}
			load, sum := slices.Clone(tab.on.loads.load), tab.on.loads.sum
			tab.on.recount()
			for m := range load {
				if math.Abs(load[m]-tab.on.loads.load[m]) > 1 || math.Abs(sum-tab.on.loads.sum) > 1 {
					r.Fatalf("load %v, counted again %v", load, tab.on.loads.load)
				}
			}
			if rep := tab.Report(); rep.Floor > rep.WorstOverMean*(1+1e-9) && rep.WorstOverMean > 0 && rep.Unknown == 0 {
				r.Fatalf("floor %.6f above what is: %.6f", rep.Floor, rep.WorstOverMean)
			}
		}
	})
}

// The floor is never above the best placement there is.
func TestFloorIsBelowEveryPlacement(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(r, "members")
		var weights, rates []float64
		for range n {
			weights = append(weights, float64(rapid.IntRange(1, 3).Draw(r, "weight")))
		}
		for range rapid.IntRange(1, 6).Draw(r, "flows") {
			rates = append(rates, float64(rapid.IntRange(1, 20).Draw(r, "rate")))
		}
		held := make([]float64, n)
		held[0] = float64(rapid.IntRange(0, 20).Draw(r, "held"))
		tab := newTable(t, Config{Capacity: 1}, weights...)
		total, weight := held[0], 0.0
		for _, x := range rates {
			total += x
		}
		for _, w := range weights {
			weight += w
		}
		best := math.Inf(1)
		var try func(i int, load []float64)
		try = func(i int, load []float64) {
			if i == len(rates) {
				worst := 0.0
				for m := range load {
					worst = max(worst, load[m]/weights[m])
				}
				best = min(best, worst/(total/weight))
				return
			}
			for m := range load {
				load[m] += rates[i]
				try(i+1, load)
				load[m] -= rates[i]
			}
		}
		try(0, slices.Clone(held))
		if floor := tab.on.group.floor(slices.Clone(rates), held); floor > best*(1+1e-9) || floor < 1 {
			r.Errorf("floor %.4f, best %.4f: weights %v, rates %v, held %v", floor, best, weights, rates, held)
		}
	})
}
