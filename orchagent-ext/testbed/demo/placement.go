// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/roce"
)

// The load of the scenario placement: the flows of one host pair send in bursts, all at
// once, as a collective does. Between two bursts they are idle.
const (
	placedFlows   = 64
	placedPort    = 49152
	placedPayload = 256
	equalPackets  = 16  // of each flow in a burst
	zipfPackets   = 240 // of the largest flow, whose share of all is 0.21

	burstEvery = 100 * time.Millisecond
	burstIdle  = 40 * time.Millisecond // at least
	placedIdle = 20 * time.Millisecond // idle_us

	placedSampling = 4
	phaseSpan      = 4 * time.Second
	phaseLimit     = 3 * time.Second // for the load to be even
)

// placing is the network of the scenario, with its traffic.
type placing struct {
	*fabric.LeafSpine
	plane  *plane
	frames [][]byte // of each flow
	sender *fabric.Sender
	sent   uint64
}

// phase is one load, and the share of it that the uplinks are to carry.
type phase struct {
	name    string
	most    float64   // max ÷ mean
	moves   int       // at most; negative: any number
	sizes   []int     // packets of each flow in a burst
	weights []float64 // of uplinks; nil: equal
	before  func() error
}

// runPlacement shows placement on a leaf and a spine: the same flows without labels, with
// labels of the hash, and placed, for several distributions of rates.
func runPlacement(ctx context.Context, f *fabric.Fabric, c Config, folder string, say say) (_ result, err error) {
	say("network: host A – leaf == %d uplinks == spine – host B", uplinks)
	network, err := f.LeafSpine(uplinks)
	if err != nil {
		return nil, err
	}
	// As SONiC has it: a next hop whose link is down is passed over.
	if err := network.Leaf.Sysctl("net.ipv6.conf.all.ignore_routes_with_linkdown", "1"); err != nil {
		return nil, err
	}
	for _, u := range network.Uplinks {
		if err := network.Leaf.Sysctl("net.ipv6.conf."+u.Name+".ignore_routes_with_linkdown", "1"); err != nil {
			return nil, err
		}
	}
	say("control plane: Redis, and %s with %s in the leaf", c.Sluiced, c.Library)
	p, ctx, err := startPlane(ctx, c, folder, site{node: network.Leaf, log: "sluiced-placement.log", rows: portRows(network)})
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return nil, reason(ctx, err)
	}
	t := &placing{LeafSpine: network, plane: p}
	if t.frames, err = placedFrames(network.A); err != nil {
		return nil, err
	}
	if t.sender, err = network.A.Sender(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.sender.Close()) }()
	r, err := t.compare(ctx, c.Full, say)
	if err != nil {
		return nil, reason(ctx, err)
	}
	return r, nil
}

// placedFrames are a packet of each flow.
func placedFrames(a *fabric.Interface) (frames [][]byte, err error) {
	for qp := range uint32(placedFlows) {
		b := roce.Ethernet{Dst: roce.MAC(a.Peer().MAC), Src: roce.MAC(a.MAC), EtherType: roce.EtherTypeIPv6}.Append(nil)
		ip := len(b)
		b = roce.IPv6Header{NextHeader: 17, HopLimit: 64, Src: fabric.HostA.Addr().As16(), Dst: fabric.HostB.Addr().As16()}.Append(b)
		b = roce.UDPHeader{SrcPort: placedPort, DstPort: roce.UDPPort}.Append(b)
		b = roce.BTH{Opcode: roce.RCWriteMiddle, PKey: 0xffff, DestQP: 0x5000 + qp}.Append(b)
		if b, err = roce.Finish(append(b, make([]byte, placedPayload)...), ip); err != nil {
			return nil, err
		}
		frames = append(frames, b)
	}
	return frames, nil
}

// sizesOf are the packets of each flow in a burst, by its rank.
func sizesOf(size func(rank int) int) []int {
	sizes := make([]int, placedFlows)
	for i := range sizes {
		sizes[i] = size(i)
	}
	return sizes
}

