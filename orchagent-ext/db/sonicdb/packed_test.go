// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"maps"
	"strings"
	"testing"
)

func TestPackedRowsHaveTheirFieldsAgain(t *testing.T) {
	long := strings.Repeat("x", 70000)
	for _, fields := range []map[string]string{
		{"a": "1"}, {"a": "", "": "b"}, {"a": long, "b": "\x00\xff", long: "c"}, {"NULL": "NULL"},
	} {
		p := pack(fields)
		if p == "" || !maps.Equal(p.Unpack(), fields) || p != pack(maps.Clone(fields)) {
			t.Errorf("%.100q is %.100q", fields, p.Unpack())
		}
	}
	if got := pack(nil).Unpack(); !maps.Equal(got, map[string]string{"NULL": "NULL"}) {
		t.Errorf("a row without fields: %v", got)
	}
	if got := Packed("").Unpack(); len(got) != 0 {
		t.Errorf("a missing row: %v", got)
	}
}
