// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/openconfig/ygot/ytypes"
)

// Any row is an error that names it, or becomes a struct that ygot finds valid
// and whose row is the same again. text holds field and value by turns, a line each.
func FuzzRow(f *testing.F) {
	for _, name := range slices.Sorted(maps.Keys(byName())) {
		var text []string
		for leaf, e := range byName()[name].entry.Dir {
			text = append(text, leaf, strings.Join(e.Default, ","))
		}
		f.Add(name, cmp.Or(byName()[name].only, "a|b"), strings.Join(text, "\n"))
	}
	f.Add("SLUICE_THRESHOLD", "gold", "high_bytes\n5\nqueues@\n3,4\nlow_bytes\n4")
	f.Add("SLUICE_STATS", "global", "label_skipped_percent\n50.0\ncpu_copied\n18446744073709551615")
	f.Add("SLUICE_CONFIG_ERROR", "SLUICE_PORT|Ethernet0", "reason\nno such port\ntime\n2026-11-21T10:00:00Z")
	f.Add("SLUICE_PFCM", "global", "rx_burst\n1000000")
	f.Add("SLUICE_PPFC_PEER", "2001:DB8::1/32", "NULL\nNULL")
	f.Add("SLUICE_PPFC_GATEWAY", "10.0.0.0/8", "gateway\n10.0.0.1")
	f.Add("SLUICE", "global", "etcd_endpoints@\na,b\nrouter_id_v6\n::1")
	f.Add("SLUICE_IPFIX_COLLECTOR", "c", "address\n::1\ntransport\ntls\nca_file\n/a b")
	f.Fuzz(func(t *testing.T, table, key, text string) {
		lines := strings.Split(text, "\n")
		row := Row{table, key, fields{}}
		for i := 0; i+1 < len(lines); i += 2 {
			row.Fields[lines[i]] = lines[i+1]
		}
		s, err := Decode(row)
		if err != nil {
			e := AsError(err)
			if e == nil || e.Table != table || e.Key != key || e.Reason == "" {
				t.Fatalf("%#v does not say what is wrong with %v", err, row)
			}
			return
		}
		if table != "SLUICE_PORT" { // ygot cannot judge its key, a union of references
			if errs := ytypes.Validate(byName()[table].entry, s, &ytypes.LeafrefOptions{IgnoreMissingData: true}); errs != nil {
				t.Fatalf("%v is valid for us, and ygot says: %v", row, errs)
			}
		}
		again, err := Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(plain(row), again); diff != "" {
			t.Fatalf("another row came back (-was +is):\n%s", diff)
		}
	})
}
