// SPDX-License-Identifier: Apache-2.0

package network

import "sluice/orchagent-ext/wire/notify"

// buffer is the packet memory of a switch, in octets.
type buffer struct {
	used, shared, headroom int64
}

// reserve sets headroom aside: for each link into a switch the octets that can still arrive after PFC
// paused its sender, in a round trip and while a packet is being sent at both ends (IEEE
// 802.1Qbb annex O), at most half of the buffer.
func reserve(switches []buffer, links []link, mtu int) {
	for i := range links {
		if l := &links[i]; l.to >= 0 {
			switches[l.to].headroom += 2*l.delay/l.psPerOctet + 3*int64(mtu+Headers) + pfcOctets
		}
	}
	for i := range switches {
		s := &switches[i]
		s.headroom = min(s.headroom, s.shared/2)
		s.shared -= s.headroom
	}
}

// threshold is the octets that one queue, or with PFC one ingress port, may have of a buffer now.
func (s *buffer) threshold(alpha float64) int64 {
	return int64(alpha * float64(max(s.shared-s.used, 0)))
}

// forward takes a packet that came to a switch by a link: it is sent, waits, or is dropped.
func (n *Net) forward(p, in int32) {
	k := &n.pool.packets[p]
	k.hop++
	k.in = in
	k.at = n.now
	id := nextLink(n.topo, k)
	l := &n.links[id]
	if n.watch != nil && n.watch.sampled != nil && k.flags&flagAck == 0 {
		n.watch.sample(n, id, k)
	}
	if l.head < 0 && !l.paused && l.freeAt <= n.now && !n.watch.holds(k) {
		empty := l.wireHead < 0
		l.begin(&n.pool, p, n.now)
		if empty {
			n.queue.Set(id, n.pool.packets[l.wireHead].at, 0)
		}
		return
	}
	n.serve(id)
	s := &n.switches[l.from]
	octets := int64(k.octets)
	if n.cfg.PFC {
		if s.used+octets > s.shared+s.headroom {
			n.drop(l, p)
			return
		}
		from := &n.links[in]
		from.ingress += octets
		if !from.xoff && from.ingress > s.threshold(n.cfg.Alpha) {
			from.xoff, from.xoffAt = true, n.now
			n.Stats.Pauses++
			n.frame(in, n.now, notify.MaxQuanta)
		}
	} else if l.depth+octets > s.threshold(n.cfg.Alpha) || s.used+octets > s.shared {
		n.drop(l, p)
		return
	}
	s.used += octets
	if n.cfg.ECN && k.flags&flagAck == 0 && l.depth+octets > l.kMin {
		part := float64(l.depth+octets-l.kMin) / float64(l.kMax-l.kMin)
		if part >= 1 || n.random.chance(part*n.cfg.PMax) {
			k.flags |= flagCE
			n.Stats.Marks++
		}
	}
	if n.watch != nil && n.watch.comes(n, id, p) {
		return // it waits apart: its flow is held
	}
	l.wait(&n.pool, p)
	n.serve(id)
}

// drop ends a packet that found no buffer.
func (n *Net) drop(l *link, p int32) {
	l.drops++
	n.Stats.Drops++
	n.lose(p)
}

// lose ends a packet before its host.
func (n *Net) lose(p int32) {
	qp := n.pool.packets[p].qp
	n.pairs.all[qp].inflight--
	n.pool.give(p)
	n.ended(qp)
}

// release gives the buffer of a packet back that leaves a switch at a time, and resumes the
// link that it came by where that has room again: two packets below the threshold.
func (n *Net) release(l *link, k *packet, at int64) {
	s := &n.switches[l.from]
	s.used -= int64(k.octets)
	if !n.cfg.PFC {
		return
	}
	from := &n.links[k.in]
	from.ingress -= int64(k.octets)
	if from.xoff && from.ingress <= max(s.threshold(n.cfg.Alpha)-2*int64(n.cfg.MTU+Headers), 0) {
		from.xoff = false
		n.frame(k.in, max(at, from.xoffAt), 0) // after the pause at the earliest: ports are advanced late
	}
}

// frame sends a PFC frame to the sender of a link, at a time. A paused sender stays so until
// it is resumed: the frames in between, each half of the 65,535 quanta, are left out.
func (n *Net) frame(id int32, at int64, quanta uint16) {
	l := &n.links[id]
	m := n.codec.pfc(quanta)
	kind := timerResume
	if m.Quanta[dataPriority] != 0 {
		kind = timerPause
	}
	arrives := at + pfcOctets*l.psPerOctet + int64(n.topo.LinkNS)*Nanosecond
	n.timers.push(timer{at: max(arrives, n.now), kind: kind, arg: id})
}
