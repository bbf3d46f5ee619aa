// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"math/rand/v2"
	"testing"

	"sluice/orchagent-ext/spread/ecmp"
)

// sent is what ports count while flows run for a second: by the switch's own hash, other
// traffic beside it.
func (t *Table) sent(flows []Flow, rates []float64, truth ecmp.Model, other uint64) []uint64 {
	ports := make([]uint64, len(t.on.group.members))
	for m := range ports {
		ports[m] = other
	}
	for i, f := range flows {
		e := t.on.flows.lookup(&f)
		t.on.group.setTuple(&e.flow, e.label)
		if m, ok := truth.Predict(&t.on.group.tuple); ok {
			ports[m] += uint64(rates[i])
		}
	}
	return ports
}

func TestCheckNoticesAnotherSeed(t *testing.T) {
	rates := same(64)
	tab := newTable(t, Config{Moves: MovesAny}, equal(4)...)
	flows := tab.fill(rates)
	if err := tab.Check(tab.check.predicted); err != nil { // of the beginning
		t.Fatal(err)
	}
	now := 10 * second
	step := func(truth ecmp.Model) Report {
		t.Helper()
		now = tab.run(flows, rates, now/second, 1)
		if err := tab.Check(tab.sent(flows, rates, truth, 1e6)); err != nil {
			t.Fatal(err)
		}
		return tab.Report()
	}
	right, wrong := kernel(t, 1, equal(4)...), kernel(t, 2, equal(4)...)
	for range 3 {
		if r := step(right); r.Degraded || r.ModelErrorPercent > 1 {
			t.Fatalf("with the right seed: degraded %v, error %.1f %%", r.Degraded, r.ModelErrorPercent)
		}
	}
	// A second each: degraded with the second.
	if r := step(wrong); r.Degraded || r.ModelErrorPercent < 5 {
		t.Errorf("after one bad check: degraded %v, error %.1f %%", r.Degraded, r.ModelErrorPercent)
	}
	r := step(wrong)
	if !r.Degraded || r.Degradations != 1 {
		t.Errorf("after two: degraded %v, error %.1f %%", r.Degraded, r.ModelErrorPercent)
	}
	// No moves, and hash labels.
	for i := range rates {
		rates[i] = 1e6 / float64(i+1)
	}
	step(wrong)
	if moves := tab.Look(now); len(moves) != 0 {
		t.Errorf("%d moves by a model that is wrong", len(moves))
	}
	f := flowOf(1000, 16)
	if p := tab.Place(f, -1, f.hash()); p.Why != Degraded || p.Label != f.hash() {
		t.Errorf("%+v", p)
	}
	tab.Forget(f)
	// The seed is set right again.
	for range goodChecks {
		r = step(right)
	}
	if r.Degraded || len(tab.Look(now)) == 0 {
		t.Errorf("right again: degraded %v", r.Degraded)
	}
	// Wrong again, and then the right model.
	step(wrong)
	step(wrong)
	tab.group(t, wrong, equal(4)...)
	if r := step(wrong); r.Degraded || r.ModelErrorPercent > 1 {
		t.Errorf("with the new model: degraded %v, error %.1f %%", r.Degraded, r.ModelErrorPercent)
	}
	if err := tab.Check([]uint64{1}); err == nil {
		t.Error("counters of one member of four were taken")
	}
}

// Without a model: flows of members that have too much get labels at random, and what
// comes of it is observed.
func TestRollEvensOutWithoutAModel(t *testing.T) {
	for _, tt := range []struct {
		n     int
		rates []float64
		most  int
	}{{4, same(64), 40}, {16, lognormal(256, 0.5, 4), 400}} {
		truth := kernel(t, 77, equal(tt.n)...)
		tab := New(Config{Moves: MovesAny, RestNS: 1})
		tab.group(t, ecmp.NewObserved(4096), equal(tt.n)...)
		flows := tab.adopt(tt.rates)
		now, moves := 10*second, 0
		observe := func() {
			for _, f := range flows {
				e := tab.on.flows.lookup(&f)
				tab.on.group.setTuple(&e.flow, e.label)
				m, _ := truth.Predict(&tab.on.group.tuple)
				tab.Observe(f, m)
			}
			now = tab.run(flows, tt.rates, now/second, 1)
		}
		observe()
		before := tab.Report().WorstOverMean
		for range 40 {
			moves += len(tab.Look(now))
			observe()
		}
		if r := tab.Report(); before < 1.1 || r.WorstOverMean > 1.05 || moves > tt.most || r.Unknown != 0 {
			t.Errorf("%d members: max ÷ mean %.3f, then %.3f after %d moves; %d unknown", tt.n, before, r.WorstOverMean, moves, r.Unknown)
		}
	}
}

