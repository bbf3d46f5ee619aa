// SPDX-License-Identifier: Apache-2.0

package event

// A Queue has the next time of each entity that has one. Entities of the same time come in
// the order of their numbers, so that a run depends on its input alone. Make it by [New].
type Queue struct {
	// a heap of four children: half as deep as a binary one, and children share a cache line
	heap  []entry
	place []int32 // by entity: its index in heap, or -1
}

// entry is one event: 16 octets.
type entry struct {
	at int64
	id int32
}

// before is the order of the heap.
func (e entry) before(f entry) bool { return e.at < f.at || e.at == f.at && e.id < f.id }

// New returns an empty queue for entities 0 to n-1.
func New(n int) *Queue {
	q := &Queue{heap: make([]entry, 0, n), place: make([]int32, n)}
	for i := range q.place {
		q.place[i] = -1
	}
	return q
}

// Len is the number of entities that have an event.
func (q *Queue) Len() int { return len(q.heap) }

// Next returns the first event and its time; ok is false where there is none. The event
// stays in the queue until [Queue.Set] or [Queue.Remove].
func (q *Queue) Next() (id int32, at int64, ok bool) {
	if len(q.heap) == 0 {
		return 0, 0, false
	}
	return q.heap[0].id, q.heap[0].at, true
}

// Set gives an entity its event, in place of the one that it had. It is free of allocations.
func (q *Queue) Set(id int32, at int64) {
	i := int(q.place[id])
	if i < 0 {
		i = len(q.heap)
		q.heap = append(q.heap, entry{at, id})
		q.up(i, entry{at, id})
		return
	}
	e := entry{at, id}
	if e.before(q.heap[i]) {
		q.up(i, e)
	} else {
		q.down(i, e)
	}
}

// Remove takes the event of an entity out, if it has one.
func (q *Queue) Remove(id int32) {
	i := int(q.place[id])
	if i < 0 {
		return
	}
	q.place[id] = -1
	last := q.heap[len(q.heap)-1]
	q.heap = q.heap[:len(q.heap)-1]
	if i == len(q.heap) {
		return
	}
	if last.before(q.heap[i]) {
		q.up(i, last)
	} else {
		q.down(i, last)
	}
}

// up puts e at index i or above.
func (q *Queue) up(i int, e entry) {
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		q.place[q.heap[i].id] = int32(i)
		i = parent
	}
	q.heap[i] = e
	q.place[e.id] = int32(i)
}

// down puts e at index i or below.
func (q *Queue) down(i int, e entry) {
	h := q.heap
	for {
		first := 4*i + 1
		if first >= len(h) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(h)); c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if !h[least].before(e) {
			break
		}
		h[i] = h[least]
		q.place[h[i].id] = int32(i)
		i = least
	}
	h[i] = e
	q.place[e.id] = int32(i)
}
