// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"google.golang.org/grpc/peer"
	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/host/login"
)

// burst is for how many seconds a client that reads little saves its budget.
const burst = 10

// budget bounds how many leaves a client may read in a second, whatever RPCs it
// uses; a client is a user at an address.
type budget struct {
	each time.Duration // that a leaf costs

	mu  sync.Mutex
	due map[client]time.Time // when all is paid
}

// client is a user at an address, who has one budget for all connections.
type client struct {
	user   string
	source netip.Prefix
}

// newBudget returns a budget of so many leaves a second for each client.
func newBudget(leaves int) *budget {
	return &budget{each: time.Second / time.Duration(leaves), due: make(map[client]time.Time)}
}

// take takes leaves from the budget of a client, and returns how long it has to
// wait for that.
func (b *budget) take(c client, leaves int, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	due, known := b.due[c]
	if !known {
		for other, at := range b.due { // there are few, and a new one is rare
			if at.Before(now) {
				delete(b.due, other)
			}
		}
	}
	if due.Before(now) {
		due = now
	}
	due = due.Add(time.Duration(leaves) * b.each)
	b.due[c] = due
	return due.Sub(now) - burst*time.Second
}

// pay returns a function that makes an RPC wait until its client may read as many leaves.
func (s *Server) pay(ctx context.Context) func(leaves int) error {
	c := client{user: user(ctx)}
	if p, ok := peer.FromContext(ctx); ok {
		c.source = login.Source(p.Addr)
	}
	said := false
	return func(leaves int) error {
		wait := s.budget.take(c, leaves, time.Now())
		if wait <= 0 {
			return nil
		}
		s.Stats.Delayed.Add(1)
		if !said {
			said = true
			s.Log.Warn("a client exceeds its limit of leaves a second and waits", "user", c.user, "peer", peerOf(ctx), "leaves a second", s.Leaves)
		}
		if !clock.Sleep(ctx, wait) {
			return ctx.Err()
		}
		return nil
	}
}
