// SPDX-License-Identifier: Apache-2.0

package ecmp

import "fmt"

// A Model predicts the member of a group that a switch chooses for packets. A model
// belongs to one goroutine. Its methods are free of allocations, except Observe of
// [Linear] and [Observed], within their bounds.
type Model interface {
	// Predict returns the member for packets of t, counted from 0, and whether the model
	// knows it. known is false where all members are dead.
	Predict(t *Tuple) (member int, known bool)
	// Observe records that packets of t took a member: it updates the model's score, and the
	// model may learn from it.
	Observe(t *Tuple, member int)
	// HashesLabel reports whether another label can be another path, as far as is known.
	HashesLabel() bool
	// Score is how often the model was right.
	Score() *Score
	// String returns the name of the model: linux, crc32, crc16, learned, observed.
	String() string
}

// A Score counts the right ones of a model's last 128 predictions that could be checked.
// The zero value is before the first.
type Score struct {
	ring  [2]uint64 // a bit a prediction: right
	at, n int
}

// scoreLen is the number of predictions that a Score remembers.
const scoreLen = 128

// add records a prediction in place of the oldest one.
func (s *Score) add(right bool) {
	word, bit := &s.ring[s.at/64], uint64(1)<<(s.at%64)
	*word &^= bit
	if right {
		*word |= bit
	}
	s.at = (s.at + 1) % scoreLen
	s.n = min(s.n+1, scoreLen)
}

// Checked is how many predictions the score counts, at most 128. Below 8 of them
// [Score.Wrong] is false, whatever they were.
func (s *Score) Checked() int { return s.n }

// Right returns the part of them that was right, 0 to 1; 0 before the first check. A
// random guess among n members scores about 1/n.
func (s *Score) Right() float64 {
	if s.n == 0 {
		return 0
	}
	return float64(onesCount(s.ring)) / float64(s.n)
}

// Wrong reports that the model differs from the switch: of at least 8 predictions that
// were checked, more than a tenth was wrong.
func (s *Score) Wrong() bool { return s.n >= 8 && s.Right() < 0.9 }

// Known is the model of a switch whose hash and group are known. It learns nothing:
// Observe only scores it, which reveals settings that differ from the switch's.
type Known struct {
	// name is what String returns: linux, crc32 or crc16. choose returns the member, -1
	// where all are dead; label is what HashesLabel returns.
	name   string
	choose func(*Tuple) int
	label  bool
	score  Score
}

// OfKernel returns the model of the kernel with these settings and this group; the error
// is that of [Kernel.Err].
func OfKernel(k Kernel, g *Group) (*Known, error) {
	if err := k.Err(); err != nil {
		return nil, err
	}
	return &Known{name: "linux", label: k.HashesLabel(), choose: func(t *Tuple) int { return g.Choose(k.Hash(t)) }}, nil
}

// OfHash returns the model of a hash over the 5-tuple and the flow label, with n equal
// members.
func OfHash(h Hash, n int) (*Known, error) {
	if n < 1 || n > maxMembers {
		return nil, fmt.Errorf("%d members: a group has 1 to %d", n, maxMembers)
	}
	return &Known{name: h.String(), label: true, choose: func(t *Tuple) int { return h.Path(*t, true, n) }}, nil
}

// Predict implements [Model]. It is exact as far as the settings are those of the switch.
func (m *Known) Predict(t *Tuple) (int, bool) {
	member := m.choose(t)
	return member, member >= 0
}

// Observe implements [Model]. A packet that took a member of a group of dead ones counts
// as a wrong prediction.
func (m *Known) Observe(t *Tuple, member int) {
	predicted, _ := m.Predict(t)
	m.score.add(predicted == member)
}

// HashesLabel implements [Model].
func (m *Known) HashesLabel() bool { return m.label }

// Score implements [Model].
func (m *Known) Score() *Score { return &m.score }

// String implements [Model].
func (m *Known) String() string { return m.name }
