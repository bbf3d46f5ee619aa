// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"path/filepath"
	"testing"

	"sluice/yang/rows"
)

func TestRowsInForceAreReadBackAndAFailureIsAWarning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.json")
	k := NewInForce(file, "db")
	k.Keep([]rows.Row{{Table: "B", Key: "1"}, {Table: "A", Key: "1", Fields: map[string]string{"x": "1"}}})
	ctx, stop := context.WithCancel(t.Context())
	stop() // it writes what it was given
	if err := k.Run(ctx); err != nil || k.Warning() != "" {
		t.Fatalf("%v, %q", err, k.Warning())
	}
	warn := func(err error) { t.Error(err) }
	got := NewInForce(file, "db").Read(warn)
	if len(got) != 2 || got[0].Table != "A" || got[0].Fields["x"] != "1" {
		t.Errorf("%v", got)
	}
	if got := NewInForce(file, "another").Read(warn); len(got) != 0 {
		t.Errorf("of other databases: %v", got)
	}
	k = NewInForce("/proc/no/rows.json", "db")
	k.Keep([]rows.Row{})
	if err := k.Run(ctx); err != nil || k.Warning() == "" {
		t.Errorf("%v, warning %q", err, k.Warning())
	}
}
