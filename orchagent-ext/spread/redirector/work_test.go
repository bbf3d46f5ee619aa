// SPDX-License-Identifier: Apache-2.0

package redirector

import (
	"errors"
	"testing"
	"time"

	"sluice/orchagent-ext/switch/engine"
)

// TestWorkLeavesOutWhatIsWaitedFor: that a rule waits for its neighbor is no work of the switch.
func TestWorkLeavesOutWhatIsWaitedFor(t *testing.T) {
	now := time.Unix(1000, 0)
	w := work{}
	for _, step := range []struct {
		rules  int
		after  time.Duration
		answer error
	}{
		{2, 30 * time.Millisecond, nil},
		{4, 5 * time.Second, engine.ErrWaits},
		{0, 5 * time.Second, engine.ErrWaits},
		{0, 0, nil},
		{1, 10 * time.Millisecond, engine.ErrPending},
		{0, 5 * time.Millisecond, nil},
	} {
		w.begin(step.rules, now)
		now = now.Add(step.after)
		if err := w.end(step.answer, now); err != nil {
			t.Fatal(err)
		}
		if w.pending != errors.Is(step.answer, engine.ErrPending) {
			t.Errorf("%+v: pending %v", step, w.pending)
		}
	}
	if each := w.each(); each != 15*time.Millisecond || w.changes != 3 {
		t.Errorf("%d changes of %v each: want 3 of 15 ms", w.changes, each)
	}
	if err := w.end(engine.ErrRefused, now); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("another error is %v", err)
	}
}
