// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/tests/fabrictest"
)

const (
	pageRelease = "202505" // of docs/sonic.md
	pageRows    = "../../sonic-container/cli/tests/orchagent.json"
)

// slow reports whether the only warning is that an entry takes long here: on a busy machine the
// stand-ins' kernel does.
func slow(warnings string) bool {
	return strings.HasPrefix(warnings, "the switch takes ") && strings.HasSuffix(warnings, " bounds that") && strings.Count(warnings, "the switch takes ") == 1
}

// TestRowsOfThePageAreThoseOfTheDriver: docs/sonic.md shows what a switch of stock SONiC reports. The
// rows that it is printed from, before and after placement is on, are those that sluiced writes there.
func TestRowsOfThePageAreThoseOfTheDriver(t *testing.T) {
	version, err := os.ReadFile("../../VERSION")
	fabrictest.Check(t, err)
	s := newStock(t, pageRelease, false)
	s.load.Send(s.equal)
	s.startSampled()
	got := map[string]map[string]map[string]string{}
	take := func(moment string) {
		got[moment] = map[string]map[string]string{}
		all, err := s.state.Read(t.Context(), "SLUICE_STATE", "SLUICE_CAPABILITY", "SLUICE_PLACEMENT_GROUP", "SLUICE_PLACEMENT_MEMBER")
		fabrictest.Check(t, err)
		for _, r := range all {
			if _, is := r.Fields["version"]; is { // the page is of this one, and sluiced has no sign of life there
				r.Fields["version"] = strings.TrimSpace(string(version))
				delete(r.Fields, "alive")
			}
			got[moment][r.Name()] = r.Fields
		}
	}
	take("installed")
	s.place("any")
	worst, _ := s.even(1.10, s.Uplinks)
	s.until("the group says that it is even", func() bool {
		for _, r := range s.table("SLUICE_PLACEMENT_GROUP") {
			return strings.HasPrefix(r["worst_over_mean"], "1.0")
		}
		return false
	})
	t.Logf("max ÷ mean %.3f", worst)
	take("placed")

	if *update {
		b, err := json.MarshalIndent(got, "", " ")
		fabrictest.Check(t, err)
		fabrictest.Check(t, os.WriteFile(pageRows, append(b, '\n'), 0o644))
		return
	}
	b, err := os.ReadFile(pageRows)
	fabrictest.Check(t, err)
	want := map[string]map[string]map[string]string{}
	fabrictest.Check(t, json.Unmarshal(b, &want))
	for moment, rows := range want {
		for name, fields := range rows {
			is := got[moment][name]
			switch {
			case strings.HasPrefix(name, "SLUICE_PLACEMENT_"): // its figures are those of one run
				if len(s.table(strings.Split(name, "|")[0])) == 0 {
					t.Errorf("%s: no row of %s", moment, name)
				}
			case name == "SLUICE_STATE|global":
				if slow(is["warnings"]) {
					is["state"], is["warnings"] = "running", ""
				}
				for _, field := range []string{"driver", "state", "flow_label", "placement", "warnings", "placement_reason"} {
					if is[field] != fields[field] {
						t.Errorf("%s: %s: %q, the page's %q", moment, field, is[field], fields[field])
					}
				}
			default:
				if diff := cmp.Diff(fields, is); diff != "" {
					t.Errorf("%s: %s (- the page's, + the driver's; -update writes it):\n%s", moment, name, diff)
				}
			}
		}
	}
	if len(want) != 2 || !slices.Contains(slices.Collect(maps.Keys(want["placed"])), "SLUICE_CAPABILITY|switch") {
		t.Errorf("%s has %d moments", pageRows, len(want))
	}
}
