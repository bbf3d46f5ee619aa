// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric/child"
)

// A Process runs in a node's namespace. Its methods may be called from any
// goroutine.
type Process struct {
	Pid  int
	name string
	done chan struct{}
	err  error // how it ended; valid when done is closed
}

// outputDelay is for the output of a process that has ended: another one may have its pipe.
const outputDelay = 10 * time.Second

// Start starts a command in the node's namespace. It is the leader of a process
// group, so that the terminal's Ctrl-C stays away from it, and is killed when
// this process dies. Closing the fabric kills it. It has this process'
// capabilities less those in without (unix.CAP_*).
func (n *Node) Start(cmd *exec.Cmd, without ...uintptr) (*Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = outputDelay
	enter := func() error {
		for _, c := range without {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
				return fmt.Errorf("drop capability %d: %w", c, err)
			}
		}
		if n.Hostname != "" {
			if err := Rename(n.Hostname); err != nil {
				return err
			}
		}
		return unix.Setns(int(n.ns), unix.CLONE_NEWNET)
	}
	if err := child.StartIn(cmd, enter); err != nil {
		return nil, fmt.Errorf("start %s in %s: %w", cmd.Path, n.Name, err)
	}
	p := &Process{Pid: cmd.Process.Pid, name: cmd.Path, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	n.processes = append(n.processes, p)
	return p, nil
}

// Rename gives the calling thread, and what it starts, a host name of its own
// (uts_namespaces(7)). The thread must be locked.
func Rename(name string) error {
	if err := unix.Unshare(unix.CLONE_NEWUTS); err != nil {
		return fmt.Errorf("leave the UTS namespace: %w", err)
	}
	if err := unix.Sethostname([]byte(name)); err != nil {
		return fmt.Errorf("name host %q: %w", name, err)
	}
	return nil
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits until the process has ended, and returns its error: nil for exit
// code 0.
func (p *Process) Wait() error {
	<-p.done
	return p.err
}

// Signal sends the process a signal, unless it has ended.
func (p *Process) Signal(s unix.Signal) {
	select {
	case <-p.done:
	default:
		_ = unix.Kill(p.Pid, s) // ESRCH: it ended just now
	}
}

// Kill kills the process group and waits until the process has ended.
func (p *Process) Kill() {
	select {
	case <-p.done:
	default:
		_ = unix.Kill(-p.Pid, unix.SIGKILL) // ESRCH: it ended just now
		<-p.done
	}
}

// Stop asks the process to end (SIGTERM) and kills it when it still runs after
// patience. It returns the error of its end.
func (p *Process) Stop(patience time.Duration) error {
	p.Signal(unix.SIGTERM)
	select {
	case <-p.done:
		return p.err
	case <-time.After(patience):
		p.Kill()
		return fmt.Errorf("%s did not end within %v of SIGTERM", p.name, patience)
	}
}
