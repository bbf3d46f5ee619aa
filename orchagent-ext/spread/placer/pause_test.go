// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"testing"
	"time"

	"sluice/orchagent-ext/spread/placement"
)

// computed is a switch that labels flows without an entry, and flows that move while idle.
func computed() Config {
	c := kernel()
	c.Computed, c.Table.Moves = true, placement.MovesIdle
	return c
}

// pauses lets all flows be silent for some time.
func (b *bed) pauses(d time.Duration) {
	b.Helper()
	rates := b.rates
	b.rates = nil
	for range d / (25 * time.Millisecond) {
		b.step(25 * time.Millisecond)
	}
	b.rates = rates
}

// A flow that sent before it got an entry keeps the label that the switch computes until it
// pauses, is counted as waiting meanwhile, and leaves by the path of least load afterwards.
func TestFlowsThatSendKeepTheComputedLabelUntilTheyPause(t *testing.T) {
	b := newBed(t, computed())
	for i := range 64 {
		b.add(hashed(uint32(i)), 1e6)
	}
	b.run(5 * time.Second)
	for i, label := range b.labels() {
		if want := hashed(uint32(i)).Label; label != want {
			t.Fatalf("flow %d got label %#x while it sent, and had %#x", i, label, want)
		}
	}
	if r := b.report(); r.Waiting != 64 || r.Moves != 0 {
		t.Errorf("%d flows wait, %d moves", r.Waiting, r.Moves)
	}
	b.pauses(150 * time.Millisecond)
	b.want("after a pause", 1.001)
	b.distinct()
	if r := b.report(); r.Waiting != 0 || r.Moves == 0 || r.Moves != uint64(b.changes) || r.Unsafe != 0 {
		t.Errorf("%d flows wait, %d moves, %d labels changed, %d unsafe", r.Waiting, r.Moves, b.changes, r.Unsafe)
	}
}

// A flow that sends again after the poll keeps its label, and moves in its next pause. One that
// sends while its label changes makes that move an unsafe one.
func TestFlowsThatResumeInAPollKeepTheirLabel(t *testing.T) {
	for name, at := range map[string]when{"before the change": beforeLabel, "while it changes": whileLabel} {
		b := newBed(t, computed())
		for i := range 64 {
			b.add(hashed(uint32(i)), 1e6)
		}
		b.run(time.Second)
		b.resume = map[uint32]when{}
		for i := range 64 {
			b.resume[uint32(i)] = at
		}
		b.pauses(100 * time.Millisecond)
		r := b.report()
		if at == beforeLabel && (b.changes != 0 || r.Moves != 0 || r.Undone != 0 || r.Unsafe != 0) {
			t.Errorf("%s: %d labels changed, %d moves, %d undone, %d unsafe", name, b.changes, r.Moves, r.Undone, r.Unsafe)
		}
		if at == whileLabel && (r.Moves == 0 || r.Unsafe != r.Moves) {
			t.Errorf("%s: %d moves, %d unsafe", name, r.Moves, r.Unsafe)
		}
		b.resume = nil
		b.run(time.Second)
		b.pauses(150 * time.Millisecond)
		b.want(name+", after the next pause", 1.001)
	}
}
