// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"sluice/orchagent-ext/host/login"
)

// Limits are those of a listener.
type Limits struct {
	Handshakes int // connections before TLS is complete
	Logins     int // anonymous connections
	Sessions   int // connections of users
	PerSource  int // sessions of one address

	LoginTime time.Duration // from the connection to the first RPC of a user

	Requests *Requests // of all connections; nil: unbounded
}

// Limits before the login that suit every listener.
const (
	Handshakes = 1024
	Logins     = 256
	LoginTime  = 10 * time.Second
)

// pace is how long the listener waits after it has displaced a connection, so that a
// client that reconnects again and again costs little CPU.
const pace = time.Millisecond

// Stats counts connections since the start.
type Stats struct {
	Waiting atomic.Int64 // connections before their login
	// Ended: connections ended before their login: in time, or by newer ones, or by their
	// client
	Ended atomic.Int64
	Open  atomic.Int64 // sessions
	// TooMany: connections closed because there were too many sessions
	TooMany atomic.Int64
	Refused atomic.Int64 // TLS handshakes that failed
	// Dropped: connections closed since the requests of all took too much memory
	Dropped atomic.Int64
}

// Listener limits the connections of another.
type Listener struct {
	net.Listener
	limits Limits
	begin  State
	stats  *Stats
	log    *slog.Logger

	mu    sync.Mutex
	pools [Session + 1]*pool
}

// Limit returns a listener that closes connections over the limits. Begin is the state in
// which its connections begin: [Handshake] with TLS, else [Login].
func Limit(l net.Listener, limits Limits, begin State, stats *Stats, log *slog.Logger) *Listener {
	return &Listener{
		Listener: l, limits: limits, begin: begin, stats: stats, log: log,
		pools: [...]*pool{newPool(limits.Handshakes), newPool(limits.Logins), newPool(limits.Sessions)},
	}
}

// Accept waits for the next connection. Another one may be closed for it. It waits a
// moment where one was, so that a flood of connections is slowed.
func (l *Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: conn, of: l, source: login.Source(conn.RemoteAddr())}
	l.stats.Waiting.Add(1)
	c.timer = time.AfterFunc(l.limits.LoginTime, func() { c.end("no login in time") })
	if l.enter(c, l.begin) {
		time.Sleep(pace)
	}
	if l.begin == Login && l.limits.Requests != nil {
		return l.limits.Requests.follow(c, c), nil
	}
	return c, nil
}

// enter brings a connection into a state before its login; it reports whether
// another one was displaced.
func (l *Listener) enter(c *Conn, s State) bool {
	l.mu.Lock()
	if c.closed {
		l.mu.Unlock()
		return false
	}
	l.pools[c.state].remove(c)
	c.state = s
	now := time.Now()
	l.pools[s].add(c, now)
	displaced := l.pools[s].surplus(now)
	l.mu.Unlock()
	if displaced == nil {
		return false
	}
	displaced.end("newer connections needed its place")
	return true
}

// admit makes a connection a session.
func (l *Listener) admit(c *Conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	sessions := l.pools[Session]
	switch {
	case c.closed || c.state == Session:
		return nil
	case len(sessions.since) >= l.limits.Sessions:
		return fmt.Errorf("%d sessions are open here, which is the limit", l.limits.Sessions)
	case sessions.sources[c.source] >= l.limits.PerSource:
		return fmt.Errorf("%d sessions from this address are open, which is the limit of one address", l.limits.PerSource)
	}
	l.pools[c.state].remove(c)
	c.state = Session
	sessions.add(c, time.Now())
	c.timer.Stop()
	l.stats.Waiting.Add(-1)
	l.stats.Open.Add(1)
	return nil
}

// leave takes a connection out. Before is the state it was in; first is false if
// it had left before.
func (l *Listener) leave(c *Conn) (before State, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.closed {
		return c.state, false
	}
	c.closed = true
	if c.requests != nil {
		c.requests.left()
	}
	l.pools[c.state].remove(c)
	c.timer.Stop()
	if c.state == Session {
		l.stats.Open.Add(-1)
	} else {
		l.stats.Waiting.Add(-1)
	}
	return c.state, true
}
