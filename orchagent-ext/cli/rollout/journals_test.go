// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sluice/orchagent-ext/cli/settings"
)

// noted returns the next journal of a switch: with the change of a plan.
func noted(s *Switch, known *settings.Journal) *settings.Journal {
	if len(s.Edits) == 0 {
		return nil
	}
	known.Add(s.Before, settings.Entry{Time: time.Unix(1000, 0).UTC(), By: "alice", Command: "config", Edits: s.Edits})
	return known
}

// TestJournalsFollowTheSwitches: of switches that are written they have the change, of others what was
// there before; and what they have takes the change back.
func TestJournalsFollowTheSwitches(t *testing.T) {
	first, second := serve(t), serve(t)
	fleet := fleetOf(t, first, second)
	j := &Journals{Folder: t.TempDir()}
	entries := func() (all []int) {
		t.Helper()
		for _, endpoint := range fleet.Endpoints() {
			known, err := j.Read(endpoint)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, len(known.Entries))
		}
		return all
	}
	write := func(change func(*Switch) (settings.Change, error), next func(*Switch, *settings.Journal) *settings.Journal, want string) {
		t.Helper()
		p, err := Read(t.Context(), fleet, change)
		if err != nil || !p.Good() {
			t.Fatal(err, results(p))
		}
		o := options()
		o.Keep = func() error { return j.Keep(p, next) }
		if err := errors.Join(p.Write(t.Context(), o), j.Settle(p)); err != nil || results(p) != want {
			t.Fatal(err, results(p))
		}
	}
	second.fault = fails(confirms, status.Error(codes.PermissionDenied, "no"))
	write(toFabric, noted, "taken-back refused")
	if got := entries(); got[0] != 0 || got[1] != 0 {
		t.Errorf("taken back: %v entries", got)
	}
	second.at(func() { second.fault = nil })
	write(toFabric, noted, "written written")
	if got := entries(); got[0] != 1 || got[1] != 1 {
		t.Errorf("written: %v entries", got)
	}
	undo := func(s *Switch) (settings.Change, error) {
		known, err := j.Read(s.Endpoint)
		if err != nil {
			return nil, err
		}
		change, _, err := known.Undo(1, false)
		return change, err
	}
	rest := func(_ *Switch, known *settings.Journal) *settings.Journal {
		_, rest, err := known.Undo(1, false)
		if err != nil {
			t.Error(err)
		}
		return rest
	}
	// as one that fell back by itself after the program was killed
	first.at(func() {
		first.config = maps.Clone(first.config)
		first.config[port0.Name()] = port0
		second.fault = fails(confirms, status.Error(codes.PermissionDenied, "no"))
	})
	write(undo, rest, "nothing-to-do refused")
	if got := entries(); got[0] != 1 || got[1] != 1 {
		t.Errorf("not rolled back: %v entries", got)
	}
	second.at(func() { second.fault = nil })
	write(undo, rest, "nothing-to-do written")
	for _, f := range []*fakeSwitch{first, second} {
		if role, _ := f.role(); role != "edge" {
			t.Errorf("role %s", role)
		}
	}
	if got := entries(); got[0] != 0 || got[1] != 0 {
		t.Errorf("rolled back: %v entries", got)
	}
	write(toFabric, noted, "written written")
	for _, f := range []*fakeSwitch{first, second} {
		f.at(func() { f.config[port0.Name()] = port0 })
	}
	write(undo, rest, "nothing-to-do nothing-to-do")
	if got := entries(); got[0] != 0 || got[1] != 0 {
		t.Errorf("nothing to do: %v entries", got)
	}
}

// TestSettledJournalsHaveWhatSwitchesHold: the change, where a switch has it or may have it; one that had nothing to do
// is as the others.
func TestSettledJournalsHaveWhatSwitchesHold(t *testing.T) {
	for _, tt := range []struct {
		results []Result
		has     []int // switches whose journals have the change
	}{
		{[]Result{Written, Written}, []int{0, 1}},
		{[]Result{Unchanged, Written}, []int{0, 1}},
		{[]Result{Unchanged, Unchanged}, []int{0, 1}},
		{[]Result{Left, Unknown, Unchanged, TakenBack, FallsBack, Refused, NotWritten, Unanswered}, []int{0, 1}},
		{[]Result{TakenBack, Unchanged}, nil},
	} {
		j, p := &Journals{Folder: t.TempDir()}, &Plan{}
		for i, r := range tt.results {
			p.Switches = append(p.Switches, &Switch{Endpoint: fmt.Sprint(i), Result: r})
		}
		err := j.Keep(p, func(_ *Switch, known *settings.Journal) *settings.Journal {
			known.Add(nil, settings.Entry{Command: "config", Edits: []settings.Edit{{Table: port0.Table, Key: port0.Key, After: port0.Fields}}})
			return known
		})
		if err := errors.Join(err, j.Settle(p)); err != nil {
			t.Fatal(err)
		}
		var has []int
		for i := range tt.results {
			known, err := j.Read(fmt.Sprint(i))
			if err != nil {
				t.Fatal(err)
			}
			if len(known.Entries) == 1 {
				has = append(has, i)
			}
		}
		if !slices.Equal(has, tt.has) {
			t.Errorf("%v: %v have the change, want %v", tt.results, has, tt.has)
		}
	}
}

// TestJournalThatCannotBeWrittenLeavesTheOthers as they were, and the change is taken back.
func TestJournalThatCannotBeWrittenLeavesTheOthers(t *testing.T) {
	first, second := serve(t), serve(t)
	fleet := fleetOf(t, first, second)
	j := &Journals{Folder: t.TempDir()}
	if err := os.Mkdir(j.file(fleet.Endpoint(1)), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := Read(t.Context(), fleet, toFabric)
	if err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Keep = func() error { return j.Keep(p, noted) }
	if err := p.Write(t.Context(), o); err == nil || results(p) != "taken-back taken-back" {
		t.Errorf("%v, %s", err, results(p))
	}
	if known, err := j.Read(fleet.Endpoint(0)); err != nil || len(known.Entries) != 0 {
		t.Errorf("%v, %v", known, err)
	}
}

// TestJournalsAreLockedByTheirSwitches: in one order, and each name is a file of the folder.
func TestJournalsAreLockedByTheirSwitches(t *testing.T) {
	j := &Journals{Folder: filepath.Join(t.TempDir(), "targets")}
	unlock, err := j.Lock(t.Context(), []string{"b:1", "unix:/run/../etc/x", "b:1", "[fe80::1%eth0]:1"})
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(j.Folder)
	if err != nil || len(files) != 3 {
		t.Errorf("%v, %v", files, err)
	}
	unlock()
	again, err := j.Lock(t.Context(), []string{"unix:/run/../etc/x"})
	if again(); err != nil {
		t.Errorf("unlocked: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (&Journals{Folder: file}).Lock(t.Context(), []string{"a"}); err == nil {
		t.Error("a folder that is a file")
	}
}
