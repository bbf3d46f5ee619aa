// SPDX-License-Identifier: Apache-2.0

package placement

// Why is the way in which a flow came to its label.
type Why uint8

// The reasons.
const (
	Placed      Why = iota // on the member that was chosen
	Unreachable            // on the best member that a label was found for
	NoModel                // outside the model: hash label
	NotHashed              // the switch leaves the label out of its hash: hash label
	Degraded               // the model was wrong of late: hash label
	NoMember               // all weights are 0: hash label
	NoIPv6                 // IPv4
	// the table has no room: hash label, and the flow is not in the table
	Full
	// all labels searched are in use between the two hosts: hash label
	NoLabel
	whys
)

// String returns the name of the reason in rows and metrics.
func (w Why) String() string {
	return [...]string{"placed", "unreachable", "no-model", "label-not-hashed", "degraded", "no-member", "no-ipv6", "full", "no-label"}[w]
}

// A Placement is a flow's label, and the member that the model predicts for it (-1:
// unknown).
type Placement struct {
	Label  uint32
	Member int
	Why    Why
}

// Place returns the label of a flow that is still silent: of a new one, the label that
// takes it to the member with room; of one that the table has, the label that it has.
// hash is the flow's label without placement, leaf its destination leaf, or -1.
func (t *Table) Place(f Flow, leaf int, hash uint32) Placement {
	hash = max(hash&labelMask, 1)
	if e := t.on.flows.lookup(&f); e != nil {
		return Placement{e.label, e.member, Placed}
	}
	if f.Dst.Is4() || f.Src.Is4() {
		return t.counted(Placement{0, unknown, NoIPv6})
	}
	e := t.on.enter(f, leaf, hash, t.cfg.Capacity)
	if e == nil {
		return t.counted(Placement{hash, unknown, Full})
	}
	e.hashMember = t.on.predict(e, hash)
	p := Placement{hash, unknown, t.whyHash(e)}
	want := unknown
	if p.Why == Placed {
		want = t.mover.choose(&t.quotas, e)
	}
	label, member := t.on.find(e, hash, want)
	if label == 0 {
		p.Why, p.Member = NoLabel, e.hashMember
	} else if p.Label, p.Member = label, member; p.Why == Placed && member != want {
		p.Why = Unreachable
	}
	t.on.set(e, p.Label, p.Member)
	return t.counted(p)
}

// Adopt takes over a flow that has a label: after a restart. The flow keeps it. Another
// flow between the same hosts with the same label is counted. A flow without a label (0)
// is placed.
func (t *Table) Adopt(f Flow, leaf int, hash, label uint32) Placement {
	if e := t.on.flows.lookup(&f); e != nil {
		return Placement{e.label, e.member, Placed}
	}
	if label &= labelMask; label == 0 || f.Dst.Is4() || f.Src.Is4() {
		return t.Place(f, leaf, hash)
	}
	e := t.on.enter(f, leaf, max(hash&labelMask, 1), t.cfg.Capacity)
	if e == nil {
		return t.counted(Placement{label, unknown, Full})
	}
	e.hashMember = t.on.predict(e, e.hash)
	if t.on.set(e, label, t.on.predict(e, label)) > 1 {
		t.stats.Shared++
	}
	t.stats.Adopted++
	return Placement{label, e.member, Placed}
}

// Enter adds a flow that sends already, with the label of its hash: the switch computes
// that where a flow has no entry. Another label is a move, which may reorder its packets;
// so the flow keeps this one until [Table.Look] finds it idle (with MovesAny: until the
// next look), and then makes the first choice. Where the choice fails it returns the
// reason, as [Table.Place] does.
func (t *Table) Enter(f Flow, leaf int, hash uint32) Placement {
	hash = max(hash&labelMask, 1)
	if t.on.flows.lookup(&f) != nil || f.Dst.Is4() || f.Src.Is4() {
		return t.Place(f, leaf, hash)
	}
	e := t.on.enter(f, leaf, hash, t.cfg.Capacity)
	if e == nil {
		return t.counted(Placement{hash, unknown, Full})
	}
	e.hashMember = t.on.predict(e, hash)
	t.on.set(e, hash, e.hashMember)
	p := Placement{hash, e.member, t.whyHash(e)}
	if e.first = p.Why == Placed; e.first {
		return p // counted when it is chosen
	}
	return t.counted(p)
}

// whyHash returns why a new flow can only have the label of its hash; Placed: one can be chosen.
func (t *Table) whyHash(e *entry) Why {
	g := &t.on.group
	switch {
	case g.model == nil:
		return NoModel
	case !g.model.HashesLabel():
		return NotHashed
	case t.check.degraded:
		return Degraded
	case g.weight <= 0:
		return NoMember
	case e.hashMember == unknown:
		return NoModel
	}
	return Placed
}

// counted counts a placement by its reason and returns it.
func (t *Table) counted(p Placement) Placement {
	t.stats.Placements[p.Why]++
	return p
}
