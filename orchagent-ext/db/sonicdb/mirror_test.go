// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/yang/rows"
)

// mirror runs a Mirror of table A until the test ends.
func mirror(t *testing.T, s *privateredis.Server) (*Mirror, *DB) {
	t.Helper()
	db := open(t, s, "STATE_DB", nil)
	db.timing.poll = 20 * time.Millisecond
	m := NewMirror(db, "A")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run ended with %v", err)
		}
	})
	return m, db
}

func row(key string, f fields) rows.Row { return rows.Row{Table: "A", Key: key, Fields: f} }

// shows waits until Redis has these rows in tables A and B.
func shows(t *testing.T, db *DB, want map[string]fields) {
	t.Helper()
	var diff string
	if !poll(func() bool {
		all, err := db.Read(t.Context(), "A", "B")
		if err != nil {
			diff = err.Error()
			return false
		}
		got := make(map[string]fields)
		for _, r := range all {
			got[r.Name()] = r.Fields
		}
		diff = cmp.Diff(want, got)
		return diff == ""
	}) {
		t.Fatalf("rows (-want +got):\n%s", diff)
	}
}

func TestMirrorWritesDifferences(t *testing.T) {
	s := redisServer(t)
	write(t, open(t, s, "STATE_DB", nil), set("A", "stale", nil), set("A", "1", fields{"x": "old", "gone": "1"}), set("B", "other", nil))
	m, db := mirror(t, s)
	m.Set(row("1", fields{"x": "1"}))
	m.Set(row("2", nil))
	shows(t, db, map[string]fields{"A|1": {"x": "1"}, "A|2": {}, "B|other": {}})

	m.Set(row("2", fields{"y": "1"})) // its NULL goes
	m.Delete("A", "1")
	shows(t, db, map[string]fields{"A|2": {"y": "1"}, "B|other": {}})

	m.Replace("A", slices.Values([]rows.Row{row("3", fields{"z": "1"}), row("4", nil)}))
	want := map[string]fields{"A|3": {"z": "1"}, "A|4": {}, "B|other": {}}
	shows(t, db, want)

	if err := db.client.FlushDB(t.Context()).Err(); err != nil { // as swss does when it starts
		t.Fatal(err)
	}
	delete(want, "B|other")
	shows(t, db, want)

	m.Set(rows.Row{Table: "B", Key: "1"})
	m.Empty("A")
	shows(t, db, map[string]fields{"B|1": {}})
}

// TestRowsAsBeforeTakeNoMemory in a mirror: a leaf sets thousands of them a second.
func TestRowsAsBeforeTakeNoMemory(t *testing.T) {
	m := NewMirror(open(t, redisServer(t), "STATE_DB", nil), "A")
	counters := fields{}
	for i := range 40 {
		counters[fmt.Sprint("counter", i)] = fmt.Sprint(1 << i)
	}
	r := row("1", counters)
	n := testing.AllocsPerRun(100, func() { m.Set(r) })
	if n > 1 { // its key
		t.Errorf("%g allocations, want the key's alone", n)
	}
	counters["counter7"] = "129"
	m.Set(r)
	if got := m.Wanted("A"); len(got) != 1 || got[0].Fields["counter7"] != "129" {
		t.Errorf("one field is another: %v", got)
	}
}

func TestMirrorSurvivesARestart(t *testing.T) {
	for name, empty := range map[string]bool{"full": false, "empty": true} {
		t.Run(name, func(t *testing.T) {
			s := redisServer(t)
			m, db := mirror(t, s)
			m.Set(row("1", fields{"x": "1"}))
			m.Set(row("2", fields{"x": "2"}))
			shows(t, db, map[string]fields{"A|1": {"x": "1"}, "A|2": {"x": "2"}})
			if err := s.Save(); err != nil {
				t.Fatal(err)
			}
			s.Kill()
			m.Delete("A", "1") // while it is down
			m.Set(row("3", nil))
			if err := s.Restart(empty); err != nil {
				t.Fatal(err)
			}
			shows(t, db, map[string]fields{"A|2": {"x": "2"}, "A|3": {}})
		})
	}
}