// A hash that is learned while flows come: in the end, moves land where predicted.
func TestMovesByALearnedModel(t *testing.T) {
	truth, err := ecmp.OfHash(ecmp.CRC32{}, 8)
	if err != nil {
		t.Fatal(err)
	}
	rates := lognormal(128, 1, 9)
	model := ecmp.NewLinear(8)
	tab := New(Config{Moves: MovesAny, RestNS: 1})
	tab.group(t, model, equal(8)...)
	flows := tab.adopt(rates)
	random := rand.New(rand.NewPCG(1, 1))
	now := 10 * second
	observe := func(f Flow) int {
		e := tab.on.flows.lookup(&f)
		tab.on.group.setTuple(&e.flow, e.label)
		m, _ := truth.Predict(&tab.on.group.tuple)
		return m
	}
	for _, k := range random.Perm(len(flows)) {
		tab.Observe(flows[k], observe(flows[k]))
	}
	now = tab.run(flows, rates, now/second, 2)
	right, all := 0, 0
	for range 20 {
		for _, m := range tab.Look(now) {
			if m.ToMember != unknown {
				all++
				if observe(m.Flow) == m.ToMember {
					right++
				}
			}
		}
		for _, f := range flows {
			tab.Observe(f, observe(f))
		}
		now = tab.run(flows, rates, now/second, 2)
	}
	if r := tab.Report(); model.GaveUp() || r.WorstOverMean > max(1.05, r.Floor) || all == 0 || right < all {
		t.Errorf("gave up %v, max ÷ mean %.3f (floor %.3f), %d of %d moves landed where predicted", model.GaveUp(), r.WorstOverMean, r.Floor, right, all)
	}
}

// A flow that is observed again and again on its path proves nothing of a model.
func TestObserveTellsTheModelOnlyNews(t *testing.T) {
	tab := New(Config{Moves: MovesAny})
	model := ecmp.NewLinear(4)
	tab.group(t, model, equal(4)...)
	f := flowOf(0, 16)
	tab.Place(f, -1, f.hash())
	for range 20 {
		tab.Observe(f, 2)
	}
	if got := model.Score().Checked(); got != 0 {
		t.Errorf("%d checks from one path", got)
	}
	tab.Observe(f, 3) // the switch took another path for the same label
	if got := model.Score().Checked(); got != 1 || model.Score().Right() != 0 {
		t.Errorf("%d checks, right %.1f", got, model.Score().Right())
	}
}

// What a full queue drops, or a hold keeps back, is missing on a port and leaves by no
// other: the model is not at fault.
func TestDropsAreNoErrorOfTheModel(t *testing.T) {
	tab := newTable(t, Config{}, equal(4)...)
	rates := same(64)
	flows := tab.fill(rates)
	truth := kernel(t, 1, equal(4)...)
	_ = tab.Check(tab.sent(flows, rates, truth, 0))
	now := 10 * second
	for range 5 {
		now = tab.run(flows, rates, now/second, 1)
		sent := tab.sent(flows, rates, truth, 0)
		sent[2] /= 2
		if err := tab.Check(sent); err != nil {
			t.Fatal(err)
		}
	}
	if r := tab.Report(); r.Degraded || r.ModelErrorPercent > 1 {
		t.Errorf("half of a port's packets are dropped: error %.1f %%, degraded %v", r.ModelErrorPercent, r.Degraded)
	}
}
