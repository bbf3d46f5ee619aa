// SPDX-License-Identifier: Apache-2.0

package packetio

// handover passes reports from the packet path to another goroutine. Two are exchanged in turn, so
// that the packet path neither waits nor allocates.
type handover[T any] struct {
	asked, told chan *T
	shown       *T // the caller's
	began       bool
}

// newHandover returns a handover whose first value is yet to be asked for.
func newHandover[T any]() handover[T] {
	return handover[T]{asked: make(chan *T, 1), told: make(chan *T, 1)}
}

// wanted returns a report that is to be filled; nil: none is asked for. The packet path calls it.
func (h *handover[T]) wanted() *T {
	select {
	case r := <-h.asked:
		return r
	default:
		return nil
	}
}

// hand passes on a report that was wanted. There is room: only one is asked for.
func (h *handover[T]) hand(r *T) { h.told <- r }

// last returns the last report, valid until the next call; nil before the first one. One goroutine
// calls it.
func (h *handover[T]) last() *T {
	if !h.began {
		h.began = true
		h.asked <- new(T)
		return nil
	}
	select {
	case report := <-h.told:
		last := h.shown
		if last == nil {
			last = new(T)
		}
		h.shown = report
		h.asked <- last
	default:
	}
	return h.shown
}
