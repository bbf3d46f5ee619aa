// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
)

// In fair-share streams have settled after a third of the load, and all send until its end.
const (
	fairBegin  = 2 * time.Second
	fairWindow = holdLoad - fairBegin // over which a sender is judged: a busy machine measures some intervals wrong
	fairMbps   = 15.0                 // of each sender: together they offer three times what the port takes
	fairFlows  = 4
)

// fairShare advises four senders of which one does as before, and holds no flow. First all are
// advised alone; then the policy paces the flow whose sender does not follow.
func fairShare(ctx context.Context, st *stage) (*result, error) {
	sum := &result{bars: []bar{toldFair, gotFair}}
	for _, policy := range []string{"report", "hold"} {
		told, got, err := st.fair(ctx, policy)
		if err != nil {
			return sum, fmt.Errorf("not_following=%s: %w", policy, err)
		}
		fmt.Fprintf(os.Stderr, "rough: not_following=%s: advised at least %.2f of the fair share, got %.2f\n", policy, told, got)
		if sum.Told == nil || told < *sum.Told {
			sum.Told = &told
		}
		if policy == "hold" {
			sum.Got = &got
		}
	}
	return sum, nil
}

// fair returns the least rate that a sender which follows was advised, and the least that one of them
// got, ÷ the fair share of what the port gave.
func (st *stage) fair(ctx context.Context, policy string) (told, got float64, err error) {
	p, err := st.buildPair(ctx, pairOf{uplinks: 1, highBytes: markOctets, spine: func(ctx context.Context, p *pair) error {
		return advise(ctx, p, "not_following", policy)
	}})
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return 0, 0, err
	}
	if err := errors.Join(disable(ctx, p.leaf), p.spine.Set(ctx, "SLUICE_PFCM", "global", "admin_state", "disabled")); err != nil {
		return 0, 0, err
	}
	streams := elephants(fairFlows, false)
	for i, s := range streams {
		s.mbps, s.until, s.obeys = fairMbps, 0, i > 0
	}
	if streams, err = p.forth(streams...); err != nil {
		return 0, 0, err
	}
	var begin time.Time
	defies := map[uint32]bool{}
	all, err := play(ctx, streams, holdLoad, p.A, func(load *pour) error {
		begin = load.begin
		wait(ctx, time.Until(begin.Add(holdLoad-500*time.Millisecond)))
		return p.defying(ctx, defies)
	}, p.B)
	if err != nil {
		return 0, 0, err
	}
	total := 0.0
	rates := map[*stream]float64{}
	for s, f := range all {
		rates[s] = f.rate(s, begin.Add(fairBegin), begin.Add(holdLoad))
		total += rates[s]
	}
	share := total / fairFlows
	told, got = 1e9, 1e9
	for _, s := range streams {
		if defies[s.id] == s.obeys {
			err = errors.Join(err, fmt.Errorf("queue pair %#x: not_following is %v, and its sender follows: %v", s.id, defies[s.id], s.obeys))
		}
		if !s.obeys {
			continue
		}
		got = min(got, rates[s]/share)
		for at := fairBegin; at < holdLoad; at += fairWindow {
			told = min(told, s.toldIn(at, at+fairWindow)/share)
		}
	}
	return told, got, err
}

// toldIn returns the mean of the advice to a stream from one time to another, in Mbit/s; where none is
// in force it may send as it likes.
func (s *stream) toldIn(from, to time.Duration) (mbps float64) {
	const step = time.Millisecond
	next, now := 0, advised{}
	for at := from; at < to; at += step {
		for ; next < len(s.told) && s.told[next].until-adviceLifetime <= at; next++ {
			now = s.told[next]
		}
		if rate := now.mbps; at < now.until {
			mbps += rate
		} else {
			mbps += s.mbps
		}
	}
	return mbps / float64((to-from)/step)
}

// defying marks the queue pairs whose senders the spine names as such that do not follow.
func (p *pair) defying(ctx context.Context, all map[uint32]bool) error {
	flows, err := p.spine.State.Read(ctx, "SLUICE_FLOW")
	for _, f := range flows {
		if f.Fields["not_following"] != "true" {
			continue
		}
		qp, err := strconv.ParseUint(f.Fields["dest_qp"], 0, 32)
		if err != nil {
			return err
		}
		all[uint32(qp)] = true
	}
	return err
}

// rate is in Mbit/s of what arrived from one time to another.
func (f *fate) rate(s *stream, from, to time.Time) float64 {
	n := 0
	for _, t := range f.times {
		if !t.Before(from) && t.Before(to) {
			n++
		}
	}
	return float64(n*len(s.frame)*8) / 1e6 / to.Sub(from).Seconds()
}

// advise lets the spine send Rate Advice to the hosts of the leaf by the speed of its slow port, with
// further fields.
func advise(ctx context.Context, p *pair, fields ...string) error {
	fields = append([]string{"admin_state", "enabled", "destination_qp", "copy", "target_bytes", fmt.Sprint(2 * markOctets), "target_delay_us", "1000000", "min_rate_mbps", "1"}, fields...)
	err := errors.Join(
		p.spine.Speed(ctx, p.SpineB, slowEgress),
		p.spine.Set(ctx, "SLUICE", "global", "router_id", spineRouter.Addr().String(), "router_id_v6", spineRouter6.Addr().String()),
		p.spine.Set(ctx, "SLUICE_RATE_ADVICE", "global", fields...),
		p.spine.Set(ctx, "SLUICE_RATE_ADVICE_HOST", fabric.HostA.Masked().String(), "NULL", "NULL"),
		p.spine.Set(ctx, "SLUICE_RATE_ADVICE_HOST", fabric.HostA4.Masked().String(), "NULL", "NULL"))
	if err == nil {
		err = p.spine.Await(ctx, "SLUICE_STATE", "global", "rate_advice", "active")
	}
	return err
}
