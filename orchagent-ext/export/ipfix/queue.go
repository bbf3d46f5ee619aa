// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"context"
	"sync"
)

// queue is a bounded ring of records with one reader. Records offered to a full
// one are dropped and counted. The reader reads records in place, and removes
// them once they are sent.
type queue[T Record | Health] struct {
	mu   sync.Mutex
	ring []T                // grows up to size
	size int                // records
	lost func(*notSent, *T) // counts drops
	// head is the index of the oldest record, n how many there are.
	head, n int
	closed  bool
	dropped notSent

	ready chan struct{} // a record came, or the end
	room  chan struct{} // records were taken off
}

// notSent counts records that were dropped, with their packets and octets.
type notSent struct{ records, packets, octets uint64 }

// add counts a record of a flow or packet.
func (n *notSent) add(r *Record) {
	n.records++
	n.packets += r.Packets
	n.octets += r.Octets
}

// addHealth counts a health record, whose figures are totals.
func (n *notSent) addHealth(*Health) { n.records++ }

// firstRoom is for how many records a queue takes memory at once. A collector that reads needs no more, and
// one that does not has some ten thousand waiting.
const firstRoom = 256

// newQueue returns a queue of size records that signals ready whenever records
// come.
func newQueue[T Record | Health](size int, lost func(*notSent, *T), ready chan struct{}) *queue[T] {
	return &queue[T]{ring: make([]T, min(size, firstRoom)), size: size, lost: lost, ready: ready, room: make(chan struct{}, 1)}
}

// grow doubles the ring, up to the size; q.mu is held. Records that the reader peeked at stay as they are.
func (q *queue[T]) grow() {
	ring := make([]T, min(2*len(q.ring), q.size))
	n := copy(ring, q.ring[q.head:min(q.head+q.n, len(q.ring))])
	copy(ring[n:], q.ring[:q.n-n])
	q.ring, q.head = ring, 0
}

// offer puts records in, and drops and counts those that exceed the room.
//
//conformance:draft-lin/dos
func (q *queue[T]) offer(records []T) {
	q.mu.Lock()
	q.dropAll(records[q.put(records):])
	q.mu.Unlock()
	signal(q.ready)
}

// dropAll counts records as dropped; q.mu is held.
func (q *queue[T]) dropAll(records []T) {
	for i := range records {
		q.lost(&q.dropped, &records[i])
	}
}

// wait puts records in as there is room for them. A closed queue drops them.
func (q *queue[T]) wait(ctx context.Context, records []T) error {
	for {
		q.mu.Lock()
		records = records[q.put(records):]
		if q.closed {
			q.dropAll(records)
			records = nil
		}
		q.mu.Unlock()
		signal(q.ready)
		if len(records) == 0 {
			return nil
		}
		select {
		case <-q.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// put copies records in as far as there is room, and returns how many; q.mu is
// held.
func (q *queue[T]) put(records []T) int {
	if q.closed {
		return 0
	}
	put := 0
	for put < len(records) && q.n < q.size {
		if q.n == len(q.ring) {
			q.grow()
		}
		tail := (q.head + q.n) % len(q.ring)
		n := copy(q.ring[tail:min(len(q.ring), tail+len(q.ring)-q.n)], records[put:])
		q.n += n
		put += n
	}
	return put
}

// peek returns the oldest records as far as they are contiguous, and how many
// wait in all. They are valid until take. end means that the queue is closed.
func (q *queue[T]) peek() (records []T, waiting int, end bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ring[q.head:min(q.head+q.n, len(q.ring))], q.n, q.closed
}

// take takes the oldest n records off.
func (q *queue[T]) take(n int) {
	if n == 0 {
		return
	}
	q.mu.Lock()
	q.head = (q.head + n) % len(q.ring)
	if q.n -= n; q.n == 0 {
		q.head = 0 // the same memory again
	}
	q.mu.Unlock()
	signal(q.room)
}

// close ends the input of records.
func (q *queue[T]) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	signal(q.ready)
}

// drop closes the queue, empties it, and counts its records as dropped.
func (q *queue[T]) drop() {
	q.close()
	signal(q.room)
	q.mu.Lock()
	defer q.mu.Unlock()
	for ; q.n > 0; q.n-- {
		q.lost(&q.dropped, &q.ring[q.head])
		q.head = (q.head + 1) % len(q.ring)
	}
}

// status returns how many records wait, and the totals that were dropped.
func (q *queue[T]) status() (waiting int, dropped notSent) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.n, q.dropped
}

// signal wakes the receiver of c; one signal may stand for several.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
