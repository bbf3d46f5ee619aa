// SPDX-License-Identifier: Apache-2.0

package truth

import "sluice/orchagent-ext/sim/network"

// window: a queue pair with 8 packets under way sends 8 a round trip: a packet's transmission and way
// over two links, and an acknowledgement's back.
func window() (Check, error) {
	const linkNS, packets, ack = 20_000, 8, network.Headers + 4
	f, err := leaf(2, linkNS)
	if err != nil {
		return Check{}, err
	}
	n, _ := flood(f, network.Config{Window: packets * mtu, AckEvery: 1}, 1<<20, [2]int{0, 1})
	n.Run(network.Millisecond)
	before := n.Stats.Packets
	n.Run(21 * network.Millisecond)
	const trip = 2*packet*ps100G + 2*ack*ps100G + 4*linkNS*1000 + 2*500_000
	return Check{
		What: "goodput of a queue pair with a window of 8 packets over 20 µs of cable, bit/s", Kind: ClosedForm,
		Expected: packets * mtu * 8 * 1e12 / trip, Got: float64(n.Stats.Packets-before) * mtu * 8 / 20e-3,
	}, nil
}

// dynamicThreshold: n full queues of a shared buffer have alpha ÷ (1 + n·alpha) of it each (Choudhury
// and Hahne, Dynamic Queue Length Thresholds, 1998). Two hosts send to each of four.
func dynamicThreshold() (Check, error) {
	const queues, alpha, buffer = 4, 0.5, 8 << 20
	f, err := leaf(3*queues, 500)
	if err != nil {
		return Check{}, err
	}
	var pairs [][2]int
	for q := range queues {
		pairs = append(pairs, [2]int{queues + 2*q, q}, [2]int{queues + 2*q + 1, q})
	}
	n, _ := flood(f, network.Config{Buffer: buffer, Alpha: alpha, Timeout: network.Second}, 64<<20, pairs...)
	n.Run(5 * network.Millisecond)
	sum := 0.0
	for q := range queues {
		sum += float64(n.Link(3*queues+q).Deepest) / queues
	}
	return Check{
		What: "octets of each of 4 full queues of a shared buffer, dynamic thresholds with alpha 0.5", Kind: ClosedForm,
		Expected: alpha * buffer / (1 + queues*alpha), Got: sum,
	}, nil
}

// selective: with selective repeat a loss of p costs no more than the packet itself: the goodput is
// 1-p of the link's.
func selective() (Check, error) {
	const p = 0.002
	f, err := leaf(2, 500)
	if err != nil {
		return Check{}, err
	}
	n, _ := flood(f, network.Config{Loss: p, Seed: 9, Selective: true, Timeout: 100 * network.Microsecond}, 1<<24, [2]int{0, 1})
	n.Run(20 * network.Millisecond)
	before := n.Stats.Packets
	n.Run(120 * network.Millisecond)
	return Check{
		What: "packets/s of selective repeat with a loss of 0.2 %", Kind: ClosedForm,
		Expected: 1e12 / (packet * ps100G) * (1 - p), Got: float64(n.Stats.Packets-before) / 0.1,
	}, nil
}
