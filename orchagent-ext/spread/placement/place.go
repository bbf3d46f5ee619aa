// SPDX-License-Identifier: Apache-2.0

package placement

// labelMask has the bits of a flow label (RFC 6437 section 2).
const labelMask = 0xfffff // 20 bits

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
	if e := t.lookup(&f); e != nil {
		return Placement{e.label, e.member, Placed}
	}
	if f.Dst.Is4() || f.Src.Is4() {
		return t.counted(Placement{0, unknown, NoIPv6})
	}
	e := t.add(f, leaf, hash)
	if e == nil {
		return t.counted(Placement{hash, unknown, Full})
	}
	e.hashMember = t.predict(e, hash)
	p := Placement{hash, unknown, t.whyHash(e)}
	want := unknown
	if p.Why == Placed {
		want = t.choose(e)
	}
	label, member := t.find(e, hash, want)
	if label == 0 {
		p.Why, p.Member = NoLabel, e.hashMember
	} else if p.Label, p.Member = label, member; p.Why == Placed && member != want {
		p.Why = Unreachable
	}
	e.label, e.member = p.Label, p.Member
	t.used[use{f.Src, f.Dst, e.label}]++
	t.account(e, 1)
	return t.counted(p)
}

// Adopt takes over a flow that has a label: after a restart. The flow keeps it. Another
// flow between the same hosts with the same label is counted. A flow without a label (0)
// is placed.
func (t *Table) Adopt(f Flow, leaf int, hash, label uint32) Placement {
	if e := t.lookup(&f); e != nil {
		return Placement{e.label, e.member, Placed}
	}
	if label &= labelMask; label == 0 || f.Dst.Is4() || f.Src.Is4() {
		return t.Place(f, leaf, hash)
	}
	e := t.add(f, leaf, max(hash&labelMask, 1))
	if e == nil {
		return t.counted(Placement{label, unknown, Full})
	}
	e.label = label
	e.member, e.hashMember = t.predict(e, label), t.predict(e, e.hash)
	u := use{f.Src, f.Dst, label}
	if t.used[u]++; t.used[u] > 1 {
		t.stats.Shared++
	}
	t.account(e, 1)
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
	if t.lookup(&f) != nil || f.Dst.Is4() || f.Src.Is4() {
		return t.Place(f, leaf, hash)
	}
	e := t.add(f, leaf, hash)
	if e == nil {
		return t.counted(Placement{hash, unknown, Full})
	}
	e.label, e.hashMember = hash, t.predict(e, hash)
	e.member = e.hashMember
	p := Placement{hash, e.member, t.whyHash(e)}
	e.first = p.Why == Placed
	t.used[use{f.Src, f.Dst, hash}]++
	t.account(e, 1)
	if e.first {
		return p // counted when it is chosen
	}
	return t.counted(p)
}

// whyHash returns why a new flow can only have the label of its hash; Placed: one can be chosen.
func (t *Table) whyHash(e *entry) Why {
	switch {
	case t.model == nil:
		return NoModel
	case !t.model.HashesLabel():
		return NotHashed
	case t.check.degraded:
		return Degraded
	case t.weight <= 0:
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

// add makes the entry of a flow, without label and load. It may move the other entries,
// which makes pointers to them invalid.
func (t *Table) add(f Flow, leaf int, hash uint32) *entry {
	var i uint32
	switch {
	case len(t.free) > 0:
		i = t.free[len(t.free)-1]
		t.free = t.free[:len(t.free)-1]
	case len(t.entries) < t.cfg.Capacity:
		i = uint32(len(t.entries))
		t.entries = append(t.entries, entry{})
	default:
		return nil
	}
	if leaf >= t.cfg.Leaves || leaf < 0 {
		leaf = -1
	}
	t.entries[i] = entry{flow: f, leaf: leaf, hash: hash, member: unknown, hashMember: unknown, live: true}
	t.index[f] = i
	return &t.entries[i]
}

// choose returns the member for a new flow. Members whose loads differ by less than a
// tenth of the flow are alike; the search begins at one that the flow's hash gives, so
// that leaves begin at different spines.
func (t *Table) choose(e *entry) int {
	if m := t.quotas.choose(t, e); m != unknown {
		return m
	}
	rate := t.rateOf(e)
	least, widest := -1.0, 0.0
	for m := range t.members {
		if w := t.members[m].Weight; w > 0 {
			if c := (t.at(m) + rate) / w; least < 0 || c < least {
				least = c
			}
			widest = max(widest, w)
		}
	}
	limit := least*(1+1e-9) + rate/widest/10
	best, fewest := unknown, 0.0
	n := len(t.members)
	begin := int(e.hash>>4) % n
	for k := range n {
		m := (begin + k) % n
		w := t.members[m].Weight
		if w <= 0 || (t.at(m)+rate)/w > limit {
			continue
		}
		mine := 0.0
		if e.leaf >= 0 {
			mine = float64(t.toLeaf[e.leaf*n+m]) / w
		}
		if best == unknown || mine < fewest {
			best, fewest = m, mine
		}
	}
	return best
}

// find returns a label for a member, or if all are taken that of the best other member;
// label 0 if every label is taken. For an unknown member it is the first that is free.
// The search visits labels in an order that begins at from and is the same in every run.
func (t *Table) find(e *entry, from uint32, want int) (label uint32, member int) {
	label = t.search(e, from, func(u use) bool {
		member = t.predictNext(u.label)
		return (want == unknown || member == want) && t.used[u] == 0
	})
	if label != 0 {
		return label, member
	}
	var cost float64
	best := unknown
	t.search(e, from, func(u use) bool {
		if m := t.predictNext(u.label); m != unknown && t.members[m].Weight > 0 {
			if c := t.at(m) / t.members[m].Weight; (best == unknown || c < cost) && t.used[u] == 0 {
				label, best, cost = u.label, m, c
			}
		}
		return false
	})
	return label, best
}

// search visits labels until one is taken, and returns it; 0: it gave up.
func (t *Table) search(e *entry, label uint32, take func(use) bool) uint32 {
	t.setTuple(e, label)
	u := use{src: e.flow.Src, dst: e.flow.Dst, label: label}
	for range 1024 + 32*len(t.members) {
		if u.label != 0 && take(u) {
			return u.label
		}
		u.label = next(u.label)
	}
	return 0
}

// predictNext is predict for another label of the flow last asked for.
func (t *Table) predictNext(label uint32) int {
	if t.model == nil {
		return unknown
	}
	t.tuple.FlowLabel = label
	if m, known := t.model.Predict(&t.tuple); known && m < len(t.members) {
		return m
	}
	return unknown
}

// next is the label after one in the order of the search: it meets each of the 2^20 once.
func next(label uint32) uint32 { return (label*1664525 + 1013904223) & labelMask }
