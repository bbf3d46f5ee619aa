// SPDX-License-Identifier: Apache-2.0

package pasttest

import (
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/view/frame"
	"sluice/orchagent-ext/view/past"
	"sluice/yang/rows"
)

// quiet is a test that logs nothing.
type quiet struct{ *testing.T }

// Logf implements [testing.TB].
func (quiet) Logf(string, ...any) {}

// TestPastOfPrometheusIsWhatWasRecorded: each value of each scrape is one that was recorded within a
// scrape of it.
func TestPastOfPrometheusIsWhatWasRecorded(t *testing.T) {
	const scrapes = 20
	began := time.Now().Truncate(time.Millisecond)
	r, s := Measure(t, "../..", scrapes)
	t.Logf("%+v, %d scrapes, %d frames", r, len(s.Scrapes), len(s.Recorded))
	if want := scrapes * 150; r.Differ != 0 || r.Points < want {
		t.Errorf("%d of %d values differ; at least %d were expected", r.Differ, r.Points, want)
	}
	// the comparison finds a record of other values
	other := make([]*frame.Frame, len(s.Recorded))
	for i, f := range s.Recorded {
		o := &frame.Frame{At: f.At, Switches: []frame.Switch{f.Switches[0]}}
		o.Switches[0].Rows = slices.DeleteFunc(slices.Clone(f.Switches[0].Rows), func(r rows.Row) bool { return r.Table == "SLUICE_NOTIFY_STATS" })
		other[i] = o
	}
	source, err := past.New(s.URL, past.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := Compare(quiet{t}, other, source); r.Differ < scrapes*2 || r.Differ > r.Points/10 {
		t.Errorf("%d of %d values differ from a record without notifications", r.Differ, r.Points)
	}
	first, last, ok := source.Span()
	seen := s.Scrapes
	if !ok || first.Before(began) || first.After(seen[0]) || last.Before(seen[len(seen)-1]) || last.After(time.Now()) {
		t.Errorf("from %v to %v, %t; scrapes from %v to %v were seen", first, last, ok, seen[0], seen[len(seen)-1])
	}
	f, before, err := source.At(t.Context(), last)
	if err != nil || f == nil || before == nil || !f.At.Equal(last) || f.At.Sub(before.At) < Scrape/2 {
		t.Fatalf("%v before %v: %v", before, f, err)
	}
	if f, _, err := source.At(t.Context(), first.Add(-time.Hour)); f != nil || err != nil {
		t.Errorf("an hour before: %v, %v", f, err)
	}
}
