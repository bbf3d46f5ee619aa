// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Frame is one that arrived.
type Frame struct {
	Time time.Time // when the kernel received it
	Data []byte    // from the Ethernet header on, untagged
}

// A Capture keeps every frame that arrives on an interface, in memory. Its
// methods may be called from any goroutine.
type Capture struct {
	socket *os.File
	where  string
	fabric *Fabric
	ended  chan struct{} // closed when read has returned

	mu     sync.Mutex
	frames []Frame
	more   chan struct{} // closed, and made again, when a frame comes
	err    error         // why reading ended
}

// receiveBuffer is room for frames that are read late, octets as the kernel
// counts them.
const receiveBuffer = 64 << 20

// Capture starts to capture the frames that arrive on the interface, all from its
// return on. Stop it in the end.
func (i *Interface) Capture() (*Capture, error) {
	// Bound to a protocol only when its options are set.
	fd, err := i.PacketSocket(0)
	if err != nil {
		return nil, err
	}
	c := &Capture{
		socket: os.NewFile(uintptr(fd), "packet socket"), where: i.Name + " of " + i.Node.Name, fabric: i.Node.fabric,
		ended: make(chan struct{}), more: make(chan struct{}),
	}
	for _, o := range []struct{ level, name, value int }{
		{unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer},
		{unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1},
		{unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1},
	} {
		if err == nil {
			err = unix.SetsockoptInt(fd, o.level, o.name, o.value)
		}
	}
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: bigEndian(unix.ETH_P_ALL), Ifindex: i.Index})
	}
	var raw syscall.RawConn
	if err == nil {
		raw, err = c.socket.SyscallConn()
	}
	if err != nil {
		_ = c.socket.Close()
		return nil, fmt.Errorf("capture on %s: %w", c.where, err)
	}
	go c.read(raw)
	return c, nil
}

// Len is the number of frames so far.
func (c *Capture) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.frames)
}

// Frames are the frames so far.
func (c *Capture) Frames() []Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fabric.read.Add(int64(len(c.frames)))
	return slices.Clone(c.frames)
}

// Wait waits until n frames have arrived, or ctx is done.
func (c *Capture) Wait(ctx context.Context, n int) error {
	for {
		c.mu.Lock()
		have, more, err := len(c.frames), c.more, c.err
		c.mu.Unlock()
		if have >= n || err != nil {
			return err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d frames arrived on %s: %w", c.Len(), n, c.where, ctx.Err())
		}
	}
}

// Stop ends the capture and returns its frames in the order of their arrival. It
// is an error when the kernel dropped frames because they were read too late. It
// may be called once.
func (c *Capture) Stop() ([]Frame, error) {
	if err := c.socket.SetReadDeadline(time.Now()); err != nil { // ends read
		return nil, fmt.Errorf("capture on %s: %w", c.where, err)
	}
	<-c.ended
	dropped, err := c.dropped()
	_ = c.socket.Close()
	if err == nil {
		err = c.err
	}
	if err == nil && dropped > 0 {
		err = fmt.Errorf("capture on %s: %d frames did not fit into the receive buffer", c.where, dropped)
	}
	c.fabric.read.Add(int64(len(c.frames)))
	return c.frames, err
}

// FramesRead returns how many frames captures of the node's fabric have returned to those who
// read them, each as often as it was returned.
func (n *Node) FramesRead() int64 { return n.fabric.read.Load() }

// dropped returns how many frames the kernel dropped since the last call
// (PACKET_STATISTICS).
func (c *Capture) dropped() (n uint32, err error) {
	raw, err := c.socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var s *unix.TpacketStats
	if ctlErr := raw.Control(func(fd uintptr) {
		s, err = unix.GetsockoptTpacketStats(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS)
	}); ctlErr != nil {
		return 0, ctlErr
	}
	if err != nil {
		return 0, fmt.Errorf("read statistics of the packet socket on %s: %w", c.where, err)
	}
	return s.Drops, nil
}

// read keeps frames until the socket's deadline, and then those that came before
// it.
func (c *Capture) read(raw syscall.RawConn) {
	defer close(c.ended)
	data, control := make([]byte, 1<<16), make([]byte, 256)
	one := func(fd uintptr) (done bool) {
		for {
			n, nControl, _, _, err := unix.Recvmsg(int(fd), data, control, 0)
			switch {
			case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENETDOWN): // the capture goes on when the interface is up again
				continue
			case errors.Is(err, unix.EAGAIN):
				return false
			case err != nil:
				c.keep(Frame{}, fmt.Errorf("capture on %s: %w", c.where, err))
			default:
				c.keep(Frame{timestamp(control[:nControl]), bytes.Clone(data[:n])}, nil)
			}
			return true
		}
	}
	for c.err == nil {
		if err := raw.Read(one); errors.Is(err, os.ErrDeadlineExceeded) {
			err = raw.Control(func(fd uintptr) {
				for c.err == nil && one(fd) {
				}
			})
			if err == nil {
				return
			}
			c.keep(Frame{}, err)
		} else if err != nil {
			c.keep(Frame{}, err)
		}
	}
}

// keep appends a frame, or keeps the first error.
func (c *Capture) keep(f Frame, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err = err; err == nil {
		c.frames = append(c.frames, f)
	}
	close(c.more)
	c.more = make(chan struct{})
}

// timestamp returns the time in a frame's control messages, else the present one.
func timestamp(control []byte) time.Time {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return time.Now()
	}
	for _, m := range messages {
		var t unix.Timespec
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) >= int(unsafe.Sizeof(t)) {
			return time.Unix((*unix.Timespec)(unsafe.Pointer(&m.Data[0])).Unix())
		}
	}
	return time.Now()
}
