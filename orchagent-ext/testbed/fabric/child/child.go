// SPDX-License-Identifier: Apache-2.0

// Package child starts processes that end with the one that started them, however
// that ends: tests and the demo start their servers by it. The kernel kills them.
package child

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start is cmd.Start for a process that the kernel kills (SIGKILL) when this one
// dies. Children of that process live on.
func Start(cmd *exec.Cmd) error { return StartIn(cmd, func() error { return nil }) }

// StartIn is Start on a thread of its own, which enter has prepared before: the
// process has that thread's network namespace. An error of enter is returned.
func StartIn(cmd *exec.Cmd, enter func() error) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = unix.SIGKILL
	started := make(chan error, 1)
	go func() {
		// The parent that has to live is, to the kernel, the thread that forked: this
		// one stays until the process has ended, and then ends with the goroutine.
		runtime.LockOSThread()
		err := enter()
		if err == nil {
			err = cmd.Start()
		}
		pid := 0
		if err == nil {
			pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			ended(pid)
		}
	}()
	return <-started
}

// ended waits for the end of a process, and leaves it to others to be waited for.
func ended(pid int) {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); !errors.Is(err, unix.EINTR) {
			return // it has ended, or was waited for already (ECHILD)
		}
	}
}
