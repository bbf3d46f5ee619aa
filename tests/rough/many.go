// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// As many flows as the software switch can hold, and for how long each is asked to be held.
const (
	manyFlows = 256
	manyPause = 60 * time.Millisecond
	manyMark  = 2000 // octets: two packets
)

// manyHolds fills a queue by as many flows as can be held at once, each asked to be held.
func manyHolds(ctx context.Context, st *stage) (r *result, err error) {
	pauses := func(ctx context.Context, p *pair) error {
		return p.spine.Set(ctx, "SLUICE_THRESHOLD", "gold", "high_bytes", fmt.Sprint(manyMark), "duration_us", fmt.Sprint(manyPause.Microseconds()))
	}
	// A flow has a 256th of the slow port: it is held for longer than the watchdog allows.
	patient := func(ctx context.Context, p *pair) error {
		return p.leaf.Set(ctx, "SLUICE_PFCM", "global", "admin_state", "enabled", "hold_limit_ms", "0")
	}
	p, err := st.buildPair(ctx, pairOf{uplinks: 1, highBytes: manyMark, leaf: patient, spine: pauses})
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return nil, err
	}
	most := 0
	r, err = p.hold(ctx, elephants(manyFlows, false), nil, func(load *pour) error {
		for time.Since(load.begin) < holdLoad*2/3 {
			rows, err := p.leaf.State.Read(ctx, "SLUICE_HOLD")
			if err != nil {
				return err
			}
			most = max(most, len(rows))
			wait(ctx, 100*time.Millisecond)
		}
		return nil
	})
	if err != nil {
		return r, err
	}
	r.bars = []bar{inOrder, noneRefused} // lost is reported: 256 flows at two packets each fill half of the queue before any is asked
	r.Refused = new(int)
	for _, counter := range []string{"full", "hold_failed"} {
		n, err := p.leaf.Notified(ctx, "pfcm", counter)
		if err != nil {
			return r, err
		}
		*r.Refused += n
	}
	held, err := p.leaf.Notified(ctx, "pfcm", "held")
	fmt.Fprintf(os.Stderr, "rough: %d holds began, up to %d had a row at once\n", held, most)
	if most < manyFlows*9/10 {
		err = errors.Join(err, fmt.Errorf("at most %d flows were held at once: the scenario has shown nothing", most))
	}
	return r, err
}