// compare sends the loads with labels by hash, and placed.
func (t *placing) compare(ctx context.Context, full bool, say say) (*placementReport, error) {
	equal, zipf := sizesOf(func(int) int { return equalPackets }), sizesOf(func(rank int) int { return max(1, zipfPackets/(rank+1)) })
	changed := slices.Clone(zipf)
	slices.Reverse(changed)
	r := &placementReport{Placement: map[string]*placementRun{}, full: full}

	arrived, err := t.B.Counters()
	if err != nil {
		return nil, err
	}
	say("traffic: bursts of %d queue pairs, each %v; without labels", placedFlows, burstEvery)
	if r.Unlabelled, err = t.measured(ctx, equal); err != nil {
		return nil, err
	}
	_, r.method, err = t.plane.enable(ctx)
	if err != nil {
		return nil, err
	}
	say("labels by hash (method %s)", r.method)
	// by rewrite the CPU learns the flows meanwhile
	if err := t.play(ctx, equal, time.Second, nil); err != nil {
		return nil, err
	}
	hash := map[string]float64{}
	for name, sizes := range map[string][]int{"equal": equal, "zipf": zipf, "changed": changed} {
		if hash[name], err = t.measured(ctx, sizes); err != nil {
			return nil, err
		}
	}
	say("configuration: SLUICE_PLACEMENT|global admin_state=enabled")
	if err := t.enable(ctx); err != nil {
		return nil, err
	}
	down := t.Uplinks[1].Peer()
	phases := []phase{
		{name: "equal", most: 1.01, moves: -1, sizes: equal},
		{name: "zipf", most: 1.05, moves: 20, sizes: zipf},
		{name: "changed", most: 1.05, moves: -1, sizes: changed},
		{name: "link_down", most: 1.10, moves: -1, sizes: changed, weights: []float64{1, 0, 1, 1}, before: func() error { return down.Set(false) }},
	}
	if full {
		phases = append(phases,
			phase{name: "link_up", most: 1.10, moves: -1, sizes: changed, before: func() error { return down.Set(true) }},
			phase{name: "weights", most: 1.05, moves: -1, sizes: changed, weights: []float64{1, 2, 4, 1}, before: func() error { return t.Weigh(1, 2, 4, 1) }})
	}
	for _, ph := range phases {
		say("load: %s", ph.name)
		run, err := t.run(ctx, ph)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ph.name, err)
		}
		if h, measured := hash[ph.name]; measured {
			run.HashWorstOverMean = h
		}
		r.Placement[ph.name], r.order = run, append(r.order, ph)
		if ph.name == "changed" {
			if run.After, err = t.after(ctx, full, ph.sizes, say); err != nil {
				return nil, err
			}
		}
	}
	after, err := t.B.Counters()
	if err != nil {
		return nil, err
	}
	r.lost = int64(t.sent) - int64(after.RxPackets-arrived.RxPackets)
	return r, nil
}

// after counts the moves while the load stays as it is.
func (t *placing) after(ctx context.Context, full bool, sizes []int, say say) (moves int, err error) {
	span := 2 * time.Second
	if full {
		span = 10 * time.Second
	}
	say("the same load for %v", span)
	before, err := t.group(ctx)
	if err != nil {
		return 0, err
	}
	if err := t.play(ctx, sizes, span, nil); err != nil {
		return 0, err
	}
	now, err := t.group(ctx)
	return int(now["moves"] - before["moves"]), err
}

// enable switches placement on, and waits until it is.
func (t *placing) enable(ctx context.Context) error {
	row := set("SLUICE_PLACEMENT", "global", map[string]string{
		"admin_state": "enabled", "idle_us": fmt.Sprint(placedIdle.Microseconds()), "sampling_rate": fmt.Sprint(placedSampling),
	})
	if err := t.plane.config.Write(ctx, row); err != nil {
		return err
	}
	_, err := t.plane.await(ctx, applyPatience, "SLUICE_STATE", "global", "placement", "active")
	return err
}

// sample has the octets that the uplinks sent in a burst.
type sample struct {
	at     time.Duration // since the load began
	octets []uint64
}

// play sends bursts, and passes each with the octets of the uplinks.
func (t *placing) play(ctx context.Context, sizes []int, span time.Duration, each func(sample)) error {
	began := time.Now()
	before, err := t.octets()
	if err != nil {
		return err
	}
	for time.Since(began) < span {
		next := time.Now().Add(burstEvery)
		if err := t.burst(sizes); err != nil {
			return err
		}
		if !clock.Sleep(ctx, max(burstIdle, time.Until(next))) {
			return ctx.Err()
		}
		now, err := t.octets()
		if err != nil {
			return err
		}
		if each != nil {
			s := sample{at: time.Since(began), octets: make([]uint64, len(now))}
			for i := range now {
				s.octets[i] = now[i] - before[i]
			}
			each(s)
		}
		before = now
	}
	return nil
}

