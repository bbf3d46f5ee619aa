// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
)

// sampleEvery is how often the queues of the switches are read.
const sampleEvery = 2 * time.Millisecond

// depth is the depth of a queue at a time.
type depth struct {
	at     time.Duration // since the run began
	octets uint64
}

// depths samples the depth at each port until ctx ends.
type depths struct {
	samples [][]depth // by port
	deepest uint64
	err     error
}

// sampleDepths reads the queues of ports round by round until ctx ends. Times are since
// begin. The first error ends it, and is in the result.
func sampleDepths(ctx context.Context, ports []*fabric.Interface, begin time.Time) *depths {
	d := &depths{samples: make([][]depth, len(ports))}
	for ctx.Err() == nil && len(ports) > 0 {
		for i, p := range ports {
			q, err := p.Queue()
			if err != nil {
				d.err = err
				return d
			}
			d.samples[i] = append(d.samples[i], depth{time.Since(begin), q.Octets})
			d.deepest = max(d.deepest, q.Octets)
		}
		clock.Sleep(ctx, sampleEvery)
	}
	return d
}

// An arrival is a notification that arrived on a link.
type arrival struct {
	at     time.Duration // since the run began
	link   int           // in the order of the links given
	kind   notify.Kind
	stream uint16
	action notify.Action
	us     uint16
}

// listeners record the notifications that arrive at interfaces.
type listeners struct {
	sockets  []int
	wg       sync.WaitGroup
	mu       sync.Mutex
	arrivals []arrival
	err      error
}

// onlyNotifications passes PFCM and PFC frames: data packets, which it drops, are
// UDP.
var onlyNotifications = []bpf.Instruction{
	bpf.LoadAbsolute{Off: 12, Size: 2},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0x8808, SkipTrue: 3},
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.ETH_P_IPV6, SkipTrue: 3},
	bpf.LoadAbsolute{Off: 20, Size: 1},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_UDP, SkipTrue: 1},
	bpf.RetConstant{Val: 1 << 16},
	bpf.RetConstant{Val: 0},
}

// attach attaches a filter to a packet socket.
func attach(fd int, filter []bpf.Instruction) error {
	raw, err := bpf.Assemble(filter)
	if err != nil {
		return err
	}
	program := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		program[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
}

// listen records until ctx ends; then wait returns.
func listen(ctx context.Context, at []*fabric.Interface, begin time.Time) (*listeners, error) {
	l := &listeners{}
	for link, p := range at {
		fd, err := p.PacketSocket(unix.ETH_P_ALL)
		if err == nil {
			l.sockets = append(l.sockets, fd)
			err = attach(fd, onlyNotifications)
		}
		if err == nil {
			err = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1)
		}
		if err != nil {
			l.close()
			return nil, fmt.Errorf("listen at %s of %s: %w", p.Name, p.Node.Name, err)
		}
		l.wg.Go(func() { l.record(ctx, fd, link, begin) })
	}
	return l, nil
}

// record stores the notifications of one link with their times until ctx ends. It polls
// every 20 ms for the end.
func (l *listeners) record(ctx context.Context, fd, link int, begin time.Time) {
	var p notify.Packet
	frame := make([]byte, 1<<14)
	for ctx.Err() == nil {
		n, _, err := unix.Recvfrom(fd, frame, unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EAGAIN):
			ts := unix.NsecToTimespec(int64(20 * time.Millisecond))
			// the loop asks again
			_, _ = unix.Ppoll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, &ts, nil)
			continue
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			l.mu.Lock()
			l.err = err
			l.mu.Unlock()
			return
		}
		if p.Parse(frame[:n], notify.DefaultCodePoints()) != nil || p.Kind != notify.KindPFCM && p.Kind != notify.KindPFC {
			continue
		}
		h := arrival{at: time.Since(begin), link: link, kind: p.Kind}
		if p.Kind == notify.KindPFCM {
			h.stream, h.action, h.us = p.PFCM.StreamID, p.PFCM.Action, p.PFCM.Time
		}
		l.mu.Lock()
		l.arrivals = append(l.arrivals, h)
		l.mu.Unlock()
	}
}

// wait returns the notifications, after the context of listen has ended.
func (l *listeners) wait() ([]arrival, error) {
	l.wg.Wait()
	l.close()
	return l.arrivals, l.err
}

// close waits for the recorders, whose context must have ended, and closes their sockets.
func (l *listeners) close() {
	l.wg.Wait()
	for _, fd := range l.sockets {
		_ = unix.Close(fd)
	}
	l.sockets = nil
}
