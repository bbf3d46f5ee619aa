// SPDX-License-Identifier: Apache-2.0

package child_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric/child"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
)

// patience is for a machine that is busy.
const patience = time.Minute

// asMaker makes the test's program one that starts a child, says its pid, and
// waits to be killed.
const asMaker = "SLUICE_TEST_MAKER"

func TestMain(m *testing.M) {
	kind := os.Getenv(asMaker)
	if kind == "" {
		os.Exit(m.Run())
	}
	pid, err := makers[kind](os.Args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(pid)
	select {} // until it is killed
}

// makers start a child in a folder and return its pid.
var makers = map[string]func(dir string) (int, error){
	"sleep": func(string) (int, error) {
		cmd := exec.Command("sleep", "1000")
		err := child.Start(cmd)
		if err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	},
	"redis": func(dir string) (int, error) {
		s, err := privateredis.Start(dir)
		if err != nil {
			return 0, err
		}
		return s.Pid(), nil
	},
}

// TestKilledWithItsMaker: kill -9 of the maker takes the child along.
func TestKilledWithItsMaker(t *testing.T) {
	for kind := range makers {
		t.Run(kind, func(t *testing.T) {
			if _, err := exec.LookPath("redis-server"); err != nil && kind == "redis" {
				t.Skip(privateredis.ErrNotInstalled)
			}
			dir, err := os.MkdirTemp("", "child") // TempDir can be too long for a socket
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir) //nolint:errcheck // the test is over
			maker := exec.Command(os.Args[0], dir)
			maker.Env = append(os.Environ(), asMaker+"="+kind)
			out, err := maker.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(maker); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			pid, no := strconv.Atoi(strings.TrimSpace(line))
			if no != nil {
				t.Fatalf("the maker says %q: %v", line, err)
			}
			if !runs(pid) {
				t.Error("the child does not run while its maker does")
			}
			if err := maker.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = maker.Wait() // killed
			for end := time.Now().Add(patience); runs(pid); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("process %d runs %v after its maker was killed", pid, patience)
				}
			}
		})
	}
}

// runs reports whether a process is there, and no zombie.
func runs(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	_, state, ok := strings.Cut(string(stat), ") ")
	return err == nil && ok && state[0] != 'Z'
}

// TestOutlivesTheCallersThread: the thread that called may end; the child goes on.
func TestOutlivesTheCallersThread(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	thread := make(chan int, 1)
	called := make(chan error, 1)
	var call func()
	call = func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if unix.Gettid() == os.Getpid() {
			go call() // the first thread never ends
			return
		}
		thread <- unix.Gettid()
		called <- child.Start(cmd)
	}
	go call()
	task := fmt.Sprintf("/proc/self/task/%d", <-thread)
	if err := <-called; err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(task); errors.Is(err, os.ErrNotExist) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the caller's thread does not end")
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the child was to end by itself: %v", err)
	}
}

// TestStartReturnsErrors are returned, of the command and of what comes before.
func TestStartReturnsErrors(t *testing.T) {
	if err := child.Start(exec.Command("/no/such/program")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want no such file", err)
	}
	refused := errors.New("refused")
	if err := child.StartIn(exec.Command("true"), func() error { return refused }); !errors.Is(err, refused) {
		t.Errorf("%v, want %v", err, refused)
	}
}
