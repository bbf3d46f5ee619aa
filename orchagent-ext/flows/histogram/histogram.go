// SPDX-License-Identifier: Apache-2.0

// Package histogram counts values so that quantiles are known to a share of their value.
// It has no locks: one goroutine adds to a histogram and reads it, or copies it for readers.
package histogram

import (
	"math"
	"math/bits"
)

// maxBits is of a value: 68 s in ns.
const maxBits = 36

// Buckets of a histogram: values below 8, 16 or 64 have one each, and so has each 8th, 16th or 64th
// of a range between two powers of 2 above them.
type (
	coarse = [(maxBits - 3 + 1) << 3]uint32
	fine   = [(maxBits - 4 + 1) << 4]uint32
	finest = [(maxBits - 6 + 1) << 6]uint32
)

// Coarse has 8 buckets for each power of 2, in 1.1 KB: for one in each flow.
type Coarse = histogram[coarse]

// Fine has 16 buckets for each power of 2, in 2.1 KB.
type Fine = histogram[fine]

// Finest has 64 buckets for each power of 2, in 7.8 KB.
type Finest = histogram[finest]

// histogram counts values up to 2^36. The zero value is empty.
type histogram[B coarse | fine | finest] struct {
	Count, Sum, Min, Max uint64
	buckets              B
}

// partBits is the logarithm of the number of buckets for each power of 2.
func (h *histogram[B]) partBits() int {
	switch len(h.buckets) {
	case len(coarse{}):
		return 3
	case len(fine{}):
		return 4
	}
	return 6
}

// Add counts a value. A value of 2^36 or more counts in the last bucket; Sum and Max have
// it as it is. It allocates nothing.
func (h *histogram[B]) Add(v uint64) {
	h.Count++
	if h.Count == 1 || v < h.Min {
		h.Min = v
	}
	h.Max = max(h.Max, v)
	h.Sum += v
	i := bucketOf(v, h.partBits())
	if h.buckets[i]++; h.buckets[i] == math.MaxUint32 {
		h.halve()
	}
}

// AddTimes counts a value so many times.
func (h *histogram[B]) AddTimes(v uint64, times uint32) {
	if times == 0 {
		return
	}
	h.Add(v)
	times--
	h.Count += uint64(times)
	h.Sum += v * uint64(times)
	for i := bucketOf(v, h.partBits()); times > 0; {
		n := min(times, math.MaxUint32-h.buckets[i])
		times -= n
		if h.buckets[i] += n; h.buckets[i] == math.MaxUint32 {
			h.halve()
		}
	}
}

// halve halves what every bucket has counted, so that shares stay as they are.
func (h *histogram[B]) halve() {
	for i := range len(h.buckets) {
		h.buckets[i] /= 2
	}
}

// bucketOf is the bucket of a value, with 2^part for each power of 2.
func bucketOf(v uint64, part int) int {
	v = min(v, 1<<maxBits-1)
	if v < 1<<part {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - part
	return (shift+1)<<part + int(v>>shift)&(1<<part-1)
}

// Quantile returns the value that a share q of the values, 0 to 1, does not exceed: the middle
// of its bucket, so at most a 16th (Coarse), a 32nd (Fine) or a 128th (Finest) off, within Min and
// Max; 0 for an empty histogram.
func (h *histogram[B]) Quantile(q float64) uint64 {
	low, width := h.find(q)
	return min(max(low+width/2, h.Min), h.Max)
}

// UpperQuantile is Quantile, but for the end of the bucket: it is never too little, and at most
// an 8th (Coarse), a 16th (Fine) or a 64th (Finest) too much.
func (h *histogram[B]) UpperQuantile(q float64) uint64 {
	low, width := h.find(q)
	return min(low+width-1, h.Max)
}

// find returns the first value of the bucket with a quantile, and how many values it has.
func (h *histogram[B]) find(q float64) (low, width uint64) {
	counted := uint64(0) // Count, until a bucket was full
	for i := range len(h.buckets) {
		counted += uint64(h.buckets[i])
	}
	if counted == 0 {
		return 0, 1
	}
	part, rank := h.partBits(), uint64(q*float64(counted-1))+1
	i := 0
	for sum := uint64(h.buckets[0]); sum < rank; sum += uint64(h.buckets[i]) {
		i++
	}
	if i < 1<<part {
		return uint64(i), 1
	}
	shift := i>>part - 1
	return uint64(1<<part|i&(1<<part-1)) << shift, 1 << shift
}
