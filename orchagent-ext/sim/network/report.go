// SPDX-License-Identifier: Apache-2.0

package network

// LinkReport sums up a link.
type LinkReport struct {
	Octets  uint64 // that it sent, headers and gaps included
	Drops   uint64
	Waiting int64 // octets that wait for it now
	Deepest int64 // octets that waited for it at most
	Paused  int64 // ps
	Waited  int64 // ps that its packets waited, in all
	Packets uint64
}

// Link returns the report of a link.
func (n *Net) Link(id int) LinkReport {
	l := &n.links[id]
	paused := l.pausedT
	if l.paused {
		paused += n.now - l.pausedA
	}
	return LinkReport{l.sent, l.drops, l.waiting(n), l.deepest, paused, l.waited, l.starts}
}

// waiting is the depth less what is due and has not been advanced yet.
func (l *link) waiting(n *Net) int64 {
	depth, freeAt := l.depth, l.freeAt
	for p := l.head; p >= 0 && !l.paused && freeAt <= n.now; p = n.pool.packets[p].next {
		k := &n.pool.packets[p]
		freeAt = max(freeAt, k.at) + int64(k.octets)*l.psPerOctet
		depth -= int64(k.octets)
	}
	return depth
}

// Gap is the octets of preamble and gap between frames, which ports do not count.
const Gap = 20

// Flow is what a queue pair sent.
type Flow struct {
	Src, Dst        int // hosts
	Path, Label     uint32
	Packets, Octets uint64 // of data that it sent, repeated ones too; octets as [LinkReport] counts
	Advised         uint32 // Mbit/s; 0: no advice is in force
}

// Flow returns the report of a queue pair.
func (n *Net) Flow(id int32) Flow {
	q := &n.pairs.all[id]
	return Flow{int(q.src), int(q.dst), q.path, q.label, q.packets, q.octets, q.advised}
}

// Held is a flow that a switch holds.
type Held struct {
	QP      int32
	Switch  int   // in the order of switches: leaves come first
	Link    int   // that its packets wait for
	Waiting int64 // octets
}

// Held returns the flows that are held now, in no order.
func (n *Net) Held() (all []Held) {
	if n.watch == nil {
		return nil
	}
	for at, l := range n.watch.held {
		q := &n.pairs.all[at.qp]
		all = append(all, Held{at.qp, int(l.sw), int(nextLink(n.topo, &packet{path: q.path, hop: at.hop, dst: uint16(q.dst)})), l.octets})
	}
	return all
}
