// SPDX-License-Identifier: Apache-2.0

package plan

import "slices"

// split divides flows among the parts from lo on, n of them.
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

// byClass calls f with the edges of each class, the largest class first.
func byClass(edges []edge, f func([]edge)) {
	edges = slices.Clone(edges)
	slices.SortStableFunc(edges, func(a, b edge) int { return b.class - a.class })
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
	byClass(edges, func(edges []edge) {
		var odd []edge
		for _, e := range edges {
			if e.n%2 == 1 {
				one := e
				one.n = 1
				odd = append(odd, one)
			}
			if e.n /= 2; e.n > 0 {
				a, b = append(a, e), append(b, e)
			}
		}
		for _, trail := range p.trails(odd) {
			octets := size(edges[0].class)
			tip := 0.0
			for k, e := range trail {
				tip += float64(1-2*(k%2)) * p.tip(&e)
			}
			first := 0 // which of every two goes to a
			if tip > 0 {
				first = 1
			}
			for k, e := range trail {
				if k%2 == first {
					a = append(a, e)
					p.lean(&e, octets)
				} else {
					b = append(b, e)
					p.lean(&e, -octets)
				}
			}
		}
	})
	return join(a), join(b)
}

// join makes one edge of those alike.
func join(edges []edge) []edge {
	slices.SortFunc(edges, func(a, b edge) int { return a.id - b.id })
	out := edges[:0]
	for _, e := range edges {
		if last := len(out) - 1; last >= 0 && out[last].id == e.id {
			out[last].n += e.n
		} else {
			out = append(out, e)
		}
	}
	return out
}

// trails walks all edges, each once. A trail begins where the number of edges is odd as
// long as there is such a place, so that every other one is a circle, whose length is
// even since the graph is bipartite.
func (p *planner) trails(edges []edge) (trails [][]edge) {
	leaves := len(p.rows)
	at := make([][]int, 2*leaves)
	for i, e := range edges {
		at[e.from] = append(at[e.from], i)
		at[leaves+e.to] = append(at[leaves+e.to], i)
	}
	degree := make([]int, 2*leaves)
	for v := range at {
		degree[v] = len(at[v])
	}
	used := make([]bool, len(edges))
	walk := func(v int) {
		var trail []edge
		for degree[v] > 0 {
			for used[at[v][len(at[v])-1]] {
				at[v] = at[v][:len(at[v])-1]
			}
			i := at[v][len(at[v])-1]
			used[i] = true
			e := edges[i]
			trail = append(trail, e)
			degree[e.from]--
			degree[leaves+e.to]--
			if v == e.from {
				v = leaves + e.to
			} else {
				v = e.from
			}
		}
		trails = append(trails, trail)
	}
	for v := range at {
		if degree[v]%2 == 1 {
			walk(v)
		}
	}
	for v := range at {
		for degree[v] > 0 {
			walk(v)
		}
	}
	return trails
}
