// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"context"
	"errors"
	"reflect"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"sluice/gnmi-server/paths"
	"sluice/gnmi-server/tree"
)

// ErrSlow means that more leaves have changed than the queue of the client holds.
var ErrSlow = errors.New("the client does not keep up with what changes")

// bundle is how many updates a message has at most.
const bundle = 256

// Mode says when the leaves of a subscription are sent.
type Mode int

// The modes. TARGET_DEFINED is one of either, as [Subscription].Only says.
const (
	OnChange Mode = iota
	Sample
)

// Subscription is one of the paths of a stream.
type Subscription struct {
	Query     *paths.Query
	Mode      Mode
	Interval  time.Duration // between samples
	Heartbeat time.Duration // 0: none
	Suppress  bool          // a sample leaves out what has not changed

	// Only, if it is not nil, chooses among the leaves that the query means.
	Only func(t *paths.Table, leaf string) bool
}

// Stream is a list of subscriptions of one client.
type Stream struct {
	Live          *tree.Live
	Subscriptions []Subscription
	Encoding      gpb.Encoding
	UpdatesOnly   bool
	Target        string // of the request's prefix
	Limit         int    // leaves that may wait

	// Allow reports whether the client may see a leaf; nil: all.
	Allow func(t *paths.Table, key, leaf string) bool

	// Send sends a message, and blocks until the connection takes it.
	Send func(*gpb.SubscribeResponse) error

	samples []*sampler
	choosy  bool      // a subscription to changes has Only
	origins [2]string // by style
}

// sampler is a subscription that timers drive.
type sampler struct {
	*Subscription
	sent map[*tree.Cell]string // what it was, of those that are suppressed
	full bool                  // the next one leaves out nothing
}

// Run sends until ctx is done or Send fails, and returns why. It returns
// [ErrSlow] as soon as more leaves wait than may; a Send that blocks then is to be
// ended by the caller.
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

// sendAll sends what there is, and then what changes.
func (s *Stream) sendAll(ctx context.Context, changes *queue) error {
	if err := s.initial(); err != nil {
		return err
	}
	if err := s.Send(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_SyncResponse{SyncResponse: true}}); err != nil {
		return err
	}
	return s.follow(ctx, changes)
}

// initial sends what there is, each leaf once.
func (s *Stream) initial() error {
	sent := make(map[*tree.Cell]bool)
	for _, sub := range s.samples {
		out := s.message(time.Now()) // before the cells are looked for: see [tree.Live.Apply]
		cells := s.cells(sub.Subscription)
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

// follow sends changes and samples, each sampler by timers of its own.
func (s *Stream) follow(ctx context.Context, changes *queue) error {
	cases := []reflect.SelectCase{
		{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())},
		{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(changes.wake)},
	}
	var act []func(at time.Time) error
	every := func(d time.Duration, f func(at time.Time) error) (stop func()) {
		t := time.NewTicker(d)
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(t.C)})
		act = append(act, f)
		return t.Stop
	}
	for _, sub := range s.samples {
		if sub.Mode == Sample {
			defer every(sub.Interval, func(at time.Time) error { return s.sample(sub, at) })()
		}
		if sub.Heartbeat > 0 {
			defer every(sub.Heartbeat, func(at time.Time) error {
				if sub.Mode == Sample && !sub.Suppress && sub.Interval <= sub.Heartbeat {
					return nil // it sends everything anyway, and as often
				}
				sub.full = true
				return s.sample(sub, at)
			})()
		}
	}
	for {
		chosen, _, _ := reflect.Select(cases)
		var err error
		switch chosen {
		case 0:
			return ctx.Err()
		case 1:
			err = s.changed(changes)
		default:
			err = act[chosen-2](time.Now())
		}
		if err != nil {
			return err
		}
	}
}

// changed sends what waits in the queue, up to a message; the rest wakes it again.
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
	for _, c := range s.cells(sub.Subscription) {
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

// cells returns those of a subscription that the client may see.
func (s *Stream) cells(sub *Subscription) []*tree.Cell {
	all := s.Live.Select(sub.Query)
	kept := all[:0]
	for _, c := range all {
		if l := c.Leaf(); s.allowed(c) && (sub.Only == nil || sub.Only(l.Table, l.Name)) {
			kept = append(kept, c)
		}
	}
	return kept
}

func (s *Stream) allowed(c *tree.Cell) bool {
	l := c.Leaf()
	return s.Allow == nil || s.Allow(l.Table, l.Key, l.Name)
}

// wantsChange reports whether a change of a cell, which some subscription to
// changes means, is to be sent.
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
