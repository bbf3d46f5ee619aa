// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"testing"

	"sluice/orchagent-ext/db/sonicdb"
)

// TestChangeCostsNothingForBadRows: what a change allocates is the same beside few and very many
// rows that are invalid or of unknown tables.
func TestChangeCostsNothingForBadRows(t *testing.T) {
	cost := func(n int) float64 {
		st := New()
		var all []sonicdb.Change
		for i := range n {
			all = append(all, set("SLUICE_THRESHOLD", fmt.Sprint("bad", i), fields{"high_bytes": "many"}), set("SLUICE_NONE", fmt.Sprint(i), nil))
		}
		if s, fresh := st.Apply(all); len(s.Rejections) != 2*n || len(fresh) != 2*n {
			t.Fatalf("%d rejections, %d new, want %d", len(s.Rejections), len(fresh), 2*n)
		}
		i := 0
		return testing.AllocsPerRun(10, func() {
			i++
			s, fresh := st.Apply([]sonicdb.Change{set("SLUICE", "global", fields{"cpu_rate": fmt.Sprint(1000 + i)})})
			if len(fresh) > 0 || len(s.Rejections) != 2*n {
				t.Errorf("%d rejections, new %v", len(s.Rejections), fresh)
			}
		})
	}
	if few, many := cost(1), cost(10_000); many > few+100 {
		t.Errorf("a change allocates %.0f times beside 2 bad rows, and %.0f times beside 20,000", few, many)
	}
}

// TestBadRowsComeAndGo: rejections are those of all bad rows in their order, each is new once,
// and a row that others name says so.
func TestBadRowsComeAndGo(t *testing.T) {
	st := New()
	for i, step := range []struct {
		change sonicdb.Change
		all    []string
		fresh  []string
	}{
		{set("SLUICE_THRESHOLD", "b", fields{"high_bytes": "x"}), []string{"SLUICE_THRESHOLD|b"}, []string{"SLUICE_THRESHOLD|b"}},
		{set("SLUICE_THRESHOLD", "a", fields{"high_bytes": "x"}), []string{"SLUICE_THRESHOLD|a", "SLUICE_THRESHOLD|b"}, []string{"SLUICE_THRESHOLD|a"}},
		{set("SLUICE_NONE", "z", nil), []string{"SLUICE_NONE|z", "SLUICE_THRESHOLD|a", "SLUICE_THRESHOLD|b"}, []string{"SLUICE_NONE|z"}},
		{set("SLUICE_THRESHOLD", "a", fields{"high_bytes": "x"}), []string{"SLUICE_NONE|z", "SLUICE_THRESHOLD|a", "SLUICE_THRESHOLD|b"}, nil},
		{set("SLUICE_THRESHOLD", "a", fields{"high_bytes": "y"}), []string{"SLUICE_NONE|z", "SLUICE_THRESHOLD|a", "SLUICE_THRESHOLD|b"}, []string{"SLUICE_THRESHOLD|a"}},
		{set("PORT", "Ethernet0", nil), []string{"SLUICE_NONE|z", "SLUICE_THRESHOLD|a", "SLUICE_THRESHOLD|b"}, nil},
		{
			set("SLUICE_PORT", "Ethernet0", fields{"threshold": "a"}),
			[]string{"SLUICE_NONE|z", "SLUICE_PORT|Ethernet0", "SLUICE_THRESHOLD|a", "SLUICE_THRESHOLD|b"}, []string{"SLUICE_PORT|Ethernet0"},
		},
		{set("SLUICE_THRESHOLD", "a", fields{"high_bytes": "7"}), []string{"SLUICE_NONE|z", "SLUICE_THRESHOLD|b"}, nil},
		{set("SLUICE_THRESHOLD", "a", fields{"high_bytes": "x"}), []string{"SLUICE_NONE|z", "SLUICE_THRESHOLD|a", "SLUICE_THRESHOLD|b"}, []string{"SLUICE_THRESHOLD|a"}}, // the good one stays
		{del("SLUICE_NONE", "z"), []string{"SLUICE_THRESHOLD|a", "SLUICE_THRESHOLD|b"}, nil},
		{del("SLUICE_THRESHOLD", "b"), []string{"SLUICE_THRESHOLD|a"}, nil},
		{set("SLUICE", "global", fields{"cpu_rate": "x"}), []string{"SLUICE_THRESHOLD|a", "SLUICE|global"}, []string{"SLUICE|global"}},
		{del("SLUICE_THRESHOLD", "a"), []string{"SLUICE_PORT|Ethernet0", "SLUICE|global"}, []string{"SLUICE_PORT|Ethernet0"}},
	} {
		s, fresh := st.Apply([]sonicdb.Change{step.change})
		names := func(all []Rejection) (names []string) {
			for _, r := range all {
				names = append(names, r.Table+"|"+r.Key)
			}
			return names
		}
		if got := names(s.Rejections); !slices.Equal(got, step.all) {
			t.Errorf("step %d: rejected %q, want %q", i, got, step.all)
		}
		if got := names(fresh); !slices.Equal(got, step.fresh) {
			t.Errorf("step %d: new %q, want %q", i, got, step.fresh)
		}
	}
}
