// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"sluice/orchagent-ext/cmd/sluice/internal/nic"
	"sluice/orchagent-ext/fabric"
	"sluice/orchagent-ext/flow"
	"sluice/orchagent-ext/notify"
	"sluice/orchagent-ext/roce"
)

// The measurement of latencies between one pair of switches: flows that send in bursts pass
// the mark at the core, one after the other, and the aggregation holds them.
const (
	pairFlows  = 16
	pairBurst  = 120 // packets
	pairSpan   = 32 * time.Second
	pairQP     = 0x5000
	expiring   = 320 // holds that no cancel ends
	expiringUS = 5000
	expireGap  = 20 * time.Millisecond
)

// pair switches PFCM off, so that the fast lanes count from 0 again, and measures.
func (n *chain) pair(ctx context.Context) error {
	if err := n.configure(ctx, runNone); err != nil {
		return err
	}
	for i, p := range n.planes {
		state := map[bool]string{true: "enabled", false: "disabled"}[i > 0]
		if err := p.config.Write(ctx, set("SLUICE_PFCM", "global", map[string]string{
			"admin_state": state, "generate": fmt.Sprint(i == 2), "enforce": fmt.Sprint(i == 1),
		})); err != nil {
			return err
		}
		want := map[bool]string{true: "active", false: "disabled"}[i > 0]
		if _, err := p.await(ctx, applyPatience, "SLUICE_STATE", "global", "pfcm", want); err != nil {
			return err
		}
	}
	a := adapter(n.Chain, 0, nic.Obey{})
	// Together they offer less than the slow egress carries.
	a.Flows = holdFlows(0, 0, pairFlows, pairQP, 1, false)
	for i := range a.Flows {
		a.Flows[i].Rate, a.Flows[i].Burst = slowMbps*1_000_000*9/10/pairFlows, pairBurst
	}
	p := &playing{
		senders: []sending{{n.Senders[0], a}}, receivers: n.Receivers[:1], qps: qps(pairQP, pairFlows),
		ports: slices.Concat(n.Ports[:]...), links: n.links(), span: pairSpan,
		beside: []func(context.Context) (int, error){n.expire},
	}
	_, err := p.play(ctx)
	return err
}

// expire asks the aggregation, as the core would, for holds that nothing ends but their
// time.
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
		select {
		case <-ctx.Done():
			return sent, nil
		case <-time.After(expireGap):
		}
	}
	return sent, nil
}
