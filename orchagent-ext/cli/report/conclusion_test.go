// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/sim/run"
	"sluice/orchagent-ext/sim/scenario"
)

// TestConclusionsNameWinnerLoserAndWhy: one sentence for each load.
func TestConclusionsNameWinnerLoserAndWhy(t *testing.T) {
	none := &run.Result{CollectiveS: 2.09e-3, UpWorst: 2.13, Marks: 269}
	for name, tt := range map[string]struct {
		features []string
		runs     map[string]*run.Result
		want     string
	}{
		"one better, one worse": {
			[]string{"none", "label", "redirect"},
			map[string]*run.Result{"none": none, "label": {CollectiveS: 1.18e-3, UpWorst: 1.07}, "redirect": {CollectiveS: 2.64e-3, UpWorst: 2.13, Drops: 3, Repeated: 40, Marks: 269}},
			"ring: label is the fastest, 1.18 ms in place of 2.09 ms (44 % less): the fullest uplink has 1.07 in place of 2.13 times the mean, 0 in place of 269 CE marks; redirect is slower than none, 2.64 ms (26 % more): 3 in place of 0 drops, 40 in place of 0 repeated packets.",
		},
		"no difference": {
			[]string{"none", "label"}, map[string]*run.Result{"none": none, "label": {CollectiveS: 2.08e-3, UpWorst: 1.2}},
			"ring: no feature is faster than none, 2.09 ms.",
		},
		"not ended": {
			[]string{"none", "label", "pfcm"}, map[string]*run.Result{"none": none, "label": {CollectiveS: 1e-3, UpWorst: 2.13, Marks: 269}, "pfcm": {Unfinished: 1}},
			"ring: label is the fastest, 1 ms in place of 2.09 ms (52 % less): no link, mark, pause or drop explains it: other messages meet in the queues; 1 of 3 runs did not end within the limit.",
		},
		"nothing ended": {
			[]string{"none", "label"}, map[string]*run.Result{"none": {Unfinished: 1}, "label": {Unfinished: 2}},
			"ring: 2 of 2 runs did not end within the limit, so that there is nothing to compare.",
		},
		"one run": {[]string{"none"}, map[string]*run.Result{"none": none}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := &Document{Runs: scenario.Results{"ring": tt.runs}, loads: []string{"ring"}, features: tt.features}
			if diff := cmp.Diff(tt.want, strings.Join(d.Conclusions(), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestHeadlineSumsLoadsUp: the feature that gains most on the average, and what is slower where.
func TestHeadlineSumsLoadsUp(t *testing.T) {
	run := func(s float64) *run.Result { return &run.Result{CollectiveS: s} }
	d := &Document{loads: []string{"ring", "incast"}, features: []string{"none", "label", "redirect"}, Runs: scenario.Results{
		"ring":   {"none": run(2e-3), "label": run(1e-3), "redirect": run(2.5e-3)},
		"incast": {"none": run(1e-3), "label": run(0.9e-3), "redirect": run(1e-3)},
	}}
	if got, want := d.Headline(), "label helps the 2 loads most: 30 % less time than none on the average; slower: redirect in ring (25 % more)."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := d.Rows()[2][3]; got != "+25 %" {
		t.Errorf("the change of redirect is %q", got)
	}
	d.Runs["incast"]["label"].Unfinished = 1
	if got, want := d.Headline(), "No feature makes the 2 loads faster than none does; slower: redirect in ring (25 % more)."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	d.loads = d.loads[:1]
	if got, want := d.Headline(), "label helps the load most: 50 % less time than none; slower: redirect in ring (25 % more)."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if d.features = d.features[:1]; d.Headline() != "" {
		t.Errorf("one run: %q", d.Headline())
	}
}
