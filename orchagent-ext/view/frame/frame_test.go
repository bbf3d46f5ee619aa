// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"maps"
	"slices"
	"testing"

	"sluice/yang/rows"
)

// notShown are the tables of the model that a frame leaves out: every object on the switch is
// more than a picture needs.
var notShown = []string{"SLUICE_ASIC_OBJECT"}

func TestFrameHasTheTablesOfTheModel(t *testing.T) {
	for _, database := range []string{"STATE_DB", "COUNTERS_DB"} {
		want := slices.DeleteFunc(slices.Sorted(slices.Values(rows.Tables(database))), func(name string) bool { return slices.Contains(notShown, name) })
		if got := slices.Sorted(slices.Values(Tables[database])); !slices.Equal(got, want) {
			t.Errorf("%s: %q, and the model has %q", database, got, want)
		}
	}
	if n := len(slices.Collect(maps.Keys(Tables))); n != 3 {
		t.Errorf("%d databases", n)
	}
}
