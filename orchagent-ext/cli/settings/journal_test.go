// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// store is a CONFIG_DB without a Redis.
type store struct {
	config Config
	meet   func() // called before rows are written
	err    error  // of the next Swap, which writes nothing
	writes int
}

func (s *store) Read(context.Context, ...string) ([]rows.Row, error) {
	var all []rows.Row
	for _, r := range s.config {
		all = append(all, r)
	}
	return all, nil
}

func (s *store) Swap(_ context.Context, was []rows.Row, changes ...sonicdb.Change) error {
	if len(changes) == 0 {
		return nil
	}
	if meet := s.meet; meet != nil {
		s.meet = nil
		meet()
	}
	if err := s.err; err != nil {
		s.err = nil
		return err
	}
	known := NewConfig(was)
	for _, c := range changes {
		before, expected := known[c.Row.Name()]
		if !s.config.has(Edit{Table: c.Row.Table, Key: c.Row.Key}, fields(before, expected)) {
			return sonicdb.ErrChanged
		}
	}
	for _, c := range changes {
		s.config.put(Edit{Table: c.Row.Table, Key: c.Row.Key}, fields(c.Row, !c.Deleted))
	}
	s.writes++
	return nil
}

func writer(t *testing.T) (*Writer, *store) {
	s := &store{config: configured()}
	at := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	return &Writer{Store: s, File: filepath.Join(t.TempDir(), "journal.json"), Now: func() time.Time { at = at.Add(time.Second); return at }}, s
}

func must(t *testing.T, w *Writer, change Change) {
	t.Helper()
	if _, err := w.Change(t.Context(), "me", "config x", change); err != nil {
		t.Fatal(err)
	}
}

func TestRollbackTakesChangesBackInTheirOrder(t *testing.T) {
	w, s := writer(t)
	port := table(t, "port")
	must(t, w, port.Set("Ethernet0", map[string]string{"role": "edge"}))
	must(t, w, port.Set("Ethernet0", map[string]string{"role": "border"}))
	must(t, w, port.Del("Ethernet8", ""))
	for n, want := range map[int]string{
		1: "-SLUICE_PORT|Ethernet8 role edge",
		2: "-SLUICE_PORT|Ethernet0 role edge; +SLUICE_PORT|Ethernet0 role border; -SLUICE_PORT|Ethernet8 role edge",
		3: "+SLUICE_PORT|Ethernet0 role border; -SLUICE_PORT|Ethernet8 role edge",
	} {
		j, err := w.Known()
		if err != nil {
			t.Fatal(err)
		}
		before, err := j.Before(n)
		if err != nil {
			t.Fatal(err)
		}
		if got := said(Lines(Compare(before, s.config))); got != want {
			t.Errorf("before the last %d: %s, want %s", n, got, want)
		}
	}
	if _, err := w.Undo(t.Context(), 1, false); err != nil {
		t.Fatal(err)
	}
	if edits, err := w.Undo(t.Context(), 2, false); err != nil || said(Lines(edits)) != "-SLUICE_PORT|Ethernet0 role border" {
		t.Errorf("%v, %v", edits, err)
	}
	if left := Compare(configured(), s.config); len(left) != 0 || s.writes != 5 {
		t.Errorf("%d writes leave %v", s.writes, left)
	}
	if _, err := w.Undo(t.Context(), 1, false); err == nil || err.Error() != "no change by sluice config is known" {
		t.Errorf("%v", err)
	}
}

func TestRollbackLeavesWhatOthersHaveChanged(t *testing.T) {
	w, s := writer(t)
	must(t, w, (&File{Rows: []rows.Row{row("SLUICE_PORT|Ethernet0", "role", "edge"), row("SLUICE_PORT|Ethernet12", "role", "edge")}}).Load())
	s.config["SLUICE_PORT|Ethernet0"] = row("SLUICE_PORT|Ethernet0", "role", "border")
	if _, err := w.Undo(t.Context(), 1, false); err == nil || !strings.Contains(err.Error(), `SLUICE_PORT|Ethernet0: has changed since "config x"`) {
		t.Errorf("%v", err)
	}
	if len(s.config) != len(configured())+2 || s.writes != 1 {
		t.Errorf("%d writes: %v", s.writes, s.config)
	}
	if _, err := w.Undo(t.Context(), 1, true); err != nil {
		t.Fatal(err)
	}
	if left := Compare(configured(), s.config); len(left) != 0 {
		t.Errorf("--force leaves %v", left)
	}
}

