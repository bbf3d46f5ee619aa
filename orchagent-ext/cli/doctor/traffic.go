// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"math"
	"net/netip"

	"sluice/orchagent-ext/wire/roce"
)

// Bounds of the memory for one capture: packets beyond them count in the sums alone.
const (
	maxPairs = 4096 // host pairs
	maxEach  = 4096 // source ports, and queue pairs, of each
)

// Traffic sums up RoCEv2 packets. Packets that carry the data of an application count,
// since the uplinks of a leaf carry one direction of a session.
type Traffic struct {
	// Census counts all packets of the capture, of other protocols, too.
	Census Census `json:"-"`
	// Packets counts the data packets.
	Packets int `json:"packets"`
	// IPv6 counts those with an IPv6 header outermost, and Labeled those of them with a flow
	// label other than 0.
	IPv6    int `json:"ipv6"`
	Labeled int `json:"labeled"`
	// Uncounted are packets of host pairs beyond the bounds of memory.
	Uncounted int `json:"uncounted"`

	pairs map[hosts]*pair
}

// hosts are the two addresses of a session's data.
type hosts struct{ src, dst netip.Addr }

// pair counts the packets between two hosts by source port and by queue pair.
type pair struct {
	packets    int
	ports      map[uint16]int
	queuePairs map[uint32]int
}

// Add counts a packet.
func (t *Traffic) Add(p *roce.Packet) {
	if !p.Opcode().CarriesData() {
		return
	}
	t.Packets++
	if !p.Is4() {
		t.IPv6++
		if p.FlowLabel() != 0 {
			t.Labeled++
		}
	}
	if t.pairs == nil {
		t.pairs = map[hosts]*pair{}
	}
	key := hosts{p.Src(), p.Dst()}
	of := t.pairs[key]
	if of == nil && len(t.pairs) < maxPairs {
		of = &pair{ports: map[uint16]int{}, queuePairs: map[uint32]int{}}
		t.pairs[key] = of
	}
	if of == nil || !counted(of.ports, p.SrcPort()) || !counted(of.queuePairs, p.DestQP()) {
		t.Uncounted++
		return
	}
	of.packets++
}

// counted adds one to the count of a key, and reports whether there was room for it.
func counted[K comparable](counts map[K]int, key K) bool {
	if _, known := counts[key]; !known && len(counts) == maxEach {
		return false
	}
	counts[key]++
	return true
}

// Entropy is how many bits of choice the packets between two hosts give to a hash, the
// mean of all host pairs by packets.
type Entropy struct {
	// HostPairs, Ports and QueuePairs count those of all packets; Ports and QueuePairs are sums over
	// host pairs.
	HostPairs  int `json:"host_pairs"`
	Ports      int `json:"source_ports"`
	QueuePairs int `json:"queue_pairs"`
	// PortBits is the entropy of the UDP source port, in bits: 0 for a constant one.
	PortBits float64 `json:"source_port_bits"`
	// QueuePairBits is that of the destination queue pair, the most that ports can give.
	QueuePairBits float64 `json:"queue_pair_bits"`
}

// Entropy returns the entropy of the packets so far.
func (t *Traffic) Entropy() Entropy {
	e := Entropy{HostPairs: len(t.pairs)}
	total := 0
	for _, of := range t.pairs {
		total += of.packets
		e.Ports += len(of.ports)
		e.QueuePairs += len(of.queuePairs)
		e.PortBits += float64(of.packets) * bits(of.ports)
		e.QueuePairBits += float64(of.packets) * bits(of.queuePairs)
	}
	if total > 0 {
		e.PortBits /= float64(total)
		e.QueuePairBits /= float64(total)
	}
	return e
}

// bits returns Shannon's entropy of a distribution, in bits.
func bits[K comparable](counts map[K]int) float64 {
	sum, weighted := 0.0, 0.0
	for _, n := range counts {
		sum += float64(n)
		weighted += float64(n) * math.Log2(float64(n))
	}
	if sum == 0 {
		return 0
	}
	return max(0, math.Log2(sum)-weighted/sum)
}
