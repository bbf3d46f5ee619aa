// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxOnTheWay bounds the frames that are on their way in one direction of a
// delayed link. More are dropped and counted.
const maxOnTheWay = 1 << 14

// A Delay carries frames between the two ends of a delayed link. It belongs to the
// fabric, which ends it.
type Delay struct {
	Of time.Duration // one way
	// frames that found maxOnTheWay others on their way, or the other end down
	Dropped atomic.Uint64

	taps   [2]int // file descriptors, or 0
	closed atomic.Bool
	wg     sync.WaitGroup
}

// DelayedLink connects two nodes as [Fabric.Link] does, by a link on which a frame takes
// a time in each direction: two TAP devices, and this process between them. It keeps the
// order. It carries some 100,000 frames a second, and needs this process to run.
func (f *Fabric) DelayedLink(a *Node, aName string, b *Node, bName string, delay time.Duration) (*Interface, *Interface, *Delay, error) {
	f.links++
	x, y := f.end(a, aName, 0), f.end(b, bName, 1)
	x.peer, y.peer = y, x
	d := &Delay{Of: delay}
	f.delays = append(f.delays, d)
	for side, i := range []*Interface{x, y} {
		if err := i.tap(d, side); err != nil {
			return nil, nil, nil, unsupported(fmt.Sprintf("make TAP %s of %s", i.Name, i.Node.Name), err)
		}
		if err := i.up(); err != nil {
			return nil, nil, nil, fmt.Errorf("set %s of %s up: %w", i.Name, i.Node.Name, err)
		}
	}
	for _, i := range []*Interface{x, y} {
		if err := i.running(); err != nil {
			return nil, nil, nil, err
		}
		if err := i.Address(netip.PrefixFrom(i.LinkLocal, 64)); err != nil {
			return nil, nil, nil, err
		}
	}
	d.carry(d.taps[0], d.taps[1])
	d.carry(d.taps[1], d.taps[0])
	return x, y, d, nil
}

// tap makes the device in the node's namespace.
func (i *Interface) tap(d *Delay, side int) error {
	return i.Node.Do(func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		var request struct {
			name  [unix.IFNAMSIZ]byte
			flags uint16
			_     [22]byte
		}
		copy(request.name[:], i.Name)
		request.flags = unix.IFF_TAP | unix.IFF_NO_PI
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TUNSETIFF, uintptr(unsafe.Pointer(&request))); errno != 0 {
			_ = unix.Close(fd)
			return errno
		}
		d.taps[side] = fd
		link, err := i.Node.netlink.LinkByName(i.Name)
		if err == nil {
			err = i.Node.netlink.LinkSetHardwareAddr(link, i.MAC)
		}
		if err == nil {
			err = i.Node.netlink.LinkSetMTU(link, MTU)
		}
		if err == nil {
			// As many as a veth's other end takes, so that each frame is read.
			err = i.Node.netlink.LinkSetTxQLen(link, maxOnTheWay)
		}
		return err
	})
}

// carry carries one direction until the link is closed, on a thread of its own that goes
// before all others where it may: else the delay is that of a busy machine.
func (d *Delay) carry(from, to int) {
	d.wg.Go(func() {
		GoFirst()
		w := onTheWay{frames: make([]delayed, maxOnTheWay)}
		for !d.closed.Load() {
			d.Dropped.Add(w.read(from, int64(d.Of)))
			d.Dropped.Add(w.write(to))
			timeout := unix.NsecToTimespec(w.wait())
			// whatever ended it: the loop looks
			_, _ = unix.Ppoll([]unix.PollFd{{Fd: int32(from), Events: unix.POLLIN}}, &timeout, nil)
		}
	})
}

// onTheWay are the frames of one direction, in a ring.
type onTheWay struct {
	frames     []delayed
	head, tail uint64 // of the next one to write, behind the last one read
}

// delayed is a frame on its way, in a buffer that is used again.
type delayed struct {
	due  int64 // CLOCK_MONOTONIC, ns
	n    int
	data []byte
}

// read takes the frames that came, to be written after a delay in ns. It returns
// how many it dropped.
func (w *onTheWay) read(fd int, delay int64) (dropped uint64) {
	for {
		f := &w.frames[w.tail%maxOnTheWay]
		full := w.tail-w.head == maxOnTheWay
		if full {
			f = &delayed{}
		}
		if f.data == nil {
			f.data = make([]byte, MTU+64)
		}
		n, err := unix.Read(fd, f.data)
		if err != nil { // the socket is empty, or the device is down
			return dropped
		}
		if full {
			dropped++
			continue
		}
		f.n, f.due = n, monotonic()+delay
		w.tail++
	}
}

// write writes the frames that are due. It returns how many frames the device
// refused.
func (w *onTheWay) write(fd int) (dropped uint64) {
	for w.head != w.tail {
		f := &w.frames[w.head%maxOnTheWay]
		if f.due > monotonic() {
			return dropped
		}
		if _, err := unix.Write(fd, f.data[:f.n]); err != nil {
			dropped++
		}
		w.head++
	}
	return dropped
}

// wait returns how long, in ns, until the next frame is due; longestWait for an
// empty queue.
func (w *onTheWay) wait() int64 {
	const longestWait = int64(20 * time.Millisecond)
	if w.head == w.tail {
		return longestWait
	}
	return min(max(w.frames[w.head%maxOnTheWay].due-monotonic(), 0), longestWait)
}

// monotonic returns the time of CLOCK_MONOTONIC in ns.
func monotonic() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // cannot fail for this clock
	return ts.Nano()
}

// close ends the delay and closes its sockets.
func (d *Delay) close() error {
	d.closed.Store(true)
	d.wg.Wait()
	var errs []error
	for _, fd := range d.taps {
		if fd != 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	return errors.Join(errs...)
}
