// SPDX-License-Identifier: Apache-2.0

package ecmp

// Observed is the model of last resort: it predicts the observed member for observed
// packets only. It is right as long as the switch leaves its group as it is.
type Observed struct {
	seen  map[Tuple]int
	order []Tuple // a ring: the oldest observation makes room
	at    int
	score Score
}

// NewObserved returns the model that remembers so many observations, at least 1. Its
// memory is bounded by that: a further one takes the place of the oldest.
func NewObserved(capacity int) *Observed {
	return &Observed{seen: make(map[Tuple]int, capacity), order: make([]Tuple, 0, max(capacity, 1))}
}

// Predict implements [Model]. known is false for a packet that was never observed, or
// whose observation made room.
func (m *Observed) Predict(t *Tuple) (int, bool) {
	member, known := m.seen[*t]
	return member, known
}

// Observe implements [Model]. The last observation of a packet counts. A repeated one is
// the check of the former one, and keeps its age.
func (m *Observed) Observe(t *Tuple, member int) {
	before, known := m.seen[*t]
	m.seen[*t] = member
	switch {
	case known:
		m.score.add(before == member)
	case len(m.order) < cap(m.order):
		m.order = append(m.order, *t)
	default:
		delete(m.seen, m.order[m.at])
		m.order[m.at] = *t
		m.at = (m.at + 1) % len(m.order)
	}
}

// HashesLabel implements [Model]. It is always true: the model has no idea of the fields.
func (m *Observed) HashesLabel() bool { return true }

// Score implements [Model].
func (m *Observed) Score() *Score { return &m.score }

// String implements [Model].
func (m *Observed) String() string { return "observed" }
