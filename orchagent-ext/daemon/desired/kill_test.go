// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/tests/redistest"
	"sluice/yang/rows"
)

// change sets a row; nil fields: it is gone.
func change(table, key string, fields map[string]string) sonicdb.Change {
	return sonicdb.Change{Row: rows.Row{Table: table, Key: key, Fields: fields}, Deleted: fields == nil}
}

func started(t *testing.T, first ...sonicdb.Change) *State {
	t.Helper()
	d := redistest.Databases(t)
	s := New(redistest.Open(t, d, "CONFIG_DB"), redistest.Open(t, d, "STATE_DB"), "", slog.New(slog.DiscardHandler), time.Now)
	s.Apply(t.Context(), sonicdb.Batch{Initial: true, Changes: append(first, change("PORT", "Ethernet0", map[string]string{"lanes": "0"}))})
	return s
}

// TestKillSwitchWaitsForNothing: it is in force before other changes of its batch are judged,
// and what is in force else stays so.
func TestKillSwitchWaitsForNothing(t *testing.T) {
	type fields = map[string]string
	kill := change("SLUICE", "global", fields{"admin_state": "disabled"})
	for name, tt := range map[string]struct {
		batch []sonicdb.Change
		want  bool
	}{
		"alone":                     {[]sonicdb.Change{kill}, true},
		"beside a bad field":        {[]sonicdb.Change{change("SLUICE", "global", fields{"admin_state": "disabled", "cpu_rate": "x"})}, true},
		"after others":              {[]sonicdb.Change{change("SLUICE_THRESHOLD", "t", fields{"high_bytes": "x"}), kill}, true},
		"enabled":                   {[]sonicdb.Change{change("SLUICE", "global", fields{"admin_state": "enabled"})}, false},
		"of a table":                {[]sonicdb.Change{change("SLUICE_IPFIX", "global", fields{"admin_state": "disabled"})}, false},
		"of another key":            {[]sonicdb.Change{change("SLUICE", "other", fields{"admin_state": "disabled"})}, false},
		"the row is removed":        {[]sonicdb.Change{change("SLUICE", "global", nil)}, false},
		"something else altogether": {nil, false},
	} {
		s := started(t, change("SLUICE_FLOW_LABEL", "global", fields{"admin_state": "enabled"}))
		before := s.snapshot
		if got := s.Kill(sonicdb.Batch{Changes: tt.batch}); got != tt.want || disabled(s.snapshot) != tt.want {
			t.Errorf("%s: %v, disabled %v; want %v", name, got, disabled(s.snapshot), tt.want)
		}
		if s.snapshot.FlowLabel != before.FlowLabel || disabled(before) {
			t.Errorf("%s: the snapshot before has changed, or other rows have", name)
		}
		s.Apply(t.Context(), sonicdb.Batch{Changes: tt.batch})
		if disabled(s.snapshot) != tt.want {
			t.Errorf("%s: once all is applied: disabled %v", name, !tt.want)
		}
		if s.Kill(sonicdb.Batch{Changes: tt.batch}) {
			t.Errorf("%s: twice", name)
		}
	}
}

// TestRejectionsCostWhatChanged: rows of SLUICE_CONFIG_ERROR are made of rows that changed
// alone, unless keys are so long that several rows may share one.
func TestRejectionsCostWhatChanged(t *testing.T) {
	type fields = map[string]string
	bad := func(key, value string) sonicdb.Change {
		return change("SLUICE_THRESHOLD", key, fields{"high_bytes": value})
	}
	var first []sonicdb.Change
	for i := range 100 {
		first = append(first, bad(fmt.Sprint("bad", i), "x"))
	}
	s := started(t, first...)
	long := strings.Repeat("k", rows.LongestQuote+1)
	for i, step := range []struct {
		changes []sonicdb.Change
		set     []string
		gone    []string
		whole   int // rows; 0: the changes alone
	}{
		{nil, nil, nil, 100}, // the first
		{nil, nil, nil, 0},
		{[]sonicdb.Change{change("SLUICE", "global", fields{"cpu_rate": "2000"})}, nil, nil, 0},
		{[]sonicdb.Change{bad("bad7", "y"), change("SLUICE_THRESHOLD", "bad8", nil), bad("new", "x")}, []string{"bad7", "new"}, []string{"SLUICE_THRESHOLD|bad8"}, 0},
		{[]sonicdb.Change{bad("new", "7")}, nil, []string{"SLUICE_THRESHOLD|new"}, 0},
		{[]sonicdb.Change{bad("new", "x")}, []string{"new"}, nil, 0}, // with its good version
		{[]sonicdb.Change{change("SLUICE_PPFC_PEER", long, fields{})}, nil, nil, 101},
		{[]sonicdb.Change{change("SLUICE_PPFC_PEER", long, nil)}, nil, nil, 100},
	} {
		if step.changes != nil {
			s.Apply(t.Context(), sonicdb.Batch{Changes: step.changes})
		}
		c := s.Rejections()
		if step.whole > 0 || c.Whole {
			if !c.Whole || len(c.Set) != step.whole {
				t.Errorf("step %d: whole %v, %d rows; want %d", i, c.Whole, len(c.Set), step.whole)
			}
			continue
		}
		var set []string
		for _, row := range c.Set {
			set = append(set, *row.(*telemetry.Rejection).Key)
		}
		if !slices.Equal(set, step.set) || !slices.Equal(c.Gone, step.gone) {
			t.Errorf("step %d: set %q, gone %q; want %q and %q", i, set, c.Gone, step.set, step.gone)
		}
	}
	if n := len(s.rejectedAt); n != 100 {
		t.Errorf("the times of %d rows are kept, want 100", n)
	}
}
