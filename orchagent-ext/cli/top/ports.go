// SPDX-License-Identifier: Apache-2.0

package top

import (
	"slices"
	"time"

	"sluice/yang/rows"
)

// ports fills in the ports: rates by the two snapshots, and each port's share of the
// group's octets.
func (v *View) ports(before, now *Snapshot, span time.Duration) {
	v.Ports = make([]Port, 0, len(now.ports))
	var sent Number // by the ports of the group
	for name, c := range now.ports {
		was := before.ports[name]
		p := Port{
			Name: name, Role: now.roles[name], Link: now.links[name],
			RxBits: rate(was, c, "rx_bytes", span).bits(), RxPackets: rate(was, c, "rx_packets", span),
			TxBits: rate(was, c, "tx_bytes", span).bits(), TxPackets: rate(was, c, "tx_packets", span),
		}
		if q, ok := now.deepest[name]; ok {
			p.Queue = &q
		}
		if p.inGroup() {
			sent = sent.plus(p.TxBits)
		}
		v.Ports = append(v.Ports, p)
	}
	total := uint64(0)
	for _, octets := range now.byHash {
		total += octets
	}
	if total > 0 {
		for i := range v.Ports {
			octets, member := now.byHash[v.Ports[i].Name]
			v.Ports[i].ByHash = Number{float64(octets) / float64(total), member}
		}
	}
	slices.SortFunc(v.Ports, func(a, b Port) int { return rows.Natural(a.Name, b.Name) })
	var worst float64
	for i := range v.Ports {
		p := &v.Ports[i]
		if !p.inGroup() {
			continue
		}
		p.Share = p.TxBits.over(sent)
		v.Paths.Count++
		if p.TxBits.known && p.TxBits.value == 0 {
			v.Paths.Idle++
		}
		worst = max(worst, p.Share.value)
	}
	if worst > 0 {
		v.Paths.WorstToMean = Number{worst * float64(v.Paths.Count), true}
		v.Paths.Carrying = Number{worst * float64(v.Paths.Count-v.Paths.Idle), true}
	}
}

// inGroup reports whether the port counts as one of the ECMP group. Ports of role fabric
// do: a frame shows them as one group, whichever routes use them.
func (p *Port) inGroup() bool { return p.Role == "fabric" }
