// SPDX-License-Identifier: Apache-2.0

package placement

// chooseFirst makes the first choice for flows that sent before, the largest first, and
// counts those that would have to be idle. One whose member has at most its share stays
// there. It returns how many were chosen, and how many lacked a label.
func (v *mover) chooseFirst(q *quotas, now int64) (placed, unreachable uint64) {
	v.sorted = v.sorted[:0]
	for i, e := range v.on.flows.all {
		switch {
		case !e.first || e.member == unknown || e.held || v.rests(e, now):
		case v.cfg.Moves == MovesAny || v.idle(e, now):
			v.sorted = append(v.sorted, i)
		default:
			v.counts.Waiting++
		}
	}
	v.sort()
	for _, i := range v.sorted {
		if v.full() {
			break
		}
		e := &v.on.flows.entries[i]
		e.first = false
		to, shared := v.firstMember(q, e), v.on.labels[e.use()] > 1
		switch {
		case to == unknown, to == e.member && !shared:
			placed++
		case v.relabel(e, to, now):
			v.moves[len(v.moves)-1].first = true
			placed++
		default:
			unreachable++
		}
	}
	return placed, unreachable
}

// firstMember returns the member that is the first choice for a flow that sent before:
// its own while that has at most its share, or all others have as much.
func (v *mover) firstMember(q *quotas, e *entry) int {
	l := &v.on.loads
	members := l.group.members
	rate, own := l.rateOf(&e.meter), members[e.member].Weight
	if !q.any() && own > 0 && l.at(e.member) <= v.cfg.Goal*l.spread().mean*own {
		return e.member
	}
	l.account(e.share(), -1)
	defer l.account(e.share(), 1)
	to := v.choose(q, e)
	if to != unknown && !q.any() && own > 0 && (l.at(to)+rate)/members[to].Weight >= (l.at(e.member)+rate)/own {
		return e.member
	}
	return to
}

// choose returns the member for a flow that is in no load: by the quotas of its leaf, or the one
// with room.
func (v *mover) choose(q *quotas, e *entry) int {
	l := &v.on.loads
	if m := q.choose(l, e.leaf, e.member); m != unknown {
		return m
	}
	return l.least(l.rateOf(&e.meter), e.leaf, int(e.hash>>4))
}
