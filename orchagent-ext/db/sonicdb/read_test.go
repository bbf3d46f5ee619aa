// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sluice/yang/rows"
)

func TestGetReturnsRowsInOrder(t *testing.T) {
	db := open(t, redisServer(t), "COUNTERS_DB", nil)
	write(t, db, set("A", "1", fields{"x": "1"}), set("A", "2", fields{"x": "2"}), set("B", "1", nil), set("MAP", "", fields{"x": "3"}))
	got, err := db.Get(t.Context(), rows.Row{Table: "MAP"}, rows.Row{Table: "B", Key: "1"}, rows.Row{Table: "A", Key: "3"}, rows.Row{Table: "A", Key: "1"})
	if err != nil {
		t.Fatal(err)
	}
	want := []rows.Row{{Table: "MAP", Fields: fields{"x": "3"}}, {Table: "B", Key: "1", Fields: fields{}}, {Table: "A", Key: "1", Fields: fields{"x": "1"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestReadByPattern: what names of tables have in common is no more than a hint. A name
// that ends in * is that of all tables which begin so.
func TestReadByPattern(t *testing.T) {
	db := open(t, redisServer(t), "STATE_DB", nil)
	tables := []string{"S*_ONE", "S*_ONLY", "S", "Q?[x]", `back\slash`, "X"}
	for _, table := range append([]string{"SA_ONE", "S*_ON", "Qy[x]", "Q?x", "backslash"}, tables...) {
		write(t, db, set(table, "1", fields{"x": "1"}))
	}
	for _, wanted := range [][]string{nil, {"S*_ONE"}, {"S*_ONE", "S*_ONLY"}, {"S*_ONE", "S"}, {"Q?[x]"}, {`back\slash`}, {"S*_ONE", "X"}} {
		want := map[string]fields{}
		for _, table := range wanted {
			want[table+"|1"] = fields{"x": "1"}
		}
		if diff := cmp.Diff(want, inRedis(t, db, wanted...)); diff != "" {
			t.Errorf("%q: %s", wanted, diff)
		}
	}
	want := map[string]fields{}
	for _, table := range []string{"S", "SA_ONE", "S*_ON", "S*_ONE", "S*_ONLY", "X"} {
		want[table+"|1"] = fields{"x": "1"}
	}
	if diff := cmp.Diff(want, inRedis(t, db, "S*", "X")); diff != "" {
		t.Error(diff)
	}
	for want, tables := range map[string][]string{"": nil, "SLUICE_*": {"SLUICE_STATS", "SLUICE_PORT_STATS"}, "SLUICE*": {"SLUICE*"}, "S*": {"SLUICE*", "SWITCH"}, "*": {"PORT", "SLUICE"}, `a\*b*`: {"a*b"}} {
		if got := pattern(tables); got != want {
			t.Errorf("%q: %s, want %s", tables, got, want)
		}
	}
}

// Rows of one table are read by how their keys begin, whatever the keys contain.
func TestReadKeys(t *testing.T) {
	db := open(t, redisServer(t), "ASIC_DB", nil)
	for _, key := range []string{"HOP:oid:0x1", "HOP_GROUP:oid:0x2", "ROUTE:{\"dest\":\"::/0\"}", "H*", "H*P", "XHOP"} {
		write(t, db, set("ASIC_STATE", key, fields{"x": key}))
	}
	write(t, db, set("OTHER", "HOP:oid:0x3", fields{"x": "1"}))
	for prefix, keys := range map[string][]string{"HOP": {"HOP:oid:0x1", "HOP_GROUP:oid:0x2"}, "HOP:": {"HOP:oid:0x1"}, "H*": {"H*", "H*P"}, "Y": nil} {
		want := []rows.Row{}
		for _, key := range keys {
			want = append(want, rows.Row{Table: "ASIC_STATE", Key: key, Fields: fields{"x": key}})
		}
		got, err := db.ReadKeys(t.Context(), "ASIC_STATE", prefix)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v, %s", prefix, err, diff)
		}
	}
}
