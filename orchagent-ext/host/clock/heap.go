// SPDX-License-Identifier: Apache-2.0

package clock

import "slices"

// Timed is an element of a [Heap].
type Timed interface {
	When() int64 // ns, when it is due
	Place() *int // in the heap, plus 1; 0: outside of it
}

// Heap is a heap of elements by their time, the first on top. An element is in one heap at most.
// The zero value is empty. Put and Remove allocate nothing below the elements of Grow.
type Heap[T Timed] struct{ items []T }

// Grow takes the memory of n elements.
func (h *Heap[T]) Grow(n int) { h.items = slices.Grow(h.items, n) }

// Len is the number of elements.
func (h *Heap[T]) Len() int { return len(h.items) }

// All yields the elements in any order. The heap must stay as it is meanwhile.
func (h *Heap[T]) All(yield func(T) bool) {
	for _, v := range h.items {
		if !yield(v) {
			return
		}
	}
}

// First returns the element that is due first; ok is false for an empty heap.
func (h *Heap[T]) First() (first T, ok bool) {
	if len(h.items) == 0 {
		return first, false
	}
	return h.items[0], true
}

// Put adds v, or moves it to its present time.
func (h *Heap[T]) Put(v T) {
	i := *v.Place() - 1
	if i < 0 {
		h.items = append(h.items, v)
		i = len(h.items) - 1
		*v.Place() = i + 1
	}
	h.down(h.up(i))
}

// Remove takes v out, if it is in.
func (h *Heap[T]) Remove(v T) {
	i, last := *v.Place()-1, len(h.items)-1
	if i < 0 {
		return
	}
	h.swap(i, last)
	var none T
	h.items[last] = none
	h.items = h.items[:last]
	*v.Place() = 0
	if i < last {
		h.down(h.up(i))
	}
}

// up moves an element towards the top, to its place by time.
func (h *Heap[T]) up(i int) int {
	for i > 0 {
		parent := (i - 1) / 2
		if h.items[parent].When() <= h.items[i].When() {
			break
		}
		h.swap(i, parent)
		i = parent
	}
	return i
}

// down moves an element away from the top, to its place by time.
func (h *Heap[T]) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.items); child++ {
			if h.items[child].When() < h.items[least].When() {
				least = child
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}

// swap exchanges two elements, which know their places; these count from 1, so that 0 is
// outside of the heap.
func (h *Heap[T]) swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	*h.items[i].Place(), *h.items[j].Place() = i+1, j+1
}
