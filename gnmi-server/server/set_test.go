// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"sluice/gnmi-server/edit"
	"sluice/gnmi-server/paths"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// withRedis returns a server before a Redis of its own.
func withRedis(t *testing.T) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "gnmi") // t.TempDir can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	redis, err := privateredis.Start(dir)
	if errors.Is(err, privateredis.ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(redis.Stop)
	where, err := sonicdb.Load(redis.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Databases: make(map[string]*sonicdb.DB), StateFile: filepath.Join(t.TempDir(), "commit.json")}
	for _, name := range paths.Databases {
		db, err := sonicdb.Open(where, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		c.Databases[name] = db
	}
	return New(c)
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func gold(fields map[string]string) sonicdb.Change {
	return sonicdb.Change{Row: rows.Row{Table: "SLUICE_THRESHOLD", Key: "gold", Fields: fields}}
}

func operations(t *testing.T, p, json string) []edit.Operation {
	t.Helper()
	path, err := ygot.StringToStructuredPath(p)
	if err != nil {
		t.Fatal(err)
	}
	all, err := edit.Operations(&gpb.SetRequest{Update: []*gpb.Update{{Path: path, Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: []byte(json)}}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Another client writes the row between the Set's reading and its writing, and then it
// is not valid any more: nothing is written, and no commit waits.
func TestCommitOfASetThatFailsLater(t *testing.T) {
	s := withRedis(t)
	ctx := limited(t)
	db := s.Databases["CONFIG_DB"]
	if err := db.Write(ctx, gold(map[string]string{"high_bytes": "10"})); err != nil {
		t.Fatal(err)
	}
	begin, err := s.commit.before(ctx, waiting("a", durationpb.New(time.Hour)), true)
	if err != nil {
		t.Fatal(err)
	}
	began := 0
	_, err = s.change(ctx, operations(t, "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=gold]/low_bytes", "5"), nil, func(was []savedRow) error {
		if began++; began == 1 {
			if err := db.Write(ctx, gold(map[string]string{"high_bytes": "3"})); err != nil {
				return err
			}
		}
		return begin(was)
	})
	if status.Code(err) != codes.InvalidArgument || began != 1 {
		t.Errorf("the Set began %d times, and ended with %v", began, err)
	}
	if s.commit.record != nil {
		t.Errorf("commit %q waits", s.commit.record.ID)
	}
	if r := loadRecord(s.StateFile, func(err error) { t.Error(err) }); r != nil {
		t.Errorf("the file has %v", r)
	}
	// The next one is taken, and takes back what was there when it wrote.
	all, err := s.apply(ctx, waiting("b", durationpb.New(time.Hour)), operations(t, "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=gold]/low_bytes", "2"), nil)
	if err != nil || len(all) != 1 || s.commit.record == nil {
		t.Fatalf("the next Set: %v, %v", all, err)
	}
	if err := s.commit.takeBack(ctx); err != nil {
		t.Fatal(err)
	}
	got, err := db.Read(ctx, "SLUICE_THRESHOLD")
	if err != nil || len(got) != 1 || fmt.Sprint(got[0].Fields) != "map[high_bytes:3]" {
		t.Errorf("rows: %v, %v", got, err)
	}
}

// Another client writes the row each time: the Set gives up, and no commit waits.
func TestSetGivesUp(t *testing.T) {
	s := withRedis(t)
	ctx := limited(t)
	db := s.Databases["CONFIG_DB"]
	begin, err := s.commit.before(ctx, waiting("a", nil), true)
	if err != nil {
		t.Fatal(err)
	}
	began := 0
	_, err = s.change(ctx, operations(t, "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=gold]", `{"high_bytes":7}`), nil, func(was []savedRow) error {
		began++
		if err := db.Write(ctx, gold(map[string]string{"high_bytes": fmt.Sprint(100 + began)})); err != nil {
			return err
		}
		return begin(was)
	})
	if status.Code(err) != codes.Aborted || began != retries+1 || s.commit.record != nil {
		t.Errorf("the Set began %d times, and ended with %v; commit %v", began, err, s.commit.record)
	}
}

func TestShortErrors(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	err := short(status.Error(codes.NotFound, long))
	if status.Code(err) != codes.NotFound || len(status.Convert(err).Message()) > errorLength+len("…") {
		t.Errorf("%d octets of %v", len(status.Convert(err).Message()), status.Code(err))
	}
	for _, err := range []error{nil, status.Error(codes.NotFound, "x"), errors.New(long)} {
		if got := short(err); got != err {
			t.Errorf("%v becomes %v", err, got)
		}
	}
}

// What a client or a row has written reaches a terminal as an error of gNMI.
func TestErrorsHaveOnlyWhatATerminalMayShow(t *testing.T) {
	for _, hidden := range []string{"\u009b31m", "\u202e", "\u200b", "\x1b[2J", "\x00"} {
		err := short(status.Errorf(codes.InvalidArgument, "nothing is at /a[k=%s]\nor /b", hidden))
		got := status.Convert(err).Message()
		if status.Code(err) != codes.InvalidArgument || text.Lines(got) != got || !strings.HasPrefix(got, "nothing is at /a[k=") || !strings.HasSuffix(got, "]\nor /b") {
			t.Errorf("%q: %v %q", hidden, status.Code(err), got)
		}
	}
}

func TestNamesInTheLog(t *testing.T) {
	one := operations(t, "/sonic-sluice/SLUICE/global/driver", `"sai"`)
	var many []edit.Operation
	for range namedOperations + 8 {
		many = append(many, one...)
	}
	if got := names(one); got != "update /sonic-sluice/SLUICE/global/driver" {
		t.Error(got)
	}
	if got := names(many); !strings.HasSuffix(got, ", and 8 more") || strings.Count(got, "update") != namedOperations {
		t.Error(got)
	}
}
