// SPDX-License-Identifier: Apache-2.0

package network

import (
	"math"
	"time"

	"sluice/orchagent-ext/hold/dcqcn"
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

// QP is one direction of a connection: the sender's state, and the receiver's.
type QP struct {
	src, dst   int32
	path, back uint32 // of data, and of acknowledgements
	peer       int32  // next in the host's list of those that may send; -1: outside of it
	inflight   int32  // packets in the network, of both directions

	// PSNs: to be sent next; oldest without acknowledgement; after the last message
	next, una, end uint32
	most           uint32 // PSN after the newest that was ever sent
	expect         uint32 // PSN that the receiver waits for
	repaired       uint32 // with selective repeat: PSN before which holes were sent again
	last           uint16 // payload of a message's last packet
	unacked        uint8  // packets since the last acknowledgement
	nak            bool   // the receiver reported missing packets
	timing         bool   // a timer is set
	released       bool   // to be freed once all packets have landed
	hurry          bool   // with selective repeat: una is to be sent again

	nextAt int64 // pacing: earliest time of the next packet
	// time of the last acknowledgement of something, or of the first packet after a rest
	progress int64
	cnpAt    int64  // time after which the receiver may send a CNP
	rate     int32  // of n.rates, plus 1; 0: before the first CNP
	advised  uint32 // Mbit/s; 0: unadvised
	label    uint32 // flow label, or 0
	Tag      int32  // the caller's

	ends   [messages]uint32 // PSN after a message
	began  [messages]int64
	oldest uint8 // of these, the receiver's
	count  uint8
}

// host is an adapter. Its queue of data is the list of queue pairs that may send; its link's
// queue has the acknowledgements.
type host struct {
	tail   int32 // of a ring of queue pairs, by QP.peer; -1: empty
	active int32
	wake   int64 // time of its timer, or 0
}

// AddQP adds a queue pair that sends from one host to another by a path, and gets its
// acknowledgements by another. label is its flow label, 0 for none.
func (n *Net) AddQP(src, dst int, path, back, label uint32) int32 {
	var id int32
	if k := len(n.freeQPs); k > 0 {
		id = n.freeQPs[k-1]
		n.freeQPs = n.freeQPs[:k-1]
	} else {
		id = int32(len(n.qps))
		n.qps = append(n.qps, QP{})
	}
	timing := n.qps[id].timing
	n.qps[id] = QP{src: int32(src), dst: int32(dst), path: path, back: back, label: label, peer: -1, cnpAt: math.MinInt64 / 2, timing: timing}
	if n.watch != nil {
		n.watch.added(id)
	}
	return id
}

// QP returns a queue pair. The pointer is valid until the next AddQP.
func (n *Net) QP(id int32) *QP { return &n.qps[id] }

// Hosts returns the sender and the receiver of a queue pair.
func (q *QP) Hosts() (src, dst int) { return int(q.src), int(q.dst) }

// Move gives a queue pair another path for its packets from now on, and another label.
func (n *Net) Move(id int32, path, label uint32) { n.qps[id].path, n.qps[id].label = path, label }

// Limit sets the rate of a queue pair, as advice in force does; Mbit/s, 0: none.
func (n *Net) Limit(id int32, mbps uint32) { n.qps[id].advised = mbps }

// Outstanding is how many messages of a queue pair are under way.
func (q *QP) Outstanding() int { return int(q.count) }

// Release frees a queue pair once all that it sent is acknowledged.
func (n *Net) Release(id int32) {
	n.qps[id].released = true
	n.ended(id)
}

// ended frees a queue pair that is released and has nothing in flight.
func (n *Net) ended(id int32) {
	q := &n.qps[id]
	if !q.released || q.inflight != 0 || q.una != q.end || q.peer >= 0 {
		return
	}
	q.released = false
	if q.rate != 0 {
		n.freeRate = append(n.freeRate, q.rate)
		q.rate = 0
	}
	if n.watch != nil {
		n.watch.ends(n, id)
	}
	n.freeQPs = append(n.freeQPs, id)
}

// Send begins a message of a queue pair, now. Messages of one queue pair that are under way
// together have the same length, and are at most 8. octets is above 0.
func (n *Net) Send(id int32, octets int64) {
	q := &n.qps[id]
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
	n.activate(id)
	n.wakeHost(q.src)
}

// lastOf reports whether a PSN is the last of a message under way.
func (q *QP) lastOf(psn uint32) bool {
	if psn+1 == q.end {
		return true
	}
	for i := range q.count {
		if q.ends[(q.oldest+i)%messages] == psn+1 {
			return true
		}
	}
	return false
}

// maySend reports whether a queue pair has a packet that its window allows.
func (n *Net) maySend(q *QP) bool {
	return q.hurry || q.next != q.end && (n.cfg.Window == 0 || int64(q.next-q.una)*int64(n.cfg.MTU) < n.cfg.Window)
}

// activate puts a queue pair that may send into its host's list.
func (n *Net) activate(id int32) {
	q := &n.qps[id]
	if q.peer >= 0 || !n.maySend(q) {
		return
	}
	h := &n.hosts[q.src]
	h.active++
	if h.tail < 0 {
		q.peer = id
	} else {
		t := &n.qps[h.tail]
		q.peer = t.peer
		t.peer = id
	}
	h.tail = id
}

// pullHost has the link of a host start all that was due before now, with the state of then.
func (n *Net) pullHost(host int32) {
	if l := &n.links[host]; l.freeAt <= n.now {
		empty := l.wireHead < 0
		n.pull(host, n.now)
		if empty && l.wireHead >= 0 {
			n.queue.Set(host, n.packets[l.wireHead].at)
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
			k := &n.packets[p]
			if l.head = k.next; l.head < 0 {
				l.tail = -1
			}
			l.depth -= int64(k.octets)
			n.begin(l, p, max(l.freeAt, k.at))
			continue
		}
		id := n.pick(host, l.freeAt)
		switch {
		case id < 0:
			return
		case n.maySend(&n.qps[id]):
			n.emit(l, id, l.freeAt)
		default: // an acknowledgement closed the hole that it was to fill
			n.turn(id)
		}
	}
}

// pick returns the queue pair of a host that sends next; -1: none may now. Where all are
// paced, it sets a timer.
func (n *Net) pick(host int32, at int64) int32 {
	h := &n.hosts[host]
	prev := h.tail
	first := int64(math.MaxInt64)
	for range h.active {
		id := n.qps[prev].peer
		q := &n.qps[id]
		if q.nextAt <= at {
			h.tail = prev
			return id
		}
		first = min(first, q.nextAt)
		prev = id
	}
	if h.active > 0 && (h.wake == 0 || first < h.wake) {
		h.wake = first
		n.timers.push(timer{at: max(first, n.now), kind: timerHost, arg: host})
	}
	return -1
}

// emit sends the next packet of the queue pair that follows its host's tail.
func (n *Net) emit(l *link, id int32, at int64) {
	q := &n.qps[id]
	psn := q.next
	switch {
	case q.hurry: // with selective repeat, a hole
		psn, q.hurry = q.una, false
	default:
		q.next++
	}
	if int32(psn-q.most) < 0 {
		n.Repeated++
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
		path = pair.First + uint32(n.rand()%uint64(pair.Paths()))
	}
	p := n.take()
	n.packets[p] = packet{at: at, next: -1, qp: id, psn: psn, path: path, in: -1, octets: uint16(payload + Headers), dst: uint16(q.dst), flags: flags}
	q.inflight++
	if rate := n.pace(q, at); rate != 0 {
		q.nextAt = max(q.nextAt, at) + int64(float64(payload+Headers)*8e12/float64(rate))
	}
	if q.rate != 0 {
		n.rates[q.rate-1].Sent(payload + Headers)
	}
	if !q.timing {
		q.timing = true
		n.timers.push(timer{at: at + n.cfg.Timeout, kind: timerTimeout, arg: id})
	}
	n.turn(id)
	n.begin(l, p, at)
}

// turn gives the next queue pair of a host its turn, and takes this one, which follows the
// host's tail, out of the ring where it may not send.
func (n *Net) turn(id int32) {
	q := &n.qps[id]
	h := &n.hosts[q.src]
	if n.maySend(q) {
		h.tail = id
		return
	}
	h.active--
	if h.tail == id {
		h.tail = -1
	} else {
		n.qps[h.tail].peer = q.peer
	}
	q.peer = -1
}

// pace returns the rate of a queue pair, in bit/s; 0: only the link limits it.
func (n *Net) pace(q *QP, at int64) uint64 {
	rate := uint64(q.advised) * 1e6
	if q.rate != 0 {
		if r := n.rates[q.rate-1].At(at / Nanosecond); r != math.MaxUint64 && (rate == 0 || r < rate) {
			rate = r
		}
	}
	return rate
}

// deliver takes a packet that arrived at its host.
func (n *Net) deliver(p int32) {
	k := n.packets[p]
	if n.cfg.Loss > 0 && k.flags&flagAck == 0 && n.chance(n.cfg.Loss) {
		n.Lost++
		n.lose(p)
		return
	}
	n.give(p)
	q := &n.qps[k.qp]
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
	q := &n.qps[k.qp]
	if k.flags&flagCE != 0 && n.cfg.DCQCN && n.now-q.cnpAt >= cnpSpacing {
		q.cnpAt = n.now
		n.CNPs++
		if n.cnp(q.dst, q.src, uint32(k.qp)) == uint32(k.qp) {
			n.timers.push(timer{at: n.now + n.oneWay(q.dst, q.back), kind: timerCNP, arg: k.qp})
		}
	}
	last, answer := k.flags&flagLast != 0, uint8(0)
	switch {
	case k.psn == q.expect:
		n.arrived(k)
		q.expect++
		q.nak = false
		q.unacked++
		if n.cfg.Selective {
			last = n.keeper(k.qp).advance(q) || last
		}
		if !last && int(q.unacked) < n.cfg.AckEvery {
			return
		}
	case int32(k.psn-q.expect) > 0 && n.cfg.Selective:
		if k.psn-q.expect < kept {
			if n.keeper(k.qp).keep(k.psn) {
				n.arrived(k)
			}
		}
		answer = flagNak
	case int32(k.psn-q.expect) > 0:
		if q.nak {
			return
		}
		q.nak = true
		n.NAKs++
		answer = flagNak
	}
	q.unacked = 0
	n.answer(k.qp, q, answer, k.psn)
	for q.count > 0 && int32(q.expect-q.ends[q.oldest]) >= 0 {
		began := q.began[q.oldest]
		q.oldest = (q.oldest + 1) % messages
		q.count--
		n.Delivered(k.qp, began)
		q = &n.qps[k.qp] // the caller may have added queue pairs
	}
}

// arrived counts a packet of data.
func (n *Net) arrived(k *packet) {
	n.Packets++
	n.Octets += uint64(k.octets) - Headers
}

// answer sends an acknowledgement of all packets before the one that is expected.
func (n *Net) answer(id int32, q *QP, flags uint8, seen uint32) {
	p := n.take()
	n.packets[p] = packet{at: n.now, next: -1, qp: id, psn: q.expect, seen: seen, path: q.back, in: -1, octets: ackOctets, dst: uint16(q.src), flags: flagAck | flags}
	q.inflight++
	n.wait(&n.links[q.dst], p)
}

// acknowledged is the sender.
func (n *Net) acknowledged(k *packet) {
	q := &n.qps[k.qp]
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
				n.NAKs++
			}
		}
	}
	n.activate(k.qp)
}

