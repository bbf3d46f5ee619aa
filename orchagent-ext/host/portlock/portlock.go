// SPDX-License-Identifier: Apache-2.0

package portlock

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/host/machine"
	"sluice/yang/text"
)

// prefix begins the names of the abstract sockets.
const prefix = "@sluice/port/"

// answerTime bounds the answer of a process that has a port. A stopped one lets it pass.
const answerTime = time.Second

// Locks are the locks of ports that a process programs: two processes would take them from each
// other, however different their databases are. [New] makes them. They are for one goroutine.
type Locks struct {
	holder string // of these locks, for others
	log    *slog.Logger
	held   map[string]net.Listener // by port
}

// New returns locks, at first without a port, for a process that uses databases at an address, a path or
// HOST:PORT. log is required.
func New(address string, log *slog.Logger) *Locks {
	return &Locks{holder: "with the databases at " + address, log: log, held: map[string]net.Listener{}}
}

// Take locks exactly these ports, by their names. The error names the process that has one; then
// the ports are those before.
func (l *Locks) Take(ports []string) error {
	fresh := map[string]net.Listener{}
	for _, port := range ports {
		if l.held[port] != nil {
			continue
		}
		lock, err := l.lock(port)
		if err != nil {
			for _, lock := range fresh {
				_ = lock.Close()
			}
			return err
		}
		fresh[port] = lock
	}
	for port, lock := range l.held {
		if !slices.Contains(ports, port) {
			_ = lock.Close()
			delete(l.held, port)
		}
	}
	for port, lock := range fresh {
		l.held[port] = lock
	}
	return nil
}

// Release gives up all ports.
func (l *Locks) Release() { _ = l.Take(nil) }

// lock locks a port. Where a process with other rights has it, the lock is one in name
// alone.
func (l *Locks) lock(port string) (net.Listener, error) {
	lock, err := net.Listen("unix", prefix+port)
	switch {
	case err == nil:
		go l.answer(lock)
		return lock, nil
	case !errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("lock port %s: %w", port, err)
	}
	pid, who, err := holder(port)
	if err != nil {
		return nil, fmt.Errorf("lock port %s, which another process has: %w", port, err)
	}
	if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil && machine.Effective(string(status))>>unix.CAP_NET_ADMIN&1 == 0 {
		l.log.Warn("a process that cannot program ports has the lock of a port: it is ignored", "port", port, "holder", who)
		return noLock{}, nil
	}
	return nil, fmt.Errorf("port %s of this network namespace is programmed by another sluiced, %s: end it first", port, who)
}

// answer names this process to others, until the lock is given up.
func (l *Locks) answer(lock net.Listener) {
	for {
		c, err := lock.Accept()
		if err != nil {
			return
		}
		_ = c.SetDeadline(time.Now().Add(answerTime))
		_, _ = io.WriteString(c, l.holder)
		_ = c.Close()
	}
}

// holder returns the process that has a port: its id, 0 for one outside of this PID namespace,
// and a text for the operator.
func holder(port string) (pid int32, who string, err error) {
	c, err := net.DialTimeout("unix", prefix+port, answerTime)
	if err != nil {
		return 0, "", err
	}
	defer c.Close()
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, "", err
	}
	var of *unix.Ucred
	if failed := raw.Control(func(fd uintptr) { of, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); errors.Join(failed, err) != nil {
		return 0, "", errors.Join(failed, err)
	}
	words := []string{fmt.Sprintf("PID %d of user %d", of.Pid, of.Uid)}
	if of.Pid == 0 {
		words[0] = fmt.Sprintf("of user %d in another container or on the host", of.Uid)
	}
	_ = c.SetDeadline(time.Now().Add(answerTime))
	if answer, _ := io.ReadAll(io.LimitReader(c, 256)); len(answer) > 0 {
		words = append(words, text.Printable(string(answer)))
	}
	return of.Pid, strings.Join(words, ", "), nil
}

// noLock is in place of a lock: the port stays unlocked.
type noLock struct{ net.Listener }

// Close implements [net.Listener].
func (noLock) Close() error { return nil }
