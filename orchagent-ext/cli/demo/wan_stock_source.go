// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/cli/nic"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/fabric"
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
	sourceQP         = 0x6000 // first DestQP; the SrcQP is 0x100 higher
	sourceVictimQP   = 0x6800

	// Of some 16,000 packets a second the CPU gets 1000.
	sourceSampling = 16

	// A stop lasts 100 ms; the flow sends as long again before its next one. The first message
	// of a stop has the longest time, so that it is known from those that refresh it.
	sourceStop    = 100 * time.Millisecond
	sourceCycle   = 2 * sourceStop
	sourceTimeUS  = 60_000
	sourceRefresh = 30 * time.Millisecond

	sourceLearn   = 1500 * time.Millisecond // until the CPU knows each flow
	sourceStops   = 40
	sourceAllStop = 240 // with --full

	// Reductions in percent; each lasts sourceReduce, and is measured behind sourceSettle.
	sourceReduce = 2 * time.Second
	sourceSettle = 500 * time.Millisecond
)

// sourceReductions are asked for one after the other, of all flows; a PFCM can ask for 63 %.
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
			set("SLUICE_IPFIX_COLLECTOR", "none", map[string]string{"address": "127.0.0.1", "port": "9"}), // the discard service (RFC 863): samples alone matter here
		})
}

