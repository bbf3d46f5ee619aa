// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/site"
)

// Every second path takes slowPath, so that a flow whose path changes while packets are under
// way arrives out of order; flows are idle after idleAfter.
const (
	slowPath  = 10 * time.Millisecond
	idleAfter = 25 * time.Millisecond

	flowPayload = 200
	sourcePort  = 49152
	settleTime  = 5 * time.Second // and three periods, until windows are judged
	leastSpan   = 2 * time.Second // of a window, and two periods
	judgedSpans = 3               // that a load lasts after it has settled
)

// A burstLoad is flows that burst once a period, and pause between.
type burstLoad struct {
	period, burst time.Duration
	uplinks       int
	weights       []int // of uplinks; nil: equal
	equal         int   // flows of one size; 0: 64 flows whose sizes follow Zipf's law
	each          int   // packets of such a flow in a burst; 0: 6
	sampling      int   // one packet of so many is sampled; 0: 4
	waited        *int  // most flows that waited for a pause at once; nil: it is not asked
	apart         bool  // each flow bursts at a moment of its own: they never pause together
	hogs          bool  // every CPU is busy, and paths are alike: delays would be those of the machine
}

// placed is a scenario of a load that is to fill uplinks evenly and in order.
func placed(name, about string, short bool, l burstLoad) scenario {
	return scenario{name: name, about: about, short: short, run: func(ctx context.Context, st *stage) (*result, error) {
		r, err := l.run(ctx, st)
		if r != nil {
			r.bars = []bar{inOrder, patient, even}
		}
		return r, err
	}}
}

// hogs is bursts on a busy machine: their order has a bar, their spread is reported.
func hogs(ctx context.Context, st *stage) (*result, error) {
	l := burstLoad{period: 100 * time.Millisecond, burst: 40 * time.Millisecond, uplinks: 4, hogs: true}
	r, err := l.run(ctx, st)
	if r != nil {
		r.Lost, r.bars = r.Drops, []bar{lossless, inOrder} // without a hold, any packet counts
	}
	return r, err
}

// packets are those of each flow in a burst.
func (l *burstLoad) packets() (all []int) {
	for range l.equal {
		all = append(all, cmp.Or(l.each, 6))
	}
	for rank := 0; l.equal == 0 && rank < 64; rank++ {
		all = append(all, max(2, 120/(rank+1)))
	}
	return all
}

// shares are the weights of uplinks.
func (l *burstLoad) shares() []float64 {
	all := make([]float64, l.uplinks)
	for i := range all {
		if all[i] = 1; l.weights != nil {
			all[i] = float64(l.weights[i])
		}
	}
	return all
}

// A leafSpine is the network of the placement scenarios, with a leaf that places flows.
type leafSpine struct {
	*fabric.LeafSpine
	*site.Site
	fabric *fabric.Fabric
}

// buildLeafSpine builds the network, and starts placement. Close it in the end, after an error,
// too.
func (st *stage) buildLeafSpine(ctx context.Context, l burstLoad, delayed bool) (n *leafSpine, err error) {
	n = &leafSpine{Site: &site.Site{}}
	if n.fabric, err = fabric.New(); err != nil {
		return n, err
	}
	delays := make([]time.Duration, l.uplinks)
	for i := 1; delayed && i < l.uplinks; i += 2 {
		delays[i] = slowPath
	}
	if n.LeafSpine, err = n.fabric.LeafSpineOf(delays...); err != nil {
		return n, err
	}
	if l.weights != nil {
		if err := n.Weigh(l.weights...); err != nil {
			return n, err
		}
	}
	roles := map[*fabric.Interface]string{n.LeafA: "edge"}
	for _, u := range n.Uplinks {
		roles[u] = "fabric"
	}
	if n.Site, err = site.Start(ctx, n.Leaf, st.files("leaf"), roles); err != nil {
		return n, err
	}
	if err := n.Set(ctx, "SLUICE_FLOW_LABEL", "global", "admin_state", "enabled", "manage_switch_hash", "true"); err != nil {
		return n, err
	}
	if err := n.Await(ctx, "SLUICE_STATE", "global", "flow_label", "active"); err != nil {
		return n, err
	}
	err = n.Set(ctx, "SLUICE_PLACEMENT", "global", "admin_state", "enabled", "idle_us", fmt.Sprint(idleAfter.Microseconds()), "sampling_rate", fmt.Sprint(cmp.Or(l.sampling, 4)))
	if err == nil {
		err = n.Await(ctx, "SLUICE_STATE", "global", "placement", "active")
	}
	return n, err
}

