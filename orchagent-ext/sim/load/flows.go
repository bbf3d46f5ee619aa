// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math/rand/v2"

	"sluice/orchagent-ext/sim/paths"
)

// point is a flow size, and the percentage of flows that are at most as large.
type point struct{ octets, percent float64 }

// distributions are published ones of data centers, as traffic generators of the field read
// them off the papers' figures: web search by Alizadeh et al., "Data Center TCP", SIGCOMM
// 2010; Hadoop by Roy et al., "Inside the Social Network's (Datacenter) Network", SIGCOMM 2015.
var distributions = map[string][]point{
	"web-search": {
		{0, 0}, {10_000, 15}, {20_000, 20}, {30_000, 30}, {50_000, 40}, {80_000, 53}, {200_000, 60},
		{1_000_000, 70}, {2_000_000, 80}, {5_000_000, 90}, {10_000_000, 97}, {30_000_000, 100},
	},
	"hadoop": {
		{0, 0}, {100, 1}, {200, 2}, {300, 5}, {350, 15}, {400, 20}, {500, 30}, {600, 40}, {700, 50}, {1000, 60},
		{2000, 67}, {7000, 70}, {30_000, 72}, {50_000, 82}, {80_000, 87}, {120_000, 90}, {300_000, 95},
		{1_000_000, 97.5}, {2_000_000, 99}, {10_000_000, 100},
	},
}

// size returns the size of a flow at a percentage, between the points on straight lines.
func size(d []point, percent float64) float64 {
	for i := 1; i < len(d); i++ {
		if a, b := d[i-1], d[i]; percent <= b.percent {
			return a.octets + (b.octets-a.octets)*(percent-a.percent)/(b.percent-a.percent)
		}
	}
	return d[len(d)-1].octets
}

// mean is the mean size.
func mean(d []point) (m float64) {
	for i := 1; i < len(d); i++ {
		m += (d[i].percent - d[i-1].percent) / 100 * (d[i].octets + d[i-1].octets) / 2
	}
	return m
}

// newFlows has flows of random sizes come at random times (a Poisson process of each host), to
// random hosts.
func newFlows(s Spec, hosts []int, octetsPerS float64, r *rand.Rand) *once {
	o := &once{groups: 1}
	d := distributions[s.Distribution]
	gap := mean(d) / (octetsPerS * s.LoadPercent / 100) * 1e12 // ps between flows of a host
	// queue pairs take turns: one flow seldom waits for another
	next := map[[2]int]int{}
	for i, src := range hosts {
		for at := r.ExpFloat64() * gap; at < s.DurationMS*1e9; at += r.ExpFloat64() * gap {
			j := r.IntN(len(hosts) - 1)
			if j >= i {
				j++
			}
			k := next[[2]int{i, j}]
			next[[2]int{i, j}] = (k + 1) % s.QueuePairs
			o.messages = append(o.messages, Message{
				Connection: paths.Connection{Src: src, Dst: hosts[j], K: k},
				Octets:     max(int64(size(d, r.Float64()*100)), 1), At: int64(at),
			})
		}
	}
	return o
}