// sourceTraffic is the traffic, with the messages that gateway 2 sends beside it.
func (w *wanStock) sourceTraffic(a *asking, taps []*tap) *playing {
	sender := w.adapter()
	sender.Obey = nic.Obey{CNP: true}
	for i := range uint32(sourceFlows) {
		sender.Flows = append(sender.Flows, wanFlow(sourceQP+i, sourceQP+0x100+i, sourceMbps*1_000_000))
	}
	a.flows = slices.Clone(sender.Flows)
	for i := range uint32(sourceVictims) {
		f := wanFlow(sourceVictimQP+i, sourceVictimQP+0x100+i, sourceVictimMbps*1_000_000)
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

// asking is what gateway 2 asks for.
type asking struct {
	stops, rounds int // stops in all; rounds of the reductions
	flows         []nic.Flow

	mu      sync.Mutex
	stopped [sourceFlows][]int64 // when each stop was sent, ns since 1970
	reduced []reduction
}

// A reduction is of all flows, to a part of the rate before it.
type reduction struct {
	at      int64 // ns since 1970
	percent int
}

// span is how long the traffic lasts.
func (a *asking) span() time.Duration {
	return sourceLearn + time.Duration(a.stops/sourceFlows+1)*sourceCycle + time.Duration(a.rounds*len(sourceReductions))*(sourceReduce+sourceCycle)
}

// ask sends the messages, from a port to its neighbor, and returns how many.
func (a *asking) ask(ctx context.Context, from *fabric.Interface) (sent int, err error) {
	s, err := from.Sender()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	send := func(flow int, action notify.Action, us uint16) error {
		sent++
		return a.send(s, from, flow, action, us)
	}
	if err := pause(ctx, sourceLearn); err != nil {
		return sent, nil
	}
	// Each flow has its stops a part of the cycle after those of the flow before.
	const step = 10 * time.Millisecond
	begin := time.Now()
	for tick := 0; ; tick++ {
		at := time.Duration(tick) * step
		if err := pause(ctx, time.Until(begin.Add(at))); err != nil {
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
			if err := pause(ctx, sourceCycle); err != nil {
				return sent, nil
			}
			a.mu.Lock()
			a.reduced = append(a.reduced, reduction{time.Now().UnixNano(), percent})
			a.mu.Unlock()
			for end := time.Now().Add(sourceReduce); time.Now().Before(end); {
				for i := range a.flows {
					if err := send(i, notify.Reduce(percent), sourceTimeUS-1); err != nil {
						return sent, err
					}
				}
				if err := pause(ctx, sourceRefresh); err != nil {
					return sent, nil
				}
			}
		}
	}
	return sent, nil
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

// heard has the packets at gateway 1, with the kernel's times in ns since 1970.
type heard struct {
	packets, cnps [sourceFlows][]int64 // of flows, from the sender; to it
	stops         [sourceFlows][]int64 // first messages of stops, from gateway 2
	streams       map[uint16]int       // index of the flow
	packet        roce.Packet
	message       notify.Packet
}

// newHeard expects the flows of the half "source".
func newHeard() *heard {
	h := &heard{streams: map[uint16]int{}}
	for i := range uint32(sourceFlows) {
		h.streams[flow.HashStreamID(0, fabric.HostA.Addr().As16(), fabric.HostB.Addr().As16(), firstLabel+sourceQP+i)] = int(i)
	}
	return h
}

// host takes a frame at the port of the sender.
func (h *heard) host(at int64, outgoing bool, frame []byte) {
	if h.packet.Parse(frame, len(frame)) != nil {
		return
	}
	qp, first, list := h.packet.DestQP(), uint32(sourceQP), &h.packets
	if outgoing {
		if h.packet.Opcode() != roce.CNP {
			return
		}
		first, list = sourceQP+0x100, &h.cnps
	}
	if qp >= first && qp < first+sourceFlows {
		list[qp-first] = append(list[qp-first], at)
	}
}

// link takes a frame at the port to gateway 2.
func (h *heard) link(at int64, outgoing bool, frame []byte) {
	if outgoing || h.message.Parse(frame, notify.DefaultCodePoints()) != nil || h.message.Kind != notify.KindPFCM {
		return
	}
	m := &h.message.PFCM
	if i, ok := h.streams[m.StreamID]; ok && m.Action == notify.Pause && m.Time == sourceTimeUS {
		h.stops[i] = append(h.stops[i], at)
	}
}

// sourceFigures are the figures of the half "source".
type sourceFigures struct {
	// FirstCNP: PFCM received → first CNP sent, µs, by the kernel's time stamps
	FirstCNP  float64 `json:"first_cnp_us_p99"`
	FirstP50  float64 `json:"first_cnp_us_p50"`
	Stops     int     `json:"stops_n"`
	Unstopped int     `json:"stops_without_cnp"`
	// RoundTrips: stop sent → less than 10 % of the rate in the round trip from then on, median
	RoundTrips float64 `json:"round_trips_to_10_percent"`
	WorstTrips float64 `json:"round_trips_worst"`
	// RateOverAsked: of the reductions, the one that is furthest from 1
	RateOverAsked float64            `json:"rate_over_asked"`
	Reductions    map[string]float64 `json:"rate_over_asked_by_percent"`
	// Victims: of the rate that each victim offers, the least that was delivered of one
	Victims float64 `json:"victims"`
	CNPs    float64 `json:"cnps_per_s"` // of one flow that is stopped
}

// print shows the figures to people.
func (s *sourceFigures) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, `
holds by the sender, which obeys CNPs by DCQCN; %d stops over %v round trip

PFCM received → first CNP   p50 %.0f µs, p99 %.0f µs
below 10 %% of the rate      after %.2f round trips, at most %.2f
rate ÷ asked rate           %.3f
victims                     %.1f %%
CNPs a second and flow      %.0f
`, s.Stops, wanRTT, s.FirstP50, s.FirstCNP, s.RoundTrips, s.WorstTrips, s.RateOverAsked, 100*s.Victims, s.CNPs)
	return err
}

// judge checks the figures against their bars.
func (s *sourceFigures) judge(full bool, check func(ok bool, format string, args ...any)) {
	check(s.Stops > 0 && s.Unstopped == 0, "%d of %d stops made no CNP", s.Unstopped, s.Stops)
	check(!full || s.FirstCNP <= 1000, "PFCM to the first CNP takes %.0f µs (p99): want at most 1000", s.FirstCNP)
	check(!full || s.RoundTrips <= 2, "a stopped sender is below 10 %% after %.2f round trips: want at most 2", s.RoundTrips)
	check(!full || s.RateOverAsked >= 0.9 && s.RateOverAsked <= 1.1, "the rate is %.3f of that asked for: want 0.90 to 1.10", s.RateOverAsked)
	check(!full || s.Victims >= 0.95, "victims get %.1f %% of their rate: want at least 95 %%", 100*s.Victims)
}

// figures sums up, all but the victims.
func (h *heard) figures(a *asking) *sourceFigures {
	s := &sourceFigures{RateOverAsked: 1, Reductions: map[string]float64{}}
	var first []int64
	var trips []float64
	cnps := 0
	for i := range h.stops {
		for _, at := range h.stops[i] {
			s.Stops++
			n := between(h.cnps[i], at, at+int64(sourceStop))
			if cnps += len(n); len(n) == 0 {
				s.Unstopped++
				continue
			}
			first = append(first, n[0]-at)
		}
		for _, at := range a.stopped[i] {
			trips = append(trips, h.tripsTo(i, at))
		}
	}
	slices.Sort(first)
	s.FirstP50, s.FirstCNP = percentile(first, .5)/1000, percentile(first, .99)/1000
	if slices.Sort(trips); len(trips) > 0 {
		s.RoundTrips, s.WorstTrips = trips[len(trips)/2], trips[len(trips)-1]
	}
	if s.Stops > 0 {
		s.CNPs = float64(cnps) / (float64(s.Stops) * sourceStop.Seconds())
	}
	by := map[int][]float64{}
	for _, r := range a.reduced {
		for i := range h.packets {
			by[r.percent] = append(by[r.percent], h.overAsked(i, r))
		}
	}
	for percent, ratios := range by {
		ratio := median(ratios, func(r float64) float64 { return r })
		s.Reductions[fmt.Sprint(percent)] = ratio
		if max(ratio, 1/ratio) > max(s.RateOverAsked, 1/s.RateOverAsked) {
			s.RateOverAsked = ratio
		}
	}
	return s
}

// tripsTo returns after how many round trips a flow is below a tenth of the rate that it had
// before a stop that was sent at a time: the round trip from then on has less than a tenth of
// the packets. It is the length of the stop where that never happens.
func (h *heard) tripsTo(flow int, stop int64) float64 {
	before := len(between(h.packets[flow], stop-2*int64(wanRTT), stop)) / 2
	for d := time.Duration(0); d < sourceStop; d += wanRTT / 20 {
		from := stop + int64(d)
		if 10*len(between(h.packets[flow], from, from+int64(wanRTT))) < before {
			return d.Seconds() / wanRTT.Seconds()
		}
	}
	return sourceStop.Seconds() / wanRTT.Seconds()
}

// overAsked returns the settled rate of a flow under a reduction as a part of the rate asked for.
func (h *heard) overAsked(flow int, r reduction) float64 {
	offered := float64(sourceMbps*1_000_000) / 8 / float64(packetOctets) // packets a second
	settled := len(between(h.packets[flow], r.at+int64(sourceSettle), r.at+int64(sourceReduce)))
	return float64(settled) / (sourceReduce - sourceSettle).Seconds() / (offered * float64(100-r.percent) / 100)
}

// between returns the times of a sorted list from a time on and before another.
func between(times []int64, from, to int64) []int64 {
	i, _ := slices.BinarySearch(times, from)
	j, _ := slices.BinarySearch(times, to)
	return times[i:max(i, j)]
}
