// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"context"
	"sync"
	"time"
)

// queue is a bounded ring of records with one reader. What is offered to a full
// one is dropped and counted. The reader looks at records where they lie, and
// takes them off when they were sent.
type queue[T Record | Health] struct {
	mu      sync.Mutex
	ring    []T
	lost    func(*notSent, *T) // counts what is dropped
	head, n int
	closed  bool
	dropped notSent

	ready chan struct{} // a record came, or the end
	room  chan struct{} // records were taken off
}

// notSent counts what was dropped.
type notSent struct{ records, packets, octets uint64 }

func (n *notSent) add(r *Record) {
	n.records++
	n.packets += r.Packets
	n.octets += r.Octets
}

func (n *notSent) addHealth(*Health) { n.records++ }

// newQueue makes a queue that tells through ready what comes.
func newQueue[T Record | Health](size int, lost func(*notSent, *T), ready chan struct{}) *queue[T] {
	return &queue[T]{ring: make([]T, size), lost: lost, ready: ready, room: make(chan struct{}, 1)}
}

// offer puts records in and drops those that find no room.
//
//conformance:draft-lin/dos
func (q *queue[T]) offer(records []T) {
	q.mu.Lock()
	q.dropAll(records[q.put(records):])
	q.mu.Unlock()
	signal(q.ready)
}

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

func (q *queue[T]) put(records []T) int {
	if q.closed {
		return 0
	}
	put := 0
	for put < len(records) && q.n < len(q.ring) {
		tail := (q.head + q.n) % len(q.ring)
		n := copy(q.ring[tail:min(len(q.ring), tail+len(q.ring)-q.n)], records[put:])
		q.n += n
		put += n
	}
	return put
}

// peek returns the oldest records as far as they lie side by side, and how many
// wait in all. They are valid until take. end says that no more will come.
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
	q.n -= n
	q.mu.Unlock()
	signal(q.room)
}

// close says that no more records come.
func (q *queue[T]) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	signal(q.ready)
}

// drop closes the queue, empties it, and counts what was in it.
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

// status returns how many records wait, and what was dropped.
func (q *queue[T]) status() (waiting int, dropped notSent) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.n, q.dropped
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// sleep waits for the time or for the context, and reports whether it was the
// time.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
