// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
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

// Of parts that are read side by side each row is taken once, one at a time.
func TestManyRowsAreTakenOneAtATime(t *testing.T) {
	const n = 6*batch + 1
	db := open(t, redisServer(t), "STATE_DB", nil)
	var all []Change
	keys := make([]string, n)
	for i := range n {
		keys[i] = fmt.Sprint("A|", i)
		all = append(all, set("A", fmt.Sprint(i), fields{"n": fmt.Sprint(i)}))
	}
	write(t, db, all...)
	var inside atomic.Int32
	got := map[string]string{}
	err := db.readEach(t.Context(), db.client, keys, func(k string, f map[string]string) {
		if inside.Add(1) > 1 {
			t.Error("two rows are taken at once")
		}
		runtime.Gosched()
		if _, again := got[k]; again {
			t.Errorf("%s is taken again", k)
		}
		got[k] = f["n"]
		inside.Add(-1)
	})
	if err != nil || len(got) != n || got["A|0"] != "0" || got["A|3000"] != "3000" {
		t.Errorf("%d of %d rows, A|3000 %q, error %v", len(got), n, got["A|3000"], err)
	}
}

// A reading that ends in the middle has an error: what was taken are not all rows.
func TestReadingThatIsCutOffHasAnError(t *testing.T) {
	const n = 6 * batch
	for name, end := range map[string]func(s *privateredis.Server, cancel func()){
		"its context ends": func(_ *privateredis.Server, cancel func()) { cancel() },
		"Redis dies":       func(s *privateredis.Server, _ func()) { s.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			s := redisServer(t)
			db := open(t, s, "STATE_DB", nil)
			var all []Change
			keys := make([]string, n)
			for i := range n {
				keys[i] = fmt.Sprint("A|", i)
				all = append(all, set("A", fmt.Sprint(i), fields{"n": "1"}))
			}
			write(t, db, all...)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var once sync.Once
			taken := 0
			err := db.readEach(ctx, db.client, keys, func(string, map[string]string) {
				once.Do(func() { end(s, cancel) })
				taken++
			})
			if err == nil || taken == 0 || taken == n {
				t.Errorf("%d of %d rows, error %v", taken, n, err)
			}
		})
	}
}
