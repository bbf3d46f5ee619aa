// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/yang/rows"
)

// TestProduceWaitsForTheConsumer: what is handed over is seen at once, waits until the consumer takes it,
// and is then the row that the consumer's table has.
func TestProduceWaitsForTheConsumer(t *testing.T) {
	db := open(t, redisServer(t), "APPL_DB", nil)
	row := func(fields ...string) rows.Row {
		r := rows.Row{Table: "ACL_RULE_TABLE", Key: "T:R"}
		for i := 0; i < len(fields); i += 2 {
			if r.Fields == nil {
				r.Fields = map[string]string{}
			}
			r.Fields[fields[i]] = fields[i+1]
		}
		return r
	}
	one, other := row("PRIORITY", "1", "DSCP", "3"), row("PRIORITY", "2")
	put := func(r rows.Row) Change { return Change{Row: r} }
	gone := Change{Row: row(), Deleted: true}
	type step struct {
		name     string
		produce  []Change
		take     bool
		produced []rows.Row // seen by producers
		waits    bool
		there    []rows.Row // in the table itself
		taken    []Change
	}
	for _, s := range []step{
		{"nothing", nil, true, nil, false, nil, nil},
		{"set", []Change{put(one)}, false, []rows.Row{one}, true, nil, nil},
		{"taken", nil, true, []rows.Row{one}, false, []rows.Row{one}, []Change{put(one)}},
		{"changed: no field of before is left", []Change{put(other)}, false, []rows.Row{other}, true, []rows.Row{one}, nil},
		{"taken again", nil, true, []rows.Row{other}, false, []rows.Row{other}, []Change{put(other)}},
		{"removed", []Change{gone}, false, nil, true, []rows.Row{other}, nil},
		{"and set before it was taken: one change", []Change{put(one)}, true, []rows.Row{one}, false, []rows.Row{one}, []Change{put(one)}},
		{"removed and set at once", []Change{gone, put(other)}, true, []rows.Row{other}, false, []rows.Row{other}, []Change{put(other)}},
		{"removed, and that is taken", []Change{gone}, true, nil, false, nil, []Change{gone}},
		{"set and removed", []Change{put(one), gone}, true, nil, false, nil, []Change{gone}},
		{"a row without fields", []Change{put(row())}, true, []rows.Row{row()}, false, []rows.Row{row()}, []Change{put(row("NULL", "NULL"))}},
	} {
		if len(s.produce) > 0 {
			if err := db.Produce(t.Context(), s.produce...); err != nil {
				t.Fatal(err)
			}
		}
		var taken []Change
		var err error
		if s.take {
			if taken, err = db.Take(t.Context(), "ACL_RULE_TABLE"); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(s.taken, taken, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: taken: %s", s.name, diff)
		}
		produced, err := db.Produced(t.Context(), rows.Row{Table: "ACL_RULE_TABLE", Key: "none"}, row())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.produced, produced, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: produced: %s", s.name, diff)
		}
		if waits, err := db.Waits(t.Context(), row()); waits != s.waits || err != nil {
			t.Errorf("%s: waits %v, %v", s.name, waits, err)
		}
		there, err := db.Read(t.Context(), "ACL_RULE_TABLE")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.there, there, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: there: %s", s.name, diff)
		}
	}
	if left, err := db.client.Keys(t.Context(), "*").Result(); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}
