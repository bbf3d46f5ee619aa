// SPDX-License-Identifier: Apache-2.0

package drift_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/switch/drift"
)

var (
	start = time.Unix(1000, 0)
	part  = drift.Part{Kind: "clsact", Place: "Ethernet0"}
	taken = []drift.Finding{{Part: part, Fault: "it is gone", Mendable: true}}
)

// TestJudgePutsBackAtOnceAndShowsIt: a part that was taken once is put back, shown for the window,
// and forgotten then.
func TestJudgePutsBackAtOnceAndShowsIt(t *testing.T) {
	var j drift.Judge
	news, mend := j.Look(start, taken, true)
	if len(news) != 1 || len(mend) != 1 {
		t.Fatalf("news %v, mend %v", news, mend)
	}
	if !j.Mended(start, part, nil) {
		t.Error("the repair is no news")
	}
	if news, mend = j.Look(start.Add(time.Second), nil, true); len(news)+len(mend) > 0 {
		t.Errorf("news %v, mend %v", news, mend)
	}
	if got, want := j.Texts(), []string{"clsact Ethernet0: it is gone; put back 1 times, last at 1970-01-01T00:16:40Z"}; !slices.Equal(got, want) {
		t.Errorf("texts %q, want %q", got, want)
	}
	if w := j.Warnings(); len(w) > 0 {
		t.Errorf("warnings %q", w)
	}
	j.Look(start.Add(drift.Window), nil, true)
	if got := j.Texts(); len(got) > 0 {
		t.Errorf("texts %q after the window", got)
	}
	if found, put := j.Counts(); found != 1 || put != 1 {
		t.Errorf("%d found, %d put back", found, put)
	}
}

// TestJudgeFightsSlowly: from the third loss on a part is put back every ten seconds at most, and
// a warning names the program.
func TestJudgeFightsSlowly(t *testing.T) {
	var j drift.Judge
	var at []time.Duration
	for now := start; now.Before(start.Add(time.Minute)); now = now.Add(time.Second) {
		found := slices.Clone(taken)
		found[0].By = "cilium-agent (pid 7)"
		if _, mend := j.Look(now, found, true); len(mend) == 1 { // it is gone again at once
			j.Mended(now, part, nil)
			at = append(at, now.Sub(start))
		}
	}
	want := []time.Duration{0, time.Second, 11 * time.Second, 21 * time.Second, 31 * time.Second, 41 * time.Second, 51 * time.Second}
	if !slices.Equal(at, want) {
		t.Errorf("put back after %v, want %v", at, want)
	}
	w := j.Warnings()
	if len(w) != 1 || !strings.Contains(w[0], "by cilium-agent (pid 7)") || !strings.Contains(w[0], "clsact Ethernet0") {
		t.Errorf("warnings %q", w)
	}
}

// TestJudgeWaits: nothing is put back while nothing may be written, and all is afterward.
func TestJudgeWaits(t *testing.T) {
	var j drift.Judge
	for i := range 5 {
		if _, mend := j.Look(start.Add(time.Duration(i)*time.Second), taken, false); len(mend) > 0 {
			t.Fatalf("put back %v", mend)
		}
	}
	if _, mend := j.Look(start.Add(time.Minute), taken, true); len(mend) != 1 {
		t.Error("not put back after the wait")
	}
	if found, _ := j.Counts(); found != 1 {
		t.Errorf("%d losses, want 1", found)
	}
}

// TestJudgeReportsOtherOwners: a filter of another owner is never put back, and is warned of while it
// is there.
func TestJudgeReportsOtherOwners(t *testing.T) {
	var j drift.Judge
	filter := []drift.Finding{{Part: drift.Part{Kind: "filter ahead at ingress", Place: "Ethernet0"}, Fault: "bpf filter cni"}}
	for i := range 5 {
		news, mend := j.Look(start.Add(time.Duration(i)*time.Second), filter, true)
		if len(mend) > 0 || len(news) != 1-min(i, 1) {
			t.Fatalf("news %v, mend %v", news, mend)
		}
	}
	if w := j.Warnings(); !slices.Equal(w, []string{"filter ahead at ingress Ethernet0: bpf filter cni"}) {
		t.Errorf("warnings %q", w)
	}
	j.Look(start.Add(time.Minute), nil, true)
	if w := j.Warnings(); len(w) > 0 {
		t.Errorf("warnings %q after it went", w)
	}
}

// TestJudgeTriesAgain: a repair that fails is tried with each audit, warned of, and news only when
// its reason changes.
func TestJudgeTriesAgain(t *testing.T) {
	var j drift.Judge
	var changes []bool
	for i, err := range []error{errors.New("busy"), errors.New("busy"), errors.New("gone"), nil} {
		now := start.Add(time.Duration(i) * time.Second)
		if _, mend := j.Look(now, taken, true); len(mend) != 1 {
			t.Fatalf("attempt %d: nothing to put back", i)
		}
		changes = append(changes, j.Mended(now, part, err))
		if w := j.Warnings(); err != nil && !slices.Equal(w, []string{"clsact Ethernet0 cannot be put back: " + err.Error()}) || err == nil && len(w) > 0 {
			t.Errorf("warnings %q after %v", w, err)
		}
	}
	if fmt.Sprint(changes) != "[true false true true]" {
		t.Errorf("changes %v", changes)
	}
}
