// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"math"
	"net/netip"

	"sluice/orchagent-ext/cli/ways"
	"sluice/orchagent-ext/flows/flow"
)

// Bounds of the memory for one capture: packets beyond them count in the sums alone.
const (
	maxPairs = 4096 // host pairs
	maxEach  = 4096 // source ports, labels, and queue pairs, of each
)

// Traffic sums up the packets that passed. Those that carry the data of an application count,
// since the uplinks of a leaf carry one direction of a session.
type Traffic struct {
	// Census counts all packets of the capture, of other protocols, too.
	Census Census
	// Packets counts the data packets, Datagrams those of them of UD.
	Packets, Datagrams int
	// IPv6 counts the data packets with an IPv6 header, Labeled those of them with a flow label
	// other than 0, and Sluice those whose label is the one that Sluice computes.
	IPv6, Labeled, Sluice int
	// Tunnelled counts the data packets in tunnels, whose paths are not computed.
	Tunnelled int
	// Uncounted are data packets of host pairs beyond the bounds of memory.
	Uncounted int
	// Rate: one of so many packets is in the capture, as most samples have it; 0 or 1: all are.
	Rate uint32
	// Dropped counts the packets that the capturing machine lost.
	Dropped uint64

	// Paths are the ways to choose paths, by their number.
	Paths []ways.Result

	Congestion Congestion
	Loss       Loss

	pairs map[hosts]*pair
}

// hosts are the two addresses of a session's data.
type hosts struct{ src, dst netip.Addr }

// String is such as "2001:db8::1 to 2001:db8::2".
func (h hosts) String() string { return h.src.String() + " to " + h.dst.String() }

// pair counts the packets between two hosts: the data by source port, by port and label, and by
// queue pair.
type pair struct {
	all, packets int // all: acknowledgements, too
	datagrams    int
	ports        map[uint16]int
	labels       map[uint64]int
	queuePairs   map[uint32]int
}

// AddFlow counts the packets of a flow.
func (t *Traffic) AddFlow(f *ways.Flow) {
	n := int(f.Counted)
	t.Packets += n
	if f.Datagram {
		t.Datagrams += n
	}
	if f.Tunnelled {
		t.Tunnelled += n
	}
	if !f.IPv4 {
		t.IPv6 += n
		if f.Label != 0 {
			t.Labeled += n
		}
		if f.Label != 0 && computed(f) {
			t.Sluice += n
		}
	}
	if t.pairs == nil {
		t.pairs = map[hosts]*pair{}
	}
	key := hosts{f.Src, f.Dst}
	of := t.pairs[key]
	if of == nil && len(t.pairs) < maxPairs {
		of = &pair{ports: map[uint16]int{}, labels: map[uint64]int{}, queuePairs: map[uint32]int{}}
		t.pairs[key] = of
	}
	if of != nil {
		of.all += int(f.Packets)
	}
	if n == 0 {
		return
	}
	label := uint64(f.SrcPort)<<32 | uint64(f.Label)
	if of == nil || !counted(of.ports, f.SrcPort, n) || !counted(of.labels, label, n) || !counted(of.queuePairs, f.DestQP, n) {
		t.Uncounted += n
		return
	}
	of.packets += n
	if f.Datagram {
		of.datagrams += n
	}
}

// computed reports whether the label of the packets is the one that Sluice computes, with the
// source queue pair or, as the method compute has it, with 0 for that.
func computed(f *ways.Flow) bool {
	if !f.IPv4 && !f.Tunnelled && (f.Label == f.Literal || f.Label == f.CRC32) {
		return true
	}
	src, dst := f.Src.As16(), f.Dst.As16()
	return f.Label == flow.DraftLiteral.Label(0, f.DestQP, src, dst) || f.Label == flow.CRC32.Label(0, f.DestQP, src, dst)
}

// counted adds n to the count of a key, and reports whether there was room for it.
func counted[K comparable](counts map[K]int, key K, n int) bool {
	if _, known := counts[key]; !known && len(counts) == maxEach {
		return false
	}
	counts[key] += n
	return true
}

// Sampled reports whether only some of the packets were captured.
func (t *Traffic) Sampled() bool { return t.Rate > 1 }

// Entropy is how many bits of choice the packets between two hosts give to a hash, the
// mean of all host pairs by packets.
type Entropy struct {
	// HostPairs counts those with data. QueuePairs is the sum over them; LeastPorts and MostPorts
	// are the source ports of one.
	HostPairs, QueuePairs, LeastPorts, MostPorts int
	// MostLabels is how many pairs of source port and label one of them has.
	MostLabels int
	// PortBits is the entropy of the UDP source port, in bits: 0 for a constant one. LabelBits is
	// that of port and flow label together.
	PortBits, LabelBits float64
	// QueuePairBits is that of the destination queue pair, the most that the others can give.
	QueuePairBits float64
}

// Entropy returns the entropy of the packets so far.
func (t *Traffic) Entropy() Entropy {
	e := Entropy{}
	total := 0
	for _, of := range t.pairs {
		if of.packets == 0 {
			continue
		}
		if e.HostPairs == 0 {
			e.LeastPorts = len(of.ports)
		}
		e.HostPairs++
		total += of.packets
		e.LeastPorts, e.MostPorts = min(e.LeastPorts, len(of.ports)), max(e.MostPorts, len(of.ports))
		e.MostLabels = max(e.MostLabels, len(of.labels))
		e.QueuePairs += len(of.queuePairs)
		e.PortBits += float64(of.packets) * bits(of.ports)
		e.LabelBits += float64(of.packets) * bits(of.labels)
		e.QueuePairBits += float64(of.packets) * bits(of.queuePairs)
	}
	if total > 0 {
		e.PortBits /= float64(total)
		e.LabelBits /= float64(total)
		e.QueuePairBits /= float64(total)
	}
	return e
}

// answered returns of how many host pairs with data both directions passed, and how many there
// are that need it: datagrams have no answers.
func (t *Traffic) answered() (both, of int) {
	for key, p := range t.pairs {
		if p.packets == p.datagrams {
			continue
		}
		of++
		if back := t.pairs[hosts{key.dst, key.src}]; back != nil && back.all > 0 {
			both++
		}
	}
	return both, of
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
