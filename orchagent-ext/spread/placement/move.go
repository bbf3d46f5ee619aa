// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"slices"
)

// A Move is a flow that is to get another label, by changing its entry in place.
type Move struct {
	Flow                 Flow
	From, To             uint32 // labels
	FromMember, ToMember int    // ToMember -1: unknown to the model

	first, unsafe bool // the first choice for the flow, while active
}

// Look returns the moves that are to be made now, which the table counts as made; call
// [Table.Undo] for each that failed. The slice is valid until the next look.
func (t *Table) Look(now int64) []Move {
	t.moves = t.moves[:0]
	t.stats.Looks++
	t.stats.Waiting = 0
	t.measureAll(now)
	t.recount()
	if !t.modelIsRight() {
		return t.moves
	}
	if t.chooseFirst(now); len(t.moves) > 0 || !t.mayMove() {
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
	if t.goal = t.goalOf(); t.evening || worst <= limit*mean && t.looksAgain(now) {
		limit = t.goal
	}
	if mean <= 0 || worst <= limit*mean {
		t.stats.NoBetter = false
		t.evening = t.evening && t.settling.number < t.recheck
		return t.moves
	}
	switch {
	case t.evening:
	case limit == t.goal: // one round more
		t.evening, t.rounds = true, recheckRounds-1
	default:
		if t.cfg.WindowNS != 0 && !t.rest.over(now, worst/mean) {
			t.stats.Deferred++
			return t.moves
		}
		t.evening, t.rounds, t.again, t.againAt = true, 0, againRounds, 0
	}
	t.candidates(now, mean)
	if t.patient(now) {
		return t.moves
	}
	if t.predicts() {
		t.improve(now)
		t.stats.NoBetter = len(t.moves) == 0 && t.busy == 0 && worst > t.cfg.Threshold*mean
	} else {
		t.roll(now)
	}
	t.evened()
	return t.moves
}

// modelIsRight reports whether labels can be chosen at all.
func (t *Table) modelIsRight() bool {
	return t.model != nil && !t.model.Score().Wrong() && !t.check.degraded && t.model.HashesLabel()
}

// mayMove reports whether flows whose label was chosen may get another one.
func (t *Table) mayMove() bool { return t.modelIsRight() && t.cfg.Moves != MovesNever }

// chooseFirst makes the first choice for flows that sent before, the largest first, and
// counts those that would have to be idle. One whose member has at most its share stays
// there.
func (t *Table) chooseFirst(now int64) {
	t.sorted = t.sorted[:0]
	for i := range t.entries {
		switch e := &t.entries[i]; {
		case !e.live || !e.first || e.member == unknown || e.held || t.resting(e, now):
		case t.cfg.Moves == MovesAny || t.idle(e, now):
			t.sorted = append(t.sorted, uint32(i))
		default:
			t.stats.Waiting++
		}
	}
	t.sortByRate()
	clear(t.excluded)
	for _, i := range t.sorted {
		if len(t.moves) == t.cfg.MaxMoves {
			return
		}
		e := &t.entries[i]
		e.first = false
		to, shared := t.firstMember(e), t.used[use{e.flow.Src, e.flow.Dst, e.label}] > 1
		why := Placed
		switch {
		case to == unknown, to == e.member && !shared:
		case t.relabel(e, to, now):
			t.moves[len(t.moves)-1].first = true
		default:
			why = Unreachable
		}
		t.stats.Placements[why]++
	}
}

// firstMember returns the member that is the first choice for a flow that sent before:
// its own while that has at most its share, or all others have as much.
func (t *Table) firstMember(e *entry) int {
	rate, own := t.rateOf(e), t.members[e.member].Weight
	_, _, mean := t.worst()
	if !t.quotas.any() && own > 0 && t.at(e.member) <= t.cfg.Goal*mean*own {
		return e.member
	}
	t.account(e, -1)
	defer t.account(e, 1)
	to := t.choose(e)
	if to != unknown && !t.quotas.any() && own > 0 && (t.at(to)+rate)/t.members[to].Weight >= (t.at(e.member)+rate)/own {
		return e.member
	}
	return to
}

// Rates that were slightly wrong leave an uneven load: after moves it is measured again,
// in so many windows, before only a load above the threshold counts.
const (
	recheckWindows = 4
	recheckRounds  = 3
)

// evened ends moves at the goal, or where every move gains too little.
func (t *Table) evened() {
	switch _, worst, mean := t.worst(); {
	case len(t.moves) == t.cfg.MaxMoves && worst > t.goal*mean:
	case len(t.moves) == 0 && t.settling.number < t.recheck:
	case len(t.moves) == 0 || t.cfg.WindowNS == 0 || t.rounds == recheckRounds:
		if t.evening = false; len(t.moves) == 0 && t.rounds == 0 && t.rest.first {
			t.rest = rest{} // before the first move
		}
	default:
		t.rounds, t.recheck = t.rounds+1, t.settling.number+recheckWindows
	}
}

// againRounds is how often the load of flows that pause for long is looked at again: they have
// been measured once or twice when the first moves are made, and each burst differs a bit.
const againRounds = 4

// looksAgain reports whether a load between the goal and the threshold moves flows, since
// they have sent another burst since the last moves.
func (t *Table) looksAgain(now int64) bool {
	length := t.longCycle()
	switch {
	case t.again == 0 || now < t.againAt:
		return false
	case length == 0:
		t.again = 0
		return false
	case t.againAt == 0: // the first moves have just ended
	default:
		t.again--
	}
	begins := t.againAt != 0
	t.againAt = now + length
	return begins
}

// candidates sorts the flows that may move, the largest first, and counts those on
// members above the threshold that would have to be idle.
func (t *Table) candidates(now int64, mean float64) {
	t.sorted, t.busy = t.sorted[:0], 0
	for i := range t.entries {
		e := &t.entries[i]
		switch {
		case !e.live || e.member == unknown || !e.measured || e.rate <= 0:
		case t.movable(e, now):
			t.sorted = append(t.sorted, uint32(i))
		case !e.held && t.measuredAt(e.member) > t.cfg.Threshold*mean*t.members[e.member].Weight:
			if t.busy++; !e.first { // else it is counted
				t.stats.Waiting++
			}
		}
	}
	t.sortByRate()
	t.sorted = t.sorted[:min(len(t.sorted), t.cfg.Largest)]
}

// sortByRate sorts the flows that may move, the largest first.
func (t *Table) sortByRate() {
	slices.SortFunc(t.sorted, func(a, b uint32) int {
		if c := cmp.Compare(t.rateOf(&t.entries[b]), t.rateOf(&t.entries[a])); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
}

// The least gain of a move, in parts of the mean, and that of an exchange of two over a
// move.
const (
	leastGain     = 0.002
	exchangeGains = 0.005
)

// improve makes the best moves and exchanges until the goal, the budget, or the last one
// that gains enough.
func (t *Table) improve(now int64) {
	clear(t.excluded)
	for len(t.moves) < t.cfg.MaxMoves {
		a, worst, mean := t.worst()
		if mean <= 0 || worst <= t.goal*mean {
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
// the lowest of worst values on the two members; nil if every one gains too little.
func (t *Table) best(a int, worst, mean float64) (f, g *entry, to int) {
	best := worst - leastGain*mean
	wa, la := t.members[a].Weight, t.measuredAt(a)
	for _, i := range t.sorted {
		e := &t.entries[i]
		if e.member != a || t.excluded[i] {
			continue
		}
		r := t.rateOf(e)
		for m := range t.members {
			if w := t.members[m].Weight; m != a && w > 0 {
				if c := max((la-r)/wa, (t.measuredAt(m)+r)/w); c < best {
					best, f, to = c, e, m
				}
			}
		}
	}
	if f != nil && best <= t.goal*mean || t.cfg.MaxMoves-len(t.moves) < 2 {
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
			if c := max((la-d)/wa, (t.measuredAt(m)+d)/t.members[m].Weight); c < limit {
				limit, f, g, to = c, x, y, m
			}
		}
	}
	return f, g, to
}

// relabel moves a flow to a member, or to an unknown path; it returns false if every
// label there is taken.
func (t *Table) relabel(e *entry, to int, now int64) bool {
	t.excluded[t.index[e.flow]] = true // a flow moves once a look at most
	label, member := t.find(e, next(e.label), to)
	if label == 0 || member != to {
		t.stats.Unreachable++
		return false
	}
	t.move(e, label, member, now)
	return true
}

// move gives a flow another label, and counts.
func (t *Table) move(e *entry, label uint32, member int, now int64) {
	m := Move{Flow: e.flow, From: e.label, To: label, FromMember: e.member, ToMember: member, unsafe: !t.idle(e, now)}
	t.moves = append(t.moves, m)
	t.relabelled(e, label, member)
	e.moved, e.movedAt = true, now
	t.stats.Moves++
	if m.unsafe {
		t.stats.Unsafe++
	}
}

// relabelled gives a flow another label and member, and accounts for its load there.
func (t *Table) relabelled(e *entry, label uint32, member int) {
	t.account(e, -1)
	t.release(&e.flow, e.label)
	e.label, e.member = label, member
	t.used[use{e.flow.Src, e.flow.Dst, label}]++
	t.account(e, 1)
}

// Undo takes back a move that the switch refused: the flow has its old label, and is left alone
// for RestNS.
func (t *Table) Undo(m Move) {
	if t.takeBack(m) != nil {
		t.stats.Undone++
	}
}

// Cancel takes back a move that was skipped, since the flow is held or sends again: it
// may move in its next pause.
func (t *Table) Cancel(m Move) {
	if e := t.takeBack(m); e != nil {
		e.moved, e.first = false, m.first
		if m.first {
			t.stats.Placements[Placed]--
		}
	}
}

// takeBack gives a flow its former label and returns its entry; nil if the flow is gone
// or has moved again.
func (t *Table) takeBack(m Move) *entry {
	e := t.lookup(&m.Flow)
	if e == nil || e.label != m.To {
		return nil
	}
	t.relabelled(e, m.From, m.FromMember)
	t.stats.Moves--
	if m.unsafe {
		t.stats.Unsafe--
	}
	return e
}

// Overtaken counts a move as unsafe that was made while packets of the flow came, although it
// was idle when [Table.Look] decided.
func (t *Table) Overtaken(m Move) {
	if !m.unsafe {
		t.stats.Unsafe++
	}
}

// Watching reports whether the table waits for pauses of flows: for moves, or while loads
// change, since windows of rates end where all flows pause. Samples are to come often
// enough to find them.
func (t *Table) Watching() bool {
	return t.stats.Waiting > 0 || t.cfg.WindowNS > 0 && (t.settling.since != 0 || t.evening)
}
