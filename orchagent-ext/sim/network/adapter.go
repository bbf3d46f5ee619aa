// SPDX-License-Identifier: Apache-2.0

package network

import (
	"math"
	"time"

	"sluice/orchagent-ext/hold/enforce"
)

// cnpSpacing is the least time between two CNPs of a queue pair: N of DCQCN, table 2.
const cnpSpacing = 50 * Microsecond

// messages is how many messages of a queue pair may be under way.
const messages = 8

// reorder is how many packets may overtake one before a sender with selective repeat takes
// it for lost; with spraying, more are overtaken than that without a loss.
const (
	reorder      = 3
	reorderSpray = 128
)

// window of a receiver with selective repeat: packets beyond the one that is missing.
const kept = 512

// AddQP adds a queue pair that sends from one host to another by a path, and gets its
// acknowledgements by another. label is its flow label, 0 for none.
func (n *Net) AddQP(src, dst int, path, back, label uint32) int32 {
	id := n.pairs.add(QP{src: int32(src), dst: int32(dst), path: path, back: back, label: label, peer: -1, cnpAt: math.MinInt64 / 2})
	if n.watch != nil {
		n.watch.added(id)
	}
	return id
}

// QP returns a queue pair. The pointer is valid until the next AddQP.
func (n *Net) QP(id int32) *QP { return &n.pairs.all[id] }

// Move gives a queue pair another path for its packets from now on, and another label.
func (n *Net) Move(id int32, path, label uint32) {
	n.pairs.all[id].path, n.pairs.all[id].label = path, label
}

// Limit sets the rate of a queue pair, as advice in force does; Mbit/s, 0: none.
func (n *Net) Limit(id int32, mbps uint32) { n.pairs.all[id].advised = mbps }

// Release frees a queue pair once all that it sent is acknowledged.
func (n *Net) Release(id int32) {
	n.pairs.all[id].released = true
	n.ended(id)
}

// ended frees a queue pair that is released and has nothing in flight.
func (n *Net) ended(id int32) {
	q := &n.pairs.all[id]
	if !q.released || q.inflight != 0 || q.una != q.end || q.peer >= 0 {
		return
	}
	if n.watch != nil {
		n.watch.ends(n, id)
	}
	n.pairs.remove(id)
}

// Send begins a message of a queue pair, now. Messages of one queue pair that are under way
// together have the same length, and are at most 8. octets is above 0.
func (n *Net) Send(id int32, octets int64) {
	q := &n.pairs.all[id]
	if q.count == messages {
		panic("network: too many messages of a queue pair are under way")
	}
	n.pullHost(q.src)
	mtu := int64(n.cfg.MTU)
	packets := (octets + mtu - 1) / mtu
	q.last = uint16(octets - (packets-1)*mtu)
	if q.una == q.end {
		q.progress = n.now
	}
	q.end += uint32(packets)
	i := (q.oldest + q.count) % messages
	q.ends[i], q.began[i] = q.end, n.now
	q.count++
	n.hosts[q.src].add(n.pairs.all, id, &n.cfg)
	n.wakeHost(q.src)
}

// pullHost has the link of a host start all that was due before now, with the state of then.
func (n *Net) pullHost(host int32) {
	if l := &n.links[host]; l.freeAt <= n.now {
		empty := l.wireHead < 0
		n.pull(host, n.now)
		if empty && l.wireHead >= 0 {
			n.queue.Set(host, n.pool.packets[l.wireHead].at, 0)
		}
	}
}

// wakeHost lets a host send that may have been idle until now.
func (n *Net) wakeHost(host int32) {
	l := &n.links[host]
	if l.paused {
		return
	}
	l.freeAt = max(l.freeAt, n.now)
	n.pullHost(host)
}

