// SPDX-License-Identifier: Apache-2.0

package portlock

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestPortsHaveOneProcess: another process with other databases gets no port of the first, is told
// who has it, and gets all once that is gone.
func TestPortsHaveOneProcess(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("locks count of processes that may program ports: run as root")
	}
	port := func(n int) string { return fmt.Sprintf("test%d-%d", os.Getpid(), n) }
	first := New("/run/first.sock", slog.New(slog.DiscardHandler))
	other := New("/run/other.sock", slog.New(slog.DiscardHandler))
	t.Cleanup(first.Release)
	t.Cleanup(other.Release)
	if err := first.Take([]string{port(0), port(1)}); err != nil {
		t.Fatal(err)
	}
	if err := first.Take([]string{port(0), port(1), port(2)}); err != nil { // the own ones stay
		t.Fatal(err)
	}
	err := other.Take([]string{port(3), port(1)})
	want := fmt.Sprintf("port %s of this network namespace is programmed by another sluiced, PID %d of user 0, with the databases at /run/first.sock: end it first", port(1), os.Getpid())
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := first.Take([]string{port(0), port(3)}); err != nil {
		t.Errorf("a lock of a process that got none: %v", err)
	}
	if err := other.Take([]string{port(1), port(2)}); err != nil {
		t.Errorf("ports that the first gave up: %v", err)
	}
	first.Release()
	if err := other.Take([]string{port(0), port(1), port(2), port(3)}); err != nil {
		t.Errorf("the first has ended: %v", err)
	}
}

// asSquatter has the port whose lock a process without rights takes.
const asSquatter = "SLUICE_TEST_SQUATTER"

func TestMain(m *testing.M) {
	if port := os.Getenv(asSquatter); port != "" {
		l, err := net.Listen("unix", prefix+port)
		if err != nil {
			panic(err)
		}
		fmt.Println("listens")
		for {
			if _, err := l.Accept(); err != nil {
				return
			}
		}
	}
	os.Exit(m.Run())
}

// TestProcessWithoutRightsHasNoPort: any user may take the name of a lock, and keeps sluiced from
// nothing by it.
func TestProcessWithoutRightsHasNoPort(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("takes rights from a process: run as root")
	}
	port := fmt.Sprintf("squatted%d", os.Getpid())
	c := exec.CommandContext(t.Context(), "setpriv", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", os.Args[0])
	c.Env = append(os.Environ(), asSquatter+"="+port)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	if n, err := out.Read(make([]byte, 16)); n == 0 {
		t.Fatalf("the other process: %v", err)
	}
	var said bytes.Buffer
	l := New("/run/x.sock", slog.New(slog.NewTextHandler(&said, nil)))
	t.Cleanup(l.Release)
	if err := l.Take([]string{port}); err != nil || !strings.Contains(said.String(), "it is ignored") || !strings.Contains(said.String(), fmt.Sprintf("PID %d ", c.Process.Pid)) {
		t.Errorf("%v, log %q", err, said.String())
	}
}
