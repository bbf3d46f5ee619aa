// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"math/bits"
	"time"
)

// Histogram counts times from 100 ns to 10 s and beyond, in 16 buckets an octave.
type Histogram struct {
	N       uint64
	Max     time.Duration
	buckets [buckets]uint64
}

const (
	// Buckets of the histogram: the first are a unit wide each, and each octave after them
	// has as many, so that an error is at most 1 in 16.
	histogramUnit = 100 * time.Nanosecond
	linear        = 16 // buckets of one unit each, and buckets an octave
	buckets       = linear * 24
)

// Add counts a time; one below 0 counts as 0.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	h.N++
	h.Max = max(h.Max, d)
	h.buckets[min(bucketOf(uint64(d/histogramUnit)), buckets-1)]++
}

// bucketOf returns the bucket of a number of units.
func bucketOf(v uint64) int {
	if v < linear {
		return int(v)
	}
	octave := bits.Len64(v) - bits.Len64(linear)
	return linear*(octave+1) + int(v>>octave) - linear
}

// upper is the end of a bucket.
func upper(bucket int) time.Duration {
	v := uint64(bucket)
	if bucket >= linear {
		octave := bucket/linear - 1
		v = uint64(bucket%linear+linear+1)<<octave - 1
	}
	return time.Duration(v+1) * histogramUnit
}

// Quantile returns the time below which a share q of the counts lies, to the end of its
// bucket: at most 6 % too much; 0 for an empty histogram.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank, seen := uint64(q*float64(h.N)), uint64(0)
	for i, n := range h.buckets {
		if seen += n; n > 0 && seen > rank {
			return min(upper(i), h.Max)
		}
	}
	return h.Max
}
