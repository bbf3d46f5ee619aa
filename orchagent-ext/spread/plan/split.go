// SPDX-License-Identifier: Apache-2.0

package plan

import "slices"

// split divides flows among the parts from lo on, n of them. Edges are as [inOrder] returns them.
func (p *planner) split(edges []edge, lo, n int) {
	switch {
	case n == 1:
		for i := range edges {
			p.give(&edges[i], lo)
		}
	case n%2 == 0:
		a, b := p.halve(edges)
		p.split(a, lo, n/2)
		p.split(b, lo+n/2, n/2)
	default:
		p.color(edges, lo, n)
	}
}

// byClass calls f with the edges of each class, which follow one another.
func byClass(edges []edge, f func([]edge)) {
	for len(edges) > 0 {
		k := 1
		for k < len(edges) && edges[k].class == edges[0].class {
			k++
		}
		f(edges[:k])
		edges = edges[k:]
	}
}

// halve gives both sides half of each edge's flows. Of the odd ones every second of a
// trail is one side's.
func (p *planner) halve(edges []edge) (a, b []edge) {
	clear(p.skew)
	a, b = make([]edge, 0, len(edges)), make([]edge, 0, len(edges))
	byClass(edges, func(edges []edge) {
		p.trails(edges, func(trail []int32) { p.alternate(edges, trail) })
		for i, e := range edges {
			odd, half := e.n%2, e.n/2
			e.n = half
			if odd == 1 && p.walker.second[i] {
				b = appendSome(b, e, half+1)
			} else {
				b = appendSome(b, e, half)
				half += odd
			}
			a = appendSome(a, e, half)
		}
	})
	return a, b
}

// alternate gives every second edge of a trail to one side, the first to the side where the leaves of the
// trail have less.
func (p *planner) alternate(edges []edge, trail []int32) {
	tip := 0.0
	for k, i := range trail {
		tip += float64(1-2*(k%2)) * p.tip(&edges[i])
	}
	first := 0 // which of every two goes to the first side
	if tip > 0 {
		first = 1
	}
	octets := size(edges[0].class)
	for k, i := range trail {
		second := k%2 != first
		p.walker.second[i] = second
		if second {
			p.lean(&edges[i], -octets)
		} else {
			p.lean(&edges[i], octets)
		}
	}
}

// appendSome adds an edge with so many flows, if there are some.
func appendSome(edges []edge, e edge, n uint32) []edge {
	if n == 0 {
		return edges
	}
	e.n = n
	return append(edges, e)
}

// walker is the memory of walks.
type walker struct {
	first  []int32 // by vertex: where its edges begin in at
	left   []int32 // by vertex: its edges that are left or were walked from its other end, the last first
	degree []int32 // by vertex: its edges that are left
	at     []int32
	used   []bool // by edge
	second []bool // by edge: it is the second side's
	trail  []int32
}

// sized returns a slice of n zeros in the memory of another.
func sized[T any](memory []T, n int) []T {
	memory = slices.Grow(memory[:0], n)[:n]
	clear(memory)
	return memory
}

// lay sorts the edges of an odd number of flows by vertex.
func (p *planner) lay(edges []edge) {
	w, leaves := &p.walker, len(p.rows)
	w.first, w.left, w.degree = sized(w.first, 2*leaves+1), sized(w.left, 2*leaves), sized(w.degree, 2*leaves)
	w.used, w.second = sized(w.used, len(edges)), sized(w.second, len(edges))
	for i := range edges {
		if e := &edges[i]; e.n%2 == 1 {
			w.degree[e.from]++
			w.degree[leaves+e.to]++
		}
	}
	for v, n := range w.degree {
		w.first[v+1] = w.first[v] + n
	}
	w.at = sized(w.at, int(w.first[2*leaves]))
	for i := range edges {
		e := &edges[i]
		if e.n%2 == 0 {
			continue
		}
		for _, v := range [2]int{e.from, leaves + e.to} {
			w.at[w.first[v]+w.left[v]] = int32(i)
			w.left[v]++
		}
	}
}

// trails walks all edges of an odd number of flows, each once, and calls f with the edges of each trail. A trail
// begins where the number of edges is odd as long as there is such a place, so that every other one is a circle,
// whose length is even since the graph is bipartite.
func (p *planner) trails(edges []edge, f func(trail []int32)) {
	p.lay(edges)
	w, leaves := &p.walker, len(p.rows)
	walk := func(v int) {
		w.trail = w.trail[:0]
		for w.degree[v] > 0 {
			for w.used[w.at[w.first[v]+w.left[v]-1]] {
				w.left[v]--
			}
			i := w.at[w.first[v]+w.left[v]-1]
			w.used[i] = true
			w.trail = append(w.trail, i)
			e := &edges[i]
			w.degree[e.from]--
			w.degree[leaves+e.to]--
			if v == e.from {
				v = leaves + e.to
			} else {
				v = e.from
			}
		}
		f(w.trail)
	}
	for v := range w.degree {
		if w.degree[v]%2 == 1 {
			walk(v)
		}
	}
	for v := range w.degree {
		for w.degree[v] > 0 {
			walk(v)
		}
	}
}
