// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"slices"
	"strings"
	"testing"
)

// FuzzParse: each row that is read has a table of Sluice's or PORT, and no field without a name.
func FuzzParse(f *testing.F) {
	f.Add(`{"SLUICE_PORT": {"Ethernet0": {"role": "edge"}}, "PORT": {"eth0": {"sluice_device": "true"}}}`)
	f.Add(`{"SLUICE_IPFIX": {"global": {"a@": ["x", 1, true], "NULL": "NULL", "n": 1e400}}}`)
	f.Add(`{"SLUICE": []}`)
	f.Add(`{"localhost": {"SLUICE_PORT": {"Ethernet0": null}}, "asic0": {"sluice": null}}`)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse(strings.NewReader(text), "")
		if err != nil {
			return
		}
		for _, r := range slices.Concat(file.Rows, file.Gone) {
			if r.Table != tablePort && !strings.HasPrefix(r.Table, "SLUICE") {
				t.Errorf("a row of table %q", r.Table)
			}
		}
	})
}
