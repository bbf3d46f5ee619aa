// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/tests/fabrictest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// pty is a pseudo terminal, and what was written to it.
type pty struct {
	master, slave *os.File

	mu      sync.Mutex
	written bytes.Buffer
}

func newPTY(t *testing.T, width, height uint16) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminal: %v", err)
	}
	p := &pty{master: master}
	t.Cleanup(func() { _ = master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		p.slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.slave.Close() })
	p.resize(t, width, height)
	go func() {
		b := make([]byte, 1<<16)
		for {
			n, err := master.Read(b)
			p.mu.Lock()
			p.written.Write(b[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return p
}

func (p *pty) resize(t *testing.T, width, height uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(p.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		t.Fatal(err)
	}
}

func (p *pty) mode(t *testing.T) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

func (p *pty) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := p.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

func (p *pty) all() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written.String()
}

// has waits until something was written.
func (p *pty) has(t *testing.T, what string) {
	t.Helper()
	for deadline := time.Now().Add(topPatience); !strings.Contains(p.all(), what); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q was not written: %q", what, p.all())
		}
	}
}

// frame is the last frame that is whole.
func (p *pty) frame() string {
	all := p.all()
	all = all[:max(0, strings.LastIndex(all, "\x1b[J"))]
	all = all[max(0, strings.LastIndex(all, "\x1b[H")):]
	all = strings.TrimPrefix(all, "\x1b[H")
	return strings.ReplaceAll(strings.ReplaceAll(all, "\x1b[K", ""), "\r\n", "\n")
}

// shows waits for a frame that has all of these.
func (p *pty) shows(t *testing.T, what ...string) string {
	t.Helper()
	for deadline := time.Now().Add(topPatience); ; time.Sleep(10 * time.Millisecond) {
		frame, missing := p.frame(), ""
		for _, w := range what {
			if !strings.Contains(frame, w) {
				missing = w
			}
		}
		if missing == "" && frame != "" {
			return frame
		}
		if time.Now().After(deadline) {
			t.Fatalf("the frame does not show %q:\n%s\nall that was written: %q", missing, frame, p.all())
		}
	}
}

// start starts the tool on the terminal.
func (p *pty) start(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(append(os.Environ(), fabrictest.AsTool+"=1", "TERM=xterm", "LC_ALL=C.UTF-8", "NO_COLOR="), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.slave, p.slave, p.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// left reports whether the tool ended well and the terminal is as it was.
func (p *pty) left(t *testing.T, cmd *exec.Cmd, was unix.Termios) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(topPatience):
		t.Fatal("it does not end")
	}
	p.gaveBack(t, was)
}

func (p *pty) gaveBack(t *testing.T, was unix.Termios) {
	t.Helper()
	if diff := cmp.Diff(was, p.mode(t)); diff != "" {
		t.Errorf("the terminal is not as it was (-before +after):\n%s", diff)
	}
	p.has(t, "\x1b[?25h\x1b[?1049l") // the alternate screen is left
}
