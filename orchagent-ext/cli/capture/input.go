// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Limits of a file's records beside its packets: descriptions of interfaces, names and
// keys, which are all kept. A real file has few of them; a small compressed one could
// hold enough to exhaust the memory.
const (
	maxOverhead = 1 << 10 // octets a packet, with its header and options
	maxBeside   = 16 << 20
)

// errNoPackets is the error of a file that would fill the memory with descriptions.
var errNoPackets = fmt.Errorf("more than %d MiB of it are no packets", maxBeside>>20)

// bounds is the file's content, as long as enough of it is packets.
type bounds struct {
	r    io.Reader
	left int64 // octets that may be read until the next packet is there
}

// Read implements [io.Reader] within the bound that is left.
func (b *bounds) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errNoPackets
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	return n, err
}

// counter counts the octets that were read through it.
type counter struct {
	ctx   context.Context
	r     io.Reader
	waits bool // reading may wait for somebody to write: it is no file
	n     int64
	room  []byte      // that an abandoned Read may still fill
	done  chan result // of the Read that is under way
	last  time.Time   // when reading ends, once ctx has

	before func() // called before each Read; nil: nothing is
}

// result is the result of a Read in a goroutine of its own.
type result struct {
	n   int
	err error
}

// grace is how long reading goes on after the end of the context: Ctrl-C ends "tcpdump |
// sluice" as a whole, and the packets that tcpdump still writes then are wanted.
const grace = time.Second

// errStopped ends a reading after the grace period of an interrupt.
var errStopped = errors.New("stopped")

// Read implements [io.Reader] and counts octets for the progress. On a pipe it reads in a
// goroutine, since an interrupt cannot end a system call that waits.
func (c *counter) Read(b []byte) (int, error) {
	if !c.last.IsZero() && !time.Now().Before(c.last) {
		return 0, errStopped
	}
	if c.before != nil {
		c.before()
	}
	if !c.waits {
		n, err := c.r.Read(b)
		c.n += int64(n)
		return n, err
	}
	if len(c.room) < len(b) {
		c.room = make([]byte, len(b))
	}
	go func() {
		n, err := c.r.Read(c.room[:len(b)])
		c.done <- result{n, err}
	}()
	var got result
	select {
	case got = <-c.done:
	case <-c.ctx.Done():
		if c.last.IsZero() {
			c.last = time.Now().Add(grace)
		}
		select {
		case got = <-c.done:
		case <-time.After(time.Until(c.last)):
			return 0, errStopped
		}
	}
	c.n += int64(got.n)
	return copy(b, c.room[:got.n]), got.err
}
