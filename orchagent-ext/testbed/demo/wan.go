// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/nic"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// The runs of the scenario wan. All but the last have the slow egress at gateway 2, a
// round trip from the sender.
const (
	wanNone   = "none"
	wanCNP    = "cnp"         // gateway 2 sends CNPs to the sender
	wanAdvice = "rate_advice" // gateway 2 sends Rate Advice to the sender
	// wanPPFC: gateway 2 sends PPFC to gateway 1, which holds and tells the sender
	wanPPFC = "ppfc"
	// wanNear: the slow egress is gateway 1's, which advises its sender
	wanNear = "rate_advice_near"

	// wanTiming: as ppfc, with flows that pass the mark often; no run of the table
	wanTiming = "ppfc_timing"
)

// wanRuns are the variants of the scenario wan, in the order of the report.
var wanRuns = []string{wanNone, wanCNP, wanAdvice, wanPPFC, wanNear}

// Parameters of the scenario wan: a path of long delay, whose round trip bounds how
// early feedback of the receiver reaches the sender.
const (
	wanDelay  = 10 * time.Millisecond // one way
	wanRTT    = 2 * wanDelay
	wanSpan   = 5 * time.Second
	wanSettle = 2 * time.Second // left out of goodput
	wanFlows  = 2
	wanMbps   = 50 // that each offers
	wanQP     = 0x3000
	wanSrcQP  = 0x4000
	wanHigh   = 150_000 // octets of a flow
	wanLow    = 50_000
	// wanTarget: octets of all flows: a bandwidth-delay product of the slow egress
	wanTarget  = 100_000
	wanMinMbps = 1

	wanProcessors = 16

	// An advice lasts some round trips: a refresh that is 20 ms late leaves the
	// rate in force.
	wanInterval = 10 * time.Millisecond
	wanLifetime = 100 * time.Millisecond
)

// wan is the network of the scenario with the control planes of a run.
type wan struct {
	*fabric.WAN
	c      Config
	folder string
	span   time.Duration // of sending in a run
}

// runWAN shows notifications over a long path: two flows exceed an egress behind a delay
// of wanDelay, and the sender slows down by CNP, Rate Advice or the gateway's PPFC.
func runWAN(ctx context.Context, f *fabric.Fabric, c Config, folder string, say say) (result, error) {
	say("network: sender – gateway 1 – [%v each way] – gateway 2 – receiver; an egress of %d Mbit/s", wanDelay, slowMbps)
	network, err := f.WAN(wanDelay)
	if err != nil {
		return nil, err
	}
	// Threads that have real-time priority are to find a processor of Go's as soon as they wake up.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(wanProcessors))
	w := &wan{network, c, folder, wanSpan}
	r := newWANReport()
	runs := 1
	if c.Full {
		runs = 3
	}
	for _, name := range wanRuns {
		for i := range runs {
			say("run %d of %d: %s", i+1, runs, name)
			t, err := w.trial(ctx, name)
			if err != nil {
				return nil, fmt.Errorf("run %s: %w", name, err)
			}
			r.add(name, t)
		}
	}
	say("PPFC from a flow above its mark at gateway 2 to the hold at gateway 1")
	r.PPFC, err = w.timing(ctx, c.Full)
	return r, err
}

// slow is the gateway that has the slow egress in a run, and the port.
func (w *wan) slow(run string) (gateway int, port *fabric.Interface) {
	if run == wanNear {
		return 0, w.Between[0]
	}
	return 1, w.Host[1]
}

// rows are those of a gateway in a run.
func (w *wan) rows(gateway int, run string) []sonicdb.Change {
	at, port := w.slow(run)
	ports := []*fabric.Interface{w.Host[gateway], w.Between[gateway]}
	var rows []sonicdb.Change
	for k, p := range ports {
		row, fields := portRow(p, k), map[string]string{"role": "fabric"}
		if p == w.Host[gateway] {
			fields["role"] = "edge"
		}
		if at == gateway && p == port {
			row.Row.Fields["speed"] = fmt.Sprint(slowMbps)
			fields["threshold"] = "wan"
		}
		rows = append(rows, row, set("SLUICE_PORT", p.Name, fields))
	}
	high, low := wanHigh, wanLow
	if run == wanTiming {
		high, low = highMark, lowMark
	}
	us, other := fabric.WANRouters[gateway].String(), fabric.WANRouters[1-gateway].String()
	rows = append(rows,
		set("SLUICE", "global", map[string]string{"admin_state": "enabled", "router_id_v6": us}),
		set("SLUICE_THRESHOLD", "wan", map[string]string{"high_bytes": fmt.Sprint(high), "low_bytes": fmt.Sprint(low), "action": "pause", "duration_us": "40000"}))
	sources := fabric.HostA.Masked().String()
	ppfc := func(client, gateway string) {
		rows = append(rows, set("SLUICE_PPFC", "global", map[string]string{"admin_state": "enabled", "client_message": client}),
			set("SLUICE_PPFC_GATEWAY", sources, map[string]string{"gateway": gateway}))
	}
	switch {
	case run == wanCNP && gateway == 1:
		ppfc("cnp", us)
		rows = append(rows, set("SLUICE_RATE_ADVICE_HOST", sources, map[string]string{"NULL": "NULL"}))
	case (run == wanPPFC || run == wanTiming) && gateway == 1:
		ppfc("none", other)
	case run == wanPPFC || run == wanTiming:
		ppfc(map[string]string{wanPPFC: "rate-advice", wanTiming: "none"}[run], us)
		rows = append(rows, set("SLUICE_PPFC_PEER", other+"/128", map[string]string{"NULL": "NULL"}))
		if run == wanPPFC {
			rows = append(rows, set("SLUICE_RATE_ADVICE", "global", map[string]string{"admin_state": "enabled"}),
				set("SLUICE_RATE_ADVICE_HOST", sources, map[string]string{"NULL": "NULL"}))
		}
	case (run == wanAdvice || run == wanNear) && gateway == at:
		rows = append(rows,
			set("SLUICE_RATE_ADVICE", "global", map[string]string{"admin_state": "enabled", "target_bytes": fmt.Sprint(wanTarget),
				"target_delay_us": "1000000", "lifetime_intervals": fmt.Sprint(int(wanLifetime / wanInterval)), "min_rate_mbps": fmt.Sprint(wanMinMbps)}),
			set("SLUICE_RATE_ADVICE_HOST", sources, map[string]string{"NULL": "NULL"}))
	}
	return rows
}

