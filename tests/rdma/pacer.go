// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric"
)

// A pacer is what soft-RoCE lacks: an adapter's rate for each queue pair. It takes the place of the
// bridge between a guest and the fabric, and sends the packets of a flow no faster than the Rate
// Advice that came for it last. Advice is not passed to the guest.
type pacer struct {
	tap, wire int // packet sockets
	node      *fabric.Node
	names     [2]string
	closed    atomic.Bool
	wg        sync.WaitGroup

	mu     sync.Mutex
	flows  map[uint32]*paced // by destination queue pair
	failed error
}

// paced is a flow of the pacer.
type paced struct {
	first   time.Time // packet of the flow
	advised time.Time // when the first advice came, or zero
	mbps    uint32    // of the last advice, or 0
	next    time.Time // when the next packet may leave
	waiting [][]byte  // bounded by the window of the queue pair
	octets  int       // that left
}

const (
	adviceOpcode = 0xc5 // PROTOCOLS: manufacturer range
	pacerTick    = time.Millisecond
)

// startPacer takes a guest off its bridge. Close it in the end.
func startPacer(e *end) (*pacer, error) {
	p := &pacer{node: e.port.Node, names: [2]string{"tap0", e.port.Name}, flows: map[uint32]*paced{}}
	for _, name := range p.names {
		if err := p.bridge(name, "nomaster"); err != nil {
			return nil, err
		}
	}
	for i, to := range []*int{&p.tap, &p.wire} {
		if err := p.node.Do(func() (err error) {
			*to, err = packetSocket(p.names[i])
			return err
		}); err != nil {
			return nil, err
		}
	}
	p.wg.Go(func() { p.fail(p.forth()) })
	p.wg.Go(func() { p.fail(p.back()) })
	return p, nil
}

// packetSocket opens a socket for the frames that arrive on an interface of this namespace.
func packetSocket(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	i, err := interfaceIndex(name)
	if err == nil {
		err = errors.Join(
			unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20),
			unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: 0x0300, Ifindex: i})) // ETH_P_ALL in network order
	}
	return fd, err
}

// interfaceIndex asks the kernel, and not package net, which remembers names of other namespaces.
func interfaceIndex(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }()
	request, err := unix.NewIfreq(name)
	if err == nil {
		err = unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, request)
	}
	if err != nil {
		return 0, fmt.Errorf("find interface %s: %w", name, err)
	}
	return int(request.Uint32()), nil
}

func (p *pacer) bridge(name, how string) error {
	cmd := exec.Command("ip", append([]string{"-n", p.node.Namespace, "link", "set", name}, strings.Fields(how)...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", cmd, err, out)
	}
	return nil
}

func (p *pacer) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = errors.Join(p.failed, err)
}

// forth carries frames of the guest, by the rates of their flows.
func (p *pacer) forth() error {
	return p.carry(p.tap, func(frame []byte) error {
		if len(frame) == 0 {
			return p.release(time.Now())
		}
		packet, ok := parse(frame)
		if !ok || packet.destQP <= 1 {
			return send(p.wire, frame)
		}
		p.mu.Lock()
		f := p.flows[packet.destQP]
		if f == nil {
			f = &paced{first: time.Now()}
			p.flows[packet.destQP] = f
		}
		f.waiting = append(f.waiting, frame)
		p.mu.Unlock()
		return p.release(time.Now())
	})
}

// release sends the packets that are due.
func (p *pacer) release(now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.flows {
		for len(f.waiting) > 0 && !f.next.After(now) {
			frame := f.waiting[0]
			f.waiting = f.waiting[1:]
			if f.mbps != 0 {
				if f.next.Before(now.Add(-10 * pacerTick)) { // unused time expires
					f.next = now
				}
				f.next = f.next.Add(time.Duration(len(frame)*8*1000/int(f.mbps)) * time.Nanosecond)
			}
			f.octets += len(frame)
			if err := send(p.wire, frame); err != nil {
				return err
			}
		}
	}
	return nil
}

// back carries frames to the guest, and keeps advice.
func (p *pacer) back() error {
	return p.carry(p.wire, func(frame []byte) error {
		if len(frame) == 0 {
			return nil
		}
		packet, ok := parse(frame)
		if !ok || packet.opcode != adviceOpcode {
			return send(p.tap, frame)
		}
		// After the BTH: rate, version, queue pairs of the sender and the receiver, ICRC.
		body := frame[len(frame)-icrcSize-16:]
		p.mu.Lock()
		defer p.mu.Unlock()
		if f := p.flows[binary.BigEndian.Uint32(body[12:])]; f != nil {
			if f.advised.IsZero() {
				f.advised = time.Now()
			}
			f.mbps = binary.BigEndian.Uint32(body)
		}
		return nil
	})
}

// carry passes frames to take as they arrive, and an empty one after a tick without.
func (p *pacer) carry(from int, take func([]byte) error) error {
	buffer := make([]byte, 1<<16)
	for !p.closed.Load() {
		n, err := unix.Read(from, buffer)
		switch {
		case errors.Is(err, unix.EAGAIN):
			timeout := unix.NsecToTimespec(int64(pacerTick))
			_, _ = unix.Ppoll([]unix.PollFd{{Fd: int32(from), Events: unix.POLLIN}}, &timeout, nil) // whatever ended it: the loop reads
			n = 0
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENETDOWN):
			continue
		case err != nil:
			return err
		}
		if err := take(append([]byte(nil), buffer[:n]...)); err != nil {
			return err
		}
	}
	return nil
}

// send waits for room in the socket.
func send(fd int, frame []byte) error {
	for {
		_, err := unix.Write(fd, frame)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.EINTR) {
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, 1) // it is tried again in any case
			continue
		}
		return err
	}
}

// reached returns a copy of the flows' state.
func (p *pacer) reached() map[uint32]paced {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[uint32]paced{}
	for qp, f := range maps.All(p.flows) {
		all[qp] = *f
	}
	return all
}

// close gives the guest its bridge back.
func (p *pacer) close() error {
	p.closed.Store(true)
	p.wg.Wait()
	err := errors.Join(p.failed, unix.Close(p.tap), unix.Close(p.wire))
	for _, name := range p.names {
		err = errors.Join(err, p.bridge(name, "master br0"))
	}
	return err
}
