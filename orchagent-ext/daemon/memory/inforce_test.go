// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/orchagent-ext/host/files"
	"sluice/yang/rows"
)

func TestRowsInForceAreReadBackAndAFailureIsAWarning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.json")
	k := NewInForce(file, "db")
	k.Keep([]rows.Row{{Table: "B", Key: "1"}, {Table: "A", Key: "1", Fields: map[string]string{"x": "1"}}})
	ctx, stop := context.WithCancel(t.Context())
	stop() // it writes what it was given
	if err := k.Run(ctx); err != nil || k.Warning() != "" {
		t.Fatalf("%v, %q", err, k.Warning())
	}
	warn := func(err error) { t.Error(err) }
	got := NewInForce(file, "db").Read(warn)
	if len(got) != 2 || got[0].Table != "A" || got[0].Fields["x"] != "1" {
		t.Errorf("%v", got)
	}
	if got := NewInForce(file, "another").Read(warn); len(got) != 0 {
		t.Errorf("of other databases: %v", got)
	}
	k = NewInForce("/proc/no/rows.json", "db")
	k.Keep([]rows.Row{})
	if err := k.Run(ctx); err != nil || k.Warning() == "" {
		t.Errorf("%v, warning %q", err, k.Warning())
	}
}

// TestSlowDiskDelaysNoLaterRows: while the first rows are on their way to a disk that hangs, the next
// process would read the later ones.
func TestSlowDiskDelaysNoLaterRows(t *testing.T) {
	was, disk := syncDraft, make(chan struct{})
	t.Cleanup(func() { syncDraft = was })
	syncDraft = func(d *files.Draft) error { <-disk; return was(d) }
	file := filepath.Join(t.TempDir(), "rows.json")
	k := NewInForce(file, "db")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- k.Run(ctx) }()
	for _, key := range []string{"1", "2", "3"} {
		k.Keep([]rows.Row{{Table: "A", Key: key}})
		<-k.done
		if got := NewInForce(file, "db").Read(func(err error) { t.Error(err) }); len(got) != 1 || got[0].Key != key {
			t.Errorf("%v, want row %s", got, key)
		}
	}
	close(disk)
	stop()
	if err := <-ended; err != nil || k.Warning() != "" {
		t.Errorf("%v, %q", err, k.Warning())
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), `"3"`) {
		t.Errorf("on the disk: %s, %v", text, err)
	}
}

// TestDiskGetsTheNewestOfManyRows: rows that change in quick succession are in the file at once, and
// the disk gets the last ones alone.
func TestDiskGetsTheNewestOfManyRows(t *testing.T) {
	was := syncDraft
	var syncs atomic.Int32
	t.Cleanup(func() { syncDraft = was })
	syncDraft = func(d *files.Draft) error { syncs.Add(1); return was(d) }
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "rows.json")
		k := NewInForce(file, "db")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- k.Run(ctx) }()
		for _, key := range []string{"1", "2", "3"} {
			k.Keep([]rows.Row{{Table: "A", Key: key}})
			k.Wait()
			if got := NewInForce(file, "db").Read(func(err error) { t.Error(err) }); len(got) != 1 || got[0].Key != key || syncs.Load() != 0 {
				t.Errorf("%v, want row %s; %d times on the disk", got, key, syncs.Load())
			}
		}
		time.Sleep(diskRest)
		synctest.Wait()
		if text, err := os.ReadFile(file); syncs.Load() != 1 || err != nil || !strings.Contains(string(text), `"3"`) {
			t.Errorf("%d times on the disk: %s, %v", syncs.Load(), text, err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestRowsThatDoNotReachTheDiskAreWrittenAgain: the same rows, after the time of a retry.
func TestRowsThatDoNotReachTheDiskAreWrittenAgain(t *testing.T) {
	was, failures := syncDraft, 1
	t.Cleanup(func() { syncDraft = was })
	syncDraft = func(d *files.Draft) error {
		if failures--; failures < 0 {
			return was(d)
		}
		_ = d.Close()
		return errors.New("the disk fails")
	}
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "rows.json")
		k := NewInForce(file, "db")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- k.Run(ctx) }()
		k.Keep([]rows.Row{{Table: "A", Key: "1"}})
		time.Sleep(diskRest)
		synctest.Wait()
		if !strings.Contains(k.Warning(), "the disk fails") {
			t.Errorf("warning %q", k.Warning())
		}
		time.Sleep(writeAgain + diskRest)
		synctest.Wait()
		text, err := os.ReadFile(file)
		if k.Warning() != "" || err != nil || !strings.Contains(string(text), `"1"`) {
			t.Errorf("warning %q; on the disk: %s, %v", k.Warning(), text, err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
