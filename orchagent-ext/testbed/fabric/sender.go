// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// PacketSocket opens an AF_PACKET socket for whole Ethernet frames on the
// interface and returns its file descriptor, non-blocking. etherType selects the
// frames that it receives: unix.ETH_P_ALL, or 0 for a socket that only sends.
func (i *Interface) PacketSocket(etherType uint16) (fd int, err error) {
	err = i.Node.Do(func() (err error) {
		fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return err
		}
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: bigEndian(etherType), Ifindex: i.Index})
		if err != nil {
			_ = unix.Close(fd)
		}
		return err
	})
	if err != nil {
		return -1, fmt.Errorf("open packet socket on %s of %s: %w", i.Name, i.Node.Name, err)
	}
	return fd, nil
}

// A Sender puts whole Ethernet frames on a link, as they are. It belongs to one
// goroutine.
type Sender struct {
	fd   int
	from *Interface
	Sent int // frames
}

// Sender opens a sender. Close it in the end.
func (i *Interface) Sender() (*Sender, error) {
	fd, err := i.PacketSocket(0)
	if err != nil {
		return nil, err
	}
	return &Sender{fd: fd, from: i}, nil
}

// Send sends a frame and returns at once: the kernel drops frames beyond its
// queue, about 1000 on their way (net.core.netdev_max_backlog). Callers that need
// each to arrive keep fewer outstanding.
func (s *Sender) Send(frame []byte) error {
	for {
		err := unix.Sendto(s.fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: s.from.Index})
		switch {
		case err == nil:
			s.Sent++
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOBUFS):
			runtime.Gosched() // the socket's send buffer is full
		default:
			return fmt.Errorf("send %d octets on %s of %s: %w", len(frame), s.from.Name, s.from.Node.Name, err)
		}
	}
}

// Close closes the socket.
func (s *Sender) Close() error { return unix.Close(s.fd) }
