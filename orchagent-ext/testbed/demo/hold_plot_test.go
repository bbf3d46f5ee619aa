// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"strings"
	"testing"
)

// TestHoldPictureShowsTheLatencyOfVictims before and after, in the title, and each run's in words.
func TestHoldPictureShowsTheLatencyOfVictims(t *testing.T) {
	r := newHoldReport()
	if got := r.headline(); strings.Contains(got, "p99") {
		t.Errorf("without runs: %q", got)
	}
	r.RunsN = 1
	r.Runs[runPFC] = holdRun{VictimP99: 228_700, VictimGoodput: 0.42, ElephantGoodput: 1, Drops: 1234}
	r.Runs[runPFCM] = holdRun{VictimP99: 11_600, VictimGoodput: 0.998, ElephantGoodput: 0.97}
	if got, want := r.headline(), "Victims of an elephant: p99 228.7 ms with PFC → 11.6 ms with holds"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	h := r.Runs[runPFC]
	if got, want := h.caption(), "victims: p99 228.7 ms, goodput 42 %; elephants: 100 %; 1234 drops"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, name := range holdRuns {
		if len(holdNames[name]) < 15 {
			t.Errorf("the run %s is %q in the picture", name, holdNames[name])
		}
	}
}
