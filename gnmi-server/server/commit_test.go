// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

func waiting(id string, d *durationpb.Duration) *gnmi_ext.Commit {
	return &gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Commit{Commit: &gnmi_ext.CommitRequest{RollbackDuration: d}}}
}

// A commit that does not say for how long waits 10 minutes, on a simulated clock;
// another duration counts from when it is set.
func TestCommitDefault(t *testing.T) {
	file := filepath.Join(t.TempDir(), "commit.json")
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{StateFile: file}).commit
		begin, err := c.before(t.Context(), waiting("a", nil), true)
		if err != nil {
			t.Fatal(err)
		}
		if c.record != nil {
			t.Error("it waits before it has begun")
		}
		if err := begin(nil); err != nil {
			t.Fatal(err)
		}
		left := func(want time.Duration) {
			t.Helper()
			if got := c.expire(t.Context()); got != want {
				t.Errorf("%v are left, want %v", got, want)
			}
		}
		left(10 * time.Minute)
		time.Sleep(4 * time.Minute)
		left(6 * time.Minute)
		_, err = c.before(t.Context(), &gnmi_ext.Commit{Id: "a", Action: &gnmi_ext.Commit_SetRollbackDuration{
			SetRollbackDuration: &gnmi_ext.CommitSetRollbackDuration{RollbackDuration: durationpb.New(time.Minute)},
		}}, false)
		if err != nil {
			t.Fatal(err)
		}
		left(time.Minute)
		time.Sleep(59 * time.Second)
		left(time.Second)

		next := New(Config{StateFile: file}).commit // as after a restart
		next.load()
		if got := next.expire(t.Context()); got != time.Second {
			t.Errorf("the next server: %v are left", got)
		}
		if _, err := next.before(t.Context(), &gnmi_ext.Commit{Id: "a", Action: &gnmi_ext.Commit_Confirm{}}, false); err != nil {
			t.Fatal(err)
		}
		if got := next.expire(t.Context()); got != time.Hour {
			t.Errorf("confirmed, and it looks again in %v", got)
		}
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file is left: %v", err)
		}
	})
}

// What each action means, whether a commit waits or not.
func TestCommitBefore(t *testing.T) {
	hour := durationpb.New(time.Hour)
	extend := func(id string, d *durationpb.Duration) *gnmi_ext.Commit {
		return &gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_SetRollbackDuration{SetRollbackDuration: &gnmi_ext.CommitSetRollbackDuration{RollbackDuration: d}}}
	}
	confirm := func(id string) *gnmi_ext.Commit {
		return &gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Confirm{}}
	}
	for name, tt := range map[string]struct {
		e       *gnmi_ext.Commit
		changes bool
		want    [2]codes.Code // while none waits, and while a does
	}{
		"no extension":                {nil, true, [2]codes.Code{codes.OK, codes.FailedPrecondition}},
		"commit":                      {waiting("b", hour), true, [2]codes.Code{codes.OK, codes.FailedPrecondition}},
		"commit, the same id":         {waiting("a", hour), true, [2]codes.Code{codes.OK, codes.FailedPrecondition}},
		"commit of nothing":           {waiting("b", hour), false, [2]codes.Code{codes.OK, codes.FailedPrecondition}},
		"commit for no time":          {waiting("b", durationpb.New(0)), true, [2]codes.Code{codes.InvalidArgument, codes.FailedPrecondition}},
		"commit for less than none":   {waiting("b", durationpb.New(-1)), true, [2]codes.Code{codes.InvalidArgument, codes.FailedPrecondition}},
		"no id":                       {waiting("", hour), true, [2]codes.Code{codes.InvalidArgument, codes.InvalidArgument}},
		"no action":                   {&gnmi_ext.Commit{Id: "a"}, false, [2]codes.Code{codes.InvalidArgument, codes.InvalidArgument}},
		"confirm":                     {confirm("a"), false, [2]codes.Code{codes.FailedPrecondition, codes.OK}},
		"confirm another":             {confirm("b"), false, [2]codes.Code{codes.FailedPrecondition, codes.InvalidArgument}},
		"confirm, and change":         {confirm("a"), true, [2]codes.Code{codes.InvalidArgument, codes.InvalidArgument}},
		"another duration":            {extend("a", hour), false, [2]codes.Code{codes.FailedPrecondition, codes.OK}},
		"another duration of another": {extend("b", hour), false, [2]codes.Code{codes.FailedPrecondition, codes.InvalidArgument}},
		"a duration of nothing":       {extend("a", nil), false, [2]codes.Code{codes.FailedPrecondition, codes.InvalidArgument}},
	} {
		for i, want := range tt.want {
			c := New(Config{StateFile: filepath.Join(t.TempDir(), "commit.json")}).commit
			if i == 1 {
				c.record = &record{ID: "a", Deadline: time.Now().Add(time.Hour)}
			}
			if _, err := c.before(t.Context(), tt.e, tt.changes); status.Code(err) != want {
				t.Errorf("%s: with %d commits waiting: %v, want %v", name, i, err, want)
			}
		}
	}
	c := New(Config{}).commit
	if _, err := c.before(t.Context(), waiting("a", nil), true); status.Code(err) != codes.Unimplemented {
		t.Errorf("without a file: %v", err)
	}
}

