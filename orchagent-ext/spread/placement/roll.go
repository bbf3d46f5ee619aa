// SPDX-License-Identifier: Apache-2.0

package placement

// predicts reports whether the model predicts other labels of the flows that may move.
func (v *mover) predicts() bool {
	for _, i := range v.sorted[:min(len(v.sorted), 4)] {
		e := &v.on.flows.entries[i]
		for label, k := next(e.label), 0; k < 4; label, k = next(label), k+1 {
			if v.on.predict(e, label) != unknown {
				return true
			}
		}
	}
	return len(v.sorted) == 0
}

// roll gives flows of members above the threshold another label, whose path only the next
// observation shows: as many as are too much there, and the largest of them that fit
// into it.
func (v *mover) roll(now int64) {
	l := &v.on.loads
	mean := (l.sum + l.freshLoad()) / l.group.weight
	for _, i := range v.sorted {
		if v.full() {
			return
		}
		e := &v.on.flows.entries[i]
		w, load := l.group.members[e.member].Weight, l.at(e.member)
		if w > 0 && (load <= v.cfg.Threshold*mean*w || load-l.rateOf(&e.meter) < mean*w*0.97) {
			continue
		}
		label, _ := v.on.find(e, next(e.label), unknown)
		if label == 0 {
			v.counts.Unreachable++
			continue
		}
		v.move(e, label, unknown, now)
		v.on.setMember(e, v.on.predict(e, label))
	}
}
