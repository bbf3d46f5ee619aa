// SPDX-License-Identifier: Apache-2.0

package health

import (
	"math"

	"sluice/orchagent-ext/flows/histogram"
)

// tally is values that wait for their histogram, in a cache line: a histogram takes 1.1 KB, and two
// or more of its lines for each value.
type tally struct {
	values    [14]uint32
	n         uint32 // values
	histogram uint32 // number; 0: none is needed yet
}

// add counts a value.
func (t *tally) add(v uint64, all *slab[histogram.Coarse]) {
	if v > math.MaxUint32 {
		all.ensure(&t.histogram).Add(v)
		return
	}
	t.values[t.n] = uint32(v)
	if t.n++; t.n == uint32(len(t.values)) {
		t.sum(all.ensure(&t.histogram))
		t.n = 0
	}
}

// sum adds the values that wait to a histogram.
func (t *tally) sum(h *histogram.Coarse) {
	for _, v := range t.values[:t.n] {
		h.Add(uint64(v))
	}
}

// run is how often a value came in a row.
type run struct{ value, times uint32 }

// goesOn counts a value that is the one of the run; false: it is another.
func (r *run) goesOn(v uint64) bool {
	if v != uint64(r.value) || r.times == 0 || r.times == math.MaxUint32 {
		return false
	}
	r.times++
	return true
}
