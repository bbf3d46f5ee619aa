// SPDX-License-Identifier: Apache-2.0

package files

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnreadableStateIsSetAside: each kind of damage leaves the value as it is, with a
// warning, and the next text is written and read.
func TestUnreadableStateIsSetAside(t *testing.T) {
	type state struct {
		Names []string `json:"names"`
	}
	for name, content := range map[string]string{
		"empty": "", "cut": `{"names":["b","c`, "foreign": "\x7fELF\x02", "zeros": strings.Repeat("\x00", 4096), "another type": `{"names":{"b":1}}`,
		"list": `["b"]`, "two": `{"names":["b"]}{"names":["c"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.json")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			is, said := state{[]string{"a"}}, ""
			ReadOptional(path, &is, func(err error) { said += err.Error() })
			if !slices.Equal(is.Names, []string{"a"}) || !strings.Contains(said, "it is set aside as "+path+".unreadable") {
				t.Errorf("%v, warning %q", is, said)
			}
			if kept, err := os.ReadFile(path + ".unreadable"); err != nil || string(kept) != content {
				t.Errorf("set aside: %q, %v", kept, err)
			}
			if err := WriteState(path, state{[]string{"n"}}); err != nil {
				t.Fatal(err)
			}
			ReadOptional(path, &is, func(err error) { t.Error(err) })
			if !slices.Equal(is.Names, []string{"n"}) {
				t.Errorf("%v", is)
			}
		})
	}
}

// TestStateOfADiskThatFailsStays: content that may be good is not renamed, and a missing file
// is no warning.
func TestStateOfADiskThatFailsStays(t *testing.T) {
	folder := t.TempDir()
	is := 1
	ReadOptional(filepath.Join(folder, "none"), &is, func(err error) { t.Error(err) })
	if err := os.Symlink(filepath.Join(folder, "none"), filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	var said error
	ReadOptional(filepath.Join(folder, "link"), &is, func(err error) { said = err })
	if _, err := os.Lstat(filepath.Join(folder, "link")); err != nil || said == nil || is != 1 {
		t.Errorf("%v, %v, %d", said, err, is)
	}
}

// TestErrorsNameTheFile: the name of the file that WriteState fills first is random, and would
// make each warning another one.
func TestErrorsNameTheFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounts a file system: run as root")
	}
	folder := t.TempDir()
	if err := unix.Mount("none", folder, "tmpfs", 0, "size=8k,nr_inodes=2"); err != nil {
		t.Skipf("mount a tmpfs: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(folder, unix.MNT_DETACH) })
	path := filepath.Join(folder, "state.json")
	text := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	full := text(WriteState(path, strings.Repeat("x", 64<<10)))
	if want := "write " + path + ": no space left on device"; full != want {
		t.Errorf("full: %q, want %q", full, want)
	}
	if err := os.WriteFile(filepath.Join(folder, "last"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := text(WriteState(path, 1)), "open "+path+": no space left on device"; got != want {
		t.Errorf("no inode: %q, want %q", got, want)
	}
	if err := unix.Mount("none", folder, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if got, want := text(WriteState(path, 1)), "open "+path+": read-only file system"; got != want {
		t.Errorf("read-only: %q, want %q", got, want)
	}
}

// TestLeftoversOfKilledProcessesAreRemoved: those of this process's files alone.
func TestLeftoversOfKilledProcessesAreRemoved(t *testing.T) {
	folder := t.TempDir()
	gone := []string{"sluiced-rows.json.1234", "sluiced.json.1", "sluiced-ledger.json.99"}
	stay := []string{"sluiced-rows.json", "sluiced-rows.json.new", "sluiced0-rows.json.1234", "sluiced-asic0.json.5", "sluiced-rows.json.12a", "other.json.1", "sluiced-rows.json.unreadable"}
	for _, name := range slices.Concat(gone, stay) {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	RemoveLeftovers(filepath.Join(folder, "sluiced.json"))
	var left []string
	all, err := os.ReadDir(folder)
	for _, one := range all {
		left = append(left, one.Name())
	}
	slices.Sort(stay)
	if err != nil || !slices.Equal(left, stay) {
		t.Errorf("%v, %v; want %v", left, err, stay)
	}
	RemoveLeftovers(filepath.Join(folder, "none/sluiced.json"))
}
