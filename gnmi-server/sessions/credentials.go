// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"google.golang.org/grpc/credentials"
)

// Follow returns credentials that pass the results of handshakes to the [Listener] of
// their connections.
func Follow(c credentials.TransportCredentials) credentials.TransportCredentials {
	return following{c}
}

// following are credentials that report the results of handshakes to the connection's
// Listener.
type following struct {
	credentials.TransportCredentials
}

// ServerHandshake implements [credentials.TransportCredentials].
func (f following) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := f.TransportCredentials.ServerHandshake(raw)
	c, ok := raw.(*Conn)
	switch {
	case !ok:
	case err == nil:
		c.of.enter(c, Login)
		if r := c.of.limits.Requests; r != nil {
			conn = r.follow(conn, c)
		}
	default:
		c.failed(err)
	}
	return conn, info, err
}

// Clone implements [credentials.TransportCredentials].
func (f following) Clone() credentials.TransportCredentials {
	return following{f.TransportCredentials.Clone()}
}

// failed counts a handshake that failed: the client was refused, was silent for too long,
// or left.
func (c *Conn) failed(err error) {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.end("no TLS handshake in time")
		return
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		c.left()
		_ = c.Conn.Close()
		return
	}
	if _, first := c.of.leave(c); first {
		c.of.stats.Refused.Add(1)
		c.of.log.Warn("client refused", "peer", c.name(), "error", err)
	}
	_ = c.Conn.Close()
}
