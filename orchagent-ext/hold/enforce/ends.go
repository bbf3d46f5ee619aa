// SPDX-License-Identifier: Apache-2.0

package enforce

// queue is a heap of demands, the one that ends first on top. It implements
// heap.Interface.
type queue[F comparable] []*demand[F]

// Len implements [heap.Interface].
func (q queue[F]) Len() int { return len(q) }

// Less implements [heap.Interface]: the demand that ends first is on top.
func (q queue[F]) Less(i, j int) bool { return q[i].Until < q[j].Until }

// Swap implements [heap.Interface], and keeps the place of each demand.
func (q queue[F]) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements [heap.Interface].
func (q *queue[F]) Push(d any) {
	d.(*demand[F]).place = len(*q)
	*q = append(*q, d.(*demand[F]))
}

// Pop implements [heap.Interface].
func (q *queue[F]) Pop() any {
	last := len(*q) - 1
	d := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return d
}
