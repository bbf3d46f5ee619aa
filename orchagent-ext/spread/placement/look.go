// SPDX-License-Identifier: Apache-2.0

package placement

// Look returns the moves that are to be made now, which the table counts as made; call
// [Table.Undo] for each that failed. The slice is valid until the next look.
func (t *Table) Look(now int64) []Move {
	v := &t.mover
	v.begin()
	t.stats.Looks++
	if t.windows.end(now, t.on.loads.sum, &t.cfg) {
		t.on.measure(now, &t.cfg)
	}
	t.on.recount()
	if !t.modelIsRight() {
		return v.moves
	}
	placed, unreachable := v.chooseFirst(&t.quotas, now)
	t.stats.Placements[Placed] += placed
	t.stats.Placements[Unreachable] += unreachable
	switch {
	case len(v.moves) > 0 || !t.mayMove():
	case t.quotas.any():
		v.follow(&t.quotas, now)
	case t.unsettled():
		t.stats.Deferred++
	default:
		t.even(now)
	}
	return v.moves
}

// even evens out the load of members, where it is uneven.
func (t *Table) even(now int64) {
	v, load := &t.mover, t.on.loads.spread()
	at := moment{now, t.windows.number, t.on.flows.period(t.cfg.WindowNS)}
	switch t.rounds.begin(at, load, &t.cfg) {
	case even:
		t.stats.NoBetter = false
		return
	case resting:
		t.stats.Deferred++
		return
	}
	sending := v.candidates(now, load.mean)
	if t.patience.waits(now, sending, &t.cfg) {
		return
	}
	if v.predicts() {
		v.improve(now, t.rounds.goal)
		t.stats.NoBetter = len(v.moves) == 0 && sending == 0 && load.over(t.cfg.Threshold)
	} else {
		v.roll(now)
	}
	t.rounds.end(at, len(v.moves), t.on.loads.spread(), &t.cfg)
}

// modelIsRight reports whether labels can be chosen at all.
func (t *Table) modelIsRight() bool { return t.on.group.trusted() && !t.check.degraded }

// mayMove reports whether flows whose label was chosen may get another one.
func (t *Table) mayMove() bool { return t.modelIsRight() && t.cfg.Moves != MovesNever }

// unsettled reports whether moves have to wait, since rates are guesses or change. When they have
// waited for long enough, the rates of the last windows are those that count.
func (t *Table) unsettled() bool {
	if t.cfg.WindowNS == 0 {
		return false
	}
	if fresh := t.on.loads.freshLoad(); t.on.loads.unmeasured > 0 && fresh >= freshShare*(fresh+t.on.loads.sum) {
		return true
	}
	if t.on.flows.period(t.cfg.WindowNS) != 0 && t.on.flows.lackCycles() { // moves by these rates have to be taken back
		return true
	}
	last, average := t.on.flows.parts(len(t.on.group.members))
	switch t.settling.step(t.windows.number, last, average) {
	case changing:
		return true
	case overdue:
		t.on.measureLast()
	}
	return false
}

// Undo takes back a move that the switch refused: the flow has its old label, and is left alone
// for RestNS.
func (t *Table) Undo(m Move) {
	if t.mover.takeBack(m) != nil {
		t.mover.counts.Undone++
	}
}

// Cancel takes back a move that was skipped, since the flow is held or sends again: it
// may move in its next pause.
func (t *Table) Cancel(m Move) {
	if e := t.mover.takeBack(m); e != nil {
		e.moved, e.first = false, m.first
		if m.first {
			t.stats.Placements[Placed]--
		}
	}
}

// Overtaken counts a move as unsafe that was made while packets of the flow came, although it
// was idle when [Table.Look] decided.
func (t *Table) Overtaken(m Move) {
	if !m.unsafe {
		t.mover.counts.Unsafe++
	}
}

// Watching reports whether the table waits for pauses of flows: for moves, or while loads
// change, since windows of rates end where all flows pause. Samples are to come often
// enough to find them.
func (t *Table) Watching() bool {
	return t.mover.counts.Waiting > 0 || t.cfg.WindowNS > 0 && (t.settling.since != 0 || t.rounds.open)
}
