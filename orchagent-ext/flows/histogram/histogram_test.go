// SPDX-License-Identifier: Apache-2.0

package histogram

import (
	"math"
	"testing"
)

func TestQuantilesOfAllHistograms(t *testing.T) {
	var c Coarse
	var f Fine
	quantiles(t, "coarse", &c, 8)
	quantiles(t, "fine", &f, 16)
	quantiles(t, "finest", &Finest{}, 64)
}

func quantiles[B coarse | fine | finest](t *testing.T, name string, h *histogram[B], parts float64) {
	if h.Quantile(0.5) != 0 || h.UpperQuantile(0.5) != 0 {
		t.Errorf("%s: an empty histogram has a quantile", name)
	}
	for v := range uint64(16) { // below 16 each is exact
		h.Add(v)
	}
	for i := range uint64(16) {
		if got := h.Quantile(float64(i) / 15); got != i {
			t.Errorf("%s: quantile %d of 15: %d", name, i, got)
		}
	}
	h.Add(1 << 63)
	if h.Min != 0 || h.Max != 1<<63 || h.Quantile(1) < 1<<35 || h.UpperQuantile(1) < 1<<36-1 {
		t.Errorf("%s: %d to %d, quantiles %d and %d", name, h.Min, h.Max, h.Quantile(1), h.UpperQuantile(1))
	}

	*h = histogram[B]{}
	const n = 100_000
	for i := range uint64(n) {
		h.Add((i + 1) * 1000)
	}
	for _, q := range []float64{0.001, 0.5, 0.99, 0.999} {
		want := math.Floor(q*(n-1)+1) * 1000
		if got := float64(h.Quantile(q)); got < want*(1-0.5/parts) || got > want*(1+0.5/parts) {
			t.Errorf("%s: quantile %v: %v, want %v", name, q, got, want)
		}
		if got := float64(h.UpperQuantile(q)); got < want || got > want*(1+1/parts) {
			t.Errorf("%s: upper quantile %v: %v, want %v", name, q, got, want)
		}
	}
	if h.Count != n || h.Sum != n*(n+1)/2*1000 || h.Quantile(1) > h.Max || h.UpperQuantile(1) != h.Max {
		t.Errorf("%s: %d of sum %d, the last quantiles are %d and %d", name, h.Count, h.Sum, h.Quantile(1), h.UpperQuantile(1))
	}

	// Each bucket begins where the one before ends.
	next := uint64(0)
	for i := range len(h.buckets) {
		*h = histogram[B]{}
		h.buckets[i] = 1
		low, width := h.find(0.5)
		if low != next || bucketOf(low, h.partBits()) != i || bucketOf(low+width-1, h.partBits()) != i {
			t.Fatalf("%s: bucket %d has %d values from %d on, want them from %d on", name, i, width, low, next)
		}
		next = low + width
	}
	if next != 1<<maxBits {
		t.Errorf("%s: the last bucket ends at %d", name, next)
	}
}

// A bucket that is full keeps its share of all values.
func TestHistogramKeepsSharesWhenABucketIsFull(t *testing.T) {
	var h Coarse
	h.Count, h.Max = 1<<33, 7
	h.buckets[3], h.buckets[7] = math.MaxUint32-1, math.MaxUint32/2
	h.Add(3)
	if at, above := h.Quantile(0.66), h.Quantile(0.67); at != 3 || above != 7 || h.Count != 1<<33+1 {
		t.Errorf("quantiles %d and %d of %d", at, above, h.Count)
	}
}

func TestHistogramAddsWithoutAllocating(t *testing.T) {
	h := new(Fine)
	if n := testing.AllocsPerRun(100, func() { h.Add(12345) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	h := new(Coarse)
	for i := range b.N {
		h.Add(uint64(i))
	}
}

// AddTimes counts as so many calls of Add do, up to a full bucket, whose shares stay.
func TestHistogramAddsTimes(t *testing.T) {
	var one, times Coarse
	times.AddTimes(5, 0)
	for i := range uint64(50) {
		v := uint64(3) << (i % 40)
		for range i {
			one.Add(v)
		}
		times.AddTimes(v, uint32(i))
		if one != times {
			t.Fatalf("after %d times %d: %v, want %v", i, v, times, one)
		}
	}
	var full Coarse
	full.AddTimes(3, math.MaxUint32)
	full.AddTimes(3, math.MaxUint32)
	full.AddTimes(900, 7)
	if full.Count != 2*math.MaxUint32+7 || full.Sum != 6*math.MaxUint32+6300 || full.Min != 3 || full.Max != 900 || full.Quantile(0.99) != 3 {
		t.Errorf("%d of sum %d, %d to %d", full.Count, full.Sum, full.Min, full.Max)
	}
}
