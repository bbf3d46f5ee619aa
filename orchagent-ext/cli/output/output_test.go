// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func write(t *testing.T, name, text string) {
	t.Helper()
	f, err := Create(Target{Name: name, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f.Abort() // does nothing any more
}

func TestFileIsWholeOrTheOldOne(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	write(t, name, "old")
	f, err := Create(Target{Name: name, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(bytes.Repeat([]byte("new"), 1<<16)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != "old" {
		t.Errorf("while a new one is written: %.10q, %v", got, err)
	}
	f.Abort()
	if got, err := os.ReadFile(name); err != nil || string(got) != "old" {
		t.Errorf("behind Abort: %.10q, %v", got, err)
	}
	write(t, name, "new")
	if got, err := os.ReadFile(name); err != nil || string(got) != "new" {
		t.Errorf("behind Close: %.10q, %v", got, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFilesHaveTheirRights(t *testing.T) {
	before := syscall.Umask(0o027)
	defer syscall.Umask(before)
	name := filepath.Join(t.TempDir(), "out")
	for _, want := range []os.FileMode{0o640, 0o600} {
		write(t, name, "x")
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode(); got != want {
			t.Errorf("rights %v, want %v", got, want)
		}
		if err := os.Chmod(name, 0o600); err != nil { // the next one keeps them
			t.Fatal(err)
		}
	}
}

func TestStandardOutput(t *testing.T) {
	var out bytes.Buffer
	f, err := Create(Target{Name: "-", Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil || out.String() != "x" {
		t.Errorf("%q, %v", &out, err)
	}
}

func TestErrorsNameTheFileOfTheUser(t *testing.T) {
	name := filepath.Join(t.TempDir(), "none", "out")
	if _, err := Create(Target{Name: name, Force: true}); err == nil || err.Error() != "create "+name+": no such file or directory" {
		t.Errorf("%v", err)
	}
	f, err := Create(Target{Name: "/dev/full"})
	if err != nil {
		t.Skipf("no /dev/full: %v", err)
	}
	_, _ = f.WriteString("x")
	if err := f.Close(); !errors.Is(err, syscall.ENOSPC) || strings.Count(err.Error(), "/dev/full") != 1 {
		t.Errorf("%v", err)
	}
}
