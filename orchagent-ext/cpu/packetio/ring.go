// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Receive implements [Source]. A switch that cuts packets hides their lengths: each
// counts with the length in its IP header.
func (s *Netdev) Receive(ctx context.Context, frames []Frame) (int, error) {
	if err := s.follow(ctx); err != nil {
		return 0, err
	}
	for deadline := time.Now().Add(Patience); ; {
		n := s.take(frames)
		if ports := s.ports.Load(); ports != nil && s.listening.Load() {
			n += s.samples.Load().take(frames[n:], *ports)
		}
		n = s.police(n, time.Now())
		if err := ctx.Err(); err != nil || n > 0 {
			return n, err
		}
		left := time.Until(deadline)
		if left <= 0 {
			return 0, nil
		}
		if err := s.wait(left); err != nil {
			return 0, err
		}
	}
}

// police returns how many of n packets pass at a time, the first of them, and counts the others.
//
//conformance:draft-lin/dos
func (s *Netdev) police(n int, now time.Time) int {
	rate := s.rate.Load()
	if rate == nil {
		return n
	}
	pass := s.tokens.Take(*rate, n, now.UnixNano())
	s.policed.Add(uint64(n - pass))
	return pass
}

// follow makes the end of a context end waits, too.
func (s *Netdev) follow(ctx context.Context) error {
	if ctx == s.ctx {
		return nil
	}
	if s.stop != nil {
		s.stop()
	}
	var count [8]byte
	if _, err := unix.Read(s.wake, count[:]); err != nil && !errors.Is(err, unix.EAGAIN) {
		return fmt.Errorf("read the eventfd: %w", err)
	}
	s.ctx = ctx
	wake := s.wake
	s.stop = context.AfterFunc(ctx, func() {
		one := [8]byte{}
		binary.NativeEndian.PutUint64(one[:], 1)
		_, _ = unix.Write(wake, one[:]) // it fails only when it is written already
	})
	return nil
}

// wait sleeps until packets, a sample, a wake-up or the end of d. Signals end it early,
// without an error.
func (s *Netdev) wait(d time.Duration) error {
	fds := [...]unix.PollFd{
		{Fd: int32(s.fd), Events: unix.POLLIN}, {Fd: int32(s.wake), Events: unix.POLLIN},
		{Fd: -1, Events: unix.POLLIN}, // which poll leaves out
	}
	if s.listening.Load() {
		fds[2].Fd = int32(s.samples.Load().fd)
	}
	milliseconds := int(d.Milliseconds()) + 1
	if _, err := unix.Poll(fds[:], milliseconds); err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("wait for packets: %w", err)
	}
	return nil
}

// take returns the packets in the ring. It returns a block to the kernel when all of its
// packets were taken, and their data is invalid then.
func (s *Netdev) take(frames []Frame) (n int) {
	ports, why := s.ports.Load(), Why(s.why.Load())
	for n < len(frames) {
		b := s.ring[s.block*blockSize:][:blockSize]
		head := (*unix.TpacketHdrV1)(unsafe.Pointer(&b[blockHeader]))
		if s.left == 0 {
			if s.next != 0 { // its packets are invalid from the next call on
				if n > 0 {
					return n
				}
				s.next = 0
				atomic.StoreUint32(&head.Block_status, unix.TP_STATUS_KERNEL)
				s.block = (s.block + 1) % blocks
				continue
			}
			if atomic.LoadUint32(&head.Block_status)&unix.TP_STATUS_USER == 0 {
				return n
			}
			s.left, s.next = head.Num_pkts, head.Offset_to_first_pkt
			continue
		}
		h := (*unix.Tpacket3Hdr)(unsafe.Pointer(&b[s.next]))
		from := (*unix.RawSockaddrLinklayer)(unsafe.Pointer(&b[s.next+addressOffset]))
		index := uint32(from.Ifindex)
		if ports != nil && (*ports)[index] != "" {
			data := b[s.next+uint32(h.Mac):][:h.Snaplen:h.Snaplen]
			frames[n] = Frame{Data: data, Length: longest, Ingress: index, From: uint64(index), Why: why, At: int64(h.Sec)*1e9 + int64(h.Nsec)}
			n++
		}
		s.left--
		if s.left > 0 {
			s.next += h.Next_offset
		}
	}
	return n
}

// Offsets in a block (linux/if_packet.h): after version and offset
// the block's header; the sender's address behind the packet's header.
const (
	blockHeader   = 8
	addressOffset = (unix.SizeofTpacket3Hdr + unix.TPACKET_ALIGNMENT - 1) &^ (unix.TPACKET_ALIGNMENT - 1)
)