func (n *leafSpine) close() error {
	err := n.Close()
	if n.fabric != nil {
		err = errors.Join(err, n.fabric.Close())
	}
	return err
}

// frameLength is the length of each frame of the load, in octets with the Ethernet header.
const frameLength = atPayload + flowPayload + icrcSize

// carried are the octets that each uplink has sent, by its packets: a veth counts octets without
// the Ethernet header, a TAP with it.
func (n *leafSpine) carried() (all []uint64, err error) {
	for _, u := range n.Uplinks {
		c, err := u.Counters()
		if err != nil {
			return nil, err
		}
		all = append(all, c.TxPackets*frameLength)
	}
	return all, nil
}

// newFlows returns so many flows from host A to host B, with queue pairs from first on.
func (n *leafSpine) newFlows(first uint32, count int) (all []*flow) {
	for i := range uint32(count) {
		all = append(all, newFlow(n.A.MAC, n.LeafA.MAC, fabric.HostA.Addr(), fabric.HostB.Addr(), first+i, sourcePort, flowPayload))
	}
	return all
}

func (l *burstLoad) run(ctx context.Context, st *stage) (r *result, err error) {
	n, err := st.buildLeafSpine(ctx, *l, !l.hogs)
	defer func() { err = errors.Join(err, n.close()) }()
	if err != nil {
		return nil, err
	}
	if l.hogs {
		stop, err := hogCPUs(ctx)
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	packets := l.packets()
	g, err := newGenerator(n.A, n.newFlows(0x5000, len(packets)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.sender.Close()) }()
	capture, err := n.B.Capture()
	if err != nil {
		return nil, err
	}
	marks, err := l.bursts(ctx, st, n, g, packets)
	frames, stopErr := capture.Stop()
	if err = errors.Join(err, stopErr); err != nil {
		return nil, err
	}
	from, span := l.times()
	if st.short { // its last windows: it ended when one of them was even, or when patience did
		from = min(from, marks[len(marks)-1].at-span-2*l.period)
	}
	worst, judged := windows(marks, l.shares(), from, span)
	if r, err = n.outcome(ctx, g, frames, &worst, judged); r != nil && l.waited != nil {
		paused := 1000 * longestPause(frames).Seconds()
		r.PausedMS = &paused
	}
	return r, err
}

// times are when windows begin to be judged, and how long each lasts at least.
func (l *burstLoad) times() (from, span time.Duration) {
	return settleTime + 3*l.period, max(leastSpan, 2*l.period)
}

// bursts sends bursts, and marks the octets sent and carried in the middle of each pause, or at the
// end of each period: then packets of some ms are under way, of a window of seconds. In the
// short form they end when a window is even.
func (l *burstLoad) bursts(ctx context.Context, st *stage, n *leafSpine, g *generator, packets []int) (marks []mark, err error) {
	random := rand.New(rand.NewPCG(1, 2))
	from, span := l.times()
	end := from + judgedSpans*span
	phases := make([]time.Duration, len(packets))
	for i := range phases {
		phases[i] = time.Duration(random.Int64N(int64(l.period-l.burst) + 1))
	}
	begin := time.Now()
	for next := begin; ; next = next.Add(l.period) {
		if late := time.Since(next); late > 0 { // so that flows pause, on a machine that is slow
			next = next.Add(late)
		}
		vary := make([]int, len(packets))
		for i, p := range packets { // by a few percent
			vary[i] = p + random.IntN(1+p/10) - p/20
		}
		schedule := spreadOut(vary, l.burst)
		if l.apart {
			delay(schedule, phases)
		}
		if err := g.play(ctx, next, schedule); err != nil {
			return nil, err
		}
		if !l.apart {
			sleepUntil(time.Now().Add((l.period - l.burst) * 2 / 3))
		}
		paths, err := n.carried()
		if err != nil {
			return nil, err
		}
		if l.waited != nil {
			sums, err := n.Sum(ctx, "SLUICE_PLACEMENT_GROUP", "waiting")
			if err != nil {
				return nil, err
			}
			*l.waited = max(*l.waited, sums["waiting"])
		}
		at := time.Since(begin)
		marks = append(marks, mark{at, append([]uint64(nil), g.octets...), paths})
		if at >= end && !st.short {
			return marks, nil
		}
		if worst, n := windows(marks, l.shares(), at-span-2*l.period, span); st.short && n > 0 && worst.worst <= 1.05*worst.floor {
			return marks, nil
		}
		if at > site.Patience {
			return marks, nil
		}
	}
}

func sleepUntil(t time.Time) { time.Sleep(time.Until(t)) }

// outcome judges the arrivals, and reads the daemon's counters. A nil worst is not reported.
func (n *leafSpine) outcome(ctx context.Context, g *generator, frames []fabric.Frame, worst *spread, judged int) (*result, error) {
	order := judgeOrder(frames, idleAfter)
	sums, err := n.Sum(ctx, "SLUICE_PLACEMENT_GROUP", "moves", "waiting")
	if err != nil {
		return nil, err
	}
	moves, waiting, drops := sums["moves"], sums["waiting"], g.sent-order.packets+order.twice
	return &result{Reordered: &order.reordered, Hasty: &order.hasty, TooLong: &order.tooLong, Drops: &drops, WorstOverMean: &worst.worst, Floor: &worst.floor, Moves: &moves, Waiting: &waiting, Windows: judged}, nil
}

// hogCPUs makes every CPU busy with processes of ordinary priority. stop ends them.
func hogCPUs(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var all []*exec.Cmd
	stop = func() {
		cancel()
		for _, c := range all {
			_ = c.Wait() // it was killed
		}
	}
	for range runtime.NumCPU() {
		c := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			stop()
			return nil, err
		}
		all = append(all, c)
	}
	return stop, nil
}

