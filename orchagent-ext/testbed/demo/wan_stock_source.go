// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/nic"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// The half "source": gateway 2 asks by PFCM to hold flows, one after the other, and gateway 1
// sends CNPs to their sender, which obeys them by DCQCN. Rates are of IP packets.
const (
	sourceFlows      = 4
	sourceMbps       = 25 // that each offers
	sourceVictims    = 4
	sourceVictimMbps = 10
	// octets: half the packets of the other scenarios leave CPUs for what is measured
	sourcePayload  = 2048
	sourceQP       = 0x6000 // first DestQP; the SrcQP is 0x100 higher
	sourceVictimQP = 0x6800

	// Of some 8,000 packets a second the CPU gets 1000.
	sourceSampling = 8

	// A stop lasts 100 ms; the flow sends as long again before its next one. The first message
	// of a stop has the longest time, so that it is known from those that refresh it.
	sourceStop    = 100 * time.Millisecond
	sourceCycle   = 2 * sourceStop
	sourceTimeUS  = 60_000
	sourceRefresh = 30 * time.Millisecond

	sourceLearn   = 1500 * time.Millisecond // until the CPU knows each flow
	sourceStops   = 40
	sourceAllStop = 240 // with --full

	// Reductions of the first flows, in percent; each lasts sourceReduce, and is measured behind sourceSettle.
	sourceReduced = 2 // as many flows as are stopped at once
	sourceReduce  = 2 * time.Second
	sourceSettle  = 500 * time.Millisecond
	sourceCalm    = 1500 * time.Millisecond // before each, for the rate that it is of

	// Where the machine has no CPU for the sender, even victims send nothing: what was asked
	// then is left out, and counted.
	starvedSlice = 10 * time.Millisecond
	mostStarved  = 0.02 // of the slices of a reduction
)

// sourceReductions are asked for one after the other; a PFCM can ask for 63 %.
var sourceReductions = []int{30, 50, 60}

// source measures holds by the sender.
func (w *wanStock) source(ctx context.Context, to *wanStockFigures) (err error) {
	w.say("gateway 2 stops flows by PFCM; gateway 1, which holds none, sends CNPs to their sender")
	p, ctx, err := startPlane(ctx, w.c, filepath.Join(w.folder, "source"), site{
		node: w.Gateways[0], log: "sluiced-wan-stock-source.log", profile: []string{"SLUICE_ASIC=" + w.asic}, rows: w.sourceRows(),
	})
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return err
	}
	if row, err := p.await(ctx, applyPatience, "SLUICE_CAPABILITY", "switch", "hold_method", "source"); err != nil {
		return fmt.Errorf("%w; the row: %s", err, sorted(row))
	}
	asked := &asking{stops: sourceStops, rounds: 1}
	if w.c.Full {
		asked.stops, asked.rounds = sourceAllStop, 3
	}
	heard := newHeard()
	taps := []*tap{{at: w.Host[0], filter: onlyIPv6, each: heard.host}, {at: w.Between[0], filter: onlyIPv6, each: heard.link}}
	for _, t := range taps {
		if err := t.open(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, unix.Close(t.fd)) }()
	}
	t, err := w.sourceTraffic(asked, taps).play(ctx)
	if err != nil {
		return err
	}
	to.Source = heard.figures(asked)
	to.Source.Victims = 1
	for i := range uint32(sourceVictims) {
		octets := float64(t.received[0].Flows[sourceVictimQP+i].Octets)
		to.Source.Victims = min(to.Source.Victims, octets*8/(sourceVictimMbps*1e6*asked.span().Seconds()))
	}
	return nil
}

// sourceRows are the rows of gateway 1.
func (w *wanStock) sourceRows() []sonicdb.Change {
	row := func(p *fabric.Interface, index int, fields map[string]string) []sonicdb.Change {
		port := portRow(p, index)
		port.Row.Fields["speed"] = fmt.Sprint(linkMbps)
		return []sonicdb.Change{port, set("SLUICE_PORT", p.Name, fields)}
	}
	none := map[string]string{"NULL": "NULL"}
	return slices.Concat(
		row(w.Host[0], 0, map[string]string{"role": "edge"}),
		row(w.Between[0], 1, map[string]string{"role": "fabric", "upstream_neighbor": w.Between[1].LinkLocal.String()}),
		[]sonicdb.Change{
			set("SLUICE", "global", map[string]string{"admin_state": "enabled", "router_id_v6": fabric.WANRouters[0].String()}),
			set("SLUICE_PFCM", "global", map[string]string{"admin_state": "enabled", "generate": "false", "hold_limit_ms": "0"}),
			set("SLUICE_RATE_ADVICE_HOST", fabric.HostA.Masked().String(), none),
			set("SLUICE_IPFIX", "global", map[string]string{"admin_state": "enabled", "sampling_rate": fmt.Sprint(sourceSampling)}),
			// the discard service (RFC 863): samples alone matter here
			set("SLUICE_IPFIX_COLLECTOR", "none", map[string]string{"address": "127.0.0.1", "port": "9"}),
		})
}

