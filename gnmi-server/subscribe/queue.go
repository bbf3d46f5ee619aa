// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"sync"

	"sluice/gnmi-server/tree"
)

// queue holds the cells that have changed since they were sent, each once, in the order
// of their first change.
type queue struct {
	wanted func(*tree.Cell) bool
	limit  int
	wake   chan struct{} // of capacity 1
	over   chan struct{} // closed when the limit is exceeded

	mu    sync.Mutex
	order []*tree.Cell
	more  map[*tree.Cell]uint32 // changes after the first
	most  int                   // cells that waited since it was empty
	full  bool
}

// newQueue returns an empty queue for at most so many leaves, of those that wanted
// selects.
func newQueue(limit int, wanted func(*tree.Cell) bool) *queue {
	return &queue{wanted: wanted, limit: limit, wake: make(chan struct{}, 1), over: make(chan struct{}), more: make(map[*tree.Cell]uint32)}
}

// Update takes note of a *tree.Cell that has changed; it makes the queue a client
// of gNMI's package match.
func (q *queue) Update(cell any) {
	c := cell.(*tree.Cell)
	if !q.wanted(c) {
		return
	}
	q.mu.Lock()
	if _, waits := q.more[c]; waits {
		q.more[c]++
	} else if len(q.order) >= q.limit {
		if !q.full {
			q.full = true
			close(q.over)
		}
	} else {
		q.order = append(q.order, c)
		q.more[c], q.most = 0, max(q.most, len(q.order))
	}
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// item is a cell that has changed, and how often it did so again.
type item struct {
	cell       *tree.Cell
	duplicates uint32
}

// take returns at most n items, oldest first.
func (q *queue) take(n int) []item {
	q.mu.Lock()
	defer q.mu.Unlock()
	n = min(n, len(q.order))
	items := make([]item, n)
	for i, c := range q.order[:n] {
		items[i] = item{c, q.more[c]}
		delete(q.more, c)
	}
	if q.order = q.order[n:]; len(q.order) == 0 {
		q.order = nil // and with it the array that grew, and so the map
		if q.most > bundle {
			q.more = make(map[*tree.Cell]uint32)
		}
		q.most = 0
	}
	return items
}

// length returns how many cells wait.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.order)
}
