// SPDX-License-Identifier: Apache-2.0

package placement

// Observe records that packets of a flow, with its label, were seen on a member: it
// updates the model's score, the model learns from it, and where the model cannot
// predict, it sets the flow's path.
func (t *Table) Observe(f Flow, member int) {
	e := t.lookup(&f)
	if e == nil || t.model == nil || member < 0 || member >= len(t.members) {
		t.stats.Stray++
		return
	}
	// Observations under another label or member are void.
	if e.told != e.label || e.member != member {
		t.setTuple(e, e.label)
		t.model.Observe(&t.tuple, member)
		e.told = e.label
	}
	if e.member != member {
		t.account(e, -1)
		e.member = member
		t.account(e, 1)
	}
	if e.hashMember == unknown {
		e.hashMember = t.predict(e, e.hash)
	}
}

// predicts reports whether the model predicts other labels of the flows that may move.
func (t *Table) predicts() bool {
	for _, i := range t.sorted[:min(len(t.sorted), 4)] {
		e := &t.entries[i]
		for label, k := next(e.label), 0; k < 4; label, k = next(label), k+1 {
			if t.predict(e, label) != unknown {
				return true
			}
		}
	}
	return len(t.sorted) == 0
}

// roll gives flows of members above the threshold another label, whose path only the next
// observation shows: as many as are too much there, and the largest of them that fit
// into it.
func (t *Table) roll(now int64) {
	mean := (t.sum + float64(t.unmeasured)*t.typical()) / t.weight
	for _, i := range t.sorted {
		if len(t.moves) == t.cfg.MaxMoves {
			return
		}
		e := &t.entries[i]
		w, load := t.members[e.member].Weight, t.at(e.member)
		if w > 0 && (load <= t.cfg.Threshold*mean*w || load-t.rateOf(e) < mean*w*0.97) {
			continue
		}
		label, _ := t.find(e, next(e.label), unknown)
		if label == 0 {
			t.stats.Unreachable++
			continue
		}
		t.move(e, label, unknown, now)
		t.account(e, -1)
		e.member = t.predict(e, label)
		t.account(e, 1)
	}
}
