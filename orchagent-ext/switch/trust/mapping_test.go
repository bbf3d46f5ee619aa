// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	sai "sluice/sai-shim"
)

// call makes a call end the process, for the one that reads the journal next.
func call(w *Watch) {
	w.Try(Trying{"flow-label", "hash", "12345678"})
	w.Calling(&sai.Call{Name: "create", Object: "hash"})
}

// disk is a folder on a file system of its own, with a journal that ends in a call.
func disk(t *testing.T, options string) (journal string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounts a file system: run as root")
	}
	folder := t.TempDir()
	if err := unix.Mount("none", folder, "tmpfs", 0, options); err != nil {
		t.Skipf("mount a tmpfs: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(folder, unix.MNT_DETACH) })
	return filepath.Join(folder, "sluiced-sai.journal")
}

// left writes a journal whose process ended in a call.
func left(t *testing.T, journal string) {
	t.Helper()
	memory := make([]byte, journalSize)
	w := &Watch{limit: time.Minute, memory: memory}
	copy(memory[offMagic:], magic)
	call(w)
	if err := os.WriteFile(journal, memory, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestJournalIsOptional: whatever the disk and the file are like, calls are watched, and the
// warning has the reason. Entries that can be read are.
func TestJournalIsOptional(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options string // of the file system
		file    func(t *testing.T, journal string)
		warning string
		ended   bool // the call of the process before is known
	}{
		{name: "none there"},
		{name: "a call", file: left, ended: true},
		{name: "of a version before", ended: true, file: func(t *testing.T, journal string) {
			left(t, journal)
			patch(t, journal, offMagic, make([]byte, len(magic)))
		}},
		{name: "empty", file: func(t *testing.T, journal string) { patch(t, journal, 0, nil) }},
		{name: "cut", warning: "is set aside as ", file: func(t *testing.T, journal string) {
			left(t, journal)
			if err := os.Truncate(journal, journalSize-1); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "longer", warning: "is set aside as ", file: func(t *testing.T, journal string) {
			left(t, journal)
			patch(t, journal, journalSize, []byte{1})
		}},
		{name: "foreign", warning: "is set aside as ", file: func(t *testing.T, journal string) {
			patch(t, journal, 0, bytes.Repeat([]byte("x"), journalSize))
		}},
		{name: "a folder", warning: "is a directory", file: func(t *testing.T, journal string) {
			if err := os.Mkdir(journal, 0o700); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "a FIFO", warning: "sluiced-sai.journal", file: func(t *testing.T, journal string) {
			if err := unix.Mkfifo(journal, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "a link", warning: "too many levels", file: func(t *testing.T, journal string) {
			if err := os.Symlink("/etc/passwd", journal); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "full", options: "size=16k", warning: "no space left on device"},
		{name: "full, sparse", options: "size=16k", warning: "no space left on device", file: func(t *testing.T, journal string) {
			patch(t, journal, 0, nil)
			if err := os.Truncate(journal, journalSize); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "no inode", options: "nr_inodes=1", warning: "no space left on device"},
		{name: "read-only", warning: "read-only file system", file: readOnly},
		{name: "read-only, a call", warning: "read-only file system", ended: true, file: func(t *testing.T, journal string) {
			left(t, journal)
			readOnly(t, journal)
		}},
		{name: "read-only, foreign", warning: "it is no whole journal", file: func(t *testing.T, journal string) {
			patch(t, journal, 0, []byte("x"))
			readOnly(t, journal)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			journal := disk(t, tt.options)
			if tt.file != nil {
				tt.file(t, journal)
			}
			var said strings.Builder
			w, ended, err := New(journal, time.Minute, func(err error) { said.WriteString(err.Error() + "\n") })
			if err != nil {
				t.Fatal(err)
			}
			if (tt.warning == "") != (said.Len() == 0) || !strings.Contains(said.String(), tt.warning) {
				t.Errorf("warning %q, want %q", said.String(), tt.warning)
			}
			if (ended != nil) != tt.ended {
				t.Errorf("the process before: %v", ended)
			}
			for range calls + 1 { // each page is written
				call(w)
			}
			if got, _ := w.Open(); !strings.HasPrefix(got, "create hash") {
				t.Errorf("the call is not watched: %q", got)
			}
			if w.Lost() {
				t.Error("the file is lost")
			}
		})
	}
}

// TestExclusionOnAReadOnlyDiskHolds: the method that hung is excluded by this process at least,
// and the operator is warned.
func TestExclusionOnAReadOnlyDiskHolds(t *testing.T) {
	journal := disk(t, "")
	left(t, journal)
	patch(t, journal, 2*slotSize+offHangs, []byte{1})
	readOnly(t, journal)
	g, err := NewGuard(GuardConfig{Library: "l", Files: strings.TrimSuffix(journal, "-sai.journal"), Limit: time.Minute, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	warnings := strings.Join(g.Warnings(), "\n")
	if len(g.exclusions) != 1 || g.exclusions[0].Method != "hash" || !strings.Contains(warnings, "read-only") || !strings.Contains(warnings, "did not return from create hash") {
		t.Errorf("%+v, warnings %q", g.exclusions, warnings)
	}
}

// readOnly remounts the file system of a journal.
func readOnly(t *testing.T, journal string) {
	t.Helper()
	if err := unix.Mount("none", filepath.Dir(journal), "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
}

// patch writes octets at a place of a file, which it makes.
func patch(t *testing.T, file string, at int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCutJournalEndsNoProcess: a file that is cut while it is mapped is SIGBUS at the next
// access. The process goes on, and reports it.
func TestCutJournalEndsNoProcess(t *testing.T) {
	for _, size := range []int64{0, 4096, journalSize - 4096} {
		journal := filepath.Join(t.TempDir(), "sai.journal")
		w, _, err := New(journal, time.Minute, unwarned)
		if err != nil {
			t.Fatal(err)
		}
		call(w)
		if err := os.Truncate(journal, size); err != nil {
			t.Fatal(err)
		}
		for range calls + 1 {
			call(w)
		}
		for i := range objects {
			w.Called(-1, &sai.Call{Name: "create", Object: "hash", ID: sai.ObjectID(i + 1)}, 0)
		}
		w.Last("port")
		clear(object(w.memory, objects+types-1))
		w.Hanging()
		for token := range calls {
			w.Called(token, &sai.Call{Name: "create", Object: "hash"}, 1)
		}
		call(w)
		if got, _ := w.Open(); !w.Lost() || !strings.HasPrefix(got, "create hash") {
			t.Errorf("cut to %d octets: lost %t, call %q", size, w.Lost(), got)
		}
	}
}
