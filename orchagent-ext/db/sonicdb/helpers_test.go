// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/yang/rows"
)

type fields = map[string]string

const patience = 60 * time.Second // the machine may be busy

// redisServer starts a Redis for a test. Its folder is not t.TempDir, whose
// length can be too much for a socket's path.
func redisServer(t *testing.T, options ...string) *privateredis.Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "sonicdb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s, err := privateredis.Start(dir, options...)
	if errors.Is(err, privateredis.ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func open(t *testing.T, s *privateredis.Server, name string, log *slog.Logger) *DB {
	t.Helper()
	d, err := Load(s.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(d, name, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.timing.resync = time.Hour // no test passes because of the net, but the net's
	return db
}

// follower is a Watch and what it has been told.
type follower struct {
	mu      sync.Mutex
	rows    map[string]fields // by TABLE|key
	batches []Batch
}

func follow(t *testing.T, db *DB, tables ...string) *follower {
	t.Helper()
	f := &follower{rows: make(map[string]fields)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- db.Watch(ctx, tables, f.take) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Watch ended with %v", err)
		}
	})
	return f
}

func (f *follower) take(b Batch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.batches = append(f.batches, b)
	for _, c := range b.Changes {
		if c.Deleted {
			delete(f.rows, c.Row.Name())
		} else {
			f.rows[c.Row.Name()] = c.Row.Fields
		}
	}
}

func (f *follower) has() map[string]fields {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.rows)
}

// started waits for the first batch.
func (f *follower) started(t *testing.T) {
	t.Helper()
	eventually(t, "the first batch", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.batches) > 0
	})
}

// becomes waits until the follower's rows are these.
func (f *follower) becomes(t *testing.T, want map[string]fields) {
	t.Helper()
	var diff string
	if !poll(func() bool {
		diff = cmp.Diff(want, f.has())
		return diff == ""
	}) {
		t.Fatalf("rows (-want +got):\n%s", diff)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if !poll(ok) {
		t.Fatalf("%s: not within %v", what, patience)
	}
}

func poll(ok func() bool) bool {
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

func set(table, key string, f fields) Change {
	return Change{Row: rows.Row{Table: table, Key: key, Fields: f}}
}

func del(table, key string) Change {
	return Change{Row: rows.Row{Table: table, Key: key}, Deleted: true}
}

func write(t *testing.T, db *DB, changes ...Change) {
	t.Helper()
	if err := db.Write(t.Context(), changes...); err != nil {
		t.Fatal(err)
	}
}

// inRedis returns rows of tables as Redis has them now.
func inRedis(t *testing.T, db *DB, tables ...string) map[string]fields {
	t.Helper()
	all, err := db.Read(t.Context(), tables...)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]fields)
	for _, r := range all {
		got[r.Name()] = r.Fields
	}
	return got
}
