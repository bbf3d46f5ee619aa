// SPDX-License-Identifier: Apache-2.0

package network

import "math"

// host is an adapter. Its queue of data is the list of queue pairs that may send; its link's
// queue has the acknowledgements.
type host struct {
	tail   int32 // of a ring of queue pairs, by QP.peer; -1: empty
	active int32
	wake   int64 // time of its timer, or 0
}

// add puts a queue pair into the ring, unless it is there, or may not send.
func (h *host) add(pairs []QP, id int32, c *Config) {
	q := &pairs[id]
	if q.peer >= 0 || !q.maySend(c) {
		return
	}
	h.active++
	if h.tail < 0 {
		q.peer = id
	} else {
		t := &pairs[h.tail]
		q.peer = t.peer
		t.peer = id
	}
	h.tail = id
}

// pick returns the queue pair that sends next at a time; -1: none may now. Where all are paced,
// first is when the first of them may.
func (h *host) pick(pairs []QP, at int64) (id int32, first int64) {
	prev := h.tail
	first = math.MaxInt64
	for range h.active {
		id := pairs[prev].peer
		q := &pairs[id]
		if q.nextAt <= at {
			h.tail = prev
			return id, at
		}
		first = min(first, q.nextAt)
		prev = id
	}
	return -1, first
}

// turn gives the next queue pair its turn, and takes this one, which follows the tail, out of the
// ring where it may not send.
func (h *host) turn(pairs []QP, id int32, c *Config) {
	q := &pairs[id]
	if q.maySend(c) {
		h.tail = id
		return
	}
	h.active--
	if h.tail == id {
		h.tail = -1
	} else {
		pairs[h.tail].peer = q.peer
	}
	q.peer = -1
}
