// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/yang/rows"
)

// TestEnqueueKeepsTheOrder: changes wait in their order, are seen by producers at once, and are
// taken by the consumer one after the other, fields of a row that is set again beside the others.
func TestEnqueueKeepsTheOrder(t *testing.T) {
	db := open(t, redisServer(t), "FLEX_COUNTER_DB", nil)
	const table = "FLEX_COUNTER_TABLE"
	row := func(key string, pairs ...string) rows.Row {
		r := rows.Row{Table: table, Key: key}
		for i := 0; i < len(pairs); i += 2 {
			if r.Fields == nil {
				r.Fields = map[string]string{}
			}
			r.Fields[pairs[i]] = pairs[i+1]
		}
		return r
	}
	set := func(r rows.Row) Change { return Change{Row: r} }
	gone := func(key string) Change { return Change{Row: row(key), Deleted: true} }
	one, other := row("S:oid:0x1", "IDS", "A,B"), row("S:oid:0x1", "MODE", "x \"y\"")
	both := row("S:oid:0x1", "IDS", "A,B", "MODE", "x \"y\"")
	second := row("S:oid:0x2", "IDS", "C")
	for _, s := range []struct {
		name    string
		enqueue []Change
		take    bool
		seen    []rows.Row // by producers
		keys    []rows.Row
		there   []rows.Row // in the table itself
	}{
		{"set", []Change{set(one)}, false, []rows.Row{one}, []rows.Row{row("S:oid:0x1")}, nil},
		{"taken", nil, true, []rows.Row{one}, []rows.Row{row("S:oid:0x1")}, []rows.Row{one}},
		{"another field, and another row", []Change{set(other), set(second)}, false, []rows.Row{both, second}, []rows.Row{row("S:oid:0x1"), row("S:oid:0x2")}, []rows.Row{one}},
		{"taken again", nil, true, []rows.Row{both, second}, []rows.Row{row("S:oid:0x1"), row("S:oid:0x2")}, []rows.Row{both, second}},
		{"removed and set", []Change{gone("S:oid:0x1"), set(one), gone("S:oid:0x2")}, false, []rows.Row{one}, []rows.Row{row("S:oid:0x1"), row("S:oid:0x2")}, []rows.Row{both, second}},
		{"and taken", nil, true, []rows.Row{one}, []rows.Row{row("S:oid:0x1")}, []rows.Row{one}},
		{"removed", []Change{gone("S:oid:0x1")}, true, nil, nil, nil},
	} {
		if len(s.enqueue) > 0 {
			if err := db.Enqueue(t.Context(), s.enqueue...); err != nil {
				t.Fatal(err)
			}
		}
		if s.take {
			if _, err := db.Dequeue(t.Context(), table); err != nil {
				t.Fatal(err)
			}
		}
		seen, err := db.Enqueued(t.Context(), row("S:oid:0x1"), row("none"), row("S:oid:0x2"))
		if diff := cmp.Diff(s.seen, seen, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s: seen: %v %s", s.name, err, diff)
		}
		keys, err := db.EnqueuedKeys(t.Context(), table, "S:")
		if diff := cmp.Diff(s.keys, keys, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s: keys: %v %s", s.name, err, diff)
		}
		for prefix, want := range map[string]bool{"S:": !s.take, "T:": false} {
			if waits, err := db.EnqueuedWaits(t.Context(), table, prefix); waits != want || err != nil {
				t.Errorf("%s: changes of %s wait: %v %v, want %v", s.name, prefix, waits, err, want)
			}
		}
		there, err := db.Read(t.Context(), table)
		if diff := cmp.Diff(s.there, there, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s: in the table: %v %s", s.name, err, diff)
		}
	}
}

// TestEnqueuedFieldsAreThoseOfSONiC: the list and the words of an operation are those that a
// ConsumerTable of SONiC pops.
func TestEnqueuedFieldsAreThoseOfSONiC(t *testing.T) {
	db := open(t, redisServer(t), "FLEX_COUNTER_DB", nil)
	r := rows.Row{Table: "FLEX_COUNTER_GROUP_TABLE", Key: "G", Fields: map[string]string{"POLL_INTERVAL": "20", "FLEX_COUNTER_STATUS": "enable"}}
	if err := db.Enqueue(t.Context(), Change{Row: r}, Change{Row: rows.Row{Table: r.Table, Key: "G"}, Deleted: true}); err != nil {
		t.Fatal(err)
	}
	list, err := db.client.LRange(t.Context(), "FLEX_COUNTER_GROUP_TABLE_KEY_VALUE_OP_QUEUE", 0, -1).Result()
	want := []string{"DDEL", "{}", "G", "SSET", `["FLEX_COUNTER_STATUS","enable","POLL_INTERVAL","20"]`, "G"}
	if diff := cmp.Diff(want, list); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}
