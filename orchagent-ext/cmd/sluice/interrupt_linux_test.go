// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestInterruptAgain: what a first interrupt cannot reach, such as the opening of
// a pipe without a reader, a second one ends.
func TestInterruptAgain(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "export", captures+"rc-send-ipv4.pcap", "--file", pipe)
	cmd.Env = append(os.Environ(), asTool+"=1")
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