// The load of scenario churn.
const (
	aliveFlows   = 500
	flowLife     = 50 * time.Millisecond
	packetsALife = 3
	churnTime    = 12 * time.Second
)

// churn keeps flows alive, each replaced after some packets. Flows end before they pause, so
// their spread is reported; their order has a bar.
func churn(ctx context.Context, st *stage) (r *result, err error) {
	n, err := st.buildLeafSpine(ctx, burstLoad{uplinks: 4}, true)
	defer func() { err = errors.Join(err, n.close()) }()
	if err != nil {
		return nil, err
	}
	capture, err := n.B.Capture()
	if err != nil {
		return nil, err
	}
	g, err := newGenerator(n.A, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.sender.Close()) }()
	packets := make([]int, aliveFlows)
	for i := range packets {
		packets[i] = packetsALife
	}
	schedule := spreadOut(packets, flowLife)
	first, err := n.carried()
	if err != nil {
		return nil, err
	}
	sizes := []uint64{}
	begin, qp := time.Now(), uint32(0x10000)
	for next := begin; time.Since(begin) < churnTime && err == nil; next = next.Add(flowLife) {
		g.flows, g.octets = n.newFlows(qp, aliveFlows), make([]uint64, aliveFlows)
		qp += aliveFlows
		err = g.play(ctx, next, schedule)
		sizes = append(sizes, g.octets...)
	}
	time.Sleep(10 * slowPath) // all arrive
	frames, stopErr := capture.Stop()
	if err = errors.Join(err, stopErr); err != nil {
		return nil, err
	}
	last, err := n.carried()
	if err != nil {
		return nil, err
	}
	zero := make([]uint64, len(sizes))
	s := between(mark{flows: zero, paths: first}, mark{flows: sizes, paths: last}, []float64{1, 1, 1, 1})
	if r, err = n.outcome(ctx, g, frames, &s, 1); r != nil {
		r.Lost, r.bars = r.Drops, []bar{lossless, inOrder} // without a hold, any packet counts
	}
	return r, err
}
