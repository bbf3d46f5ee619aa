// SPDX-License-Identifier: Apache-2.0

package heap

import "cmp"

// Numbered has the key of each element that is in it. Elements of the same key come by their turns,
// and those of the same turn by their numbers, so that a run depends on its input alone. Make it by
// [New].
type Numbered[K cmp.Ordered] struct {
	// a heap of four children: half as deep as a binary one, and children share a cache line
	heap  []entry[K]
	place []int32 // by element: its index in heap, or -1
}

// entry is one element. With a key of 64 bits it takes 16 octets.
type entry[K cmp.Ordered] struct {
	key  K
	turn uint32 // modulo 2^32
	id   int32
}

// before is the order of the heap.
func (e entry[K]) before(f entry[K]) bool {
	if e.key != f.key {
		return e.key < f.key
	}
	if e.turn != f.turn {
		return int32(e.turn-f.turn) < 0
	}
	return e.id < f.id
}

// New returns an empty heap for elements 0 to n-1.
func New[K cmp.Ordered](n int) *Numbered[K] {
	h := &Numbered[K]{heap: make([]entry[K], 0, n)}
	for range n {
		h.Number()
	}
	return h
}

// Number returns the number of a further element, which is outside of the heap.
func (h *Numbered[K]) Number() int32 {
	h.place = append(h.place, -1)
	return int32(len(h.place) - 1)
}

// Len is the number of elements that are in the heap.
func (h *Numbered[K]) Len() int { return len(h.heap) }

// First returns the element of the least key, and that key; ok is false for an empty heap. The
// element stays until [Numbered.Set] or [Numbered.Remove].
func (h *Numbered[K]) First() (id int32, key K, ok bool) {
	if len(h.heap) == 0 {
		return 0, key, false
	}
	return h.heap[0].id, h.heap[0].key, true
}

// Set gives an element a key and a turn, in place of those that it had. Among the elements of one
// key turns are less than 2^31 apart. It is free of allocations once so many have been in.
func (h *Numbered[K]) Set(id int32, key K, turn uint32) {
	i := int(h.place[id])
	e := entry[K]{key, turn, id}
	if i < 0 {
		i = len(h.heap)
		h.heap = append(h.heap, e)
		h.up(i, e)
		return
	}
	if e.before(h.heap[i]) {
		h.up(i, e)
	} else {
		h.down(i, e)
	}
}

// Remove takes an element out, if it is in.
func (h *Numbered[K]) Remove(id int32) {
	i := int(h.place[id])
	if i < 0 {
		return
	}
	h.place[id] = -1
	last := h.heap[len(h.heap)-1]
	h.heap = h.heap[:len(h.heap)-1]
	if i == len(h.heap) {
		return
	}
	if last.before(h.heap[i]) {
		h.up(i, last)
	} else {
		h.down(i, last)
	}
}

// up puts e at index i or above.
func (h *Numbered[K]) up(i int, e entry[K]) {
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(h.heap[parent]) {
			break
		}
		h.heap[i] = h.heap[parent]
		h.place[h.heap[i].id] = int32(i)
		i = parent
	}
	h.heap[i] = e
	h.place[e.id] = int32(i)
}

// down puts e at index i or below.
func (h *Numbered[K]) down(i int, e entry[K]) {
	all := h.heap
	for {
		first := 4*i + 1
		if first >= len(all) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(all)); c++ {
			if all[c].before(all[least]) {
				least = c
			}
		}
		if !all[least].before(e) {
			break
		}
		all[i] = all[least]
		h.place[all[i].id] = int32(i)
		i = least
	}
	all[i] = e
	h.place[e.id] = int32(i)
}
