// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/nic"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// The measurement of latencies between one pair of switches: flows that send in bursts pass
// the mark at the core, one after the other, and the aggregation holds them.
const (
	pairFlows  = 16
	pairBurst  = 120 // packets: twice the high mark
	pairSpan   = 32 * time.Second
	pairQP     = 0x5000
	expiring   = 320 // holds that end by their time
	expiringUS = 5000
	expireGap  = 20 * time.Millisecond
)

// Together the flows offer less than the slow egress carries.
const (
	pairRate = slowMbps * 1_000_000 * 9 / 10 / pairFlows // bit/s of each
	// countEvery: in which sluiced publishes its counters
	countEvery = time.Second
)

// pair switches PFCM off, so that flow control counts from 0, and measures.
func (n *chain) pair(ctx context.Context) (l latencies, err error) {
	if err := n.configure(ctx, runNone); err != nil {
		return l, err
	}
	for i, p := range n.planes[1:] {
		generates := i == 1
		if err := p.config.Write(ctx, set("SLUICE_PFCM", "global", map[string]string{
			"admin_state": "enabled", "generate": fmt.Sprint(generates), "enforce": fmt.Sprint(!generates),
		})); err != nil {
			return l, err
		}
		if _, err := p.await(ctx, applyPatience, "SLUICE_STATE", "global", "pfcm", "active"); err != nil {
			return l, err
		}
	}
	a := adapter(n.Chain, 0, nic.Obey{})
	a.Flows = holdFlows(0, 0, pairFlows, pairQP, 1, false)
	for i := range a.Flows {
		a.Flows[i].Rate, a.Flows[i].Burst = pairRate, pairBurst
	}
	// Depths and messages are left unwatched: to watch them takes half a core.
	p := &playing{
		senders: []sending{{n.Senders[0], a}}, receivers: n.Receivers[:1], qps: qps(pairQP, pairFlows),
		span: pairSpan, beside: []func(context.Context) (int, error){n.expire},
	}
	if _, err = p.play(ctx); err != nil {
		return l, err
	}
	return n.measured(ctx)
}

// withoutRealtime starts the aggregation's and the core's sluiced with the
// capability for real-time priority removed. The context that it returns ends
// when one of them does.
func (n *chain) withoutRealtime(ctx context.Context) (context.Context, error) {
	for i := 2; i > 0; i-- {
		if err := n.planes[i].sluiced.Stop(stopPatience); err != nil {
			return ctx, fmt.Errorf("stop sluiced: %w%s", err, n.planes[i].words())
		}
	}
	for i := 1; i <= 2; i++ {
		var err error
		if ctx, err = n.planes[i].run(ctx, n.c, n.sites[i], unix.CAP_SYS_NICE); err != nil {
			return ctx, err
		}
		if err := n.canHold(ctx, i); err != nil {
			return ctx, err
		}
	}
	return ctx, nil
}

// expire asks the aggregation, as the core would, for holds that end only by
// their time.
func (n *chain) expire(ctx context.Context) (sent int, err error) {
	core := n.Ports[2][0]
	s, err := core.Sender()
	if err != nil {
		return 0, err
	}
	defer s.Close()
	f := nic.Flow{Src: fabric.ChainSenders[0].Addr(), Dst: netip.MustParseAddr("2001:db8:0:3::ffff"), Label: firstLabel - 1}
	m := &notify.PFCM{StreamID: flow.HashStreamID(0, f.Src.As16(), f.Dst.As16(), f.Label), Action: notify.Pause, Time: expiringUS, Source: f.Src, Destination: f.Dst}
	e := notify.DefaultEnvelope(m.Kind())
	e.Src, e.Dst, e.SrcMAC, e.DstMAC = core.LinkLocal, core.Peer().LinkLocal, roce.MAC(core.MAC), roce.MAC(core.Peer().MAC)
	frame, err := notify.AppendFrame(nil, m, &e, notify.DefaultCodePoints())
	if err != nil {
		return 0, err
	}
	for sent < expiring {
		if err := s.Send(frame); err != nil {
			return sent, err
		}
		sent++
		if !clock.Sleep(ctx, expireGap) {
			return sent, nil
		}
	}
	return sent, nil
}
