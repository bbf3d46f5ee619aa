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

// MoveStats count moves since the table was made.
type MoveStats struct {
	// flows that got another label, the first choice for one that sent before too
	Moves       uint64
	Unsafe      uint64 // of these: the flow was active
	Undone      uint64 // moves that the switch refused, beside Moves
	Unreachable uint64 // moves that lacked a label
	// flows that would have to be idle to move, or for their first choice, at the last look
	Waiting int
}

// A mover makes the moves of one look, among the flows of an assignment. Each flow moves once a
// look at most. It decides which flows move where; whether to is decided before.
type mover struct {
	on     *assignment
	cfg    *Config
	counts MoveStats

	// Of one look, kept for their memory. moves is what [Table.Look] returned last; sorted are
	// the flows that may move, the largest first.
	moves    []Move
	sorted   []uint32
	excluded map[uint32]bool
}

// begin begins a look.
func (v *mover) begin() {
	v.moves, v.counts.Waiting = v.moves[:0], 0
}

// full reports whether a look has made as many moves as it may.
func (v *mover) full() bool { return len(v.moves) == v.cfg.MaxMoves }

// movable reports whether a flow may get another label now.
func (v *mover) movable(e *entry, now int64) bool {
	switch {
	case e.held || v.cfg.Moves == MovesNever || v.rests(e, now):
		return false
	}
	return v.cfg.Moves == MovesAny || v.idle(e, now)
}

// rests reports whether a flow moved a moment ago.
func (v *mover) rests(e *entry, now int64) bool {
	return e.moved && now >= e.movedAt && now-e.movedAt < v.cfg.RestNS
}

// idle reports whether a flow's counter stood still until now for as long as packets of it can be
// under way.
func (v *mover) idle(e *entry, now int64) bool { return e.meter.idle(now, v.cfg.IdleNS) }

// candidates sorts the flows that may move, the largest first. It returns the number of those on
// members above the threshold that would have to be idle.
func (v *mover) candidates(now int64, mean float64) (sending int) {
	l := &v.on.loads
	v.sorted = v.sorted[:0]
	for i := range v.on.flows.entries {
		e := &v.on.flows.entries[i]
		switch {
		case !e.live || e.member == unknown || !e.meter.measured || e.meter.rate <= 0:
		case v.movable(e, now):
			v.sorted = append(v.sorted, uint32(i))
		case !e.held && l.measuredAt(e.member) > v.cfg.Threshold*mean*l.group.members[e.member].Weight:
			if sending++; !e.first { // else it is counted
				v.counts.Waiting++
			}
		}
	}
	v.sort()
	v.sorted = v.sorted[:min(len(v.sorted), v.cfg.Largest)]
	return sending
}

// sort sorts the flows that may move, and lets each of them move.
func (v *mover) sort() {
	l, entries := &v.on.loads, v.on.flows.entries
	slices.SortFunc(v.sorted, func(a, b uint32) int {
		if c := cmp.Compare(l.rateOf(&entries[b].meter), l.rateOf(&entries[a].meter)); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	clear(v.excluded)
}

// relabel moves a flow to a member; it returns false if every label there is taken.
func (v *mover) relabel(e *entry, to int, now int64) bool {
	v.excluded[v.on.flows.index[e.flow]] = true
	label, member := v.on.find(e, next(e.label), to)
	if label == 0 || member != to {
		v.counts.Unreachable++
		return false
	}
	v.move(e, label, member, now)
	return true
}

// move gives a flow another label, and counts.
func (v *mover) move(e *entry, label uint32, member int, now int64) {
	m := Move{Flow: e.flow, From: e.label, To: label, FromMember: e.member, ToMember: member, unsafe: !v.idle(e, now)}
	v.moves = append(v.moves, m)
	v.on.relabel(e, label, member)
	e.moved, e.movedAt = true, now
	v.counts.Moves++
	if m.unsafe {
		v.counts.Unsafe++
	}
}

// takeBack gives a flow its former label and returns its entry; nil if the flow is gone
// or has moved again.
func (v *mover) takeBack(m Move) *entry {
	e := v.on.flows.lookup(&m.Flow)
	if e == nil || e.label != m.To {
		return nil
	}
	v.on.relabel(e, m.From, m.FromMember)
	v.counts.Moves--
	if m.unsafe {
		v.counts.Unsafe--
	}
	return e
}

// follow moves flows from members that have more than their quota to those that have
// less, within each leaf and class.
func (v *mover) follow(q *quotas, now int64) {
	q.count(v.on)
	clear(v.excluded)
	for key, e := range v.on.keys {
		if v.full() {
			return
		}
		from := e.member
		to := q.target(&v.on.loads, key, from)
		switch {
		case to == unknown:
		case !v.movable(e, now):
			if !e.held {
				v.counts.Waiting++
			}
		case v.relabel(e, to, now):
			q.moved(key, from, to)
		}
	}
}
