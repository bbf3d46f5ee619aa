// SPDX-License-Identifier: Apache-2.0

package top

import (
	"slices"
	"time"

	"sluice/yang/rows"
)

// portRates returns the ports by name: rates since a snapshot before, and each port's share of the
// group's octets, with their evenness.
func (s *Snapshot) portRates(before *Snapshot, span time.Duration) (ports []Port, paths Paths) {
	ports = make([]Port, 0, len(s.ports))
	var sent Number // by the ports of the group
	for name, c := range s.ports {
		was := before.ports[name]
		p := Port{
			Name: name, Role: s.roles[name], Link: s.links[name],
			RxBits: rate(was, c, "rx_bytes", span).bits(), RxPackets: rate(was, c, "rx_packets", span),
			TxBits: rate(was, c, "tx_bytes", span).bits(), TxPackets: rate(was, c, "tx_packets", span),
		}
		if q, ok := s.deepest[name]; ok {
			p.Queue = &q
		}
		if p.inGroup() {
			sent = sent.plus(p.TxBits)
		}
		ports = append(ports, p)
	}
	total := uint64(0)
	for _, octets := range s.byHash {
		total += octets
	}
	if total > 0 {
		for i := range ports {
			octets, member := s.byHash[ports[i].Name]
			ports[i].ByHash = Number{float64(octets) / float64(total), member}
		}
	}
	slices.SortFunc(ports, func(a, b Port) int { return rows.Natural(a.Name, b.Name) })
	var worst float64
	for i := range ports {
		p := &ports[i]
		if !p.inGroup() {
			continue
		}
		p.Share = p.TxBits.over(sent)
		paths.Count++
		if p.TxBits.known && p.TxBits.value == 0 {
			paths.Idle++
		}
		worst = max(worst, p.Share.value)
	}
	if worst > 0 {
		paths.WorstToMean = Number{worst * float64(paths.Count), true}
		paths.Carrying = Number{worst * float64(paths.Count-paths.Idle), true}
	}
	return ports, paths
}

// inGroup reports whether the port counts as one of the ECMP group. Ports of role fabric
// do: a frame shows them as one group, whichever routes use them.
func (p *Port) inGroup() bool { return p.Role == "fabric" }
