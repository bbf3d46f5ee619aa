// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// keepAlive is how often the kernel asks whether a Redis over TCP is there.
const keepAlive = 5 * time.Minute

// conn is a connection to Redis. go-redis allocates each length that a peer announces, so
// conn follows the lengths and fails before one that is too large is passed on.
type conn struct {
	net.Conn
	replies  replies
	answered atomic.Bool // Redis has sent something
}

// dial connects to Redis. It implements the Dialer of go-redis' options.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: ioTimeout, KeepAlive: keepAlive}
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// Read implements [net.Conn]. A reply above maxReply is an error in place of the octets that
// announce it; so is a refusal, after which Redis closes the connection.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.answered.Swap(true) {
		if why := refusal(b[:n]); why != nil {
			return 0, why
		}
	}
	if fault := c.replies.take(b[:n]); fault != nil {
		return 0, fault
	}
	return n, err
}

// Write implements [net.Conn]. Redis that closes a connection at once, as one with too many
// clients does, has sent the reason before: that is the error in place of "broken pipe".
func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err == nil || c.answered.Load() || !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		return n, err
	}
	reason := make([]byte, 256)
	if c.SetReadDeadline(time.Now().Add(ioTimeout)) != nil {
		return n, err
	}
	if got, _ := c.Conn.Read(reason); refusal(reason[:got]) != nil {
		err = refusal(reason[:got])
	}
	return n, err
}

// tooMany begins the only reply that Redis sends without a command (Redis "Client handling",
// maximum concurrent connected clients).
const tooMany = "-ERR max number of clients"

// refusal returns the error of a first reply by which Redis refuses a connection, or nil.
func refusal(reply []byte) error {
	if !bytes.HasPrefix(reply, []byte(tooMany)) {
		return nil
	}
	line, _, _ := bytes.Cut(reply[1:], []byte("\r\n"))
	return fmt.Errorf("refused by Redis: %s", line)
}

// SyscallConn implements [syscall.Conn], by which go-redis finds out whether Redis has closed
// a connection that was unused.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	s, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return s.SyscallConn()
}
