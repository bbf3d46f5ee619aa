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

	"sluice/orchagent-ext/fabric"
	"sluice/orchagent-ext/notify"
)

// sampleEvery is how often the queues of the switches are read.
const sampleEvery = 2 * time.Millisecond

// depth is what a queue held at a time.
type depth struct {
	at     time.Duration // since the run began
	octets uint64
}

// depths samples what waits at each port until ctx ends.
type depths struct {
	samples [][]depth // by port
	deepest uint64
	err     error
}

func sampleDepths(ctx context.Context, ports []*fabric.Interface, begin time.Time) *depths {
	d := &depths{samples: make([][]depth, len(ports))}
	for ctx.Err() == nil {
		for i, p := range ports {
			q, err := p.Queue()
			if err != nil {
				d.err = err
				return d
			}
			d.samples[i] = append(d.samples[i], depth{time.Since(begin), q.Octets})
			d.deepest = max(d.deepest, q.Octets)
		}
		select {
		case <-ctx.Done():
		case <-time.After(sampleEvery):
		}
	}
	return d
}

// A hearing is a notification that was seen on a link.
type hearing struct {
	at     time.Duration // since the run began
	link   int           // in the order of the links given
	kind   notify.Kind
	stream uint16
	action notify.Action
	us     uint16
}

// ears hear the notifications that arrive at interfaces.
type ears struct {
	sockets []int
	wg      sync.WaitGroup
	mu      sync.Mutex
	heard   []hearing
	err     error
}

// onlyNotifications lets through what may be a PFCM or PFC frame: data packets are
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

// listen hears until ctx ends; then Wait returns.
func listen(ctx context.Context, at []*fabric.Interface, begin time.Time) (*ears, error) {
	e := &ears{}
	raw, err := bpf.Assemble(onlyNotifications)
	if err != nil {
		return nil, err
	}
	program := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		program[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	for link, p := range at {
		fd, err := p.PacketSocket(unix.ETH_P_ALL)
		if err == nil {
			e.sockets = append(e.sockets, fd)
			err = unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
		}
		if err == nil {
			err = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1)
		}
		if err != nil {
			e.close()
			return nil, fmt.Errorf("listen at %s of %s: %w", p.Name, p.Node.Name, err)
		}
		e.wg.Go(func() { e.hear(ctx, fd, link, begin) })
	}
	return e, nil
}

func (e *ears) hear(ctx context.Context, fd, link int, begin time.Time) {
	var p notify.Packet
	frame := make([]byte, 1<<14)
	for ctx.Err() == nil {
		n, _, err := unix.Recvfrom(fd, frame, unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EAGAIN):
			ts := unix.NsecToTimespec(int64(20 * time.Millisecond))
			_, _ = unix.Ppoll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, &ts, nil) // the loop asks again
			continue
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			e.mu.Lock()
			e.err = err
			e.mu.Unlock()
			return
		}
		if p.Parse(frame[:n], notify.DefaultCodePoints()) != nil || p.Kind != notify.KindPFCM && p.Kind != notify.KindPFC {
			continue
		}
		h := hearing{at: time.Since(begin), link: link, kind: p.Kind}
		if p.Kind == notify.KindPFCM {
			h.stream, h.action, h.us = p.PFCM.StreamID, p.PFCM.Action, p.PFCM.Time
		}
		e.mu.Lock()
		e.heard = append(e.heard, h)
		e.mu.Unlock()
	}
}

// wait returns what was heard, after the context of listen has ended.
func (e *ears) wait() ([]hearing, error) {
	e.wg.Wait()
	e.close()
	return e.heard, e.err
}

func (e *ears) close() {
	e.wg.Wait()
	for _, fd := range e.sockets {
		_ = unix.Close(fd)
	}
	e.sockets = nil
}
