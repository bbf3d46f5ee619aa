// SPDX-License-Identifier: Apache-2.0

package leafspine

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/spread/placement"
)

// A Fabric is a non-blocking Clos fabric: each host has a link of 1 to its leaf, each
// leaf one of Hosts ÷ Spines to each spine.
type Fabric struct {
	Leaves, Spines int
	Hosts          int // of a leaf
}

// hosts is how many there are.
func (f Fabric) hosts() int { return f.Leaves * f.Hosts }

// leaf is that of a host.
func (f Fabric) leaf(host int) int { return host / f.Hosts }

// uplink is the capacity of a link between leaf and spine.
func (f Fabric) uplink() float64 { return float64(f.Hosts) / float64(f.Spines) }

// A Pattern is who sends to whom in a collective. Each host sends 1 in sum.
type Pattern string

// The patterns, all over hosts in random order.
const (
	Ring        Pattern = "ring"        // each host to the next
	Permutation Pattern = "permutation" // each to another
	AllToAll    Pattern = "all-to-all"  // each to all others of its group of up to 64
)

// Patterns are all of them.
var Patterns = []Pattern{Ring, Permutation, AllToAll}

const groupOf = 64

// A stream is a flow of the simulation: one queue pair.
type stream struct {
	flow   placement.Flow
	hash   uint32 // the label that it has by hash
	from   int    // host
	to     int
	octets float64
	spine  int // -1: both hosts are at one leaf
}

// streams makes those of a pattern, with so many queue pairs for each pair of hosts.
func (f Fabric) streams(p Pattern, qps int, random *rand.Rand) (list []stream) {
	order := random.Perm(f.hosts())
	add := func(from, to int, octets float64) {
		for range qps {
			s := stream{from: from, to: to, octets: octets / float64(qps), spine: -1}
			s.flow = placement.Flow{Src: f.address(from), Dst: f.address(to), DestQP: random.Uint32N(1 << 24), SrcPort: 49152}
			s.hash = flow.DraftLiteral.Label(random.Uint32N(1<<24), s.flow.DestQP, s.flow.Src.As16(), s.flow.Dst.As16())
			list = append(list, s)
		}
	}
	switch p {
	case Ring:
		for i, host := range order {
			add(host, order[(i+1)%len(order)], 1)
		}
	case Permutation:
		for host, to := range order {
			if host != to {
				add(host, to, 1)
			}
		}
	case AllToAll:
		for at := 0; at < len(order); at += groupOf {
			group := order[at:min(at+groupOf, len(order))]
			for _, from := range group {
				for _, to := range group {
					if from != to {
						add(from, to, 1/float64(len(group)-1))
					}
				}
			}
		}
	}
	return list
}

// address is that of a host.
func (f Fabric) address(host int) netip.Addr {
	a := netip.MustParseAddr("2001:db8::").As16()
	binary.BigEndian.PutUint16(a[6:], uint16(f.leaf(host)+1))
	binary.BigEndian.PutUint16(a[14:], uint16(host%f.Hosts+1))
	return netip.AddrFrom16(a)
}
