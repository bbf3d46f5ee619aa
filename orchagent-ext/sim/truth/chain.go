// SPDX-License-Identifier: Apache-2.0

package truth

import (
	"fmt"
	"math/rand/v2"
	"time"

	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/sim/network"
	"sluice/orchagent-ext/sim/paths"
	"sluice/orchagent-ext/sim/topology"
	"sluice/orchagent-ext/wire/notify"
)

// The scenario hold of `make demo` (report.json, hold): three switches in a row, links of 200 Mbit/s,
// one egress of 40; two elephants of 60 Mbit/s go there, and four victims of 15 Mbit/s of the
// same priority to a fast one. Here all rates are a thousand times as high, and all times as short:
// queues and packets are the same.
const (
	slow, fast  = 2, 3 // receivers
	elephants   = 2
	victims     = 4
	chainMTU    = 1024
	chainPacket = chainMTU + network.Headers
	chainSpan   = 3 * network.Millisecond
	queueOctets = 1 << 20
)

// chain runs the scenario. With open senders, packets that are dropped are not sent again, as
// those of the demo; without, each flow is one queue pair.
type chain struct {
	*network.Net
	topo     *topology.Fabric
	sent     [2]int // packets of elephants and victims
	received [2]float64
}

// newChain makes the network.
func newChain(cfg network.Config) (*chain, error) {
	f, err := topology.New(topology.Shape{Hosts: 4, HostsPerLeaf: 2, Spines: 1, HostGbit: 200, LinkNS: 1, SwitchNS: 20})
	if err != nil {
		return nil, err
	}
	f.Links[f.Hosts+slow].PSPerOctet *= 5
	// A queue may have as much as is free: the buffer has room for one that is full.
	cfg.MTU, cfg.Buffer, cfg.Alpha = chainMTU, 2*queueOctets, 1
	return &chain{Net: network.New(f, cfg), topo: f}, nil
}

// qp adds a queue pair of a class of flows: 0 elephants, 1 victims.
func (c *chain) qp(class int, label uint32) int32 {
	return c.AddQP(class, 2+class, c.topo.Pair(0, 1).First, c.topo.Pair(1, 0).First, label)
}

// open sends each packet as a message of a queue pair of its own, that is never sent again.
func (c *chain) open() {
	r := rand.New(rand.NewPCG(3, 1))
	of := map[int32]int{}
	gap := func(class int) float64 { return chainPacket * 8e12 / ([]float64{60e9, 15e9}[class]) }
	c.Delivered = func(qp int32, _ int64) {
		c.received[of[qp]]++
		c.Release(qp)
	}
	at := make([]float64, elephants+victims)
	c.Timer = func(flow int32) {
		class := 0
		if flow >= elephants {
			class = 1
		}
		qp := c.qp(class, 0)
		of[qp] = class
		c.Send(qp, chainMTU)
		c.sent[class]++
		if at[flow] += gap(class); at[flow] < float64(chainSpan) {
			c.At(int64(at[flow]), flow)
		}
	}
	for i := range at {
		at[i] = r.Float64() * gap(min(i/elephants, 1))
		c.At(int64(at[i]), int32(i))
	}
	c.Run(10 * network.Millisecond)
}

// paced runs flows with a rate, each on a queue pair; without elephants where alone. As in the demo,
// elephants do not make up for the time in which they are held, and victims do.
func (c *chain) paced(alone bool) {
	// of a victim, each with up to 8 packets under way: as many as wait for the link
	const pairs = 512
	var flow [victims][pairs]int32
	var next [victims]int
	big := map[int32]bool{}
	for i := range flow {
		for k := range flow[i] {
			flow[i][k] = c.qp(1, uint32(0xabc00+elephants+i))
		}
		c.At(int64(i)*network.Nanosecond, int32(i))
	}
	c.Timer = func(i int32) {
		c.Send(flow[i][next[i]%pairs], chainMTU)
		next[i]++
		c.At(c.Now()+chainPacket*8000/15, i)
	}
	c.Delivered = func(qp int32, _ int64) {
		if big[qp] {
			c.Send(qp, 1<<20)
		}
	}
	for i := range elephants {
		if alone {
			break
		}
		qp := c.qp(0, uint32(0xabc00+i))
		big[qp] = true
		c.Limit(qp, 60_000)
		for range 2 {
			c.Send(qp, 1<<20)
		}
	}
	c.Run(chainSpan / 6) // the rhythm of holds
	before := [2]uint64{c.Link(c.topo.Hosts + slow).Octets, c.Link(c.topo.Hosts + fast).Octets}
	c.Run(chainSpan)
	for i, h := range []int{slow, fast} {
		c.received[i] = float64(c.Link(c.topo.Hosts+h).Octets - before[i])
	}
}

