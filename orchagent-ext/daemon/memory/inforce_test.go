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
	got, err := NewInForce(file, "db").Read()
	if err != nil || len(got) != 2 || got[0].Table != "A" || got[0].Fields["x"] != "1" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := NewInForce(file, "another").Read(); err != nil || len(got) != 0 {
		t.Errorf("of other databases: %v, %v", got, err)
	}
	k = NewInForce("/proc/no/rows.json", "db")
	k.Keep([]rows.Row{})
	if err := k.Run(ctx); err != nil || k.Warning() == "" {
		t.Errorf("%v, warning %q", err, k.Warning())
	}
}
