// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"
	"sluice/gnmi-server/encoding"
	"sluice/gnmi-server/paths"
)

func query(t testing.TB, origin, text string) *paths.Query {
	t.Helper()
	p, err := ygot.StringToStructuredPath(text)
	if err != nil {
		t.Fatal(err)
	}
	p.Origin = origin
	q, err := paths.Resolve(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

type texts = map[string]string

// named returns the texts of leaves by name.
func named(leaves []encoding.Leaf) texts {
	all := make(texts)
	for _, l := range leaves {
		all[l.Name] = l.Text
	}
	return all
}

func TestExpandFillsDefaults(t *testing.T) {
	defaults := texts{"name": "gold", "action": "pause", "average_us": "0", "duration_us": "40000", "reduction": "50"}
	with := func(more texts, less ...string) texts {
		all := make(texts)
		for k, v := range defaults {
			all[k] = v
		}
		for k, v := range more {
			all[k] = v
		}
		for _, k := range less {
			delete(all, k)
		}
		return all
	}
	for name, tt := range map[string]struct {
		table, key string
		fields     texts
		yang, db   texts
	}{
		"defaults are YANG's only":         {"SLUICE_THRESHOLD", "gold", texts{"high_bytes": "7"}, with(texts{"high_bytes": "7"}), texts{"high_bytes": "7"}},
		"a default that is set":            {"SLUICE_THRESHOLD", "gold", texts{"reduction": "50"}, defaults, texts{"reduction": "50"}},
		"a leaf-list":                      {"SLUICE_THRESHOLD", "gold", texts{"queues@": "3,4"}, with(texts{"queues": "3,4"}), texts{"queues": "3,4"}},
		"an empty leaf-list":               {"SLUICE_THRESHOLD", "gold", texts{"queues@": ""}, defaults, texts{"queues": ""}},
		"a leaf-list named as a leaf":      {"SLUICE_THRESHOLD", "gold", texts{"queues": "3"}, defaults, texts{}},
		"a field that no model has":        {"SLUICE_THRESHOLD", "gold", texts{"color": "red"}, defaults, texts{}},
		"no field":                         {"SLUICE_THRESHOLD", "gold", nil, defaults, texts{"NULL": "NULL"}},
		"values that do not fit the type":  {"SLUICE_THRESHOLD", "gold", texts{"high_bytes": "many", "action": "stop", "reduction": "007", "queues@": "300"}, with(nil, "action", "reduction"), texts{"high_bytes": "many", "action": "stop", "reduction": "007", "queues": "300"}},
		"no row without key":               {"SLUICE_CONFIG_ERROR", "t", texts{"reason": "x"}, texts{}, texts{}},
		"a key of two":                     {"SLUICE_CONFIG_ERROR", "t|k|l", texts{"reason": "x"}, texts{"table": "t", "key": "k|l", "reason": "x"}, texts{"reason": "x"}},
		"state has no defaults":            {"SLUICE_STATE", "global", texts{"state": "running"}, texts{"state": "running"}, texts{"state": "running"}},
		"a key that is a wildcard":         {"SLUICE_THRESHOLD", "*", texts{"high_bytes": "7"}, texts{}, texts{}},
		"a key that is no UTF-8":           {"SLUICE_THRESHOLD", "\xff", texts{"high_bytes": "7"}, texts{}, texts{}},
		"a value that is no UTF-8":         {"SLUICE_CONFIG_ERROR", "t|k", texts{"reason": "a\xffb"}, texts{"table": "t", "key": "k"}, texts{"reason": "a\uFFFDb"}},
		"a key that does not fit its type": {"SLUICE_QUEUE_STATS", "Ethernet0|three", texts{"packets": "7"}, texts{}, texts{"packets": "7"}},
		"another row of a container":       {"SLUICE_FLOW_LABEL", "local", texts{"rewrite": "always"}, texts{}, texts{}},
	} {
		t.Run(name, func(t *testing.T) {
			table := paths.Lookup(tt.table)
			if diff := cmp.Diff(tt.yang, named(Expand(paths.YANG, table, tt.key, tt.fields))); diff != "" {
				t.Errorf("YANG (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.db, named(Expand(paths.SonicDB, table, tt.key, tt.fields))); diff != "" {
				t.Errorf("SonicDB (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever a row holds, each leaf that is shown can be written in every encoding.
func FuzzExpand(f *testing.F) {
	f.Add("gold", "high_bytes", "7")
	f.Add("a]\\ |", "reduction", "+5")
	f.Add("\xff", "label_skipped_percent", "NaN")
	f.Add("t|k", "reason", "\x00\xff")
	f.Fuzz(func(t *testing.T, key, field, value string) {
		for _, table := range paths.Tables() {
			for _, style := range []paths.Style{paths.YANG, paths.SonicDB} {
				leaves := Expand(style, table, key, texts{field: value, field + "@": value})
				for _, l := range leaves {
					for _, e := range encoding.Supported {
						if err := wire(&gpb.Update{Path: paths.Path(style, paths.AtLeaf, table, key, l.Name), Val: l.Value(style, e)}); err != nil {
							t.Errorf("%s|%s %s %q: %v", table.Name, key, l.Name, l.Text, err)
						}
					}
				}
				if len(leaves) == 0 {
					continue
				}
				for level := paths.Root; level < paths.AtLeaf; level++ {
					for _, e := range []gpb.Encoding{gpb.Encoding_JSON, gpb.Encoding_JSON_IETF} {
						if err := wire(&gpb.Update{Val: encoding.Subtree(style, e, level, leaves)}); err != nil {
							t.Errorf("%s|%s %q: %v", table.Name, key, value, err)
						}
					}
				}
			}
		}
	})
}

func TestSnapshotSkipsInvalidRows(t *testing.T) {
	s := Snapshot{
		paths.Lookup("SLUICE_THRESHOLD"):  {"iron": {"high_bytes": "8"}, "gold": {"high_bytes": "7"}},
		paths.Lookup("SLUICE_FLOW_LABEL"): {"local": {"rewrite": "always"}}, // an operator's mistake
		paths.Lookup("SLUICE_PPFC_PEER"):  {"10.0.0.0/8": {}},
	}
	for name, tt := range map[string]struct {
		origin, path string
		want         []string
	}{
		"sorted by key":                       {"", "/sonic-sluice/SLUICE_THRESHOLD/*/high_bytes", []string{"gold high_bytes 7", "iron high_bytes 8"}},
		"one row":                             {"", "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=iron]/high_bytes", []string{"iron high_bytes 8"}},
		"a row that is not there":             {"", "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=tin]", nil},
		"a container beside a row of no name": {"", "/sonic-sluice/SLUICE_FLOW_LABEL/global/rewrite", []string{"global rewrite zero-only"}},
		"a container that is not there":       {"", "/sonic-sluice/SLUICE_IPFIX/global/admin_state", []string{"global admin_state disabled"}},
		"a container of state":                {"", "/sonic-sluice-state/SLUICE_STATE/global", []string{"global state not-running"}},
		"counters":                            {"", "/sonic-sluice-state/SLUICE_STATS/global", nil},
		"the database has no defaults":        {"sonic-db", "/CONFIG_DB/localhost/SLUICE_FLOW_LABEL", nil},
		"a row without fields":                {"sonic-db", "/CONFIG_DB/localhost/SLUICE_PPFC_PEER", []string{"10.0.0.0/8 NULL NULL"}},
	} {
		var got []string
		for _, l := range s.Leaves(query(t, tt.origin, tt.path)) {
			got = append(got, l.Key+" "+l.Name+" "+l.Text)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
