// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/peer"
)

const (
	// mostHeard is how many octets a connection may send before its login. A login
	// takes some hundred, and 10,000 with long chains of certificates.
	mostHeard = 128 << 10

	// mostAsked is how many RPCs without a user a connection may have.
	mostAsked = 8
)

// Conn is a connection that a [Listener] counts until it is closed.
type Conn struct {
	net.Conn
	of     *Listener
	source netip.Prefix
	timer  *time.Timer // ends it before a login

	in    atomic.Bool  // it is a session
	heard atomic.Int64 // octets that came before
	asked atomic.Int64 // RPCs before

	state    State // guarded by of.mu, as are the next
	closed   bool
	requests *requests // nil: unbounded
}

// Of returns the connection that an RPC came by, nil for a connection from outside a
// [Listener].
func Of(ctx context.Context) *Conn {
	p, _ := peer.FromContext(ctx)
	if p == nil {
		return nil
	}
	if a, ok := p.Addr.(address); ok {
		return a.conn
	}
	return nil
}

// address is that of a client; gRPC hands it to each RPC.
type address struct {
	net.Addr
	conn *Conn
}

// RemoteAddr returns the client's address. By it [Of] finds the connection of an RPC.
func (c *Conn) RemoteAddr() net.Addr { return address{c.Conn.RemoteAddr(), c} }

// Read reads from the connection, and closes one that sends too much before its login.
// The bound is 128 KiB; afterwards the error is [net.ErrClosed].
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.in.Load() && c.heard.Add(int64(n)) > mostHeard {
		c.end("it sent too much before its login")
		return 0, net.ErrClosed
	}
	return n, err
}

// Close closes the connection; its place is free then. During the handshake TLS calls it,
// and then passes the reason to [Follow].
func (c *Conn) Close() error {
	c.of.mu.Lock()
	state := c.state
	c.of.mu.Unlock()
	if state != Handshake {
		c.left()
	}
	return c.Conn.Close()
}

// left ends a connection that its client, or gRPC, has closed.
func (c *Conn) left() {
	if state, first := c.of.leave(c); first && state != Session {
		c.of.stats.Ended.Add(1)
		c.of.log.Debug("connection ended before its login", "peer", c.name())
	}
}

// end closes a connection that has waited too long for its login, or is displaced.
func (c *Conn) end(why string) {
	c.of.mu.Lock()
	session := c.state == Session
	c.of.mu.Unlock()
	if session { // the login was faster
		return
	}
	if _, first := c.of.leave(c); first {
		c.of.stats.Ended.Add(1)
		c.of.log.Warn("connection closed before its login", "peer", c.name(), "reason", why)
	}
	_ = c.Conn.Close()
}

// has takes over the counter of requests of an open connection.
func (c *Conn) has(r *requests) bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.requests = r
	return !c.closed
}

// drop closes a connection, whatever its state.
func (c *Conn) drop(why string) {
	if _, first := c.of.leave(c); first {
		c.of.stats.Dropped.Add(1)
		c.of.log.Warn("connection closed", "peer", c.name(), "reason", why)
	}
	_ = c.Conn.Close()
}

// Admit makes the connection a session once its user is known. The error says which
// limit is reached; the connection is closed after the client has the answer.
func (c *Conn) Admit() error {
	if c == nil || c.in.Load() {
		return nil
	}
	if err := c.of.admit(c); err != nil {
		time.AfterFunc(soon, func() {
			if _, first := c.of.leave(c); first {
				c.of.stats.TooMany.Add(1)
				c.of.log.Warn("connection refused", "peer", c.name(), "reason", err)
			}
			_ = c.Conn.Close()
		})
		return err
	}
	c.in.Store(true)
	return nil
}

// Ask counts an RPC without a user; after too many the connection is closed.
func (c *Conn) Ask() {
	if c != nil && !c.in.Load() && c.asked.Add(1) == mostAsked {
		time.AfterFunc(soon, func() { c.end("it asked too often before its login") })
	}
}

// soon is how long a client has to take an answer before its connection is closed.
const soon = 100 * time.Millisecond

// name returns the network and address of the client for the log.
func (c *Conn) name() string {
	a := c.Conn.RemoteAddr()
	return a.Network() + ":" + a.String()
}
