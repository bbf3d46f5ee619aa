// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/nic"
)

// The runs of the scenario hold: the same traffic uncontrolled, with PFC on the
// class, with PFCM hop by hop to the sending adapter, and with PFCM to an edge
// that translates it into PFC for an adapter that has only PFC.
const (
	runNone  = "none"
	runPFC   = "pfc"
	runPFCM  = "pfcm"
	runToPFC = "pfcm_to_pfc"
)

// holdRuns are the variants of the scenario hold, in the order of the report.
var holdRuns = []string{runNone, runPFC, runPFCM, runToPFC}

// Times of one trial. Goodput leaves out the begin, until the holds have their rhythm.
const (
	holdSpan   = 3 * time.Second        // of sending
	holdSettle = 500 * time.Millisecond // left out of goodput
)

// chain is the network of the scenario with its control planes.
type chain struct {
	*fabric.Chain
	c      Config
	sites  [3]site
	planes [3]*plane
}

// runHold shows flow control on a chain of three switches: elephants to a slow egress
// share a priority with victims to a fast one. A trial of the victims alone is the
// measure; each run of holdRuns has both.
func runHold(ctx context.Context, f *fabric.Fabric, c Config, folder string, say say) (_ result, err error) {
	say("network: adapters – edge – aggregation – core – receivers; links of %d Mbit/s, one egress of %d", linkMbps, slowMbps)
	network, err := f.Chain()
	if err != nil {
		return nil, err
	}
	say("control plane: Redis and %s with %s in each of the three switches", c.Sluiced, c.Library)
	n := &chain{Chain: network, c: c}
	defer func() {
		for _, p := range n.planes {
			if p != nil {
				err = errors.Join(err, p.close())
			}
		}
	}()
	rate := fmt.Sprintf("SLUICE_QUEUE_RATE=%d", linkMbps)
	edge := ctx // ends with the edge's sluiced
	for i, s := range n.Switches {
		profile := []string{"SLUICE_QUEUES=8", fmt.Sprintf("SLUICE_QUEUE_BYTES=%d", queueBytes), rate}
		if i == 2 {
			profile[2] = fmt.Sprintf("%s,%s=%d", rate, n.slow().Name, slowMbps)
		}
		n.sites[i] = site{node: s, log: "sluiced-" + s.Name + ".log", profile: profile, rows: n.rows(i)}
		if n.planes[i], ctx, err = startPlane(ctx, c, filepath.Join(folder, s.Name), n.sites[i]); err != nil {
			return nil, err
		}
		if err := n.canHold(ctx, i); err != nil {
			return nil, err
		}
		if i == 0 {
			edge = ctx
		}
	}
	r := newHoldReport()
	runs := 1
	if c.Full {
		runs = 3
	}
	say("traffic: %d victims alone, as what they are measured by", victims)
	alone, err := n.trial(ctx, runNone, false)
	if err != nil {
		return nil, err
	}
	for _, name := range holdRuns {
		for i := range runs {
			say("run %d of %d: %s", i+1, runs, name)
			t, err := n.trial(ctx, name, true)
			if err != nil {
				return nil, fmt.Errorf("run %s: %w", name, err)
			}
			r.add(name, t, alone)
		}
	}
	if r.latencies, err = n.measured(ctx); err != nil || !c.Full {
		return r, err
	}
	say("bursts for %v, and %d holds that expire, between aggregation and core", pairSpan, expiring)
	if r.latencies, err = n.pair(ctx); err != nil {
		return nil, err
	}
	say("the same without real-time priority")
	if ctx, err = n.withoutRealtime(edge); err != nil {
		return nil, err
	}
	without, err := n.pair(ctx)
	r.Without = &without
	return r, err
}

// canHold waits until a switch reports a method to hold flows.
func (n *chain) canHold(ctx context.Context, i int) error {
	_, err := n.planes[i].await(ctx, startPatience, "SLUICE_CAPABILITY", "switch", "hold_method", "exact")
	return err
}

// slow is the core's port to the slow egress.
func (n *chain) slow() *fabric.Interface { return n.Ports[2][1] }

// rows are those that a switch begins with.
func (n *chain) rows(i int) (rows []sonicdb.Change) {
	for k, port := range n.Ports[i] {
		rows = append(rows, portRow(port, k), set("SLUICE_PORT", port.Name, map[string]string{"role": "fabric"}))
	}
	return append(rows,
		set("SLUICE_THRESHOLD", "elephant", map[string]string{
			"high_bytes": fmt.Sprint(highMark), "low_bytes": fmt.Sprint(lowMark), "action": "pause", "duration_us": "40000",
		}))
}

// configure writes the rows of a run into all switches, and waits until they are
// in force.
func (n *chain) configure(ctx context.Context, run string) error {
	on := run == runPFCM || run == runToPFC
	for i, p := range n.planes {
		state := map[bool]string{true: "enabled", false: "disabled"}[on]
		changes := []sonicdb.Change{set("SLUICE_PFCM", "global", map[string]string{
			"admin_state": state, "generate": "true", "enforce": "true", "translate_pfc": fmt.Sprint(run == runToPFC),
		})}
		for _, port := range n.Ports[i] {
			fields := map[string]string{"role": "fabric", "threshold": "elephant", "upstream_neighbor": port.Peer().LinkLocal.String()}
			if slices.Contains(n.Senders[:], port.Peer()) {
				fields["role"] = "edge"
				if run == runToPFC {
					fields["role"] = "border"
					delete(fields, "upstream_neighbor")
				}
			}
			changes = append(changes, set("SLUICE_PORT", port.Name, fields))
		}
		if err := p.config.Write(ctx, changes...); err != nil {
			return err
		}
	}
	want := map[bool]string{true: "active", false: "disabled"}[on]
	for _, p := range n.planes {
		if _, err := p.await(ctx, applyPatience, "SLUICE_STATE", "global", "pfcm", want); err != nil {
			return err
		}
	}
	return nil
}

// trial sends the traffic once, with or without elephants.
func (n *chain) trial(ctx context.Context, run string, withElephants bool) (*trial, error) {
	if err := n.configure(ctx, run); err != nil {
		return nil, err
	}
	obey := nic.Obey{PFCM: run == runPFCM, PFC: run == runPFC || run == runToPFC}
	p := &playing{
		receivers: n.Receivers[:], qps: slices.Concat(qps(elephantQP, elephants), qps(victimQP, victims)),
		ports: slices.Concat(n.Ports[:]...), links: n.links(), span: holdSpan,
	}
	for i, host := range n.Senders {
		a := adapter(n.Chain, i, obey)
		if i == 0 && !withElephants {
			a.Flows = nil
		}
		p.senders = append(p.senders, sending{host, a})
	}
	if run == runPFC {
		var paused [3]atomic.Bool
		for i, ports := range n.Ports {
			var downstream *atomic.Bool
			if i < 2 {
				downstream = &paused[i+1]
			}
			egress, ingress := []*fabric.Interface{ports[len(ports)-1]}, ports[:len(ports)-1]
			if i == 2 {
				egress, ingress = ports[1:], ports[:1]
			}
			p.beside = append(p.beside, func(ctx context.Context) (int, error) {
				return pausePriority(ctx, egress, ingress, &paused[i], downstream)
			})
		}
	}
	return p.play(ctx)
}

// links are where notifications arrive that go towards the senders, the first one
// behind the slow egress first.
func (n *chain) links() []*fabric.Interface {
	return []*fabric.Interface{n.Ports[1][1], n.Ports[0][2], n.Senders[0], n.Senders[1]}
}