// TestRollbackOfWhatIsAsBefore: a row that another program took back has nothing to do, and the change is known no
// more.
func TestRollbackOfWhatIsAsBefore(t *testing.T) {
	w, s := writer(t)
	must(t, w, (&File{Rows: []rows.Row{row("SLUICE_PORT|Ethernet0", "role", "edge"), row("SLUICE_PORT|Ethernet12", "role", "edge")}}).Load())
	delete(s.config, "SLUICE_PORT|Ethernet0")
	if edits, err := w.Undo(t.Context(), 1, false); err != nil || said(Lines(edits)) != "-SLUICE_PORT|Ethernet12 role edge" {
		t.Errorf("%v, %v", edits, err)
	}
	if left := Compare(configured(), s.config); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if j, err := w.Known(); err != nil || len(j.Entries) != 0 {
		t.Errorf("%v, %v", j, err)
	}
}

// What a change replaced is needed by a row of today.
func TestRollbackIsJudgedAsAnyChange(t *testing.T) {
	w, s := writer(t)
	must(t, w, table(t, "threshold").Set("gold", map[string]string{"high_bytes": "9"}))
	s.config["SLUICE_PORT|Ethernet0"] = row("SLUICE_PORT|Ethernet0", "threshold", "gold")
	if _, err := w.Undo(t.Context(), 1, false); err == nil || !strings.Contains(err.Error(), `threshold "gold": no such row`) {
		t.Errorf("%v", err)
	}
}

func TestJournalHasWhatWasWrittenAndNoMore(t *testing.T) {
	w, s := writer(t)
	port := table(t, "port")
	known := func() int {
		t.Helper()
		j, err := w.Known()
		if err != nil {
			t.Fatal(err)
		}
		return len(j.Entries)
	}
	must(t, w, port.Set("Ethernet8", map[string]string{"role": "edge"})) // as it is
	if _, err := w.Change(t.Context(), "me", "x", port.Set("Ethernet8", map[string]string{"role": "core"})); err == nil || known() != 0 {
		t.Errorf("%v; %d entries of nothing", err, known())
	}
	s.err = errors.New("redis is away")
	if _, err := w.Change(t.Context(), "me", "x", port.Set("Ethernet0", map[string]string{"role": "fabric"})); err == nil || known() != 0 {
		t.Errorf("not written: %v; %d entries", err, known())
	}
	s.err = fmt.Errorf("write: %w", sonicdb.ErrUnknown)
	if _, err := w.Change(t.Context(), "me", "x", port.Set("Ethernet0", map[string]string{"role": "fabric"})); err == nil || known() != 1 {
		t.Errorf("perhaps written: %v; %d entries", err, known())
	}
	w.Dry = true
	if edits, err := w.Change(t.Context(), "me", "x", port.Set("Ethernet0", map[string]string{"role": "fabric"})); err != nil || len(edits) != 1 || known() != 1 || s.writes != 0 {
		t.Errorf("dry: %v, %v; %d entries, %d writes", edits, err, known(), s.writes)
	}
	w.Dry = false
	// Somebody else writes the row meanwhile: it is read again, and his field stays.
	s.meet = func() { s.config["SLUICE_PORT|Ethernet0"] = row("SLUICE_PORT|Ethernet0", "flow_label", "enabled") }
	must(t, w, port.Set("Ethernet0", map[string]string{"role": "edge"}))
	if got := s.config["SLUICE_PORT|Ethernet0"].Fields; len(got) != 2 || known() != 2 {
		t.Errorf("%v; %d entries", got, known())
	}
}

