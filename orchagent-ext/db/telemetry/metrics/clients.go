// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Bounds of connections. Each takes a file descriptor, of which the databases need some,
// too.
const (
	mostClients   = 64 // connections at once
	fewestClients = 4
	// shareOfFiles: of the descriptors of the process, clients may have one in so many
	shareOfFiles = 16
)

// clientLimit is how many connections a process of so many descriptors takes: the
// switch and the databases must find free ones, however many clients there are.
func clientLimit(descriptors uint64) int {
	return int(max(min(descriptors/shareOfFiles, mostClients), fewestClients))
}

// descriptors is how many this process may have. The runtime of Go has raised the soft
// limit to the hard one.
func descriptors() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return limit.Cur
}

// clients bounds the connections. A new one takes the place of the one that has waited
// longest outside of a handler, so that silent connections, and half requests, leave room
// for others; where all are in handlers, the new one is closed.
type clients struct {
	limit  int
	closed atomic.Uint64 // for lack of room

	mu      sync.Mutex
	all     map[net.Conn]bool
	waiting []net.Conn // those outside of handlers, the oldest first
}

// newClients returns a bound of so many connections.
func newClients(limit int) *clients { return &clients{limit: limit, all: map[net.Conn]bool{}} }

// state is the server's [http.Server.ConnState].
func (c *clients) state(conn net.Conn, is http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch is {
	case http.StateNew:
		c.all[conn] = true
		c.waiting = append(c.waiting, conn)
		if len(c.all) > c.limit {
			c.closed.Add(1)
			oldest := c.waiting[0]
			c.forget(oldest)
			_ = oldest.Close() // its goroutine sees that
		}
	case http.StateClosed, http.StateHijacked:
		c.forget(conn)
	}
}

// forget removes a closed connection.
func (c *clients) forget(conn net.Conn) {
	delete(c.all, conn)
	c.waiting = slices.DeleteFunc(c.waiting, func(w net.Conn) bool { return w == conn })
}

// connKey is the key of the connection in a request's context.
type connKey struct{}

// context is the server's [http.Server.ConnContext].
func (c *clients) context(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// handler notes which connections are in h.
func (c *clients) handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn := r.Context().Value(connKey{}).(net.Conn)
		c.mu.Lock()
		c.waiting = slices.DeleteFunc(c.waiting, func(w net.Conn) bool { return w == conn })
		c.mu.Unlock()
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.all[conn] {
				c.waiting = append(c.waiting, conn)
			}
		}()
		h.ServeHTTP(w, r)
	})
}
