// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/tests/fabrictest"
)

// TestInterruptAgain: what a first interrupt cannot reach, such as the opening of
// a pipe without a reader, a second one ends.
func TestInterruptAgain(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "export", captures+"rc-send-ipv4.pcap", "--file", pipe)
	cmd.Env = append(os.Environ(), fabrictest.AsTool+"=1")
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil { // a warning, right before
		t.Fatalf("%q, %v", line, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for deadline := time.After(time.Minute); ; {
		select {
		case err := <-ended:
			if err == nil {
				t.Error("it ended well")
			}
			return
		case <-again.C:
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Logf("interrupt: %v", err) // it has just ended
			}
		case <-deadline:
			_ = cmd.Process.Kill()
			t.Fatal("it goes on")
		}
	}
}

// openers returns how many threads of this process wait in the opening of a FIFO.
func openers(t *testing.T) (n int) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/wchan")
	if err != nil || len(tasks) == 0 {
		t.Fatalf("threads: %d, %v", len(tasks), err)
	}
	for _, task := range tasks {
		at, _ := os.ReadFile(task) // a thread may have ended
		if strings.Contains(string(at), "wait_for_partner") || strings.Contains(string(at), "fifo_open") {
			n++
		}
	}
	return n
}

// TestInterruptEndsTheWaitForAWriter: a command that reads a FIFO without a writer ends by
// the first interrupt.
func TestInterruptEndsTheWaitForAWriter(t *testing.T) {
	databasesOf(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"decode", pipe}, {"decode", "--flows", pipe}, {"decode", "--flows", "--health", pipe}, {"observe", pipe}, {"balance", pipe}, {"export", pipe, "--file", os.DevNull},
		{"relabel", pipe, os.DevNull}, {"doctor", pipe}, {"sim", pipe}, {"diff", pipe}, {"config", "load", pipe},
	} {
		before := openers(t) // an opening outlives its command, since it cannot be interrupted
		ctx, interrupt := context.WithCancel(t.Context())
		var out, errs printed
		code := make(chan int, 1)
		go func() { code <- run(ctx, args, os.Stdin, &out, &errs) }()
		for deadline := time.Now().Add(time.Minute); openers(t) == before; time.Sleep(time.Millisecond) {
			if len(code) > 0 || time.Now().After(deadline) {
				t.Fatalf("%v: does not wait for a writer: %s", args, errs.String())
			}
		}
		interrupt()
		select {
		case got := <-code:
			if got != 1 || !strings.Contains(errs.String(), pipe+": stopped") {
				t.Errorf("%v: %d, %q", args, got, errs.String())
			}
		case <-time.After(time.Minute):
			t.Errorf("%v: goes on", args)
		}
	}
}
