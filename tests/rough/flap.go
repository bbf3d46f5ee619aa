// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
)

const (
	flapEach  = 5 * time.Second
	flapDown  = 200 * time.Millisecond
	flapAfter = 1500 * time.Millisecond // of each period: flows fill the queue then
	flaps     = 8
	flapQueue = 500_000 // octets of the slow port's queue: without holds it is full 30 ms after four flows are at their marks
)

// flap takes the link down, between the switch that holds and the one that asks, while flows fill a
// queue. Each time the packets that passed the link afterwards are judged: packets that the queue dropped say
// that holds did not work again.
func flap(ctx context.Context, st *stage) (r *result, err error) {
	p, err := st.buildPair(ctx, pairOf{uplinks: 1, highBytes: markOctets, queue: flapQueue})
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return nil, err
	}
	streams := append(mice(), elephants(4, false)...)
	for _, s := range streams {
		if s.held {
			s.until, s.period, s.burst = 0, flapEach, flapEach/2
		}
	}
	if streams, err = p.forth(streams...); err != nil {
		return nil, err
	}
	back, err := p.B.Sender()
	if err != nil {
		return nil, err
	}
	answers := &stream{id: 1, protocol: udpProtocol, mbps: 2, size: 100, sender: back}
	answers.build(ends{p.B.MAC, p.SpineB.MAC, fabric.HostB.Addr(), fabric.HostA.Addr()})
	up := p.Uplinks[0]
	here, err := up.Capture()
	if err != nil {
		return nil, err
	}
	there, err := up.Peer().Capture()
	if err != nil {
		return nil, err
	}
	var downs []time.Time
	all, err := play(ctx, append(streams, answers), flaps*flapEach, nil, func(load *pour) (err error) {
		for i := time.Duration(0); i < flaps && err == nil; i++ {
			wait(ctx, time.Until(load.begin.Add(i*flapEach+flapAfter)))
			downs = append(downs, time.Now())
			err = errors.Join(up.Peer().Set(false), ctx.Err())
			wait(ctx, flapDown)
			err = errors.Join(err, up.Peer().Set(true), up.Peer().Restore(), p.Spine.ReceiveInOrder()) // its thread is a new one
		}
		return err
	}, p.B, p.A)
	near, stopErr := here.Stop()
	far, farErr := there.Stop()
	if err = errors.Join(err, stopErr, farErr); err != nil {
		return nil, err
	}
	p.where(ctx)
	r = weigh(all)
	recovered, after, late := recoveries(all, downs, near, far)
	full, err := p.leaf.Notified(ctx, "pfcm", "hold_queue_full")
	*r.Lost, r.DropsAfter = late+full, &after // packets in the leaf or on the link as that went down count as drops alone
	if err := shown(recovered, downs); err != nil {
		return nil, err
	}
	ms := float64(slices.Max(recovered).Microseconds()) / 1000
	r.RecoveredMS, r.Victims = &ms, nil
	r.bars = []bar{lossless, recovers}
	return r, errors.Join(err, p.leaf.Held(ctx, "pfcm"))
}

// shown fails where a link that went down did not come up again.
func shown(recovered []time.Duration, downs []time.Time) error {
	if len(recovered) != len(downs) {
		return fmt.Errorf("the link came up after %d of %d times", len(recovered), len(downs))
	}
	return nil
}

// recoveries returns for each time that the link was down how long after it packets got lost that
// had passed it: from the first moment in which one had passed in either direction. after is how many
// those were, late how many of held flows among them later than the bar allows. near and far arrived
// at the two ends.
func recoveries(all map[*stream]*fate, downs []time.Time, near, far []fabric.Frame) (times []time.Duration, after, late int) {
	lost := map[[2]uint32]bool{}
	for s, f := range all {
		for _, n := range f.missing {
			lost[[2]uint32{s.id, uint32(n)}] = s.held
		}
	}
	for i, down := range downs {
		begin := later(firstAfter(near, down.Add(flapDown)), firstAfter(far, down.Add(flapDown)))
		end := down.Add(flapEach)
		if i+1 < len(downs) {
			end = downs[i+1]
		}
		if begin.IsZero() || begin.After(end) {
			continue
		}
		took := time.Duration(0)
		for _, f := range far {
			id, n, ok := numbersOf(f.Data)
			held, gone := lost[[2]uint32{id, n}]
			if !ok || !gone || f.Time.Before(begin) || !f.Time.Before(end) {
				continue
			}
			after++
			took = max(took, f.Time.Sub(begin))
			if held && f.Time.Sub(begin) > recoveryBar {
				late++
			}
		}
		times = append(times, took)
	}
	return times, after, late
}

// firstAfter returns the arrival of a stream's first packet after a time, or the zero
// value.
func firstAfter(frames []fabric.Frame, at time.Time) time.Time {
	for _, f := range frames {
		if _, _, ok := numbersOf(f.Data); ok && f.Time.After(at) {
			return f.Time
		}
	}
	return time.Time{}
}

// later is the later of two times, the zero value where one is that.
func later(a, b time.Time) time.Time {
	switch {
	case a.IsZero() || b.IsZero():
		return time.Time{}
	case a.After(b):
		return a
	}
	return b
}
