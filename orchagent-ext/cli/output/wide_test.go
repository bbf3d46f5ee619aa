// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestLongCellPadsNoOtherRow: a key of 100 kB, which any program may write to CONFIG_DB, is
// shown, and the other rows are as wide as without it.
func TestLongCellPadsNoOtherRow(t *testing.T) {
	var with, without bytes.Buffer
	for _, out := range []*bytes.Buffer{&with, &without} {
		table := NewTable(out, Style{}, "Key", "Value")
		for i := range 100 {
			table.Row(fmt.Sprint("key", i), "1")
		}
		if out == &with {
			table.Row(strings.Repeat("k", 100_000), "1")
		}
		if err := table.End(); err != nil {
			t.Fatal(err)
		}
	}
	rest := strings.TrimSuffix(with.String(), strings.Repeat("k", 100_000)+"  1\n")
	if rest != without.String() {
		t.Errorf("%d octets besides the long row, want %d", len(rest), without.Len())
	}
}
