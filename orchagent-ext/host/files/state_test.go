// SPDX-License-Identifier: Apache-2.0

package files

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWriteReplacesWhole: what was written is read back, its owner alone may read
// it, and nothing else is left in the folder.
func TestWriteReplacesWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "state.json")
	var got []string
	if err := ReadState(path, &got); err != nil || got != nil {
		t.Errorf("a file that is not there: %v, %v", got, err)
	}
	for _, want := range [][]string{{"a", "b"}, {"c"}} {
		d, err := NewDraft(path, want)
		if err != nil {
			t.Fatal(err)
		}
		// a process that is killed now has written it
		if err := ReadState(path, &got); err != nil || strings.Join(got, "") != strings.Join(want, "") {
			t.Errorf("before it is on the disk: %v, %v, want %v", got, err, want)
		}
		if err := d.Sync(); err != nil {
			t.Fatal(err)
		}
		if err := ReadState(path, &got); err != nil || strings.Join(got, "") != strings.Join(want, "") {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	for _, lost := range []string{"", "[\"d"} { // the power fails before it is on the disk
		if err := os.WriteFile(path+suffixNew, []byte(lost), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := ReadState(path, &got); err != nil || strings.Join(got, "") != "c" {
			t.Errorf("%v, %v, want what was on the disk", got, err)
		}
	}
	if err := os.Remove(path + suffixNew); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := RemoveState(path); err != nil {
		t.Error(err)
	}
	if err := RemoveState(path); err != nil {
		t.Errorf("removed twice: %v", err)
	}
}

// TestReadRefuses: a file that is not Sluice's state is refused, and a FIFO blocks no
// reader.
func TestReadRefuses(t *testing.T) {
	folder := t.TempDir()
	file := func(name string) string { return filepath.Join(folder, name) }
	if err := unix.Mkfifo(file("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file("junk"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file("junk"), file("link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"fifo": errKind, "link": unix.ELOOP, ".": errKind} {
		var v []string
		if err := ReadState(file(name), &v); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	var v []string
	if err, junk := ReadState(file("junk"), &v), new(json.SyntaxError); !errors.As(err, &junk) {
		t.Errorf("junk: %v", err)
	}
}

// TestLaterDraftTakesThePlaceOfOneThatWaitsForTheDisk: whichever is on the disk first, the later one
// is the file.
func TestLaterDraftTakesThePlaceOfOneThatWaitsForTheDisk(t *testing.T) {
	for name, sync := range map[string]func(first, later *Draft) error{
		"the first one first": func(first, later *Draft) error {
			err := first.Sync()
			_, waits := os.Stat(later.path + suffixNew) // it has the name of the file once it is on the disk
			return errors.Join(err, waits, later.Sync())
		},
		"the later one first": func(first, later *Draft) error { return errors.Join(later.Sync(), first.Sync()) },
		"one is given up":     func(first, later *Draft) error { return errors.Join(first.Close(), later.Sync()) },
	} {
		path := filepath.Join(t.TempDir(), "state.json")
		var both [2]*Draft
		for i := range both {
			var err error
			if both[i], err = NewDraft(path, i); err != nil {
				t.Fatal(err)
			}
		}
		if err := sync(both[0], both[1]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text, err := os.ReadFile(path)
		left, e := os.ReadDir(filepath.Dir(path))
		if errors.Join(err, e) != nil || string(text) != "1\n" || len(left) != 1 {
			t.Errorf("%s: %q, %v, %d files, %v", name, text, err, len(left), e)
		}
	}
}
