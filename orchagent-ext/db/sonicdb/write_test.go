// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteAndRead(t *testing.T) {
	for _, name := range []string{"CONFIG_DB", "COUNTERS_DB"} { // separators | and :
		t.Run(name, func(t *testing.T) {
			db := open(t, redisServer(t), name, nil)
			write(t, db,
				set("A", "1", fields{"x": "1", "y": "2"}),
				set("A", "2001:db8::|/32", nil),
				set("AB", "1", fields{"x": "1"}),
				set("A", "3", fields{"x": "1"}),
			)
			write(t, db,
				set("A", "1", fields{"y": "3", "z": ""}), // x goes
				del("A", "3"),
				del("A", "never there"),
				set("A", "4", fields{"x": "1"}), set("A", "4", fields{"y": "1"}), // the last counts
				set("A", "5", fields{"x": "1"}), del("A", "5"),
			)
			if err := db.client.Set(t.Context(), "A"+db.Separator+"string", "no row", 0).Err(); err != nil {
				t.Fatal(err)
			}
			want := map[string]fields{"A|1": {"y": "3", "z": ""}, "A|2001:db8::|/32": {}, "A|4": {"y": "1"}}
			if diff := cmp.Diff(want, inRedis(t, db, "A", "C")); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWriteMoreThanAPipeline(t *testing.T) {
	db := open(t, redisServer(t), "STATE_DB", nil)
	var changes []Change
	want := make(map[string]fields)
	for i := range 2*batch + 1 {
		key := fmt.Sprintf("%04d", i)
		changes = append(changes, set("A", key, fields{"n": key}))
		want["A|"+key] = fields{"n": key}
	}
	write(t, db, changes...)
	if diff := cmp.Diff(want, inRedis(t, db, "A")); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestPingReportsADeadServer(t *testing.T) {
	s := redisServer(t)
	db := open(t, s, "STATE_DB", nil)
	if err := db.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	s.Kill()
	if err := db.Ping(t.Context()); err == nil {
		t.Error("a killed Redis answers")
	}
	if err := db.Write(t.Context(), set("A", "1", nil)); err == nil {
		t.Error("a killed Redis takes rows")
	}
}