// TestRefusalNamesTheCommitThatWaits: the details of the error have its id, by which each client can cancel it,
// and fit a trailer of 8 KiB; no commit has an id that is longer.
func TestRefusalNamesTheCommitThatWaits(t *testing.T) {
	longest := strings.Repeat("\x01", 256)
	c := New(Config{StateFile: filepath.Join(t.TempDir(), "commit.json")}).commit
	if _, err := c.before(t.Context(), waiting(longest+"x", nil), true); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "has 257 octets, more than 256") {
		t.Errorf("a longer id: %v", err)
	}
	if _, err := c.before(t.Context(), waiting(longest, nil), true); err != nil {
		t.Errorf("the longest id: %v", err)
	}
	for _, id := range []string{"rollout 7", "a\nb", longest} {
		c.record = &record{ID: id, Deadline: time.Now().Add(time.Hour)}
		for _, e := range []*gnmi_ext.Commit{nil, waiting("b", nil)} {
			_, err := c.before(t.Context(), e, true)
			s := status.Convert(short(err))
			if len(s.Details()) != 1 || s.Details()[0].(*gnmi_ext.Commit).GetId() != id {
				t.Errorf("%.20q: %v: %v", id, err, s.Details())
			}
			if size := len(s.Message()) + proto.Size(s.Proto())*4/3; size > 6<<10 { // grpc-message, and grpc-status-details-bin in base64
				t.Errorf("%.20q: %d octets of trailers", id, size)
			}
		}
	}
}

func TestRecordUndo(t *testing.T) {
	row := func(key, v string) rows.Row {
		return rows.Row{Table: "SLUICE_THRESHOLD", Key: key, Fields: map[string]string{"high_bytes": v}}
	}
	r := &record{ID: "a", Deadline: time.Now().Round(0), Rows: []savedRow{
		{Table: "SLUICE_THRESHOLD", Key: "changed", There: true, Fields: map[string]string{"high_bytes": "1"}},
		{Table: "SLUICE_THRESHOLD", Key: "made"},
		{Table: "SLUICE_THRESHOLD", Key: "deleted", There: true, Fields: map[string]string{"high_bytes": "1"}},
		{Table: "SLUICE_THRESHOLD", Key: "back again", There: true, Fields: map[string]string{"high_bytes": "1"}},
		{Table: "SLUICE_THRESHOLD", Key: "gone again"},
	}}
	file := filepath.Join(t.TempDir(), "commit.json")
	if err := r.save(file); err != nil {
		t.Fatal(err)
	}
	loaded := loadRecord(file, func(err error) { t.Fatal(err) })
	was, changes := loaded.undo([]rows.Row{row("changed", "2"), row("made", "2"), row("back again", "1"), row("other", "2")})
	if diff := cmp.Diff([]rows.Row{row("changed", "2"), row("made", "2")}, was); diff != "" {
		t.Errorf("rows that must be as they are (-want +got):\n%s", diff)
	}
	want := []sonicdb.Change{
		{Row: row("changed", "1")},
		{Row: rows.Row{Table: "SLUICE_THRESHOLD", Key: "made"}, Deleted: true},
		{Row: row("deleted", "1")},
	}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// TestUnreadableRecordIsSetAside: a record that is damaged, empty or another program's keeps
// nothing from being served.
func TestUnreadableRecordIsSetAside(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "half a file": `{"id":"a","rows":[`, "no JSON": "\x00", "foreign": `{"name":"x"}`, "list": "[]"} {
		file := filepath.Join(t.TempDir(), "commit.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file+".12345", nil, 0o600); err != nil { // of a process that was killed
			t.Fatal(err)
		}
		var said bytes.Buffer
		s := New(Config{StateFile: file, Log: slog.New(slog.NewTextHandler(&said, nil))})
		s.commit.load()
		if s.commit.record != nil || !strings.Contains(said.String(), "set aside as "+file+".unreadable") {
			t.Errorf("%s: %+v, log %q", name, s.commit.record, said.String())
		}
		if kept, err := os.ReadFile(file + ".unreadable"); err != nil || string(kept) != text {
			t.Errorf("%s: set aside: %q, %v", name, kept, err)
		}
		if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
		begin, err := s.commit.before(t.Context(), waiting("b", nil), true)
		if err != nil {
			t.Fatal(err)
		}
		if err := begin(nil); err != nil {
			t.Errorf("%s: the next commit: %v", name, err)
		}
	}
}

// TestRecordIsAsSluiceConfigReadsIt: `sluice config` warns by these names.
func TestRecordIsAsSluiceConfigReadsIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "commit.json")
	r := record{ID: "a", Deadline: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Rows: []savedRow{{Table: "SLUICE_PORT", Key: "Ethernet0"}}}
	if err := r.save(file); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if want := `{"id":"a","deadline":"2026-01-02T03:04:05Z","rows":[{"table":"SLUICE_PORT","key":"Ethernet0","there":false}]}`; err != nil || string(got) != want+"\n" {
		t.Errorf("%v: %s, want %s", err, got, want)
	}
}
