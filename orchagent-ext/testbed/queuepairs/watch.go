// SPDX-License-Identifier: Apache-2.0

package queuepairs

import (
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric"
)

// Watch reads the numbers of packets at a host: which came in another order, and when the
// last gap ended.
type Watch struct {
	fd        int
	highest   [mostFlows]atomic.Uint32
	Reordered int64     // packets that came after a later one of their flow
	LastGap   time.Time // of a flow: when a packet came after some that are lost
	stop      chan struct{}
	done      chan error
}

// watchBuffer is the socket's buffer, large enough for the packets of a reader that waits
// for a processor.
const watchBuffer = 64 << 20 // octets that wait for the reader

// mostFlows is how many flows of a load a Watch follows: the first ones.
const mostFlows = 64

// StartWatch begins to record the packets of a [Load] that arrive at a host, in a goroutine.
// Its results are valid after End.
func StartWatch(b *fabric.Interface) (*Watch, error) {
	fd, err := b.PacketSocket(unix.ETH_P_ALL)
	if err != nil {
		return nil, err
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, watchBuffer); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	w := &Watch{fd: fd, stop: make(chan struct{}), done: make(chan error, 1)}
	go func() { w.done <- w.run() }()
	return w, nil
}

// run reads packets until End. It needs their first 128 octets only.
func (w *Watch) run() error {
	b := make([]byte, 128)
	poll := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Read(w.fd, b)
		switch {
		case err == nil:
			w.see(b[:n])
		case errors.Is(err, unix.EAGAIN):
			select {
			case <-w.stop:
				return nil
			default:
			}
			_, _ = unix.Poll(poll, 10)
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
}

// see takes a packet. The first packet of a flow counts as in order: the numbers before
// it are unknown.
func (w *Watch) see(frame []byte) {
	if len(frame) < 64 || frame[12] != 0x86 && frame[12] != 0x08 {
		return
	}
	at := bthAt(frame)
	if len(frame) < at+12 || frame[at-6] != 0x12 || frame[at-5] != 0xb7 {
		return
	}
	flow := int(frame[at+5])<<16 | int(frame[at+6])<<8 | int(frame[at+7]) - FirstQP
	if flow < 0 || flow >= mostFlows {
		return
	}
	psn := uint32(frame[at+9])<<16 | uint32(frame[at+10])<<8 | uint32(frame[at+11])
	switch was := w.highest[flow].Load(); {
	case was == 0:
	case psn < was:
		w.Reordered++
		return
	case psn > was+1:
		w.LastGap = time.Now()
	}
	w.highest[flow].Store(psn)
}

// Latest returns the number of the latest packet of a flow, from any goroutine; 0: none came. It
// goes round after 2^24 packets.
func (w *Watch) Latest(flow int) uint32 { return w.highest[flow].Load() }

// End stops the reader and returns its error.
func (w *Watch) End() error {
	close(w.stop)
	return errors.Join(<-w.done, unix.Close(w.fd))
}
