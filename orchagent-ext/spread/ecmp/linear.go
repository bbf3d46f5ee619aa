// SPDX-License-Identifier: Apache-2.0

package ecmp

import (
	"encoding/binary"
	"math/bits"
)

// Linear learns the hash of a switch from observations, where each bit of the member's
// number is a sum (exclusive or) of bits of the packet, and a constant: every CRC and
// every XOR fold is, whatever their polynomial, seed and order of fields, over 2^k
// members. 21 observations of one flow, with labels that differ in each of the 20 bits,
// and one of each other flow are enough; fewer of flows whose addresses and ports are
// sums of known ones.
//
// A hash of another kind contradicts itself soon. Linear then forgets its observations
// and begins again, since single ones may be wrong; after the third time it gives up
// ([Linear.GaveUp]) until Reset.
type Linear struct {
	n     int
	rows  []row
	score Score
	lost  int // how many times it began again
}

// A row is an equation: the bits of x, summed modulo 2, are value. Its pivot is in this
// row only.
type row struct {
	x     bitvector
	value uint16
	pivot int
}

// A bitvector is a packet as bits: source, destination, protocol, source port, destination
// port, flow label, and 1.
type bitvector [5]uint64

const (
	// Bounds of a Linear. There are 317 bits to learn (two addresses, ports, protocol, label
	// and a constant), so independent rows are fewer than maxRows.
	maxRows     = 320
	maxAttempts = 3
	minChecked  = 16 // right predictions before the model is believed
)

// NewLinear returns the model of a switch with n members, counted as the switch counts
// them. Linear hashes exist for n a power of 2; with another n the observations soon
// contradict each other.
func NewLinear(n int) *Linear { return &Linear{n: n} }

// Reset forgets everything. The number of members stays, and so does the memory of the
// rows.
func (m *Linear) Reset() { *m = Linear{n: m.n, rows: m.rows[:0]} }

// GaveUp reports that the observations contradict every linear hash: the switch's is
// another kind, or its members have other numbers.
func (m *Linear) GaveUp() bool { return m.lost >= maxAttempts }

// Learned reports whether the observations so far decide the part of the hash that comes
// from the flow label, and enough predictions were right.
func (m *Linear) Learned() bool {
	labels := 0
	for i := range m.rows {
		if m.rows[i].x.labelOnly() {
			labels++
		}
	}
	return labels == 20 && m.score.n >= minChecked && !m.score.Wrong()
}

// Predict implements [Model]. It answers for a packet whose bits are a sum of observed
// ones, whether or not [Linear.Learned]: look at the score before relying on it.
func (m *Linear) Predict(t *Tuple) (int, bool) {
	if m.GaveUp() {
		return -1, false
	}
	x := bitsOf(t)
	value, known := m.reduce(&x)
	return int(value), known && int(value) < m.n
}

// reduce eliminates the pivots of the rows from x, and returns the sum of their values;
// known is true if x is 0 then.
func (m *Linear) reduce(x *bitvector) (value uint16, known bool) {
	at := *x
	for i := range m.rows {
		r := &m.rows[i]
		if at.has(r.pivot) {
			x.add(&r.x)
			value ^= r.value
		}
	}
	return value, *x == bitvector{}
}

// Observe implements [Model]. A packet that the rows decide already is a check of the
// prediction. Another one becomes a row, and its pivot is eliminated from the other rows
// (Gauss-Jordan), so that reduce needs one pass. Observations after [Linear.GaveUp], or
// of a member outside 0 to n-1, are left out.
func (m *Linear) Observe(t *Tuple, member int) {
	if m.GaveUp() || member < 0 || member >= m.n {
		return
	}
	x := bitsOf(t)
	value, known := m.reduce(&x)
	value ^= uint16(member)
	if known {
		m.score.add(value == 0)
		if m.score.Wrong() {
			*m = Linear{n: m.n, rows: m.rows[:0], lost: m.lost + 1, score: m.score}
			if !m.GaveUp() {
				m.score = Score{}
			}
		}
		return
	}
	if len(m.rows) == maxRows {
		return
	}
	r := row{x: x, value: value, pivot: x.first()}
	for i := range m.rows {
		if o := &m.rows[i]; o.x.has(r.pivot) {
			o.x.add(&r.x)
			o.value ^= r.value
		}
	}
	m.rows = append(m.rows, r)
}

// HashesLabel implements [Model]: false once all 20 bits are known to be without effect.
func (m *Linear) HashesLabel() bool {
	none := 0
	for i := range m.rows {
		if m.rows[i].x.labelOnly() && m.rows[i].value == 0 {
			none++
		}
	}
	return none < 20
}

// Score implements [Model]. It begins again with the rows, but for that of the attempt
// after which the model gave up.
func (m *Linear) Score() *Score { return &m.score }

// String implements [Model].
func (m *Linear) String() string { return "learned" }

// bitsOf returns the fields of a tuple as bits; the last one is the constant 1, which
// makes affine hashes linear.
func bitsOf(t *Tuple) bitvector {
	src, dst := t.Src.As16(), t.Dst.As16()
	return bitvector{
		binary.BigEndian.Uint64(src[:8]), binary.BigEndian.Uint64(src[8:]),
		binary.BigEndian.Uint64(dst[:8]), binary.BigEndian.Uint64(dst[8:]),
		uint64(t.SrcPort)<<48 | uint64(t.DstPort)<<32 | uint64(t.Proto)<<24 | uint64(t.FlowLabel&0xfffff)<<4 | 1,
	}
}

// add adds y modulo 2.
func (x *bitvector) add(y *bitvector) {
	for i := range x {
		x[i] ^= y[i]
	}
}

// has reports whether a bit is set.
func (x *bitvector) has(bit int) bool { return x[bit/64]>>(bit%64)&1 != 0 }

// first returns the index of a set bit of x, which has one: of the addresses and ports if
// possible, so that rows of label bits alone stay such.
func (x *bitvector) first() int {
	for i, word := range x {
		if word != 0 {
			return i*64 + 63 - bits.LeadingZeros64(word)
		}
	}
	return 0
}

// labelOnly reports whether x has bits of the flow label alone.
func (x *bitvector) labelOnly() bool {
	return x[0]|x[1]|x[2]|x[3] == 0 && x[4]&^(0xfffff<<4) == 0
}

// onesCount returns the number of set bits.
func onesCount(ring [2]uint64) int { return bits.OnesCount64(ring[0]) + bits.OnesCount64(ring[1]) }
