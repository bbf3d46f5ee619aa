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
		written := func() { // a process that is killed now has written it
			if err := ReadState(path, &got); err != nil || strings.Join(got, "") != strings.Join(want, "") {
				t.Errorf("before it is on the disk: %v, %v, want %v", got, err, want)
			}
		}
		if err := WriteState(path, want, written); err != nil {
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