// pull starts the transmissions of a host that are due by now: acknowledgements first, then
// one packet of each queue pair in turn.
func (n *Net) pull(host int32, now int64) {
	l := &n.links[host]
	for l.freeAt <= now && !l.paused {
		if l.head >= 0 {
			p := l.head
			k := &n.pool.packets[p]
			if l.head = k.next; l.head < 0 {
				l.tail = -1
			}
			l.depth -= int64(k.octets)
			l.begin(&n.pool, p, max(l.freeAt, k.at))
			continue
		}
		h := &n.hosts[host]
		id, first := h.pick(n.pairs.all, l.freeAt)
		switch {
		case id < 0:
			if h.active > 0 && (h.wake == 0 || first < h.wake) {
				h.wake = first
				n.timers.push(timer{at: max(first, n.now), kind: timerHost, arg: host})
			}
			return
		case n.pairs.all[id].maySend(&n.cfg):
			n.emit(l, id, l.freeAt)
		default: // an acknowledgement closed the hole that it was to fill
			h.turn(n.pairs.all, id, &n.cfg)
		}
	}
}

// emit sends the next packet of the queue pair that follows its host's tail.
func (n *Net) emit(l *link, id int32, at int64) {
	q := &n.pairs.all[id]
	psn := q.next
	switch {
	case q.hurry: // with selective repeat, a hole
		psn, q.hurry = q.una, false
	default:
		q.next++
	}
	if int32(psn-q.most) < 0 {
		n.Stats.Repeated++
	} else {
		q.most = psn + 1
	}
	payload, flags := n.cfg.MTU, uint8(0)
	if q.lastOf(psn) {
		payload, flags = int(q.last), flagLast
	}
	path := q.path
	if n.cfg.Spray {
		pair := n.topo.Pair(n.topo.Leaf(int(q.src)), n.topo.Leaf(int(q.dst)))
		path = pair.First + uint32(n.random.next()%uint64(pair.Paths()))
	}
	p := n.pool.take(packet{at: at, next: -1, qp: id, psn: psn, path: path, in: -1, octets: uint16(payload + Headers), dst: uint16(q.dst), flags: flags})
	q.inflight++
	q.packets++
	q.octets += uint64(payload + Headers)
	if rate := n.pairs.pace(q, at); rate != 0 {
		q.nextAt = max(q.nextAt, at) + int64(float64(payload+Headers)*8e12/float64(rate))
	}
	if q.rate != 0 {
		n.pairs.rates[q.rate-1].Sent(payload + Headers)
	}
	if !q.timing {
		q.timing = true
		n.timers.push(timer{at: at + n.cfg.Timeout, kind: timerTimeout, arg: id})
	}
	n.hosts[q.src].turn(n.pairs.all, id, &n.cfg)
	l.begin(&n.pool, p, at)
}

// deliver takes a packet that arrived at its host.
func (n *Net) deliver(p int32) {
	k := n.pool.packets[p]
	if n.cfg.Loss > 0 && k.flags&flagAck == 0 && n.random.chance(n.cfg.Loss) {
		n.Stats.Lost++
		n.lose(p)
		return
	}
	n.pool.give(p)
	q := &n.pairs.all[k.qp]
	q.inflight--
	host := int32(k.dst)
	n.pullHost(host)
	if k.flags&flagAck != 0 {
		n.acknowledged(&k)
	} else {
		n.received(&k)
	}
	n.wakeHost(host)
	n.ended(k.qp)
}

// received is the receiver: in order, missing, or again.
func (n *Net) received(k *packet) {
	q := &n.pairs.all[k.qp]
	if k.flags&flagCE != 0 && n.cfg.DCQCN && n.now-q.cnpAt >= cnpSpacing {
		q.cnpAt = n.now
		n.Stats.CNPs++
		if n.codec.cnp(q.dst, q.src, uint32(k.qp)) == uint32(k.qp) {
			n.timers.push(timer{at: n.now + oneWay(n.topo, q.dst, q.back), kind: timerCNP, arg: k.qp})
		}
	}
	last, answer := k.flags&flagLast != 0, uint8(0)
	switch {
	case k.psn == q.expect:
		n.Stats.arrived(k)
		q.expect++
		q.nak = false
		q.unacked++
		if n.cfg.Selective {
			last = n.pairs.keeper(k.qp).advance(q) || last
		}
		if !last && int(q.unacked) < n.cfg.AckEvery {
			return
		}
	case int32(k.psn-q.expect) > 0 && n.cfg.Selective:
		if k.psn-q.expect < kept {
			if n.pairs.keeper(k.qp).keep(k.psn) {
				n.Stats.arrived(k)
			}
		}
		answer = flagNak
	case int32(k.psn-q.expect) > 0:
		if q.nak {
			return
		}
		q.nak = true
		n.Stats.NAKs++
		answer = flagNak
	}
	q.unacked = 0
	n.answer(k.qp, q, answer, k.psn)
	for q.count > 0 && int32(q.expect-q.ends[q.oldest]) >= 0 {
		began := q.began[q.oldest]
		q.oldest = (q.oldest + 1) % messages
		q.count--
		n.Delivered(k.qp, began)
		q = &n.pairs.all[k.qp] // the caller may have added queue pairs
	}
}