// sourceTraffic is the traffic, with the messages that gateway 2 sends beside it.
func (w *wanStock) sourceTraffic(a *asking, taps []*tap) *playing {
	sender := w.adapter()
	sender.Obey = nic.Obey{CNP: true}
	for i := range uint32(sourceFlows) {
		sender.Flows = append(sender.Flows, sourceFlow(sourceQP+i, sourceMbps))
	}
	a.flows = slices.Clone(sender.Flows)
	for i := range uint32(sourceVictims) {
		f := sourceFlow(sourceVictimQP+i, sourceVictimMbps)
		f.Backlog = true
		sender.Flows = append(sender.Flows, f)
	}
	p := &playing{
		senders: []sending{{w.Sender, sender}}, receivers: []*fabric.Interface{w.Receiver}, answers: answersOf(sender.Flows), span: a.span(),
		qps:    append(qps(sourceQP, sourceFlows), qps(sourceVictimQP, sourceVictims)...),
		beside: []func(context.Context) (int, error){func(ctx context.Context) (int, error) { return a.ask(ctx, w.Between[1]) }},
	}
	for _, t := range taps {
		p.beside = append(p.beside, t.record)
	}
	return p
}

// sourceFlow returns a flow that offers a rate in Mbit/s.
func sourceFlow(destQP uint32, mbps uint64) nic.Flow {
	f := wanFlow(destQP, destQP+0x100, mbps*1_000_000)
	f.Payload = sourcePayload
	return f
}

// asking is what gateway 2 asks for.
type asking struct {
	stops, rounds int // stops in all; rounds of the reductions
	flows         []nic.Flow

	mu      sync.Mutex
	stopped [sourceFlows][]int64 // when each stop was sent, ns since 1970
	reduced []reduction
}

// A reduction is of the first sourceReduced flows, to a part of the rate before it.
type reduction struct {
	at      int64 // ns since 1970
	percent int
}

// span is how long the traffic lasts.
func (a *asking) span() time.Duration {
	return sourceLearn + time.Duration(a.stops/sourceFlows+1)*sourceCycle + time.Duration(a.rounds*len(sourceReductions))*(sourceReduce+sourceCalm)
}

// ask sends the messages, from a port to its neighbor, and returns how many. A hold whose refresh is
// late ends, so its thread has priority, as that of gateway 2's sluiced would.
func (a *asking) ask(ctx context.Context, from *fabric.Interface) (sent int, err error) {
	fabric.GoFirst()
	s, err := from.Sender()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	send := func(flow int, action notify.Action, us uint16) error {
		sent++
		return a.send(s, from, flow, action, us)
	}
	if !rest(ctx, sourceLearn) {
		return sent, nil
	}
	// Each flow has its stops a part of the cycle after those of the flow before.
	const step = 10 * time.Millisecond
	begin := time.Now()
	for tick := 0; ; tick++ {
		at := time.Duration(tick) * step
		if !rest(ctx, time.Until(begin.Add(at))) {
			return sent, nil
		}
		busy := false
		for i := range a.flows {
			since := at - time.Duration(i)*sourceCycle/sourceFlows
			if since < 0 || int(since/sourceCycle) >= a.stops/sourceFlows {
				busy = busy || since < 0
				continue
			}
			busy = true
			within := since % sourceCycle
			if within >= sourceStop || within%sourceRefresh != 0 {
				continue
			}
			us := uint16(sourceTimeUS)
			if within == 0 {
				a.mu.Lock()
				a.stopped[i] = append(a.stopped[i], time.Now().UnixNano())
				a.mu.Unlock()
			} else {
				us = uint16(min(sourceTimeUS-1, (sourceStop - within).Microseconds()))
			}
			if err := send(i, notify.Pause, us); err != nil {
				return sent, err
			}
		}
		if !busy {
			break
		}
	}
	for range a.rounds {
		for _, percent := range sourceReductions {
			if !rest(ctx, sourceCalm) {
				return sent, nil
			}
			a.mu.Lock()
			a.reduced = append(a.reduced, reduction{time.Now().UnixNano(), percent})
			a.mu.Unlock()
			for end := time.Now().Add(sourceReduce); time.Now().Before(end); {
				for i := range sourceReduced {
					if err := send(i, notify.Reduce(percent), sourceTimeUS-1); err != nil {
						return sent, err
					}
				}
				if !rest(ctx, sourceRefresh) {
					return sent, nil
				}
			}
		}
	}
	return sent, nil
}

// rest waits by a call of the kernel, as [fabric.GoFirst] wants it; false: ctx ended.
func rest(ctx context.Context, d time.Duration) bool {
	const longest = 20 * time.Millisecond // to see the end
	for end := time.Now().Add(d); ctx.Err() == nil; {
		left := time.Until(end)
		if left <= 0 {
			return true
		}
		t := unix.NsecToTimespec(int64(min(left, longest)))
		_ = unix.Nanosleep(&t, nil) // a signal ends it early
	}
	return false
}

// send sends one PFCM about a flow.
func (a *asking) send(s *fabric.Sender, from *fabric.Interface, i int, action notify.Action, us uint16) error {
	f := &a.flows[i]
	m := &notify.PFCM{StreamID: flow.HashStreamID(0, f.Src.As16(), f.Dst.As16(), f.Label), QueueID: holdPriority, Action: action, Time: us, Source: f.Src, Destination: f.Dst}
	e := notify.DefaultEnvelope(m.Kind())
	e.Src, e.Dst, e.SrcMAC, e.DstMAC = from.LinkLocal, from.Peer().LinkLocal, roce.MAC(from.MAC), roce.MAC(from.Peer().MAC)
	frame, err := notify.AppendFrame(nil, m, &e, notify.DefaultCodePoints())
	if err != nil {
		return err
	}
	return s.Send(frame)
}

// onlyIPv6 lets IPv6 through.
var onlyIPv6 = []bpf.Instruction{
	bpf.LoadAbsolute{Off: 12, Size: 2},
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.ETH_P_IPV6, SkipTrue: 1},
	bpf.RetConstant{Val: 1 << 16},
	bpf.RetConstant{Val: 0},
}