// held is the configuration of the run pfcm: 64 and 32 KiB, 40 ms, and the reaction that it measured,
// 229 µs; adapters obey.
func held() network.Config {
	return network.Config{Hold: &network.Hold{
		Threshold: congestion.Threshold{High: 64 << 10, Low: 32 << 10, Action: notify.Reduce(100), Duration: 40 * time.Microsecond},
		Reaction:  229 * network.Nanosecond, Room: 1 << 20, Hosts: true,
	}}
}

// uncontrolled: the part of the elephants' packets that is dropped, and the queue's peak. The demo
// dropped 22,432 while the slow egress sent 3 s long and then its queue.
func uncontrolled() ([]Check, error) {
	c, err := newChain(network.Config{Timeout: 100 * network.Second})
	if err != nil {
		return nil, err
	}
	c.open()
	const demoDropped, demoPacket, demoDeepest = 22_432, 1118, 1_047_566
	passed := 40e6/8/demoPacket*3 + float64(demoDeepest)/demoPacket
	return []Check{
		{What: "part of the elephants' packets dropped, no control (make demo, hold)", Kind: Namespaces, Expected: demoDropped / (demoDropped + passed), Got: float64(c.Stats.Drops) / float64(c.sent[0])},
		{What: "part of the victims' packets delivered, no control (make demo, hold)", Kind: Namespaces, Expected: 0.9996, Got: c.received[1] / float64(c.sent[1])},
		{What: "deepest queue, no control, octets (make demo, hold)", Kind: Namespaces, Expected: demoDeepest, Got: float64(c.Link(c.topo.Hosts + slow).Deepest)},
	}, nil
}

// controlled: with PFCM victims have all that they have alone, elephants what the slow egress carries,
// and no packet is dropped. The demo's PFC does as well, by marks of the queue; here PFC is that of
// ASICs, by thresholds of ingress ports: victims have two thirds, and no bar.
func controlled() ([]Check, error) {
	alone, err := newChain(network.Config{})
	if err != nil {
		return nil, err
	}
	alone.paced(true)
	c, err := newChain(held())
	if err != nil {
		return nil, err
	}
	c.paced(false)
	if c.Stats.Drops+c.Stats.HoldDrops > 0 {
		return nil, fmt.Errorf("PFCM: %d packets dropped, and %d of held flows; the demo drops none", c.Stats.Drops, c.Stats.HoldDrops)
	}
	span := float64(chainSpan-chainSpan/6) / 1e12
	return []Check{
		{What: "victims' goodput ÷ alone, PFCM (make demo, hold)", Kind: Namespaces, Expected: 1.0011, Got: c.received[1] / alone.received[1]},
		{What: "elephants' goodput ÷ the slow egress, PFCM (make demo, hold)", Kind: Namespaces, Expected: 1.0001, Got: c.received[0] * 8 / (40e9 * span)},
	}, nil
}

// hashed: docs/redirect.md has max ÷ mean by hash of 64 queue pairs with a source port each over 8
// uplinks for 18 hashes; their mean is 1.53.
func hashed() ([]Check, error) {
	var demo = []float64{1.88, 1.51, 1.49, 1.36, 1.35, 1.39, 1.75, 1.50, 1.63, 1.26, 1.37, 1.38, 1.48, 1.51, 1.50, 1.86, 1.48, 1.77}
	sum, got := 0.0, 0.0
	const seeds = 100
	for _, v := range demo {
		sum += v / float64(len(demo))
	}
	for seed := range uint32(seeds) {
		v, err := uplinks(8, paths.FiveTuple, paths.Config{Ports: "queue-pair", Seeds: []uint32{seed + 1}})
		if err != nil {
			return nil, err
		}
		got += v / seeds
	}
	return []Check{{What: "max ÷ mean of 8 uplinks by hash, 64 queue pairs with a source port each, mean of 18 hashes (docs/redirect.md)", Kind: Namespaces, Expected: sum, Got: got}}, nil
}
