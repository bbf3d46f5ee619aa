// SPDX-License-Identifier: Apache-2.0

package network

// Kinds and flags of packets.
const (
	flagAck  uint8 = 1 << iota // an acknowledgement; else data
	flagNak                    // with flagAck: packets are missing from the PSN on
	flagLast                   // of a message
	flagCE                     // a queue marked it
)

// packet is a packet in flight, or a free one.
type packet struct {
	// at is the time when it came to the queue, and on the wire that of its arrival
	at     int64
	next   int32 // in its queue, on its wire, or among the free
	qp     int32
	psn    uint32
	path   uint32
	in     int32 // link by which it came to the switch
	seen   uint32
	octets uint16 // on the wire
	dst    uint16 // host
	hop    uint8  // links that it crossed before
	flags  uint8
}

// link is one direction of a link with the queue before it.
type link struct {
	freeAt             int64 // end of the last transmission
	depth              int64 // waiting octets, less the packet under way
	head, tail         int32 // packets that wait
	wireHead, wireTail int32 // packets that are being sent, or on the wire
	psPerOctet, delay  int64
	from, to           int32 // switches; below 0: a host (host h is h - Hosts)
	paused, xoff       bool  // by PFC; the switch at the far end paused it
	ingress            int64 // octets that came by this link and are in the buffer of the far end
	xoffAt             int64 // when it paused last
	kMin, kMax         int64

	sent    uint64 // octets
	drops   uint64
	deepest int64
	waited  int64 // ps that its packets waited, in all
	starts  uint64
	pausedA int64 // since when it is paused
	pausedT int64 // ps for which it was paused, in all
}

// begin sends a packet by a link, from a time on.
func (l *link) begin(pool *pool, p int32, at int64) {
	k := &pool.packets[p]
	l.freeAt = at + int64(k.octets)*l.psPerOctet
	l.sent += uint64(k.octets)
	l.waited += at - k.at
	l.starts++
	k.at = l.freeAt + l.delay
	k.next = -1
	if l.wireTail < 0 {
		l.wireHead = p
	} else {
		pool.packets[l.wireTail].next = p
	}
	l.wireTail = p
}

// wait puts a packet at the end of the queue of a link. Its buffer is accounted for.
func (l *link) wait(pool *pool, p int32) {
	k := &pool.packets[p]
	k.next = -1
	if l.tail < 0 {
		l.head = p
	} else {
		pool.packets[l.tail].next = p
	}
	l.tail = p
	l.depth += int64(k.octets)
	l.deepest = max(l.deepest, l.depth)
}

// arrive takes the first packet off the wire of a link, and gives it to the node at the far
// end.
func (n *Net) arrive(id int32) {
	l := &n.links[id]
	p := l.wireHead
	if l.wireHead = n.pool.packets[p].next; l.wireHead < 0 {
		l.wireTail = -1
	}
	if l.from < 0 {
		n.pull(id, n.now)
	} else {
		n.advance(id)
	}
	if l.wireHead >= 0 {
		n.queue.Set(id, n.pool.packets[l.wireHead].at, 0)
	} else {
		n.queue.Remove(id)
	}
	if l.to < 0 {
		n.deliver(p)
	} else {
		n.forward(p, id)
	}
}

// advance starts the transmissions of a switch's port that are due by now. The caller sets
// the event of a wire that was empty.
func (n *Net) advance(id int32) {
	l := &n.links[id]
	for l.head >= 0 && !l.paused && l.freeAt <= n.now {
		p := l.head
		k := &n.pool.packets[p]
		if l.head = k.next; l.head < 0 {
			l.tail = -1
		}
		at := max(l.freeAt, k.at)
		l.depth -= int64(k.octets)
		n.release(l, k, at)
		if n.watch != nil {
			n.watch.leaves(n, id, k)
		}
		l.begin(&n.pool, p, at)
	}
}

// serve advances a port, and sets the event of its wire where it was empty.
func (n *Net) serve(id int32) {
	l := &n.links[id]
	empty := l.wireHead < 0
	n.advance(id)
	if empty && l.wireHead >= 0 {
		n.queue.Set(id, n.pool.packets[l.wireHead].at, 0)
	}
}

// pause stops or resumes the sender of a link.
func (n *Net) pause(id int32, stop bool) {
	l := &n.links[id]
	empty := l.wireHead < 0
	if l.from < 0 {
		n.pull(id, n.now)
	} else {
		n.advance(id)
	}
	switch {
	case stop && !l.paused:
		l.paused, l.pausedA = true, n.now
	case !stop && l.paused:
		l.paused = false
		l.pausedT += n.now - l.pausedA
		l.freeAt = max(l.freeAt, n.now)
		if l.from < 0 {
			n.pull(id, n.now)
		} else {
			n.advance(id)
		}
	}
	if empty && l.wireHead >= 0 {
		n.queue.Set(id, n.pool.packets[l.wireHead].at, 0)
	}
}
