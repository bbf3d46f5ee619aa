// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
)

const (
	advisedPairs = 4
	// advisedRate is that of the port that they share, Mbit/s. Advice counts in Mbit/s, so that a
	// step is a fifth of a fair share.
	advisedRate  = 20
	advisedAbove = 20000 // octets of a flow in the queue
	// dataOctets are less than the first window of a connection, and more than perftest sends by the
	// queue pair over which it sets up connections of RDMA-CM.
	dataOctets = 40 * 1100
	// advisedWindow is the packets of all connections, after each was advised or none is any more,
	// by which shares are judged.
	advisedWindow = 3000
	adviceLimit   = 2 * time.Second // for 19 of 20 connections
	shareMin      = 0.7
	shareMax      = 1.3
)

var spineRouter, spineRouter6 = netip.MustParsePrefix("10.255.0.2/32"), netip.MustParsePrefix("2001:db8:ff::2/128")

// advises fills the port to guest B by connections whose sender follows Rate Advice.
func advises(ctx context.Context, l *lab) error {
	l.report.Advice = map[string]*advice{}
	for _, by := range []string{"tcp", "cm"} {
		a, err := l.adviseBy(ctx, by == "cm")
		if err != nil {
			return fmt.Errorf("%s: %w", by, err)
		}
		l.report.Advice[by] = a
		l.report.judge("advice, set up by "+by+": connections that send data", advisedPairs, a.Flows)
		l.report.holds("advice, set up by "+by+": connections that were advised", float64(a.Advised) >= 0.95*float64(a.Flows), fmt.Sprint("95 % of ", a.Flows), a.Advised)
		l.report.holds("advice, set up by "+by+": seconds to the first advice, p95", a.SecondsP95 <= adviceLimit.Seconds(), fmt.Sprint("<= ", adviceLimit.Seconds()), fmt.Sprintf("%.2f", a.SecondsP95))
		l.report.holds("advice, set up by "+by+": shares", a.ShareMin >= shareMin && a.ShareMax <= shareMax, fmt.Sprintf("%.1f to %.1f", shareMin, shareMax), fmt.Sprintf("%.2f to %.2f", a.ShareMin, a.ShareMax))
	}
	return nil
}

// adviseBy is how advice reaches connections that were set up by RDMA-CM, or by TCP.
func (l *lab) adviseBy(ctx context.Context, cm bool) (a *advice, err error) {
	defer func() { err = errors.Join(err, l.stop()) }()
	if err := l.startSpine(ctx, queues(fastRate, l.SpineB, advisedRate, queueBytes)...); err != nil {
		return nil, err
	}
	if err := l.advising(ctx); err != nil {
		return nil, err
	}
	p, err := startPacer(l.a)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	stop, err := l.pour(ctx, transfer{program: "ib_write_bw", pairs: advisedPairs, args: "-n 5000000 -t 16 -s 4096", cm: cm, four: cm})
	if err != nil {
		return nil, err
	}
	a, err = p.judge(ctx)
	return a, stop(err)
}

// advising has the spine advise senders of the flows to guest B.
func (l *lab) advising(ctx context.Context) error {
	err := errors.Join(
		l.spine.Set(ctx, "SLUICE", "global", "router_id", spineRouter.Addr().String(), "router_id_v6", spineRouter6.Addr().String()),
		l.spine.Set(ctx, "SLUICE_THRESHOLD", "gold", "high_bytes", fmt.Sprint(advisedAbove)),
		l.spine.Set(ctx, "SLUICE_PORT", l.SpineB.Name, "role", "edge", "threshold", "gold"),
		l.spine.Set(ctx, "SLUICE_RATE_ADVICE", "global", "admin_state", "enabled", "target_bytes", fmt.Sprint(2*advisedAbove), "target_delay_us", "1000000", "min_rate_mbps", "1"))
	for _, prefix := range []netip.Prefix{fabric.HostA, fabric.HostA4} {
		err = errors.Join(err, l.spine.Set(ctx, "SLUICE_RATE_ADVICE_HOST", prefix.Masked().String(), "NULL", "NULL"))
	}
	if err == nil {
		err = l.spine.Await(ctx, "SLUICE_STATE", "global", "rate_advice", "active")
	}
	return err
}

// judge waits until all connections are advised, or a window without has passed, and compares what
// they send in the window after it.
func (p *pacer) judge(ctx context.Context) (*advice, error) {
	if _, err := p.window(ctx, func(all map[uint32]paced) bool {
		all = withData(all)
		for _, f := range all {
			if f.advised.IsZero() {
				return false
			}
		}
		return len(all) >= advisedPairs
	}); err != nil {
		return nil, err
	}
	before, err := p.window(ctx, nil) // rates settle
	if err != nil {
		return nil, err
	}
	after, err := p.window(ctx, nil)
	if err != nil {
		return nil, err
	}
	after = withData(after)
	a := &advice{Flows: len(after), ShareMin: math.Inf(1)}
	var seconds []float64
	sum := 0
	for qp, f := range after {
		sum += f.octets - before[qp].octets
		if !f.advised.IsZero() {
			a.Advised++
			seconds = append(seconds, f.advised.Sub(f.first).Seconds())
		}
	}
	for qp, f := range after {
		share := float64(f.octets-before[qp].octets) * float64(len(after)) / float64(sum)
		a.ShareMin, a.ShareMax = min(a.ShareMin, share), max(a.ShareMax, share)
	}
	if len(seconds) > 0 {
		slices.Sort(seconds)
		a.SecondsP95 = seconds[(len(seconds)*95+99)/100-1]
	}
	return a, nil
}

// withData are the connections that carry data.
func withData(all map[uint32]paced) map[uint32]paced {
	all = maps.Clone(all)
	maps.DeleteFunc(all, func(_ uint32, f paced) bool { return f.octets < dataOctets })
	return all
}

// window waits until the connections have sent a window of packets, or is says that it is enough.
func (p *pacer) window(ctx context.Context, enough func(map[uint32]paced) bool) (map[uint32]paced, error) {
	octets := func(all map[uint32]paced) (sum int) {
		for _, f := range all {
			sum += f.octets
		}
		return sum
	}
	start := octets(p.reached())
	for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
		all := p.reached()
		n := (octets(all) - start) / 1100 // of a packet
		if n >= advisedWindow || enough != nil && enough(all) {
			return all, nil
		}
		p.mu.Lock()
		err := errors.Join(p.failed, ctx.Err())
		p.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%d connections sent %d packets in %v", len(all), n, patience)
		}
	}
}
