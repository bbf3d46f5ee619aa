// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"sluice/orchagent-ext/view/framefile"
)

// TestRecordShowsProgressUntilCtrlC on a terminal, and has all frames then.
func TestRecordShowsProgressUntilCtrlC(t *testing.T) {
	s := newFakeSluiced(t)
	s.says(t, "running")
	name := filepath.Join(t.TempDir(), "a.record")
	p := newPTY(t, 120, 24)
	cmd := p.start(t, nil, "record", name, "--every", "100ms", "--db-config", s.Config)
	p.has(t, " of 1GB, 1 of 1 switches answer")
	p.press(t, "\x03")
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("it ends with %v: %q", err, p.all())
	}
	f, err := framefile.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Frames() == 0 || f.Note() != "" {
		t.Errorf("%d frames, %q", f.Frames(), f.Note())
	}
}

// TestRecordOfAKilledToolIsRead up to its last block, and goes on.
func TestRecordOfAKilledToolIsRead(t *testing.T) {
	s := newFakeSluiced(t)
	s.says(t, "running")
	name := filepath.Join(t.TempDir(), "a.record")
	good(t, "record", name, "--every", "100ms", "--for", "300ms", "--db-config", s.Config)
	before := end(t, name)
	p := newPTY(t, 120, 24)
	cmd := p.start(t, nil, "record", name, "--every", "100ms", "--db-config", s.Config)
	p.has(t, " switches answer")
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if after := end(t, name); after.Before(before) {
		t.Errorf("it ends at %v, and at %v before", after, before)
	}
	if after := recordedBy(t, name, s.Config); !after.After(before) {
		t.Errorf("it goes on until %v, after %v", after, before)
	}
}
