// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// links takes an uplink away and gives it back while flows burst, each time in a pause, and their
// sizes change with it, so that placement has to move. Each time windows are judged as at the start
// of a load, over the uplinks that are there. The pause lasts until the leaf's kernel has noticed: it
// spreads all flows again then, over paths of other delays, and that is not placement's to order.
func links(ctx context.Context, st *stage) (r *result, err error) {
	l := burstLoad{period: 100 * time.Millisecond, burst: 40 * time.Millisecond, uplinks: 4}
	n, err := st.buildLeafSpine(ctx, l, true)
	defer func() { err = errors.Join(err, n.close()) }()
	if err != nil {
		return nil, err
	}
	for _, u := range n.Uplinks {
		for _, of := range []string{"all", u.Name} {
			if err := n.Leaf.Sysctl("net.ipv6.conf."+of+".ignore_routes_with_linkdown", "1"); err != nil {
				return nil, err
			}
		}
	}
	packets := l.packets()
	g, err := newGenerator(n.A, n.newFlows(0x5000, len(packets)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.sender.Close()) }()
	capture, err := n.B.Capture()
	if err != nil {
		return nil, err
	}
	all, gone := n.Uplinks, 2 // one without a delay
	from, span := l.times()
	var worst spread
	judged := 0
	for phase, change := range []func() error{
		func() error { return nil },
		func() error {
			n.Uplinks = slices.Delete(slices.Clone(all), gone, gone+1)
			return errors.Join(all[gone].Peer().Set(false), all[gone].AwaitCarrier(false))
		},
		func() error {
			n.Uplinks = all
			return errors.Join(all[gone].Peer().Set(true), all[gone].Peer().Restore(), all[gone].AwaitCarrier(true))
		},
	} {
		var marks []mark
		if err = change(); err == nil {
			l.uplinks = len(n.Uplinks)
			marks, err = l.bursts(ctx, st, n, g, packets)
		}
		if err != nil {
			_, stopErr := capture.Stop()
			return nil, errors.Join(err, stopErr)
		}
		s, windows := windows(marks, l.shares(), from, span)
		fmt.Fprintf(os.Stderr, "rough: %d uplinks: max ÷ mean %.3f, floor %.3f, %d windows\n", l.uplinks, s.worst, s.floor, windows)
		if phase == 0 || s.worst*worst.floor > worst.worst*s.floor {
			worst = s
		}
		if judged += windows; windows == 0 {
			worst = spread{worst: s.worst} // no window: the bar is missed
		}
		slices.Reverse(packets)
	}
	frames, err := capture.Stop()
	if err != nil {
		return nil, err
	}
	if r, err = n.outcome(ctx, g, frames, &worst, judged); r != nil {
		r.bars = []bar{inOrder, patient, even}
	}
	return r, err
}

// endless is flows that never pause, of which every packet is sampled: each keeps the path that the
// hash has for it, and counts as one that waits. Where the machine made them pause, so that all were
// placed before one was counted, they are sent again; one that was late or hasty counts all the same.
func endless(ctx context.Context, st *stage) (r *result, err error) {
	const tries = 5
	for range tries {
		l := burstLoad{period: 100 * time.Millisecond, burst: 100 * time.Millisecond, uplinks: 4, equal: 24, each: 20, sampling: 1, waited: new(int)}
		if r, err = l.run(ctx, st); err != nil {
			return nil, err
		}
		r.Waiting, r.bars = l.waited, []bar{inOrder, patient, waits}
		if *r.Waiting > 0 || *r.Reordered > 0 || *r.Hasty > 0 || *r.PausedMS < float64(idleAfter.Milliseconds()) {
			break
		}
		fmt.Fprintf(os.Stderr, "rough: endless: the machine made a flow pause for %.0f ms\n", *r.PausedMS)
	}
	return r, err
}
