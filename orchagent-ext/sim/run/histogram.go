// SPDX-License-Identifier: Apache-2.0

package run

import (
	"math"
	"math/bits"
)

// Histogram counts values above 0 with an error below 1 %: 64 buckets for each power of two.
// The zero value is empty.
type Histogram struct {
	buckets [64 * 64]uint64
	count   uint64
	sum     float64
}

// Add counts a value. Values below 1 count as 1.
func (h *Histogram) Add(v int64) {
	v = max(v, 1)
	h.count++
	h.sum += float64(v)
	e := bits.Len64(uint64(v)) - 1
	h.buckets[e*64+int(uint64(v)<<(63-e)>>57&63)]++
}

// Count is the number of values.
func (h *Histogram) Count() uint64 { return h.count }

// Mean is the mean of the values, without an error; 0 where there is none.
func (h *Histogram) Mean() float64 {
	if h.count == 0 {
		return 0
	}
	return h.sum / float64(h.count)
}

// Quantile returns the value that a part of all values (0 to 1) is at most, by the middle of its
// bucket; 0 where there is none.
func (h *Histogram) Quantile(part float64) float64 {
	if h.count == 0 {
		return 0
	}
	rank := max(uint64(math.Ceil(part*float64(h.count))), 1)
	for i, n := range h.buckets {
		if rank <= n {
			e := i / 64
			return math.Ldexp(1+(float64(i%64)+0.5)/64, e)
		}
		rank -= n
	}
	return 0
}
