// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sluice/yang/rows"
)

func TestSwapComparesRows(t *testing.T) {
	one := rows.Row{Table: "A", Key: "1", Fields: fields{"x": "1"}}
	empty := rows.Row{Table: "A", Key: "0", Fields: fields{"NULL": "NULL"}}
	for name, tt := range map[string]struct {
		was     []rows.Row
		changes []Change
		err     error
		want    map[string]fields
	}{
		"all":               {[]rows.Row{one, empty}, []Change{set("A", "1", fields{"y": "2"}), del("A", "0"), set("A", "2", nil)}, nil, map[string]fields{"A|1": {"y": "2"}, "A|2": {}}},
		"another value":     {[]rows.Row{{Table: "A", Key: "1", Fields: fields{"x": "2"}}}, []Change{set("A", "1", nil), set("A", "2", nil)}, ErrChanged, nil},
		"one field more":    {[]rows.Row{{Table: "A", Key: "1", Fields: fields{"x": "1", "y": "1"}}}, []Change{del("A", "1")}, ErrChanged, nil},
		"there, unexpected": {nil, []Change{set("A", "2", nil), set("A", "1", nil)}, ErrChanged, nil},
		"gone":              {[]rows.Row{{Table: "A", Key: "9", Fields: fields{"x": "1"}}}, []Change{set("A", "9", nil)}, ErrChanged, nil},
		"empty, still":      {[]rows.Row{{Table: "A", Key: "0"}}, []Change{set("A", "0", fields{"z": "1"})}, nil, map[string]fields{"A|0": {"z": "1"}, "A|1": {"x": "1"}}},
		"nothing":           {nil, nil, nil, nil},
		"twice":             {nil, []Change{set("A", "7", nil), del("A", "7")}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, redisServer(t), "CONFIG_DB", nil)
			write(t, db, set("A", "1", one.Fields), set("A", "0", nil))
			if err := db.Swap(t.Context(), tt.was, tt.changes...); !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if tt.want == nil {
				tt.want = map[string]fields{"A|0": {}, "A|1": {"x": "1"}}
			}
			if diff := cmp.Diff(tt.want, inRedis(t, db, "A")); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

// Eight writers count two rows up together; no count is lost, and the rows never
// differ.
func TestSwapLosesNothing(t *testing.T) {
	db := open(t, redisServer(t), "CONFIG_DB", nil)
	write(t, db, set("A", "1", fields{"n": "0"}), set("A", "2", fields{"n": "0"}))
	const writers, each = 8, 20
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range each {
				if err := countUp(t, db); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	n := fields{"n": strconv.Itoa(writers * each)}
	if diff := cmp.Diff(map[string]fields{"A|1": n, "A|2": n}, inRedis(t, db, "A")); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func countUp(t *testing.T, db *DB) error {
	for {
		was, err := db.Read(t.Context(), "A")
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(was[0].Fields["n"])
		if err != nil {
			return err
		}
		next := fields{"n": strconv.Itoa(n + 1)}
		if err := db.Swap(t.Context(), was, set("A", "1", next), set("A", "2", next)); !errors.Is(err, ErrChanged) {
			return err
		}
	}
}

func TestSwapMany(t *testing.T) {
	db := open(t, redisServer(t), "CONFIG_DB", nil)
	var changes []Change
	for i := range 3 * batch {
		changes = append(changes, set("A", fmt.Sprint(i), fields{"n": "1"}))
	}
	if err := db.Swap(t.Context(), nil, changes...); err != nil {
		t.Fatal(err)
	}
	if got := len(inRedis(t, db, "A")); got != len(changes) {
		t.Errorf("%d rows, want %d", got, len(changes))
	}
}

func TestSwapWithoutRedis(t *testing.T) {
	s := redisServer(t)
	db := open(t, s, "CONFIG_DB", nil)
	s.Kill()
	if err := db.Swap(t.Context(), nil, set("A", "1", nil)); err == nil || errors.Is(err, ErrUnknown) || errors.Is(err, ErrChanged) {
		t.Errorf("got %v, want an error of the connection: nothing was asked", err)
	}
}