// burst sends the packets of all flows, the flows in turn.
func (t *placing) burst(sizes []int) error {
	n := 0
	for k, some := 0, true; some; k++ {
		some = false
		for i, size := range sizes {
			if k >= size {
				continue
			}
			some = true
			if err := t.sender.Send(t.frames[i]); err != nil {
				return err
			}
			t.sent++
			if n++; n%burst == 0 {
				// the kernel drops what it cannot queue
				time.Sleep(time.Millisecond)
			}
		}
	}
	return nil
}

// octets returns the octets that each uplink sent, by its own counter.
func (t *placing) octets() (all []uint64, err error) {
	for _, u := range t.Uplinks {
		c, err := u.Counters()
		if err != nil {
			return nil, err
		}
		all = append(all, c.TxBytes)
	}
	return all, nil
}

// measured sends a load for some bursts, and returns its max ÷ mean.
func (t *placing) measured(ctx context.Context, sizes []int) (float64, error) {
	sum := make([]uint64, len(t.Uplinks))
	err := t.play(ctx, sizes, 6*burstEvery, func(s sample) {
		for i, n := range s.octets {
			sum[i] += n
		}
	})
	return worstToMean(sum, nil), err
}

// worstToMean returns the worst of loads ÷ weight, divided by their mean by
// weight; 0 without load. The load of a path of weight 0 is in the mean.
func worstToMean(octets []uint64, weights []float64) float64 {
	var sum, weight, worst float64
	for i, n := range octets {
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		sum, weight = sum+float64(n), weight+w
		if w > 0 {
			worst = max(worst, float64(n)/w)
		}
	}
	if sum == 0 {
		return 0
	}
	return worst / (sum / weight)
}

// group is the row of the group of next hops, its numbers.
func (t *placing) group(ctx context.Context) (map[string]float64, error) {
	all, err := t.plane.state.Read(ctx, "SLUICE_PLACEMENT_GROUP")
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("STATE_DB has %d rows of SLUICE_PLACEMENT_GROUP, want 1%s", len(all), t.plane.words())
	}
	numbers := map[string]float64{}
	for field, text := range all[0].Fields {
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			numbers[field] = n
		}
	}
	if why := all[0].Fields["reason"]; why != "" {
		return nil, fmt.Errorf("labels are not chosen: %s", why)
	}
	return numbers, nil
}

// run sends a load, and measures how soon, and how evenly, it leaves.
func (t *placing) run(ctx context.Context, ph phase) (*placementRun, error) {
	before := map[string]float64{}
	if ph.name != "equal" { // groups come with the first flow
		var err error
		if before, err = t.group(ctx); err != nil {
			return nil, err
		}
	}
	if ph.before != nil {
		if err := ph.before(); err != nil {
			return nil, err
		}
	}
	var samples []sample
	if err := t.play(ctx, ph.sizes, phaseSpan, func(s sample) { samples = append(samples, s) }); err != nil {
		return nil, err
	}
	now, err := t.group(ctx)
	if err != nil {
		return nil, err
	}
	r := &placementRun{HashWorstOverMean: now["hash_worst_over_mean"], Floor: now["floor"], Moves: int(now["moves"] - before["moves"])}
	r.WorstOverMean, r.Seconds = settled(samples, ph.weights, ph.most)
	return r, nil
}

// settled returns the max ÷ mean of the last second, and when, in seconds, the
// last burst ended that was above a bar.
func settled(samples []sample, weights []float64, most float64) (worst, seconds float64) {
	var sum []uint64
	end := samples[len(samples)-1].at
	for _, s := range samples {
		if worstToMean(s.octets, weights) > most {
			seconds = s.at.Seconds()
		}
		if sum == nil {
			sum = make([]uint64, len(s.octets))
		}
		if end-s.at < time.Second {
			for i, n := range s.octets {
				sum[i] += n
			}
		}
	}
	return worstToMean(sum, weights), seconds
}