// timeout sends again from the oldest packet of a queue pair that made no progress.
func (n *Net) timeout(id int32) {
	q := &n.qps[id]
	q.timing = false
	if q.una == q.next && q.una == q.end {
		return
	}
	due := q.progress + n.cfg.Timeout
	if due <= n.now {
		n.Timeouts++
		n.pullHost(q.src)
		q.progress = n.now
		q.next = q.una
		q.repaired = q.una
		q.nak = false // a NAK may have been lost: the receiver sends another
		n.activate(id)
		n.wakeHost(q.src)
		due = n.now + n.cfg.Timeout
	}
	q = &n.qps[id]
	if !q.timing {
		q.timing = true
		n.timers.push(timer{at: due, kind: timerTimeout, arg: id})
	}
}

// slow is a CNP that arrives at the sender of a queue pair.
func (n *Net) slow(id int32) {
	q := &n.qps[id]
	if q.una == q.end {
		return
	}
	if q.rate == 0 {
		if k := len(n.freeRate); k > 0 {
			q.rate = n.freeRate[k-1]
			n.freeRate = n.freeRate[:k-1]
			n.rates[q.rate-1] = dcqcn.Rate{}
		} else {
			n.rates = append(n.rates, dcqcn.Rate{})
			q.rate = int32(len(n.rates))
		}
	}
	line := uint64(8e12) / uint64(n.links[q.src].psPerOctet)
	n.pullHost(q.src)
	n.rates[q.rate-1].Notify(n.now/Nanosecond, line, line)
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

// oneWay returns the time of a message of the highest priority from a host by a path, ps: it
// waits nowhere.
func (n *Net) oneWay(from int32, path uint32) int64 {
	t := &n.links[from]
	d := 2 * (ackOctets*t.psPerOctet + t.delay) // the link of the other host, too
	p := &n.topo.Paths[path]
	for _, l := range p.Links[:p.N] {
		d += ackOctets*n.links[l].psPerOctet + n.links[l].delay
	}
	return d
}
