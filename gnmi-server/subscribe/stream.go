// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"context"
	"errors"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"sluice/gnmi-server/paths"
	"sluice/gnmi-server/tree"
)

// ErrSlow means that more leaves have changed than the queue of the client holds.
var ErrSlow = errors.New("the client does not keep up with what changes")

// bundle is how many updates a message has at most: less than 32 KiB of most tables, as gRPC takes
// a buffer of 1 MiB for each longer one.
const bundle = 128

// Mode is the condition on which the leaves of a subscription are sent.
type Mode int

// The modes. TARGET_DEFINED becomes both, each with its leaves in [Subscription].Only.
const (
	OnChange Mode = iota
	Sample
)

// Subscription is one of the paths of a stream.
type Subscription struct {
	Query     *paths.Query
	Mode      Mode
	Interval  time.Duration // between samples
	Heartbeat time.Duration // or 0
	Suppress  bool          // a sample leaves unchanged leaves out

	// Only chooses among the leaves that the query names; nil chooses all.
	Only func(t *paths.Table, leaf string) bool
}

// Stream is a list of subscriptions of one client.
type Stream struct {
	// Live has the leaves and their changes.
	Live *tree.Live
	// Subscriptions are the paths with their modes.
	Subscriptions []Subscription
	// Encoding is that of values.
	Encoding gpb.Encoding
	// UpdatesOnly leaves out the present state (specification section 3.5.1.2).
	UpdatesOnly bool
	Target      string // of the request's prefix
	Limit       int    // leaves that may wait

	// Allow reports whether the client may see a leaf; nil: all.
	Allow func(t *paths.Table, key, leaf string) bool

	// Pay waits until the client may read as many more leaves; nil: at once.
	Pay func(leaves int) error

	// Send sends a message, and blocks until the connection takes it.
	Send func(*gpb.SubscribeResponse) error

	samples []*sampler
	choosy  bool      // a subscription to changes has Only
	origins [2]string // by style
}

// sampler is a subscription with the values that it sent last.
type sampler struct {
	*Subscription
	sent map[*tree.Cell]string // former value, of suppressed leaves
	full bool                  // the next one is complete
}

// Run sends until ctx is done or Send fails, and returns why. It returns [ErrSlow] as
// soon as more leaves wait than the limit; the caller must then end a Send that
// blocks.
func (s *Stream) Run(ctx context.Context) error {
	changes := newQueue(s.Limit, s.wantsChange)
	var onChange []*paths.Query
	for i := range s.Subscriptions {
		sub := &s.Subscriptions[i]
		s.origins[sub.Query.Style] = sub.Query.Origin
		if sub.Mode == OnChange {
			onChange = append(onChange, sub.Query)
			s.choosy = s.choosy || sub.Only != nil
		}
		s.samples = append(s.samples, &sampler{Subscription: sub})
	}
	stop := s.Live.Subscribe(changes, onChange...)
	defer stop()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.sendAll(ctx, changes) }()
	select {
	case err := <-ended:
		return err
	case <-changes.over:
		return ErrSlow
	}
}

// sendAll sends the present state, and then the changes.
func (s *Stream) sendAll(ctx context.Context, changes *queue) error {
	if err := s.initial(); err != nil {
		return err
	}
	if err := s.Send(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_SyncResponse{SyncResponse: true}}); err != nil {
		return err
	}
	return s.follow(ctx, changes)
}

// initial sends the present state, each leaf once.
func (s *Stream) initial() error {
	sent := make(map[*tree.Cell]bool)
	for _, sub := range s.samples {
		// before the cells are looked for: see [tree.Live.Apply]
		out := s.message(time.Now())
		cells, err := s.cells(sub.Subscription)
		if err != nil {
			return err
		}
		if sub.Suppress {
			sub.sent = make(map[*tree.Cell]string, len(cells))
		}
		for _, c := range cells {
			state := c.State()
			if s.UpdatesOnly || !state.Present {
				continue
			}
			if sub.Suppress {
				sub.sent[c] = state.Text
			}
			if sent[c] {
				continue
			}
			sent[c] = true
			if err := out.add(c, state, 0); err != nil {
				return err
			}
		}
		if err := out.flush(); err != nil {
			return err
		}
	}
	return nil
}