func TestNothingIsWrittenWithoutAJournal(t *testing.T) {
	w, s := writer(t)
	w.File = filepath.Join(w.File, "journal.json") // its folder is a file
	if err := os.WriteFile(filepath.Dir(w.File), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	change := table(t, "port").Set("Ethernet0", map[string]string{"role": "fabric"})
	if _, err := w.Change(t.Context(), "me", "x", change); err == nil || !strings.HasPrefix(err.Error(), "nothing was written to CONFIG_DB: ") || s.writes != 0 {
		t.Errorf("%v, %d writes", err, s.writes)
	}
	w.File = ""
	if _, err := w.Change(t.Context(), "me", "x", change); err != nil || s.writes != 1 {
		t.Errorf("--journal '': %v, %d writes", err, s.writes)
	}
}

func TestJournalIsBounded(t *testing.T) {
	var j Journal
	edits := make([]Edit, mostEdits/10)
	for range mostEntries + 20 {
		j.Add(Config{}, Entry{Edits: edits[:1]})
	}
	if len(j.Entries) != mostEntries {
		t.Errorf("%d entries", len(j.Entries))
	}
	for range 11 {
		j.Add(Config{}, Entry{Edits: edits})
	}
	if len(j.Entries) != 10 {
		t.Errorf("%d large entries", len(j.Entries))
	}
	j.Add(Config{}, Entry{Edits: make([]Edit, mostEdits+1)})
	if len(j.Entries) != 1 {
		t.Errorf("%d entries with one that is too large", len(j.Entries))
	}
}

// TestDisablingAndRollbackNeedNoJournal: what disables is written on a disk that is full or read-only, and
// with a journal that is cut, and says that the journal does not have it; so is a rollback where the journal
// can be read. Other changes are refused.
func TestDisablingAndRollbackNeedNoJournal(t *testing.T) {
	off, port := map[string]string{"admin_state": "disabled"}, map[string]string{"role": "border"}
	for name, tt := range map[string]struct {
		spoil func(t *testing.T, w *Writer)
		known bool // the journal can be read
	}{
		"the journal is empty":       {func(t *testing.T, w *Writer) { written(t, w.File, "") }, false},
		"the journal is cut":         {func(t *testing.T, w *Writer) { written(t, w.File, `{"entries":[`) }, false},
		"it is a folder":             {func(t *testing.T, w *Writer) { w.File = t.TempDir() }, false},
		"its folder is a file":       {func(t *testing.T, w *Writer) { w.File += "/journal" }, false},
		"the disk is full":           {func(t *testing.T, w *Writer) { w.File = full(t, w.File) }, true},
		"the disk is read-only":      {func(t *testing.T, w *Writer) { w.File = readOnly(t, w.File) }, true},
		"another command is writing": {func(t *testing.T, w *Writer) { locked(t, w.File) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := writer(t)
			must(t, w, table(t, "port").Set("Ethernet0", map[string]string{"role": "edge"}))
			w.patience = time.Millisecond
			var warned []error
			w.Warn = func(err error) { warned = append(warned, err) }
			tt.spoil(t, w)
			if _, err := w.Change(t.Context(), "me", "x", table(t, "port").Set("Ethernet0", port)); err == nil || !strings.Contains(err.Error(), "nothing was written to CONFIG_DB: ") || len(warned) > 0 {
				t.Errorf("%v, warned %v", err, warned)
			}
			edits, err := w.Change(t.Context(), "me", "x", table(t, "global").Set("global", off))
			if err != nil || len(edits) != 1 || s.config["SLUICE|global"].Fields["admin_state"] != "disabled" || len(warned) != 1 {
				t.Errorf("%v, %v, warned %v", edits, err, warned)
			}
			if _, err := w.Undo(t.Context(), 1, false); (err == nil) != tt.known {
				t.Errorf("rollback: %v", err)
			}
			if role := s.config["SLUICE_PORT|Ethernet0"].Fields["role"]; (role == "") != tt.known {
				t.Errorf("after the rollback the role is %q", role)
			}
			if tt.known && len(warned) != 2 {
				t.Errorf("warned %v", warned)
			}
		})
	}
}

func written(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// full moves a file onto a disk without room, and returns its name there.
func full(t *testing.T, name string) string {
	t.Helper()
	there := mounted(t, name)
	for size := 4096; size > 0; size /= 2 {
		f, err := os.OpenFile(filepath.Join(filepath.Dir(there), "rest"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		_ = f.Close()
	}
	return there
}

// readOnly moves a file onto a disk that cannot be written, and returns its name there.
func readOnly(t *testing.T, name string) string {
	t.Helper()
	there := mounted(t, name)
	if err := unix.Mount("", filepath.Dir(there), "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	return there
}

// mounted moves a file onto a small disk of its own, and returns its name there.
func mounted(t *testing.T, name string) string {
	t.Helper()
	folder := t.TempDir()
	if err := unix.Mount("none", folder, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("needs to mount a disk: run as root: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(folder, unix.MNT_DETACH) })
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(folder, "journal.json")
	written(t, there, string(text))
	return there
}

// locked holds the lock of a journal until the test ends.
func locked(t *testing.T, name string) {
	t.Helper()
	f, err := os.OpenFile(name+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
}

// TestOnlyWhatDisablesNeedsNoJournal: a change that does more is kept.
func TestOnlyWhatDisablesNeedsNoJournal(t *testing.T) {
	edit := func(before, after map[string]string) Edit {
		return Edit{Table: "SLUICE", Key: "global", Before: before, After: after}
	}
	off, on := map[string]string{"admin_state": "disabled"}, map[string]string{"admin_state": "enabled"}
	for name, tt := range map[string]struct {
		edits []Edit
		want  bool
	}{
		"nothing":              {nil, true},
		"disabled":             {[]Edit{edit(on, off)}, true},
		"a row that disables":  {[]Edit{edit(nil, off)}, true},
		"enabled":              {[]Edit{edit(off, on)}, false},
		"removed":              {[]Edit{edit(on, nil)}, false},
		"its field is removed": {[]Edit{edit(off, map[string]string{})}, false},
		"an empty row":         {[]Edit{edit(nil, map[string]string{})}, false},
		"and more":             {[]Edit{edit(on, map[string]string{"admin_state": "disabled", "cpu_rate": "5"})}, false},
		"and another row":      {[]Edit{edit(on, off), edit(off, on)}, false},
	} {
		if got := disables(tt.edits); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
