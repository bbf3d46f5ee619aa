// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/ygot/ygot"

	"sluice/yang/rows"
)

// encode is the row of a struct.
func encode(t *testing.T, s ygot.GoStruct) rows.Row {
	t.Helper()
	r, err := rows.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLastGood: what is in force is read back from the row of an error.
func TestLastGood(t *testing.T) {
	good := rows.Row{Table: "SLUICE_PPFC_PEER", Key: "2001:db8::/32", Fields: map[string]string{"a b": `c "d" | e`}}
	wrong := &rows.Error{Table: good.Table, Key: good.Key}
	errs := []rows.Row{encode(t, ConfigError(wrong, time.Time{}, nil)), encode(t, ConfigError(wrong, time.Time{}, &good))}
	if diff := cmp.Diff([]rows.Row{good}, LastGood(errs)); diff != "" {
		t.Error(diff)
	}
}
