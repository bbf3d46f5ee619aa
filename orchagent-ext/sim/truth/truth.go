// SPDX-License-Identifier: Apache-2.0

package truth

import (
	"math"
	"math/rand/v2"

	"sluice/orchagent-ext/sim/load"
	"sluice/orchagent-ext/sim/network"
	"sluice/orchagent-ext/sim/paths"
	"sluice/orchagent-ext/sim/topology"
)

// The kinds of comparisons, and by how many percent they may differ.
const (
	ClosedForm = "closed form" // 2
	Namespaces = "namespaces"  // 10
)

// A Check is one comparison.
type Check struct {
	What     string  `json:"what"`
	Kind     string  `json:"kind"`
	Expected float64 `json:"expected"`
	Got      float64 `json:"got"`
	Percent  float64 `json:"percent"` // by how much got differs
}

// All makes all comparisons. It takes some seconds.
func All() ([]Check, error) {
	var all []Check
	for _, f := range []func() (Check, error){
		bottleneck, fairShares, latency, pause, waiting, goBackN, selective, window, dynamicThreshold, occupancy, birthday, ringTime,
		oneTuple, placed, redirected,
	} {
		c, err := f()
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	for _, f := range []func() ([]Check, error){uncontrolled, controlled, hashed} {
		some, err := f()
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	for i := range all {
		all[i].Percent = 100 * (all[i].Got - all[i].Expected) / all[i].Expected
	}
	return all, nil
}

const (
	mtu       = 4096
	packet    = mtu + network.Headers // octets on the wire
	ps100G    = 80                    // of an octet
	fullSpeed = 100e9
)

// leaf is hosts on one leaf.
func leaf(hosts int, linkNS int) (*topology.Fabric, error) {
	return topology.New(topology.Shape{Hosts: hosts, HostsPerLeaf: hosts, Spines: 1, LinkNS: linkNS})
}

// flood keeps each of pairs of hosts busy with messages, and returns the network and the queue
// pairs.
func flood(f *topology.Fabric, cfg network.Config, octets int64, pairs ...[2]int) (*network.Net, []int32) {
	n := network.New(f, cfg)
	n.Delivered = func(qp int32, _ int64) { n.Send(qp, octets) }
	var qps []int32
	for _, p := range pairs {
		qp := n.AddQP(p[0], p[1], 0, 0, 0)
		qps = append(qps, qp)
		for range 2 { // so that one is always under way
			n.Send(qp, octets)
		}
	}
	return n, qps
}

// bottleneck: 8 hosts send to one with PFC; its link is full, and carries payload in the
// proportion of packets' payload to their length.
func bottleneck() (Check, error) {
	f, err := leaf(9, 500)
	if err != nil {
		return Check{}, err
	}
	var pairs [][2]int
	for h := 1; h < 9; h++ {
		pairs = append(pairs, [2]int{h, 0})
	}
	n, _ := flood(f, network.Config{PFC: true, Buffer: 1 << 20}, 1<<20, pairs...)
	n.Run(network.Millisecond)
	before := n.Stats.Packets
	n.Run(6 * network.Millisecond)
	return Check{
		What: "goodput of 8 hosts that send to one over 100 Gbit/s with PFC, bit/s", Kind: ClosedForm,
		Expected: fullSpeed * mtu / packet, Got: float64(n.Stats.Packets-before) * mtu * 8 / 5e-3,
	}, nil
}

// fairShares: host 0 sends to A and B, hosts 1 and 2 to A. By max-min fairness each flow to A
// has a third of A's link, and the flow to B the rest of host 0's. Windows keep queues short.
func fairShares() (Check, error) {
	f, err := leaf(8, 500)
	if err != nil {
		return Check{}, err
	}
	n, _ := flood(f, network.Config{Window: 32 * mtu, Buffer: 8 << 20, AckEvery: 1}, 1<<20, [2]int{0, 6}, [2]int{0, 7}, [2]int{1, 6}, [2]int{2, 6})
	n.Run(network.Millisecond)
	before := n.Link(8 + 7).Octets
	n.Run(11 * network.Millisecond)
	return Check{
		What: "max-min share of a flow beside one that a link with three flows limits, bit/s", Kind: ClosedForm,
		Expected: fullSpeed * 2 / 3, Got: float64(n.Link(8+7).Octets-before) * 8 / 10e-3,
	}, nil
}

// latency: one packet through leaf, spine and leaf is stored and forwarded at each.
func latency() (Check, error) {
	f, err := topology.New(topology.Shape{Hosts: 4, HostsPerLeaf: 2, Spines: 1, HostGbit: 100, FabricGbit: 400})
	if err != nil {
		return Check{}, err
	}
	n, at := network.New(f, network.Config{}), int64(0)
	n.Delivered = func(int32, int64) { at = n.Now() }
	n.Send(n.AddQP(0, 3, f.Pair(0, 1).First, f.Pair(1, 0).First, 0), mtu)
	n.Run(network.Second)
	return Check{
		What: "time of one packet through three switches that store and forward, ns", Kind: ClosedForm,
		Expected: (packet*(80+20+20+80) + 4*500e3 + 3*500e3) / 1e3, Got: float64(at) / 1e3,
	}, nil
}

// pause: two hosts send to one, over links of 100 µs. From PFC's threshold on, both send at
// full speed until the pause arrived and the packets on the wire came in: twice the delay. In
// that time the queue grows by as much as one link carries.
func pause() (Check, error) {
	const linkNS, buffer = 100_000, 16 << 20
	f, err := leaf(4, linkNS)
	if err != nil {
		return Check{}, err
	}
	n, _ := flood(f, network.Config{PFC: true, Buffer: buffer, Alpha: 0.125}, 4<<20, [2]int{1, 0}, [2]int{2, 0})
	n.Run(5 * network.Millisecond)
	headroom := float64(4 * (2*(linkNS+500)*1000/ps100G + 3*packet + 84))
	shared := buffer - math.Min(headroom, buffer/2)
	threshold := 0.125 * shared / (1 + 2*0.125) // of each of two ports, when both reach it
	return Check{
		What: "time from PFC's threshold until a sender over 100 µs of cable is silent, µs", Kind: ClosedForm,
		Expected: (84*ps100G + packet*ps100G/2 + (2*linkNS+500)*1e3) / 1e6,
		Got:      (float64(n.Link(4).Deepest) - 2*threshold) * ps100G / 1e6,
	}, nil
}

// waiting: packets of one size come at random times to a link (M/D/1): they wait ρ ÷ 2(1-ρ)
// times their transmission (Pollaczek and Khinchine). 255 hosts send at random, so that their
// own links, which are nearly idle, leave the times random.
func waiting() (Check, error) {
	const hosts, rho, packets = 256, 0.7, 400_000
	f, err := leaf(hosts, 500)
	if err != nil {
		return Check{}, err
	}
	n := network.New(f, network.Config{AckEvery: 1})
	n.Delivered = func(int32, int64) {}
	r := rand.New(rand.NewPCG(1, 1))
	at := 0.0
	qps := make([]int32, hosts)
	for h := 1; h < hosts; h++ {
		qps[h] = n.AddQP(h, 0, 0, 0, 0)
	}
	left := packets
	n.Timer = func(int32) {
		n.Send(qps[1+r.IntN(hosts-1)], mtu)
		if left--; left > 0 {
			at += r.ExpFloat64() * packet * ps100G / rho
			n.At(int64(at), 0)
		}
	}
	n.At(0, 0)
	n.Run(network.Second)
	l := n.Link(hosts)
	return Check{
		What: "mean wait of packets at random times for a link with a load of 0.7 (M/D/1), ns", Kind: ClosedForm,
		Expected: packet * ps100G / 1e3 * rho / (2 * (1 - rho)), Got: float64(l.Waited) / float64(l.Packets) / 1e3,
	}, nil
}

// goBackN: with a loss of p, each lost packet costs those that were sent until the NAK came,
// N with the lost one: the goodput is (1-p) ÷ (1-p+pN) of the link's. A receiver sends one NAK
// for a gap (IBTA volume 1 section 9.7.5.2.8): where the packet that fills it is lost, too, the
// sender's timer ends the wait.
func goBackN() (Check, error) {
	const p, linkNS, timeout = 0.005, 3000, 100 * network.Microsecond
	f, err := leaf(2, linkNS)
	if err != nil {
		return Check{}, err
	}
	n, _ := flood(f, network.Config{Loss: p, Seed: 5, Timeout: timeout}, 1<<24, [2]int{0, 1})
	n.Run(20 * network.Millisecond)
	before := n.Stats.Packets
	n.Run(220 * network.Millisecond)
	// The next packet shows the loss: its transmission, its way, and the NAK's.
	there := 2*packet*ps100G + 2*linkNS*1000 + 500_000
	back := 2*(network.Headers+4)*ps100G + 2*linkNS*1000 + 500_000
	lost := math.Ceil(float64(packet*ps100G+there+back) / (packet * ps100G))
	// the next packet is lost, too: the one after it shows the loss
	lost += p / (1 - p)
	lost += p * float64(timeout) / (packet * ps100G) // the packet that was sent again is lost
	return Check{
		What: "packets/s of go-back-N with a loss of 0.5 %", Kind: ClosedForm,
		Expected: 1e12 / (packet * ps100G) * (1 - p) / (1 - p + p*lost), Got: float64(n.Stats.Packets-before) / 0.2,
	}, nil
}

// spread returns how many of m uplinks are used by n connections with labels, and repeats that
// for disjoint connections.
func spread(m, n, trials int, each func(used int)) error {
	f, err := topology.New(topology.Shape{Hosts: 1024, HostsPerLeaf: 512, Spines: m})
	if err != nil {
		return err
	}
	c, err := paths.New(f, paths.Label, paths.Config{}, n)
	if err != nil {
		return err
	}
	for t := range trials {
		used := map[uint32]bool{}
		for k := range n {
			path, _ := c.Forward(paths.Connection{Src: t % 512, Dst: 512 + (t/512*31+t*7)%512, K: k})
			used[path-f.Pair(0, 1).First] = true
		}
		each(len(used))
	}
	return nil
}

// occupancy: n labels at random use m(1-(1-1/m)^n) of m paths in the mean.
func occupancy() (Check, error) {
	const m, n, trials = 16, 16, 10_000
	sum := 0.0
	err := spread(m, n, trials, func(used int) { sum += float64(used) })
	return Check{
		What: "paths of 16 that 16 labelled queue pairs use, mean", Kind: ClosedForm,
		Expected: m * (1 - math.Pow(1-1./m, n)), Got: sum / trials,
	}, err
}

// birthday: n labels share no path with the probability m! ÷ (m-n)! m^n.
func birthday() (Check, error) {
	const m, n, trials = 64, 10, 30_000
	shared, free := 0.0, 1.0
	for i := range n {
		free *= 1 - float64(i)/m
	}
	err := spread(m, n, trials, func(used int) {
		if used < n {
			shared++
		}
	})
	return Check{What: "probability that two of 10 labelled queue pairs share one of 64 paths", Kind: ClosedForm, Expected: 1 - free, Got: shared / trials}, err
}

// ringTime: a ring of n hosts on one leaf takes 2(n-1) steps, each of the time of its octets
// and of one packet's way.
func ringTime() (Check, error) {
	const hosts, chunk = 8, 100 * mtu
	f, err := leaf(hosts, 500)
	if err != nil {
		return Check{}, err
	}
	s := load.Spec{Kind: "ring", QueuePairs: 1}
	if err := s.Fill(hosts); err != nil {
		return Check{}, err
	}
	steps := 2. * (hosts - 1)
	s.DurationMS = steps * chunk / (fullSpeed / 8) * 1000
	program := load.New(s, fullSpeed/8, 1)
	n := network.New(f, network.Config{})
	var messages []load.Message
	end, tags := int64(0), map[int32]int32{}
	open := map[paths.Connection]int32{}
	send := func(all []load.Message) {
		for _, m := range all {
			qp, ok := open[m.Connection]
			if !ok {
				qp = n.AddQP(m.Src, m.Dst, 0, 0, 0)
				open[m.Connection] = qp
			}
			tags[qp] = m.Tag
			n.Send(qp, m.Octets)
		}
	}
	n.Delivered = func(qp int32, _ int64) {
		end = n.Now()
		messages = program.Arrived(messages[:0], tags[qp])
		send(messages)
	}
	send(program.First(nil))
	n.Run(network.Second)
	// A host has sent its last acknowledgement when it begins the next step.
	const each = chunk/mtu*packet*ps100G + packet*ps100G + 2*500_000 + 500_000
	return Check{What: "all-reduce by a ring of 8 hosts on one leaf, µs", Kind: ClosedForm, Expected: steps * each / 1e6, Got: float64(end) / 1e6}, nil
}

// uplinks sends as much on each of 64 queue pairs of one host pair, and returns max ÷ mean
// of the octets of the uplinks.
func uplinks(spines int, mode paths.Mode, cfg paths.Config) (float64, error) {
	const queuePairs = 64
	f, err := topology.New(topology.Shape{Hosts: 2, HostsPerLeaf: 1, Spines: spines})
	if err != nil {
		return 0, err
	}
	c, err := paths.New(f, mode, cfg, queuePairs)
	if err != nil {
		return 0, err
	}
	var all []paths.Connection
	for k := range queuePairs {
		all = append(all, paths.Connection{Src: 0, Dst: 1, K: k})
	}
	if err := c.Settle(all, 1); err != nil {
		return 0, err
	}
	n := network.New(f, network.Config{})
	n.Delivered = func(int32, int64) {}
	for _, a := range all {
		path, label := c.Forward(a)
		n.Send(n.AddQP(a.Src, a.Dst, path, c.Back(a), label), 100*1024)
	}
	n.Run(network.Second)
	sum, most := 0.0, 0.0
	for _, l := range f.Ups[0] {
		v := float64(n.Link(int(l)).Octets)
		sum += v
		most = max(most, v)
	}
	return most * float64(spines) / sum, nil
}

// oneTuple: README.md, `make demo`: 4.00 before.
func oneTuple() (Check, error) {
	got, err := uplinks(4, paths.FiveTuple, paths.Config{})
	return Check{What: "max ÷ mean of 4 uplinks, 64 queue pairs with one source port, no label (README.md, make demo)", Kind: Namespaces, Expected: 4, Got: got}, err
}

// placed: docs/does-it-help.md, `make demo`: 1.00 with labels that are chosen.
func placed() (Check, error) {
	got, err := uplinks(4, paths.Placed, paths.Config{})
	return Check{What: "max ÷ mean of 4 uplinks, 64 queue pairs, labels placed (docs/does-it-help.md, make demo)", Kind: Namespaces, Expected: 1, Got: got}, err
}

// redirected: docs/redirect.md: 1.00, of 64 queue pairs with a source port each over 8 uplinks,
// with 1000 samples/s after 5 s.
func redirected() (Check, error) {
	got, err := uplinks(8, paths.Redirected, paths.Config{Ports: "queue-pair"})
	return Check{What: "max ÷ mean of 8 uplinks, 64 queue pairs with a source port each, redirected (docs/redirect.md, demo stock)", Kind: Namespaces, Expected: 1, Got: got}, err
}
