// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"
	"testing"
)

// FuzzParse: each row that is read has a table of Sluice's or PORT, and no field without a name.
func FuzzParse(f *testing.F) {
	f.Add(`{"SLUICE_PORT": {"Ethernet0": {"role": "edge"}}, "PORT": {"eth0": {"sluice_device": "true"}}}`)
	f.Add(`{"SLUICE_IPFIX": {"global": {"a@": ["x", 1, true], "NULL": "NULL", "n": 1e400}}}`)
	f.Add(`{"SLUICE": []}`)
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := Parse(strings.NewReader(text))
		if err != nil && rows != nil {
			t.Errorf("rows beside the error %v", err)
		}
		for _, r := range rows {
			if r.Table != tablePort && !strings.HasPrefix(r.Table, "SLUICE") {
				t.Errorf("a row of table %q", r.Table)
			}
		}
	})
}