// timer is when something is due, again and again.
type timer struct {
	at    time.Time
	every time.Duration
	act   func(at time.Time) error
}

// timers returns those of all subscriptions, from now on.
func (s *Stream) timers() []*timer {
	now := time.Now()
	var all []*timer
	for _, sub := range s.samples {
		if sub.Mode == Sample {
			all = append(all, &timer{now.Add(sub.Interval), sub.Interval, func(at time.Time) error { return s.sample(sub, at) }})
		}
		if sub.Heartbeat > 0 {
			all = append(all, &timer{now.Add(sub.Heartbeat), sub.Heartbeat, func(at time.Time) error {
				if sub.Mode == Sample && !sub.Suppress && sub.Interval <= sub.Heartbeat {
					return nil // it sends everything anyway, and as often
				}
				sub.full = true
				return s.sample(sub, at)
			}})
		}
	}
	return all
}

// follow sends changes and samples. Samples that become due while the client has to wait
// are sent once, afterwards.
func (s *Stream) follow(ctx context.Context, changes *queue) error {
	all := s.timers()
	clock := time.NewTimer(time.Hour)
	defer clock.Stop()
	for {
		var next *timer
		for _, t := range all {
			if next == nil || t.at.Before(next.at) {
				next = t
			}
		}
		if next != nil {
			clock.Reset(time.Until(next.at))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changes.wake:
			if err := s.changed(changes); err != nil {
				return err
			}
		case now := <-clock.C:
			if next == nil {
				continue
			}
			next.at = next.at.Add((now.Sub(next.at)/next.every + 1) * next.every)
			if err := next.act(now); err != nil {
				return err
			}
		}
	}
}

// changed sends the leaves of the queue, up to a message; the rest wakes it again.
func (s *Stream) changed(changes *queue) error {
	out := s.message(time.Time{})
	for _, i := range changes.take(bundle) {
		if err := out.add(i.cell, i.cell.State(), i.duplicates); err != nil {
			return err
		}
	}
	if err := out.flush(); err != nil {
		return err
	}
	if changes.length() > 0 {
		select {
		case changes.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// sample sends the leaves of a subscription as they are.
func (s *Stream) sample(sub *sampler, at time.Time) error {
	out := s.message(at)
	now := make(map[*tree.Cell]string)
	cells, err := s.cells(sub.Subscription)
	if err != nil {
		return err
	}
	for _, c := range cells {
		state := c.State()
		if !state.Present {
			continue
		}
		if sub.Suppress {
			now[c] = state.Text
			if was, ok := sub.sent[c]; ok && was == state.Text && !sub.full {
				continue
			}
		}
		if err := out.add(c, state, 0); err != nil {
			return err
		}
	}
	sub.sent, sub.full = now, false
	return out.flush()
}

// cells returns those of a subscription that the client may see. Clients can cause
// this work again and again, so it counts against their budget.
func (s *Stream) cells(sub *Subscription) ([]*tree.Cell, error) {
	all := s.Live.Select(sub.Query)
	if s.Pay != nil {
		if err := s.Pay(len(all) + len(sub.Query.Parts)); err != nil {
			return nil, err
		}
	}
	kept := all[:0]
	for _, c := range all {
		if l := c.Leaf(); s.allowed(c) && (sub.Only == nil || sub.Only(l.Table, l.Name)) {
			kept = append(kept, c)
		}
	}
	return kept, nil
}

// allowed reports whether the client may read a leaf.
func (s *Stream) allowed(c *tree.Cell) bool {
	l := c.Leaf()
	return s.Allow == nil || s.Allow(l.Table, l.Key, l.Name)
}

// wantsChange reports whether a subscription to changes sends a change of a cell.
func (s *Stream) wantsChange(c *tree.Cell) bool {
	if !s.choosy {
		return s.allowed(c)
	}
	l := c.Leaf()
	for i := range s.Subscriptions {
		sub := &s.Subscriptions[i]
		if sub.Mode == OnChange && sub.Query.Style == c.Style() && (sub.Only == nil || sub.Only(l.Table, l.Name)) && sub.Query.Has(l.Table, l.Key, l.Name) {
			return s.allowed(c)
		}
	}
	return false
}
