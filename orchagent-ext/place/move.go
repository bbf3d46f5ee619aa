// SPDX-License-Identifier: Apache-2.0

package place

import (
	"cmp"
	"slices"
)

// A Move is a flow that is to get another label, by changing its entry in place.
type Move struct {
	Flow                 Flow
	From, To             uint32 // labels
	FromMember, ToMember int    // ToMember -1: the model does not say
}

// Look returns the moves that are to be made now, which the table counts as made; call
// [Table.Undo] for each that could not be. The slice is valid until the next look.
func (t *Table) Look(now int64) []Move {
	t.moves = t.moves[:0]
	t.stats.Looks++
	t.stats.Waiting = 0
	t.measureAll(now)
	t.recount()
	if !t.mayMove() {
		return t.moves
	}
	if t.quotas.any() {
		t.follow(now)
		return t.moves
	}
	if t.unsettled(now) {
		t.stats.Deferred++
		return t.moves
	}
	_, worst, mean := t.worst()
	limit := t.cfg.Threshold
	if t.evening {
		limit = t.cfg.Goal
	}
	if mean <= 0 || worst <= limit*mean {
		t.evening = t.evening && t.settling.number < t.recheck
		return t.moves
	}
	if !t.evening {
		t.evening, t.rounds = true, 0
	}
	t.candidates(now, mean)
	if t.patient(now) {
		return t.moves
	}
	if t.predicts() {
		t.improve(now)
	} else {
		t.roll(now)
	}
	t.evened()
	return t.moves
}

// mayMove says whether flows that have a label may get another one at all.
func (t *Table) mayMove() bool {
	return t.model != nil && !t.model.Score().Wrong() && !t.check.degraded && t.cfg.Moves != MovesNever && t.model.HashesLabel()
}

// Rates that were not quite right left flows where they are not even: what moves came to is
// measured again, in so many windows, before only a load above the threshold counts.
const (
	recheckWindows = 4
	recheckRounds  = 3
)

// evened ends moves at the goal, or where nothing is left that gains.
func (t *Table) evened() {
	switch _, worst, mean := t.worst(); {
	case len(t.moves) == t.cfg.MaxMoves && worst > t.cfg.Goal*mean:
	case len(t.moves) == 0 && t.settling.number < t.recheck:
	case len(t.moves) == 0 || t.cfg.WindowNS == 0 || t.rounds == recheckRounds:
		t.evening = false
	default:
		t.rounds, t.recheck = t.rounds+1, t.settling.number+recheckWindows
	}
}

// candidates sorts the flows that may move, the largest first, and counts those on
// members above the threshold that would have to be idle.
func (t *Table) candidates(now int64, mean float64) {
	t.sorted = t.sorted[:0]
	for i := range t.entries {
		e := &t.entries[i]
		switch {
		case !e.live || e.member == unknown || t.rateOf(e) <= 0:
		case t.movable(e, now):
			t.sorted = append(t.sorted, uint32(i))
		case !e.held && t.at(e.member) > t.cfg.Threshold*mean*t.members[e.member].Weight:
			t.stats.Waiting++
		}
	}
	slices.SortFunc(t.sorted, func(a, b uint32) int {
		if c := cmp.Compare(t.rateOf(&t.entries[b]), t.rateOf(&t.entries[a])); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	t.sorted = t.sorted[:min(len(t.sorted), t.cfg.Largest)]
}

// What a move must gain, in parts of the mean, and an exchange of two more than a move.
const (
	leastGain     = 0.002
	exchangeGains = 0.005
)

// improve makes the best moves and exchanges until the goal, the budget, or the end of
// what gains.
func (t *Table) improve(now int64) {
	clear(t.excluded)
	for len(t.moves) < t.cfg.MaxMoves {
		a, worst, mean := t.worst()
		if mean <= 0 || worst <= t.cfg.Goal*mean {
			return
		}
		f, g, to := t.best(a, worst, mean)
		if f == nil {
			return
		}
		if !t.relabel(f, to, now) {
			continue
		}
		if g != nil {
			t.relabel(g, a, now)
		}
	}
}

// best returns the flow of member a whose move to a member, or exchange with g, leaves
// the lowest of worst values on the two members; nil: nothing gains enough.
func (t *Table) best(a int, worst, mean float64) (f, g *entry, to int) {
	best := worst - leastGain*mean
	wa, la := t.members[a].Weight, t.at(a)
	for _, i := range t.sorted {
		e := &t.entries[i]
		if e.member != a || t.excluded[i] {
			continue
		}
		r := t.rateOf(e)
		for m := range t.members {
			if w := t.members[m].Weight; m != a && w > 0 {
				if c := max((la-r)/wa, (t.at(m)+r)/w); c < best {
					best, f, to = c, e, m
				}
			}
		}
	}
	if f != nil && best <= t.cfg.Goal*mean || t.cfg.MaxMoves-len(t.moves) < 2 {
		return f, nil, to
	}
	limit := best
	if f != nil {
		limit -= exchangeGains * mean
	}
	for k, i := range t.sorted {
		x := &t.entries[i]
		if x.member != a || t.excluded[i] {
			continue
		}
		rx := t.rateOf(x)
		for _, j := range t.sorted[k+1:] {
			y := &t.entries[j]
			m := y.member
			if m == a || t.members[m].Weight <= 0 || t.excluded[j] {
				continue
			}
			d := rx - t.rateOf(y)
			if d <= 0 {
				continue
			}
			if c := max((la-d)/wa, (t.at(m)+d)/t.members[m].Weight); c < limit {
				limit, f, g, to = c, x, y, m
			}
		}
	}
	return f, g, to
}

// relabel moves a flow to a member, or to a path that is not known; false: no label
// leads there.
func (t *Table) relabel(e *entry, to int, now int64) bool {
	t.excluded[t.index[e.flow]] = true // a flow moves once a look at most
	label, member := t.find(e, next(e.label), to)
	if label == 0 || member != to {
		t.stats.Unreachable++
		return false
	}
	t.moves = append(t.moves, Move{Flow: e.flow, From: e.label, To: label, FromMember: e.member, ToMember: member})
	t.relabelled(e, label, member)
	t.moved(e, now)
	return true
}

// moved counts a move.
func (t *Table) moved(e *entry, now int64) {
	if !t.idle(e, now) {
		t.stats.Unsafe++
	}
	e.moved, e.movedAt = true, now
	t.stats.Moves++
}

func (t *Table) relabelled(e *entry, label uint32, member int) {
	t.account(e, -1)
	t.release(&e.flow, e.label)
	e.label, e.member = label, member
	t.used[use{e.flow.Src, e.flow.Dst, label}]++
	t.account(e, 1)
}

// Undo takes back a move that the switch refused: the flow has its old label.
func (t *Table) Undo(m Move) {
	if e := t.lookup(&m.Flow); e != nil && e.label == m.To {
		t.relabelled(e, m.From, m.FromMember)
		t.stats.Undone++
	}
}

// Watching says that pauses of flows are waited for: for moves, or since loads change, so
// that windows of rates end where all pause. Samples are to come often enough to see them.
func (t *Table) Watching() bool {
	return t.stats.Waiting > 0 || t.cfg.WindowNS > 0 && (t.settling.since != 0 || t.evening)
}
