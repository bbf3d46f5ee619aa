// SPDX-License-Identifier: Apache-2.0

package placement

// The least gain of a move, in parts of the mean, and that of an exchange of two over a
// move.
const (
	leastGain     = 0.002
	exchangeGains = 0.005
)

// improve makes the best moves and exchanges until the goal, the budget, or the last one
// that gains enough.
func (v *mover) improve(now int64, goal float64) {
	for len(v.moves) < v.cfg.MaxMoves {
		load := v.on.loads.spread()
		if load.mean <= 0 || !load.over(goal) {
			return
		}
		f, g, to := v.best(load, goal)
		if f == nil {
			return
		}
		if !v.relabel(f, to, now) {
			continue
		}
		if g != nil {
			v.relabel(g, load.member, now)
		}
	}
}

// best returns the flow of the worst member whose move to a member, or exchange with g, leaves
// the lowest of worst values on the two members; nil if every one gains too little.
func (v *mover) best(load spread, goal float64) (f, g *entry, to int) {
	l, entries, a, mean := &v.on.loads, v.on.flows.entries, load.member, load.mean
	members := l.group.members
	best := load.worst - leastGain*mean
	wa, la := members[a].Weight, l.measuredAt(a)
	for _, i := range v.sorted {
		e := &entries[i]
		if e.member != a || v.excluded[i] {
			continue
		}
		r := l.rateOf(&e.meter)
		for m := range members {
			if w := members[m].Weight; m != a && w > 0 {
				if c := max((la-r)/wa, (l.measuredAt(m)+r)/w); c < best {
					best, f, to = c, e, m
				}
			}
		}
	}
	if f != nil && best <= goal*mean || v.cfg.MaxMoves-len(v.moves) < 2 {
		return f, nil, to
	}
	limit := best
	if f != nil {
		limit -= exchangeGains * mean
	}
	for k, i := range v.sorted {
		x := &entries[i]
		if x.member != a || v.excluded[i] {
			continue
		}
		rx := l.rateOf(&x.meter)
		for _, j := range v.sorted[k+1:] {
			y := &entries[j]
			m := y.member
			if m == a || members[m].Weight <= 0 || v.excluded[j] {
				continue
			}
			d := rx - l.rateOf(&y.meter)
			if d <= 0 {
				continue
			}
			if c := max((la-d)/wa, (l.measuredAt(m)+d)/members[m].Weight); c < limit {
				limit, f, g, to = c, x, y, m
			}
		}
	}
	return f, g, to
}
