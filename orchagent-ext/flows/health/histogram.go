// SPDX-License-Identifier: Apache-2.0

package health

import "math/bits"

// parts is into how many equal buckets a histogram divides each range between two
// powers of 2.
const (
	partBits = 3
	parts    = 1 << partBits
	maxBits  = 36 // of a value: 68 s in ns
)

// Histogram counts values so that a quantile is known to a 16th of its value, up to 2^36.
// The zero value is empty.
type Histogram struct {
	Count, Sum, Min, Max uint64
	buckets              [(maxBits - partBits + 1) * parts]uint32
}

// newHistogram returns an empty histogram. v is a value to come: memory that is
// new is written to before it is read, which costs one page fault instead of two.
func newHistogram(v uint64) *Histogram { return &Histogram{Min: v} }

// Add counts a value. A value of 2^36 or more counts in the last bucket; Sum and Max have
// it as it is. It allocates nothing.
func (h *Histogram) Add(v uint64) {
	h.Count++
	if h.Count == 1 || v < h.Min {
		h.Min = v
	}
	h.Max = max(h.Max, v)
	h.Sum += v
	h.buckets[bucket(v)]++
}

// bucket is that of a value: itself below parts, then parts of each power of 2.
func bucket(v uint64) int {
	v = min(v, 1<<maxBits-1)
	if v < parts {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - partBits
	return (shift+1)*parts + int(v>>shift)&(parts-1)
}

// Quantile returns the value that a share q of the values, 0 to 1, does not
// exceed: the middle of its bucket, within Min and Max; 0 for an empty histogram.
func (h *Histogram) Quantile(q float64) uint64 {
	if h.Count == 0 {
		return 0
	}
	rank := uint64(q*float64(h.Count-1)) + 1
	sum := uint64(0)
	for i, n := range h.buckets {
		if sum += uint64(n); sum < rank {
			continue
		}
		middle := uint64(i)
		if i >= parts {
			shift := i/parts - 1
			middle = uint64(parts+i%parts)<<shift + 1<<shift>>1
		}
		return min(max(middle, h.Min), h.Max)
	}
	return h.Max
}
