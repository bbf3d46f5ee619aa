// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"
	"testing"
)

// A sender that is held up within a burst is not a pause: rates are of whole bursts, also of
// flows that send in the second half only.
func TestWindowsEndBetweenBursts(t *testing.T) {
	const ms = int64(1e6)
	tab := newTable(t, Config{WindowNS: 300 * ms, IdleNS: 20 * ms, Moves: MovesNever}, 1, 1)
	small, large := flowOf(0, 16), flowOf(1, 16)
	for _, f := range []Flow{small, large} {
		tab.Place(f, -1, f.hash())
	}
	octets := map[Flow]uint64{}
	for now := int64(0); now < 30000; now += 5 {
		switch at := now % 97; { // of a burst; it is held up after 10 ms
		case at < 10:
			octets[small], octets[large] = octets[small]+1000, octets[large]+1000
		case at >= 20 && at < 60:
			octets[large] += 1000
		}
		for _, f := range []Flow{small, large} {
			tab.Sample(f, octets[f], now*ms)
		}
		number := tab.windows.number
		tab.Look(now * ms)
		a, b := tab.on.flows.lookup(&small), tab.on.flows.lookup(&large)
		if tab.windows.number == number || number < 2 || a.meter.last == 0 {
			continue
		}
		if ratio := b.meter.last / a.meter.last; ratio < 4.99 || ratio > 5.01 {
			t.Errorf("the window that ended at %d ms has the large flow %.2f times as large as the small one, want 5", now, ratio)
		}
	}
	if tab.windows.number < 70 {
		t.Errorf("%d windows ended", tab.windows.number)
	}
}

// What moves by rates that were not quite right left above the goal is moved once the rates
// are known; later only a load above the threshold counts.
func TestMovesAreMeasuredAgain(t *testing.T) {
	const ms = int64(1e6)
	tab := newTable(t, Config{WindowNS: 100 * ms, IdleNS: 10 * ms, RateNS: 100 * ms, RestNS: 1, Moves: MovesAny}, 1, 1)
	var flows []Flow
	for i := range 100 {
		f := flowOf(i, 16)
		tab.Place(f, -1, f.hash())
		flows = append(flows, f)
	}
	now, octets := int64(0), make([]uint64, len(flows))
	// run lets flows send so much more on member 0, in parts of the mean, and counts moves.
	run := func(more float64, windows int) (moves int) {
		for range windows {
			now += 200 * ms
			for i, f := range flows {
				rate := 1e5 * (1 - more)
				if tab.on.flows.lookup(&f).member == 0 {
					rate = 1e5 * (1 + more)
				}
				octets[i] += uint64(rate)
				tab.Sample(f, octets[i], now)
			}
			moves += len(tab.Look(now))
		}
		return moves
	}
	run(0, 10)
	if moves := run(0.045, 10); moves != 0 {
		t.Fatalf("%d moves below the threshold", moves)
	}
	run(0, 10)
	if moves := run(0.08, 2); moves == 0 {
		t.Fatal("no moves above the threshold")
	}
	if moves := run(0.10, 3); moves == 0 {
		t.Error("what moves left above the goal stays")
	}
	run(0, 20)
	if moves := run(0.045, 10); moves != 0 {
		t.Errorf("%d moves below the threshold, long after", moves)
	}
}

// A change that is not large is waited out, too, though averages have nearly followed it by
// then: the first moves are by the rates that there are now, and even out the load.
func TestFirstMovesAreByTheRatesOfNow(t *testing.T) {
	const ms = int64(1e6)
	for _, more := range []float64{0.20, 0.25, 0.30, 0.40, 0.80} { // on member 0, in parts of what it had
		tab := newTable(t, Config{WindowNS: 150 * ms, IdleNS: 10 * ms, Moves: MovesAny, MaxMoves: 400, Largest: 400, Goal: 1.02}, equal(4)...)
		rates := same(400)
		octets, flows := make([]uint64, len(rates)), make([]Flow, len(rates))
		for i := range flows {
			flows[i] = flowOf(i, 16)
			tab.Place(flows[i], -1, flows[i].hash())
		}
		now := int64(0)
		look := func() int {
			now += 300 * ms
			for i, f := range flows {
				octets[i] += uint64(rates[i])
				tab.Sample(f, octets[i], now)
			}
			return len(tab.Look(now))
		}
		for range 20 {
			if moves := look(); moves != 0 {
				t.Fatalf("%d moves of equal flows", moves)
			}
		}
		for i, f := range flows {
			if tab.on.flows.lookup(&f).member == 0 {
				rates[i] *= 1 + more
			}
		}
		moves := 0
		for looks := 0; moves == 0; looks++ {
			if moves = look(); looks == 10 {
				t.Fatalf("%.2f more: no move", more)
			}
		}
		load, sum := make([]float64, 4), 0.0
		for i, f := range flows {
			load[tab.on.flows.lookup(&f).member] += rates[i]
			sum += rates[i]
		}
		if worst := slices.Max(load) / sum * 4; worst > 1.025 {
			t.Errorf("%.2f more on a member: max ÷ mean is %.3f after the first moves, want 1.02", more, worst)
		}
	}
}
