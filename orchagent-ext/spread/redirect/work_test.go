// SPDX-License-Identifier: Apache-2.0

package redirect

import (
	"testing"
	"time"
)

// TestWorkLeavesOutWhatIsWaitedFor: that a rule waits for its neighbor is no work of the switch.
func TestWorkLeavesOutWhatIsWaitedFor(t *testing.T) {
	now := time.Unix(1000, 0)
	w := work{}
	for _, step := range []struct {
		rules  int
		after  time.Duration
		answer Progress
	}{
		{2, 30 * time.Millisecond, Done},
		{4, 5 * time.Second, Waiting},
		{0, 5 * time.Second, Waiting},
		{0, 0, Done},
		{1, 10 * time.Millisecond, AtWork},
		{0, 5 * time.Millisecond, Done},
	} {
		w.begin(step.rules, now)
		now = now.Add(step.after)
		w.end(step.answer, now)
		if w.pending != (step.answer != Done) {
			t.Errorf("%+v: pending %v", step, w.pending)
		}
	}
	if each := w.each(); each != 15*time.Millisecond || w.changes != 3 {
		t.Errorf("%d changes of %v each: want 3 of 15 ms", w.changes, each)
	}
}
