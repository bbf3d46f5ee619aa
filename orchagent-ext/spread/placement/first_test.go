// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"
	"testing"
)

// enter adds flows that send already with these labels of the hash, and shows their counters
// for 10 s.
func (t *Table) enter(rates []float64, label func(Flow) uint32) (flows []Flow) {
	for i := range rates {
		f := flowOf(i, 16)
		t.Enter(f, i%max(t.cfg.Leaves, 1), label(f))
		flows = append(flows, f)
	}
	t.run(flows, rates, 0, 10)
	return flows
}

// A flow that sends keeps the label of its hash until it pauses, and is counted as waiting. The
// first choice then is a move, of as few flows as fill the members.
func TestFirstChoiceForAFlowThatSendsWaitsForAPause(t *testing.T) {
	for _, permission := range []Moves{MovesIdle, MovesNever} {
		tab := newTable(t, Config{Moves: permission}, equal(4)...)
		flows := tab.enter(same(64), Flow.hash)
		now := 10 * second
		for range 20 {
			if moves := tab.Look(now); len(moves) != 0 {
				t.Fatalf("%d moves of flows that send", len(moves))
			}
			if r := tab.Report(); r.Waiting != len(flows) || r.Moves != 0 || r.WorstOverMean < 1.05 {
				t.Fatalf("%d flows wait of %d, %d moves, max ÷ mean %.3f", r.Waiting, len(flows), r.Moves, r.WorstOverMean)
			}
			now = tab.run(flows, same(64), now/second, 1)
		}
		for _, f := range flows {
			if label, _, _ := tab.Label(f); label != f.hash() {
				t.Fatalf("label %#x, by hash %#x", label, f.hash())
			}
		}
		by := tab.Report().On
		moves := len(tab.Look(tab.pause(flows, now)))
		r := tab.Report()
		if want := 64/4*4 - min(by[0], 16) - min(by[1], 16) - min(by[2], 16) - min(by[3], 16); moves != want || r.Moves != uint64(want) || r.Unsafe != 0 {
			t.Errorf("%d moves, %d counted, %d unsafe: want %d of %v flows", moves, r.Moves, r.Unsafe, want, by)
		}
		if r.Waiting != 0 || r.WorstOverMean > 1.001 || r.Placements[Placed] != 64 {
			t.Errorf("%d flows wait, max ÷ mean %.3f, %d placed", r.Waiting, r.WorstOverMean, r.Placements[Placed])
		}
	}
}

// With moves of any flow the first choice comes at the next look, and counts as unsafe.
func TestFirstChoiceWhereAnyFlowMovesIsCounted(t *testing.T) {
	tab := newTable(t, Config{Moves: MovesAny}, equal(4)...)
	tab.enter(same(64), Flow.hash)
	moves := len(tab.Look(10 * second))
	if r := tab.Report(); moves == 0 || r.Moves != uint64(moves) || r.Unsafe != r.Moves || r.WorstOverMean > 1.001 {
		t.Errorf("%d moves, %d counted, %d unsafe, max ÷ mean %.3f", moves, r.Moves, r.Unsafe, r.WorstOverMean)
	}
}

// Flows of one host pair whose hashes are alike get labels of their own in their first pause.
func TestFirstChoiceMakesLabelsDistinct(t *testing.T) {
	tab := newTable(t, Config{}, equal(4)...)
	flows := tab.enter(same(8), func(Flow) uint32 { return 777 })
	tab.Look(tab.pause(flows, 10*second))
	var labels []uint32
	for _, f := range flows {
		label, _, _ := tab.Label(f)
		labels = append(labels, label)
	}
	slices.Sort(labels)
	if n := len(slices.Compact(labels)); n != len(flows) {
		t.Errorf("%d flows have %d labels", len(flows), n)
	}
}

// A move that is cancelled, since the flow sends again, is made in the next pause; one that the
// switch refused only after the flow's rest. Neither counts as made.
func TestMovesThatAreTakenBackDoNotCount(t *testing.T) {
	for name, takeBack := range map[string]func(*Table, Move){"cancelled": (*Table).Cancel, "refused": (*Table).Undo} {
		tab := newTable(t, Config{}, equal(4)...)
		flows := tab.enter(same(64), Flow.hash)
		now := tab.pause(flows, 10*second)
		moves := slices.Clone(tab.Look(now))
		for _, m := range moves {
			takeBack(tab, m)
			if label, _, _ := tab.Label(m.Flow); label != m.From {
				t.Errorf("%s: label %#x, want %#x", name, label, m.From)
			}
		}
		if r := tab.Report(); r.Moves != 0 || r.Unsafe != 0 || r.Undone != 0 && name == "cancelled" || r.Undone != uint64(len(moves)) && name == "refused" {
			t.Errorf("%s: %d moves, %d unsafe, %d undone of %d", name, r.Moves, r.Unsafe, r.Undone, len(moves))
		}
		again := 0
		for _, m := range tab.Look(tab.pause(flows, now)) {
			if slices.ContainsFunc(moves, func(was Move) bool { return was.Flow == m.Flow }) {
				again++
			}
		}
		if (again == len(moves)) != (name == "cancelled") || again != 0 && name == "refused" {
			t.Errorf("%s: %d of %d flows moved in the next pause", name, again, len(moves))
		}
	}
}

// Packets that came while the label changed make the move an unsafe one.
func TestOvertakenMovesCountAsUnsafe(t *testing.T) {
	tab := newTable(t, Config{}, equal(4)...)
	flows := tab.enter(same(64), Flow.hash)
	moves := tab.Look(tab.pause(flows, 10*second))
	tab.Overtaken(moves[0])
	if r := tab.Report(); r.Unsafe != 1 {
		t.Errorf("%d unsafe moves, want 1", r.Unsafe)
	}
}
