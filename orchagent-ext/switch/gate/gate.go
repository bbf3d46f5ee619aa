// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Priority is the purpose of a call, the most urgent first.
type Priority int

// The priorities.
const (
	Programming Priority = iota // objects of the policy, and all else that the loop calls
	Holds                       // settings of flow control, such as the marks of queues
	Depth                       // of queues, for flow control
	Statistics                  // of ports and queues

	priorities = 4
)

// String returns the name of a priority, as rows have it.
func (p Priority) String() string {
	return [priorities]string{"programming", "holds", "depth", "statistics"}[p]
}

// Priorities returns all priorities, the most urgent first.
func Priorities() []Priority { return []Priority{Programming, Holds, Depth, Statistics} }

// Pause is how long the switch has been left alone by the other priorities when [Statistics]
// gets a turn.
const Pause = time.Millisecond

// Gate gives turns at one switch. The zero value is ready, and its methods are for any goroutine.
// Its lock is held for its bookkeeping only, for less than 1 µs.
type Gate struct {
	mu      sync.Mutex
	taken   bool
	holder  Priority
	began   time.Time // of the turn: its caller runs
	waiting [priorities][]*waiter
	urgent  time.Time   // end of the last turn of another priority than Statistics
	pause   *time.Timer // grants a turn to Statistics; nil before the first
	times   [priorities]Times
}

// waiter is a caller that waits for a turn.
type waiter struct {
	since   time.Time
	granted chan struct{} // closed with the gate's lock held
}

// Enter waits for a turn, until ctx is done. After nil the caller has the turn until
// [Gate.Leave]; after the error of ctx it has none.
func (g *Gate) Enter(ctx context.Context, p Priority) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := g.enter(p)
	if w == nil {
		return nil
	}
	select {
	case <-w.granted:
		g.begin(w)
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting[p], w); i >= 0 {
		g.waiting[p] = slices.Delete(g.waiting[p], i, i+1)
	} else { // granted meanwhile
		g.taken = false
		g.grant()
	}
	return ctx.Err()
}

// begin begins the turn that a waiter was granted. Until its caller has a CPU it is still a wait: a
// turn is as long as its call.
func (g *Gate) begin(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.began = time.Now()
	g.times[g.holder].Waited.Add(nanoseconds(g.began.Sub(w.since)))
}

// enter takes the turn, or returns a waiter for it; nil: the caller has the turn.
func (g *Gate) enter(p Priority) *waiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if !g.taken && p != Statistics { // Statistics alone may be waiting
		g.taken, g.holder, g.began = true, p, now
		g.times[p].Waited.Add(0)
		return nil
	}
	w := &waiter{since: now, granted: make(chan struct{})}
	g.waiting[p] = append(g.waiting[p], w)
	g.grant()
	return w
}

// Leave ends the turn of the caller. It panics outside of a turn.
func (g *Gate) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.taken {
		panic("gate: Leave without a turn")
	}
	g.leave()
}

// Do calls f in a turn, and leaves also where f panics. After an error of [Gate.Enter] it
// returns that, and leaves f alone.
func (g *Gate) Do(ctx context.Context, p Priority, f func()) error {
	if err := g.Enter(ctx, p); err != nil {
		return err
	}
	defer g.Leave()
	f()
	return nil
}

// leave ends the turn, and grants the next one. The caller has the lock.
func (g *Gate) leave() {
	now := time.Now()
	g.times[g.holder].Held.Add(nanoseconds(now.Sub(g.began)))
	if g.holder != Statistics {
		g.urgent = now
	}
	g.taken = false
	g.grant()
}

// grant gives the turn to the next caller, if it is free. The caller has the lock.
func (g *Gate) grant() {
	if g.taken {
		return
	}
	now := time.Now()
	for _, p := range Priorities() {
		if len(g.waiting[p]) == 0 {
			continue
		}
		if rest := g.urgent.Add(Pause).Sub(now); p == Statistics && rest > 0 {
			g.grantIn(rest)
			return
		}
		w := g.waiting[p][0]
		g.waiting[p] = slices.Delete(g.waiting[p], 0, 1)
		g.taken, g.holder = true, p
		close(w.granted)
		return
	}
}

// grantIn grants the next turn after a time. The caller has the lock.
func (g *Gate) grantIn(d time.Duration) {
	if g.pause != nil {
		g.pause.Reset(d)
		return
	}
	g.pause = time.AfterFunc(d, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.grant()
	})
}

// nanoseconds returns a time as a histogram takes it.
func nanoseconds(d time.Duration) uint64 { return uint64(max(d, 0)) }
