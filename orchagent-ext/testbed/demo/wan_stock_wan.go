// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/nic"
)

// The part "wan": flows that offer twice the egress of gateway 2, which advises their sender a
// round trip away, with method sampled and, beside it, exact.
const (
	pathMbps    = 160 // of the egress
	pathLink    = 1000
	pathOffered = 2 * pathMbps
	pathPayload = 4096
	pathQueue   = 4 << 20                       // octets
	pathTarget  = pathMbps * 1_000_000 / 8 / 50 // a bandwidth-delay product
	// pathHigh and pathLow: octets of all flows together
	pathHigh, pathLow = 600_000, 200_000
	// pathSampling: the egress gets 9,600 packets a second when it is offered twice its rate
	pathSampling = 10

	pathMinMbps = 1
	pathQP      = 0x7000
	pathSource  = 0x1000 // by which the SrcQP of a flow is higher than its DestQP
)

// pathCounts are the numbers of flows of the part "wan".
var pathCounts = []int{2, 32}

// An egress is the configuration of gateway 2 in a run.
type egress struct {
	exact     bool // as a switch that watches flows
	four      bool // flows of IPv4
	high, low int  // marks of a flow, octets
}

// path measures Rate Advice over the path: the medians of both methods, and one run with IPv4.
func (w *wanStock) path(ctx context.Context, to *wanStockFigures) error {
	to.WAN = map[string]*pathFigures{}
	runs := 1
	if w.c.Full {
		runs = 3
	}
	for _, n := range pathCounts {
		f := &pathFigures{}
		to.WAN[strconv.Itoa(n)] = f
		for _, m := range []struct {
			egress
			runs int
			to   *pathRun
		}{{egress{exact: true}, runs, &f.Exact}, {egress{}, runs, &f.pathRun}, {egress{four: true}, 1, &f.IPv4}} {
			var all []pathRun
			for i := range m.runs {
				w.say("run %d of %d: Rate Advice to %d flows, %v", i+1, m.runs, n, m.egress)
				one, err := w.overload(ctx, n, m.egress)
				if err != nil {
					return fmt.Errorf("advise %d flows, %v: %w", n, m.egress, err)
				}
				all = append(all, one)
			}
			*m.to = medianPath(all)
		}
		if f.Exact.Deepest > 0 {
			f.OverExact = f.Deepest / f.Exact.Deepest
		}
	}
	return nil
}

// String returns the method of the threshold, and the family.
func (e egress) String() string {
	if e.four {
		return e.method() + " with IPv4"
	}
	return e.method()
}

// method returns the name of the method of the threshold.
func (e egress) method() string {
	if e.exact {
		return "exact"
	}
	return "sampled"
}

// overload sends flows to the egress of gateway 2 once.
func (w *wanStock) overload(ctx context.Context, flows int, e egress) (r pathRun, err error) {
	e.high, e.low = pathHigh/flows, pathLow/flows
	p, ctx, err := w.congested(ctx, e)
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return r, err
	}
	a := w.pathAdapter()
	a.Obey.Advice = true
	for i := range uint32(flows) {
		f := pathFlow(pathQP+i, pathOffered*1_000_000/uint64(flows))
		if e.four {
			f.Src, f.Dst, f.Label = fabric.HostA4.Addr(), fabric.HostB4.Addr(), 0
		}
		a.Flows = append(a.Flows, f)
	}
	t, err := (&playing{
		senders: []sending{{w.Sender, a}}, receivers: []*fabric.Interface{w.Receiver}, qps: qps(pathQP, flows), answers: answersOf(a.Flows),
		ports: []*fabric.Interface{w.Host[1], w.Host[0], w.Between[0], w.Between[1]}, span: w.span,
	}).play(ctx)
	if err != nil {
		return r, err
	}
	octets := goodput(t.received[0], pathQP, flows, wanSettle, w.span)
	octets += 14 * octets / float64(a.Flows[0].Octets())
	r = pathRun{Goodput: octets * 8 / (pathMbps * 1e6 * (w.span - wanSettle).Seconds()), Drops: float64(t.dropped), Advice: float64(t.sent[0].Advice)}
	for _, s := range t.depths.samples[0] {
		r.Deepest = max(r.Deepest, float64(s.octets))
	}
	if !e.exact {
		r.Samples = float64(t.sent[0].Packets) / w.span.Seconds() / pathSampling
	}
	return r, nil
}

