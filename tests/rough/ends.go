// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"sluice/tests/site"
)

const (
	fillTime  = 2500 * time.Millisecond // in which flows pile up in the leaf
	shortFill = 1500 * time.Millisecond // the same in the short form: still more than the queue takes
	drainTime = 5 * time.Second         // for packets that wait
	endBar    = 2 * time.Second         // in which it is to leave
)

// An ending is a way in which all holds end at once.
type ending struct {
	name    string
	bounded bool // all that waits leaves within endBar
	short   bool // it is of the short form
	end     func(context.Context, *pair) error
}

// disable ends PFCM at a switch.
func disable(ctx context.Context, s *site.Site) error {
	return errors.Join(s.Set(ctx, "SLUICE_PFCM", "global", "admin_state", "disabled"), s.Await(ctx, "SLUICE_STATE", "global", "pfcm", "disabled"))
}

var endings = []ending{
	{"holds disabled", true, true, func(ctx context.Context, p *pair) error { return disable(ctx, p.leaf) }},
	{"holder terminated", true, false, func(_ context.Context, p *pair) error { return p.leaf.Kill(unix.SIGTERM) }},
	{"asker disabled", false, false, func(ctx context.Context, p *pair) error { return disable(ctx, p.spine) }},
	{"asker terminated", false, false, func(_ context.Context, p *pair) error { return p.spine.Kill(unix.SIGTERM) }},
	{"asker killed", false, true, func(_ context.Context, p *pair) error { return p.spine.Kill(unix.SIGKILL) }},
}

// holdsEnd ends all holds at once while megabytes wait in the leaf, in each way. The packets there are not
// to overrun the queue for which they were held.
func holdsEnd(ctx context.Context, st *stage) (*result, error) {
	sum := &result{Lost: new(int), Reordered: new(int), DrainedMS: new(float64), bars: []bar{lossless, inOrder, drains}}
	for _, e := range endings {
		if st.short && !e.short {
			continue
		}
		r, drained, err := st.endHolds(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
		*sum.Lost += *r.Lost
		*sum.Reordered += *r.Reordered
		if e.bounded {
			*sum.DrainedMS = max(*sum.DrainedMS, float64(drained.Milliseconds()))
		}
		fmt.Fprintf(os.Stderr, "rough: %s: %d packets lost, the last one left after %v\n", e.name, *r.Lost, drained.Round(time.Millisecond))
	}
	return sum, nil
}

// endHolds returns the fates of streams whose holds end in one way, and after how long the last of
// them arrived.
func (st *stage) endHolds(ctx context.Context, e ending) (r *result, drained time.Duration, err error) {
	p, err := st.buildPair(ctx, pairOf{uplinks: 1, highBytes: markOctets, spine: func(ctx context.Context, p *pair) error {
		return p.spine.Set(ctx, "SLUICE", "global", "warm_restart", "enabled") // its queues outlive it
	}})
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return nil, 0, err
	}
	streams, fill, drain := elephants(8, false), fillTime, drainTime
	if st.short {
		fill, drain = shortFill, 0 // until all is quiet
	}
	for _, s := range streams {
		s.until = fill
	}
	if streams, err = p.forth(streams...); err != nil {
		return nil, 0, err
	}
	arrived, err := p.B.Capture()
	if err != nil {
		return nil, 0, err
	}
	var ended time.Time
	all, err := play(ctx, streams, fill+drain, nil, func(load *pour) error {
		wait(ctx, time.Until(load.begin.Add(fill)))
		if err := p.leaf.Held(ctx, "pfcm"); err != nil {
			return err
		}
		ended = time.Now()
		return e.end(ctx, p)
	}, p.B)
	frames, stopErr := arrived.Stop()
	if err = errors.Join(err, stopErr); err != nil {
		return nil, 0, err
	}
	for _, f := range frames {
		if _, _, ok := numbersOf(f.Data); ok {
			drained = max(drained, f.Time.Sub(ended))
		}
	}
	return weigh(all), drained, nil
}