// arrived counts a packet of data.
func (s *Stats) arrived(k *packet) {
	s.Packets++
	s.Octets += uint64(k.octets) - Headers
}

// answer sends an acknowledgement of all packets before the one that is expected.
func (n *Net) answer(id int32, q *QP, flags uint8, seen uint32) {
	p := n.pool.take(packet{at: n.now, next: -1, qp: id, psn: q.expect, seen: seen, path: q.back, in: -1, octets: ackOctets, dst: uint16(q.src), flags: flagAck | flags})
	q.inflight++
	n.links[q.dst].wait(&n.pool, p)
}

// acknowledged is the sender.
func (n *Net) acknowledged(k *packet) {
	q := &n.pairs.all[k.qp]
	if int32(k.psn-q.una) > 0 {
		q.una = k.psn
		q.progress = n.now
		q.hurry = false // [Net.pull] takes it out of the ring
		if int32(q.next-q.una) < 0 {
			q.next = q.una
		}
	}
	if k.flags&flagNak != 0 {
		if !n.cfg.Selective {
			if int32(k.psn-q.una) >= 0 {
				q.next = q.una
			}
		} else {
			overtaken := uint32(reorder)
			if n.cfg.Spray {
				overtaken = reorderSpray
			}
			if k.psn == q.una && int32(k.seen-q.una) >= int32(overtaken) && int32(q.una-q.repaired) >= 0 {
				q.repaired = q.una + 1
				q.hurry = true
				n.Stats.NAKs++
			}
		}
	}
	n.hosts[q.src].add(n.pairs.all, k.qp, &n.cfg)
}

// timeout sends again from the oldest packet of a queue pair that made no progress.
func (n *Net) timeout(id int32) {
	q := &n.pairs.all[id]
	q.timing = false
	if q.una == q.next && q.una == q.end {
		return
	}
	due := q.progress + n.cfg.Timeout
	if due <= n.now {
		n.Stats.Timeouts++
		n.pullHost(q.src)
		q.progress = n.now
		q.next = q.una
		q.repaired = q.una
		q.nak = false // a NAK may have been lost: the receiver sends another
		n.hosts[q.src].add(n.pairs.all, id, &n.cfg)
		n.wakeHost(q.src)
		due = n.now + n.cfg.Timeout
	}
	q = &n.pairs.all[id]
	if !q.timing {
		q.timing = true
		n.timers.push(timer{at: due, kind: timerTimeout, arg: id})
	}
}

// slow is a CNP that arrives at the sender of a queue pair.
func (n *Net) slow(id int32) {
	q := &n.pairs.all[id]
	if q.una == q.end {
		return
	}
	rate := n.pairs.rate(q)
	line := uint64(8e12) / uint64(n.links[q.src].psPerOctet)
	n.pullHost(q.src)
	rate.Notify(n.now/Nanosecond, line, line)
}

// obey is an adapter that holds a queue pair by a PFCM.
func (n *Net) obey(q *QP, d enforce.Demand) {
	n.pullHost(q.src)
	switch d.Verb {
	case enforce.Limit:
		q.nextAt = max(q.nextAt, n.now+int64(d.For/time.Nanosecond)*Nanosecond)
	case enforce.End:
		q.nextAt = min(q.nextAt, n.now)
	}
	n.wakeHost(q.src)
}
