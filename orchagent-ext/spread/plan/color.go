// SPDX-License-Identifier: Apache-2.0

package plan

// color divides flows among n parts, n odd: each gets as many of an edge's flows as go
// evenly, and the others are colored.
func (p *planner) color(edges []edge, lo, n int) {
	lean := make([][]float64, n) // by part and vertex: colored octets
	for i := range lean {
		lean[i] = make([]float64, 2*len(p.rows))
	}
	byClass(edges, func(edges []edge) {
		var rest []edge // of one flow each
		for _, e := range edges {
			if even := e.n / uint32(n); even > 0 {
				share := e
				share.n = even
				for k := range n {
					p.give(&share, lo+k)
				}
			}
			one := e
			one.n = 1
			for range e.n % uint32(n) {
				rest = append(rest, one)
			}
		}
		colored := make([][]edge, n)
		for i, c := range colors(rest, len(p.rows), n) {
			colored[c] = append(colored[c], rest[i])
		}
		p.assign(colored, lean, lo)
	})
}

// assign gives each color the part, of those that are left, where its leaves have least.
func (p *planner) assign(colored [][]edge, lean [][]float64, lo int) {
	taken := make([]bool, len(colored))
	for _, edges := range colored {
		best, least := -1, 0.0
		for part := range lean {
			if taken[part] {
				continue
			}
			cost := 0.0
			for _, e := range edges {
				cost += lean[part][e.from] + lean[part][len(p.rows)+e.to]
			}
			if best < 0 || cost < least {
				best, least = part, cost
			}
		}
		taken[best] = true
		for _, e := range edges {
			p.give(&e, lo+best)
			lean[best][e.from] += size(e.class)
			lean[best][len(p.rows)+e.to] += size(e.class)
		}
	}
}

// colors gives each edge of a bipartite graph one of n colors, such that each vertex has
// each color as often as any other, to one. Vertices are taken as several of at most n
// edges; at each of these a color comes once at most (König): where the free colors of
// source and destination are disjoint, a path of two colors is exchanged.
func colors(edges []edge, leaves, n int) []int {
	color := make([]int, len(edges))
	// at has, for each vertex and color, the edge plus 1.
	var at [][]int
	vertex := func(of map[int][2]int, v int) int { // the part of a vertex that has room
		last, ok := of[v]
		if !ok || last[1] == n {
			at = append(at, make([]int, n))
			last = [2]int{len(at) - 1, 0}
		}
		last[1]++
		of[v] = last
		return last[0]
	}
	from, to := map[int][2]int{}, map[int][2]int{}
	ends := make([][2]int, len(edges))
	free := func(v int) int {
		for c, e := range at[v] {
			if e == 0 {
				return c
			}
		}
		panic("plan: a vertex with more edges than colors")
	}
	for i, e := range edges {
		u, v := vertex(from, e.from), vertex(to, e.to+leaves)
		ends[i] = [2]int{u, v}
		a, b := free(u), free(v)
		if at[v][a] != 0 {
			flip(at, color, ends, v, a, b)
		}
		color[i] = a
		at[u][a], at[v][a] = i+1, i+1
	}
	return color
}

// flip exchanges the colors a and b on the path that begins at v with color a; b is free
// there.
func flip(at [][]int, color []int, ends [][2]int, v, a, b int) {
	var path []int
	for c, o := a, b; at[v][c] != 0; c, o = o, c {
		i := at[v][c] - 1
		path = append(path, i)
		v = ends[i][0] ^ ends[i][1] ^ v // the other end
	}
	for _, i := range path {
		for _, end := range ends[i] {
			at[end][color[i]] = 0
		}
	}
	for _, i := range path {
		color[i] = a + b - color[i]
		for _, end := range ends[i] {
			at[end][color[i]] = i + 1
		}
	}
}
