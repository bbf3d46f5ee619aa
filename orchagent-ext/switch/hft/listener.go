// SPDX-License-Identifier: Apache-2.0

package hft

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Names in generic netlink (hftelorch.cpp of sonic-swss).
const (
	family = "sonic_stel"
	group  = "ipfix"
)

const (
	room     = 1 << 20 // octets of a datagram
	patience = 500     // ms that a read waits
)

// Available reports whether the kernel has the family, by which counters are streamed.
func Available() bool {
	_, err := netlink.GenlFamilyGet(family)
	return err == nil
}

// open opens a socket in the group. It takes CAP_NET_ADMIN.
func open() (fd int, err error) {
	f, err := netlink.GenlFamilyGet(family)
	if err != nil {
		return -1, fmt.Errorf("the kernel has no %s: %w", family, err)
	}
	id := 0
	for _, g := range f.Groups {
		if g.Name == group {
			id = int(g.ID)
		}
	}
	if fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_GENERIC); err != nil {
		return -1, fmt.Errorf("open a netlink socket for High Frequency Telemetry: %w", err)
	}
	if err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, id)
	}
	if err != nil {
		return -1, errors.Join(fmt.Errorf("listen to High Frequency Telemetry: %w", err), unix.Close(fd))
	}
	return fd, nil
}

// Listener keeps the latest counters of queues. Its methods may be called from any goroutine.
type Listener struct {
	// Open opens the socket; it is set before Run, and nil for the kernel's.
	Open func() (fd int, err error)

	mu      sync.Mutex
	session *Session
	of      [3]string // the source of session
	latest  map[string]Counters
	at      time.Time // of the last message
	err     error     // why there is none; nil: there is one
}

// Begin has messages read by a session, by the fields of its row; without any, by none.
func (l *Listener) Begin(config, names, labels string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of := [3]string{config, names, labels}; of != l.of {
		l.of, l.session, l.latest, l.err = of, nil, map[string]Counters{}, nil
		if config != "" {
			l.session, l.err = NewSession(config, names, labels)
		}
	}
}

// Latest returns the counters of a queue, PORT|NUMBER, where a message had them since a time.
func (l *Listener) Latest(queue string, since time.Time) (c Counters, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok = l.latest[queue]
	return c, ok && c.Depth() && !l.at.Before(since)
}

// Err returns why messages cannot be read; nil: they can.
func (l *Listener) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Run reads messages until ctx is done. The error is that of the socket.
func (l *Listener) Run(ctx context.Context) error {
	opened := open
	if l.Open != nil {
		opened = l.Open
	}
	fd, err := opened()
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	b := make([]byte, room)
	for ctx.Err() == nil {
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, patience); n <= 0 || err != nil {
			continue
		}
		n, _, err := unix.Recvfrom(fd, b, unix.MSG_DONTWAIT)
		if err != nil { // ENOBUFS: some were lost, and later ones have all counters
			continue
		}
		l.take(b[:n], time.Now())
	}
	return nil
}

// take takes a datagram.
func (l *Listener) take(b []byte, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == nil {
		return
	}
	if l.err = l.session.parse(b, l.latest); l.err == nil {
		l.at = now
	}
}
