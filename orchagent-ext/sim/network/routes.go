// SPDX-License-Identifier: Apache-2.0

package network

import "sluice/orchagent-ext/sim/topology"

// nextLink returns the link that a packet takes from the switch where it is.
func nextLink(t *topology.Fabric, k *packet) int32 {
	path := &t.Paths[k.path]
	if h := k.hop - 1; h < path.N {
		return int32(path.Links[h])
	}
	return downLink(t, int32(k.dst))
}

// upLink returns the link by which packets of a queue pair come to the switch where they have
// crossed so many links.
func upLink(t *topology.Fabric, q *QP, hop uint8) int32 {
	if hop < 2 {
		return q.src
	}
	return int32(t.Paths[q.path].Links[hop-2])
}

// downLink is the link to a host.
func downLink(t *topology.Fabric, host int32) int32 { return int32(t.Hosts) + host }

// oneWay returns the time of a message of the highest priority from a host by a path, ps: it
// waits nowhere.
func oneWay(t *topology.Fabric, from int32, path uint32) int64 {
	crossing := func(l *topology.Link) int64 { return ackOctets*int64(l.PSPerOctet) + l.Delay }
	d := 2 * crossing(&t.Links[from]) // the link of the other host, too
	p := &t.Paths[path]
	for _, l := range p.Links[:p.N] {
		d += crossing(&t.Links[l])
	}
	return d
}