// TestMirrorReplacesWhatIsNoRow: a key of Sluice that is not a hash, of whatever origin,
// keeps no row out of Redis.
func TestMirrorReplacesWhatIsNoRow(t *testing.T) {
	db := open(t, redisServer(t), "STATE_DB", nil)
	m := NewMirror(db, "A")
	foreign := func(key string) {
		t.Helper()
		if err := db.client.Del(t.Context(), key).Err(); err != nil {
			t.Fatal(err)
		}
		if err := db.client.Set(t.Context(), key, "no row", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	foreign("A|1")
	m.Set(row("1", fields{"x": "1"}))
	m.Set(row("2", fields{"x": "1"}))
	flush(t, m)
	want := map[string]fields{"A|1": {"x": "1"}, "A|2": {"x": "1"}}
	if diff := cmp.Diff(want, inRedis(t, db, "A")); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	foreign("A|2")
	m.everything() // as it does once a minute
	flush(t, m)
	if diff := cmp.Diff(want, inRedis(t, db, "A")); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestMirrorAdoptsOneTableAndKnowsTheOthers(t *testing.T) {
	s := redisServer(t)
	db := open(t, s, "STATE_DB", nil)
	write(t, db, set("A", "1", fields{"x": "1"}), set("B", "1", fields{"y": "1"}), set("B", "2", nil))
	m := NewMirror(db, "A", "B")
	adopted, err := m.Adopt(t.Context(), "A")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]rows.Row{row("1", fields{"x": "1"})}, adopted); diff != "" {
		t.Errorf("adopted rows (-want +got):\n%s", diff)
	}
	others := m.Written("B")
	slices.SortFunc(others, func(a, b rows.Row) int { return strings.Compare(a.Key, b.Key) })
	if diff := cmp.Diff([]rows.Row{{Table: "B", Key: "1", Fields: fields{"y": "1"}}, {Table: "B", Key: "2", Fields: fields{}}}, others); diff != "" {
		t.Errorf("rows of the other table (-want +got):\n%s", diff)
	}
	for range 2 {
		flush(t, m) // rows of the other table were not set
		if diff := cmp.Diff(map[string]fields{"A|1": {"x": "1"}}, inRedis(t, db, "A", "B")); diff != "" {
			t.Errorf("rows in Redis (-want +got):\n%s", diff)
		}
		m.everything() // an adopted row is wanted
	}
}

func TestFlushRemovesRows(t *testing.T) {
	db := open(t, redisServer(t), "STATE_DB", nil)
	m := NewMirror(db, "A")
	m.Set(row("1", fields{"x": "1"}))
	m.Set(row("2", fields{"x": "1"}))
	flush(t, m)
	want := map[string]fields{"A|1": {"x": "1"}, "A|2": {"x": "1"}}
	if diff := cmp.Diff(want, inRedis(t, db, "A")); diff != "" {
		t.Fatalf("rows (-want +got):\n%s", diff)
	}

	// What is as it was is not written again.
	before := calls(t, db)
	m.Set(row("1", fields{"x": "1"}))
	m.Set(row("2", fields{"x": "2"}))
	m.Set(row("2", fields{"x": "1"}))
	m.Delete("A", "3")
	flush(t, m)
	if after := calls(t, db); after != before {
		t.Errorf("Redis was written to: %q, and before %q", after, before)
	}
}

func TestClearKeepsOtherTables(t *testing.T) {
	s := redisServer(t)
	db := open(t, s, "STATE_DB", nil)
	write(t, db, set("A", "stale", nil), set("B", "other", nil))
	m := NewMirror(db, "A")
	m.Set(row("1", fields{"x": "1"}))
	flush(t, m)
	write(t, db, set("A", "of another writer", nil))
	m.Set(row("2", nil))
	m.Clear()
	flush(t, m)
	if diff := cmp.Diff(map[string]fields{"B|other": {}}, inRedis(t, db, "A", "B")); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func flush(t *testing.T, m *Mirror) {
	t.Helper()
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// calls returns how often rows were set and deleted.
func calls(t *testing.T, db *DB) string {
	t.Helper()
	info, err := db.client.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	var all string
	for _, c := range regexp.MustCompile(`cmdstat_(hset|hdel|del):calls=\d+`).FindAllString(info, -1) {
		all += c + " "
	}
	return all
}
