// SPDX-License-Identifier: Apache-2.0

package fabric_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/fabrictest"
)

// makerRole in the environment makes the test program a maker of a fabric.
const makerRole = "SLUICE_FABRIC_MAKER"

func TestMain(m *testing.M) {
	if how := os.Getenv(makerRole); how != "" {
		run := func() error { return maker(how == "panic") }
		if how == "fresh" {
			run = onFreshMachine
		}
		if err := run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// maker builds a fabric with a process in it, says so, and panics or waits to be
// killed.
func maker(panics bool) error {
	f, err := fabric.New()
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := f.LeafSpine(4)
	if err != nil {
		return err
	}
	p, err := s.Leaf.Start(exec.Command("sleep", "1000"))
	if err != nil {
		return err
	}
	fmt.Println(p.Pid)
	if panics {
		panic("as asked")
	}
	return p.Wait()
}

// onFreshMachine builds a fabric where `ip netns` never ran, in a mount namespace of its own,
// and closes it after that has made its first namespace.
func onFreshMachine() error {
	if err := unix.Mount("fresh", "/run", "tmpfs", 0, ""); err != nil {
		return err
	}
	f, err := fabric.New()
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Node("a"); err != nil {
		return err
	}
	if out, err := exec.Command("ip", "netns", "add", "first").CombinedOutput(); err != nil {
		return fmt.Errorf("ip netns add: %w: %s", err, out)
	}
	again, err := fabric.New()
	if err != nil {
		return err
	}
	if err := errors.Join(again.Close(), f.Close()); err != nil {
		return err
	}
	left, err := os.ReadDir("/run/netns")
	if err == nil && (len(left) != 1 || left[0].Name() != "first") {
		err = fmt.Errorf("left behind: %v", left)
	}
	return err
}

// startMaker returns a running maker and the pid of the process in its fabric.
func startMaker(t *testing.T, how string) (maker *exec.Cmd, inside int) {
	t.Helper()
	maker = exec.Command(os.Args[0])
	maker.Env = append(os.Environ(), makerRole+"="+how)
	out, err := maker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	maker.Stderr = &said
	if err := maker.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		inside, err = strconv.Atoi(strings.TrimSpace(line))
	}
	if err != nil {
		_ = maker.Process.Kill()
		_ = maker.Wait()
		t.Fatalf("the maker of a fabric failed: %v: %s", err, &said)
	}
	return maker, inside
}

// namespaces returns the names of the namespaces that a process made.
func namespaces(t *testing.T, pid int) (names []string) {
	t.Helper()
	entries, err := os.ReadDir("/run/netns")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), fmt.Sprintf("sluice-%d-", pid)) {
			names = append(names, e.Name())
		}
	}
	return names
}

func gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		// A child of a dead parent stays a zombie until init collects it.
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still there: %s", pid, stat)
		}
	}
}

func TestPanicLeavesNothing(t *testing.T) {
	fabrictest.New(t) // skips where there are no fabrics
	maker, inside := startMaker(t, "panic")
	if err := maker.Wait(); err == nil {
		t.Error("the maker did not panic")
	}
	gone(t, inside)
	if left := namespaces(t, maker.Process.Pid); left != nil {
		t.Errorf("left behind: %q", left)
	}
}

func TestKillLeavesNothing(t *testing.T) {
	fabrictest.New(t)
	maker, inside := startMaker(t, "wait")
	// While it lives: behind its end every process that makes a fabric removes them, tests of
	// other packages, too.
	if got := namespaces(t, maker.Process.Pid); len(got) != 4 {
		t.Errorf("the maker has %q: the test needs its 4 namespaces", got)
	}
	alive, aliveInside := startMaker(t, "wait")
	defer func() {
		_ = alive.Process.Kill()
		_ = alive.Wait()
		gone(t, aliveInside)
		fabrictest.New(t)
	}()
	if err := maker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = maker.Wait() // says that it was killed
	gone(t, inside)
	fabrictest.New(t)
	if left := namespaces(t, maker.Process.Pid); left != nil {
		t.Errorf("a new fabric did not remove %q", left)
	}
	if got := namespaces(t, alive.Process.Pid); len(got) != 4 {
		t.Errorf("of a maker that lives there is %q: want its 4 namespaces", got)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	fabrictest.New(t)
	before := namespaces(t, os.Getpid())
	f, err := fabric.New()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	start := time.Now()
	s, err := f.LeafSpine(4)
	fabrictest.Check(t, err)
	t.Logf("a leaf and a spine with 4 links and 2 hosts: built in %v", time.Since(start))
	p, err := s.Leaf.Start(exec.Command("sleep", "1000"))
	if err != nil {
		t.Fatal(err)
	}
	if got := namespaces(t, os.Getpid()); len(got) != len(before)+4 {
		t.Errorf("namespaces %q, want 4 more than %q", got, before)
	}
	for range 2 {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	select {
	case <-p.Done():
	default:
		t.Error("the process lives on")
	}
	if got := namespaces(t, os.Getpid()); len(got) != len(before) {
		t.Errorf("namespaces %q, want %q", got, before)
	}
}

// The first `ip netns add` of a machine mounts /run/netns: namespaces that were there before
// could then not be removed.
func TestFirstNamespaceOfAMachine(t *testing.T) {
	fabrictest.New(t) // skips where there are no fabrics
	maker := exec.Command(os.Args[0])
	maker.Env = append(os.Environ(), makerRole+"=fresh")
	maker.SysProcAttr = &unix.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	if out, err := maker.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestProcessRunsInTheNamespace(t *testing.T) {
	p := fabrictest.Pair(t)
	var links strings.Builder
	show := exec.Command("cat", "/proc/self/net/dev")
	show.Stdout = &links
	cat, err := p.A.Node.Start(show)
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.Wait(); err != nil || strings.Count(links.String(), ":") != 2 {
		t.Errorf("a process in the namespace sees, %v:\n%s", err, &links)
	}
	sleep, err := p.A.Node.Start(exec.Command("sleep", "1000"))
	if err != nil {
		t.Fatal(err)
	}
	var ended *exec.ExitError
	if err := sleep.Stop(patience); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("stopped by SIGTERM: %v", err)
	}
	deaf := exec.Command("sh", "-c", `trap "" TERM; echo ready; sleep 1000`)
	ready, err := deaf.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stubborn, err := p.A.Node.Start(deaf)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ready.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if err := stubborn.Stop(time.Millisecond); err == nil || !strings.Contains(err.Error(), "did not end") {
		t.Errorf("a process that ignores SIGTERM: %v", err)
	}
	if _, err := p.A.Node.Start(exec.Command("/no/such/program")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
}