// during starts both gateways as a run has them, does something, and ends them.
func (w *wan) during(ctx context.Context, run string, do func(ctx context.Context, planes [2]*plane) error) (err error) {
	at, slow := w.slow(run)
	var planes [2]*plane
	for i, node := range w.Gateways {
		profile := []string{"SLUICE_QUEUES=8", fmt.Sprintf("SLUICE_QUEUE_BYTES=%d", queueBytes), fmt.Sprintf("SLUICE_QUEUE_RATE=%d", linkMbps)}
		if i == at {
			profile[2] = fmt.Sprintf("%s,%s=%d", profile[2], slow.Name, slowMbps)
		}
		p, planeCtx, err := startPlane(ctx, w.c, filepath.Join(w.folder, fmt.Sprint(run, time.Now().UnixNano(), i)), site{
			node: node, log: "sluiced-" + node.Name + ".log", profile: profile, rows: w.rows(i, run),
		})
		defer func() { err = errors.Join(err, p.close()) }()
		if err != nil {
			return err
		}
		ctx, planes[i] = planeCtx, p
		for feature, runs := range map[string][]string{"ppfc": {wanCNP, wanPPFC, wanTiming}, "rate_advice": {wanAdvice, wanNear}} {
			if slices.Contains(runs, run) && (i == at || feature == "ppfc" && run != wanCNP) {
				if _, err := p.await(ctx, applyPatience, "SLUICE_STATE", "global", feature, "active"); err != nil {
					return err
				}
			}
		}
	}
	return do(ctx, planes)
}

// trial sends the traffic of a run once.
func (w *wan) trial(ctx context.Context, run string) (t *trial, err error) {
	err = w.during(ctx, run, func(ctx context.Context, _ [2]*plane) (err error) {
		t, err = w.playing(run).play(ctx)
		return err
	})
	return t, err
}

// playing returns the traffic of a run: its flows, the notification that the sender
// obeys, and the ports whose queues are sampled.
func (w *wan) playing(run string) *playing {
	_, slow := w.slow(run)
	a := w.adapter()
	a.Obey = nic.Obey{Advice: run != wanCNP, CNP: run == wanCNP}
	for i := range uint32(wanFlows) {
		a.Flows = append(a.Flows, wanFlow(wanQP+i, wanSrcQP+i, wanMbps*1_000_000))
	}
	return &playing{
		senders: []sending{{w.Sender, a}}, receivers: []*fabric.Interface{w.Receiver}, qps: qps(wanQP, wanFlows), answers: answersOf(a.Flows),
		ports: []*fabric.Interface{slow, w.Host[0], w.Between[0], w.Host[1], w.Between[1]}, span: w.span,
	}
}

// answersOf are the queue pairs that acknowledge flows, by those that send them.
func answersOf(flows []nic.Flow) map[uint32]uint32 {
	answers := map[uint32]uint32{}
	for _, f := range flows {
		answers[f.DestQP] = f.SrcQP
	}
	return answers
}

// adapter returns the configuration of the sending host, with its flows left out.
func (w *wan) adapter() nic.Config {
	return nic.Config{
		LineRate: linkMbps * 1_000_000, MAC: roce.MAC(w.Sender.MAC), Next: roce.MAC(w.Sender.Peer().MAC), Priority: holdPriority,
		Points: notify.DefaultCodePoints(), Lifetime: wanLifetime, Realtime: true, Connect: true,
	}
}

// wanFlow is a flow from the sender to the receiver that offers a rate in bit/s.
func wanFlow(destQP, srcQP uint32, rate uint64) nic.Flow {
	return nic.Flow{
		Src: fabric.HostA.Addr(), Dst: fabric.HostB.Addr(), SrcQP: srcQP, DestQP: destQP, Label: firstLabel + destQP, SrcPort: 0xc000,
		TrafficClass: holdClass, Payload: holdPayload, Rate: rate,
	}
}
