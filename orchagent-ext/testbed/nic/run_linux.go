// SPDX-License-Identifier: Apache-2.0

package nic

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// longestWait bounds how late the end of a context is seen.
const longestWait = 20 * time.Millisecond

// Monotonic is the clock of [Run], ns.
func Monotonic() int64 {
	var ts unix.Timespec
	// cannot fail for this clock
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

// Run sends the flows of an adapter by a packet socket (AF_PACKET, raw, bound to an
// interface for all protocols, non-blocking) until a time of [Monotonic] or the end of
// ctx, and obeys the notifications that arrive there. It occupies one thread.
func Run(ctx context.Context, fd int, c Config, start, until int64) (Counters, error) {
	runtime.LockOSThread()
	// A sleep ends on time, instead of up to 50 µs late, the default slack (prctl(2),
	// PR_SET_TIMERSLACK).
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // lacking it only makes the pace coarser
	if c.Realtime {
		// The thread stays locked: it ends with this goroutine, and its priority with it.
		_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0) // it lacks the right: a busy machine makes pauses
	} else {
		defer runtime.UnlockOSThread()
	}
	s := NewSender(c, start)
	toReal := time.Now().UnixNano() - Monotonic()
	// An adapter takes a notification when it arrives, whenever this thread has a CPU.
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		return s.Counters(start), fmt.Errorf("ask for times of arrival: %w", err)
	}
	frame, in := make([]byte, 0, 1<<14), make([]byte, 1<<14)
	for i := range c.Flows {
		if !c.Connect {
			break
		}
		var err error
		if frame, err = c.Flows[i].request(frame, c.MAC, c.Next); err == nil {
			err = send(fd, frame)
		}
		if err != nil {
			return s.Counters(start), err
		}
	}
	for {
		now := Monotonic()
		if now >= until || ctx.Err() != nil || s.Ended() {
			err := linger(ctx, fd, s, toReal, in)
			return s.Counters(now), err
		}
		if err := receive(fd, s, now, toReal, in); err != nil {
			return s.Counters(now), err
		}
		flow, at := s.Next(now)
		if flow < 0 || at > now {
			wait(fd, min(at, until)-now)
			continue
		}
		n, offered := s.Send(now, flow)
		var err error
		if frame, err = c.Flows[flow].frame(frame, c.MAC, c.Next, n, offered+toReal); err != nil {
			return s.Counters(now), err
		}
		if err := send(fd, frame); err != nil {
			return s.Counters(now), err
		}
	}
}

// lingerFor is how long the last acknowledgements may take.
const lingerFor = int64(time.Second)

// linger takes the acknowledgements that are still missing.
func linger(ctx context.Context, fd int, s *Sender, toReal int64, in []byte) error {
	for end := Monotonic() + lingerFor; s.Waiting() && ctx.Err() == nil; {
		now := Monotonic()
		if now >= end {
			break
		}
		if err := receive(fd, s, now, toReal, in); err != nil {
			return err
		}
		if s.Waiting() {
			wait(fd, end-now)
		}
	}
	return nil
}

// receiveBurst bounds how long frames that come in keep others from being sent.
const receiveBurst = 16

// receive passes the frames that wait to the sender, with the times at which they arrived, at
// most receiveBurst of them, so that sending goes on. toReal is the difference of the clocks.
func receive(fd int, s *Sender, now, toReal int64, in []byte) error {
	var control [128]byte
	for range receiveBurst {
		n, nControl, _, _, err := unix.Recvmsg(fd, in, control[:], unix.MSG_DONTWAIT)
		switch {
		case err == nil:
			s.Receive(min(now, Timestamp(control[:nControl])-toReal), in[:n])
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.EINTR):
		default:
			return fmt.Errorf("receive on the adapter: %w", err)
		}
	}
	return nil
}

// wait sleeps for ns, at most longestWait, or until a frame comes.
func wait(fd int, ns int64) {
	ts := unix.NsecToTimespec(max(min(ns, int64(longestWait)), 0))
	// An error of an interrupted poll is ignored: the loop reads the clock next.
	_, _ = unix.Ppoll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, &ts, nil)
}

// send writes one frame and waits while the device's queue is full.
func send(fd int, frame []byte) error {
	for {
		_, err := unix.Write(fd, frame)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOBUFS):
			runtime.Gosched()
		default:
			return fmt.Errorf("send on the adapter: %w", err)
		}
	}
}

// Listen prepares a packet socket as for [Run] for [Sink]: from then on the kernel keeps
// arrivals in its buffer, before Sink reads them.
func Listen(fd int) error {
	for _, o := range []struct{ level, name, value int }{
		{unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64 << 20},
		{unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1},
		{unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1},
	} {
		if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
			return fmt.Errorf("set up the receiver: %w", err)
		}
	}
	return nil
}

// Sink passes frames of a socket of [Listen] to a receiver, with the kernel's time of
// arrival, until ctx ends and the socket is drained.
func Sink(ctx context.Context, fd int, r *Receiver) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	frame, control := make([]byte, 1<<14), make([]byte, 128)
	for {
		n, nControl, _, _, err := unix.Recvmsg(fd, frame, control, unix.MSG_DONTWAIT)
		switch {
		case err == nil:
			if answer := r.Receive(Timestamp(control[:nControl]), frame[:n]); answer != nil {
				if err := send(fd, answer); err != nil {
					return err
				}
			}
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			if ctx.Err() != nil {
				return dropped(fd)
			}
			wait(fd, int64(longestWait))
		default:
			return fmt.Errorf("receive: %w", err)
		}
	}
}

// Verify passes frames of a socket of [Open] to a verifier, until ctx ends or count
// packets came; with count 0 only ctx ends it. It returns the number of frames that the
// full socket dropped.
func Verify(ctx context.Context, fd int, v *Verifier, count uint64) (lost uint64, err error) {
	// The larger buffer needs more rights than the socket.
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 64<<20)
	}
	frame := make([]byte, 1<<16)
	for ctx.Err() == nil && (count == 0 || v.Packets < count) {
		n, _, err := unix.Recvfrom(fd, frame, unix.MSG_DONTWAIT)
		switch {
		case err == nil:
			if answer := v.Receive(frame[:n]); answer != nil {
				if err := send(fd, answer); err != nil {
					return 0, err
				}
			}
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			wait(fd, int64(longestWait))
		default:
			return 0, fmt.Errorf("receive: %w", err)
		}
	}
	s, err := unix.GetsockoptTpacketStats(fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return 0, fmt.Errorf("receive: %w", err)
	}
	return uint64(s.Drops), nil
}

// dropped returns an error with the number of frames that the full socket dropped, or
// nil.
func dropped(fd int) error {
	s, err := unix.GetsockoptTpacketStats(fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err == nil && s.Drops > 0 {
		err = fmt.Errorf("receive: %d frames did not fit into the socket's buffer", s.Drops)
	}
	return err
}

// Timestamp is the kernel's SO_TIMESTAMPNS, ns since 1970.
func Timestamp(control []byte) int64 {
	if len(control) >= unix.CmsgSpace(int(unsafe.Sizeof(unix.Timespec{}))) {
		return (*unix.Timespec)(unsafe.Pointer(&control[unix.CmsgLen(0)])).Nano()
	}
	return time.Now().UnixNano()
}