// congested starts gateway 2 with its slow egress.
func (w *wanStock) congested(ctx context.Context, e egress) (*plane, context.Context, error) {
	site := site{
		node: w.Gateways[1], log: "sluiced-wan-stock-" + e.method() + ".log", rows: w.congestedRows(e),
		profile: []string{"SLUICE_QUEUES=8", fmt.Sprintf("SLUICE_QUEUE_BYTES=%d", pathQueue),
			fmt.Sprintf("SLUICE_QUEUE_RATE=%d,%s=%d", pathLink, w.Host[1].Name, pathMbps)},
	}
	if !e.exact {
		site.profile = append(site.profile, "SLUICE_ASIC="+w.asic)
	}
	p, ctx, err := startPlane(ctx, w.c, filepath.Join(w.folder, fmt.Sprint("congested", time.Now().UnixNano())), site)
	for _, want := range [][4]string{
		{"SLUICE_CAPABILITY", "switch", "threshold_method", e.method()},
		{"SLUICE_STATE", "global", "rate_advice", "active"},
	} {
		if err == nil {
			_, err = p.await(ctx, applyPatience, want[0], want[1], want[2], want[3])
		}
	}
	return p, ctx, err
}

// congestedRows are the rows of gateway 2.
func (w *wanStock) congestedRows(e egress) []sonicdb.Change {
	slow, up := portRow(w.Host[1], 0), portRow(w.Between[1], 1)
	slow.Row.Fields["speed"], up.Row.Fields["speed"] = fmt.Sprint(pathMbps), fmt.Sprint(pathLink)
	threshold := map[string]string{"high_bytes": fmt.Sprint(e.high), "low_bytes": fmt.Sprint(e.low), "action": "pause", "duration_us": "40000"}
	if !e.exact {
		threshold["queues@"], threshold["sampling_rate"], threshold["buffer_bytes"] = fmt.Sprint(holdPriority), fmt.Sprint(pathSampling), fmt.Sprint(pathQueue)
	}
	return []sonicdb.Change{
		slow, up,
		set("SLUICE_PORT", w.Host[1].Name, map[string]string{"role": "edge", "threshold": "wan"}),
		set("SLUICE_PORT", w.Between[1].Name, map[string]string{"role": "fabric"}),
		set("SLUICE", "global", map[string]string{"admin_state": "enabled", "router_id_v6": fabric.WANRouters[1].String(), "router_id": fabric.WANRouters4[1].String()}),
		set("SLUICE_THRESHOLD", "wan", threshold),
		set("SLUICE_RATE_ADVICE", "global", map[string]string{"admin_state": "enabled", "target_bytes": fmt.Sprint(pathTarget), "target_delay_us": "1000000",
			"lifetime_intervals": fmt.Sprint(int(wanLifetime / wanInterval)), "min_rate_mbps": fmt.Sprint(pathMinMbps), "rtt_us": fmt.Sprint(wanRTT.Microseconds())}),
		set("SLUICE_RATE_ADVICE_HOST", fabric.HostA.Masked().String(), map[string]string{"NULL": "NULL"}),
		set("SLUICE_RATE_ADVICE_HOST", fabric.HostA4.Masked().String(), map[string]string{"NULL": "NULL"}),
	}
}

// pathAdapter returns the sender of the parts "wan" and "named", without flows.
func (w *wanStock) pathAdapter() nic.Config {
	a := w.adapter()
	a.LineRate = pathLink * 1_000_000
	return a
}

// pathFlow returns a flow of the parts "wan" and "named".
func pathFlow(destQP uint32, rate uint64) nic.Flow {
	f := wanFlow(destQP, destQP+pathSource, rate)
	f.Payload = pathPayload
	return f
}
