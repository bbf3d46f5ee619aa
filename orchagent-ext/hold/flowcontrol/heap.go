// SPDX-License-Identifier: Apache-2.0

package flowcontrol

// timed is an element of a heapOf: it is due at a time.
type timed interface {
	when() int64
	place() *int // in the heap, plus 1; 0: not in it
}

// heapOf is a heap of elements by their time, the first on top.
type heapOf[T timed] struct{ items []T }

// first returns the element that is due first; ok is false for an empty heap.
func (h *heapOf[T]) first() (first T, ok bool) {
	if len(h.items) == 0 {
		return first, false
	}
	return h.items[0], true
}

// put adds v, or moves it to the time that it has now.
func (h *heapOf[T]) put(v T) {
	i := *v.place() - 1
	if i < 0 {
		h.items = append(h.items, v)
		i = len(h.items) - 1
		*v.place() = i + 1
	}
	h.down(h.up(i))
}

// remove takes v out, if it is in.
func (h *heapOf[T]) remove(v T) {
	i, last := *v.place()-1, len(h.items)-1
	if i < 0 {
		return
	}
	h.swap(i, last)
	var none T
	h.items[last] = none
	h.items = h.items[:last]
	*v.place() = 0
	if i < last {
		h.down(h.up(i))
	}
}

// up moves an element towards the top, to its place by time.
func (h *heapOf[T]) up(i int) int {
	for i > 0 {
		parent := (i - 1) / 2
		if h.items[parent].when() <= h.items[i].when() {
			break
		}
		h.swap(i, parent)
		i = parent
	}
	return i
}

// down moves an element away from the top, to its place by time.
func (h *heapOf[T]) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.items); child++ {
			if h.items[child].when() < h.items[least].when() {
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
func (h *heapOf[T]) swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	*h.items[i].place(), *h.items[j].place() = i+1, j+1
}

// reuse returns something that was used before, or something new.
func reuse[T any](free *[]*T) *T {
	last := len(*free) - 1
	if last < 0 {
		return new(T)
	}
	v := (*free)[last]
	*free = (*free)[:last]
	return v
}
