// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sluice/orchagent-ext/flows/flow"
)

// ErrLost means that this node has no lease in etcd: all its ids are invalid, and new
// ones wait for the next lease.
var ErrLost = errors.New("no lease in etcd: no stream id of this node is valid")

// errReleased is the error of [Global.Allocate] for a flow that another caller released
// meanwhile.
var errReleased = errors.New("flow was released while its stream id was asked for")

// Global gives flows Stream IDs that are unique in a domain. It is safe for concurrent
// use. Its requests begin with [Global.Run].
//
// A key is the flow's as its packets leave this node: where the node writes the flow
// label, that label is in the key, or the next node has another flow.
type Global struct {
	config     Config
	validity   time.Duration
	quarantine time.Duration
	clock      func() time.Duration // since some moment, monotonic
	wake       chan struct{}        // there is something to do in etcd
	// when the log was last told why there is no lease; Run's alone
	said time.Time

	mu       sync.RWMutex
	claims   *claims
	deadline time.Duration // by clock; the ids are valid before it
	stats    Stats
	reason   error // reason that the lease is missing, as far as is known
}

var _ flow.Allocator = (*Global)(nil)

// Stats has counters since the start, and the present state.
type Stats struct {
	// flows: with an id, waiting for one, released and in quarantine
	Held, Wanted, Leaving int
	Leases, Lost          uint64 // leases taken, and of them lost
	Transactions, Unknown uint64 // sent, and of them unanswered
	Taken                 uint64 // ids that were found to be another flow's
	Changed               uint64 // flows whose id changed behind a loss
	Full                  uint64 // refused: all ids were in use
}

// New checks the configuration. Files are read, and etcd is dialed, by [Global.Run].
//
//conformance:draft-yang/allocate draft-yang/scope
func New(c Config) (*Global, error) {
	start := time.Now()
	g := newGlobal(c, Validity, Quarantine, func() time.Duration { return time.Since(start) })
	if err := g.config.check(); err != nil {
		return nil, fmt.Errorf("global stream ids: %w", err)
	}
	return g, nil
}

// newGlobal is New with the times and the clock given, for tests.
func newGlobal(c Config, validity, quarantine time.Duration, clock func() time.Duration) *Global {
	c.complete()
	return &Global{
		config: c, validity: validity, quarantine: quarantine, clock: clock,
		wake: make(chan struct{}, 1), claims: newClaims(quarantine),
	}
}

// Want requests a Stream ID for the flow until [Global.Release], and returns at once: Run
// claims an id as soon as etcd is reachable, and [Global.ID] has it then. The error is
// [flow.ErrNoStreamID] when all ids are in use, which drops the request.
func (g *Global) Want(k flow.Key) error {
	_, err := g.want(k)
	return err
}

// want returns the claim of a flow, a new one if needed, and wakes Run.
func (g *Global) want(k flow.Key) (*claim, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := g.claims.byKey[k]; f != nil {
		return f, nil
	}
	f := g.claims.want(k, g.config.Classification.name(&k), g.config.Classification.first(g.config.Seed, &k), g.clock())
	if f == nil {
		g.stats.Full++
		return nil, flow.ErrNoStreamID
	}
	g.poke()
	return f, nil
}

// Allocate returns the flow's Stream ID, and waits for etcd if it is still unknown.
//
// The flow is wanted from then on, as by [Global.Want]: when ctx ends first, or the node
// has no lease ([ErrLost], at once), the request stays, and ID has the id later.
func (g *Global) Allocate(ctx context.Context, k flow.Key) (uint16, error) {
	f, err := g.want(k)
	if err != nil {
		return 0, err
	}
	for {
		id, decided, err := g.lookup(k, f)
		if err != nil || id != 0 {
			return id, err
		}
		select {
		case <-decided:
		case <-ctx.Done():
			return 0, fmt.Errorf("stream id of %s: %w", f.name, ctx.Err())
		}
	}
}

// lookup returns the id of the flow, or an error, or the channel that closes when the
// state changes.
func (g *Global) lookup(k flow.Key, f *claim) (uint16, <-chan struct{}, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case f.err != nil:
		return 0, nil, f.err
	case g.claims.byKey[k] != f:
		return 0, nil, errReleased
	case g.clock() >= g.deadline:
		return 0, nil, ErrLost
	case f.phase == held:
		return f.id, nil, nil
	}
	if f.done == nil {
		f.done = make(chan struct{})
	}
	return 0, f.done, nil
}

// ID returns the flow's Stream ID if it has one that is valid now. It returns at once.
// Call it before each use: validity ends with the clock.
func (g *Global) ID(k flow.Key) (id uint16, ok bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	f := g.claims.byKey[k]
	if f == nil || f.phase != held || g.clock() >= g.deadline {
		return 0, false
	}
	return f.id, true
}

// Err returns the reason why the node lacks a lease, and so a valid Stream ID; nil with a
// lease, and while the first request is under way. It returns at once.
func (g *Global) Err() error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.reason == nil || g.clock() < g.deadline {
		return nil
	}
	return fmt.Errorf("%w (%w)", ErrLost, g.reason)
}

// Release ends the request of [Global.Want], and returns at once. The id is free in etcd
// after the quarantine. The ids in quarantine are bounded by the number of ids, and
// counted in [Stats].
func (g *Global) Release(k flow.Key) {
	g.mu.Lock()
	g.claims.release(k, g.clock())
	g.mu.Unlock()
	g.poke()
}

// Stats returns the counts so far.
func (g *Global) Stats() Stats {
	g.mu.RLock()
	defer g.mu.RUnlock()
	s := g.stats
	for _, f := range g.claims.byName {
		switch {
		case f.users == 0:
			s.Leaving++
		case f.phase == held:
			s.Held++
		default:
			s.Wanted++
		}
	}
	return s
}

// poke wakes Run, if it waits.
func (g *Global) poke() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}
