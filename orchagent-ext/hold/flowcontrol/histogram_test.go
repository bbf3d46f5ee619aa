// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"testing"
	"time"
)

// A quantile is never below the true one, and at most 6 % above.
func TestHistogram(t *testing.T) {
	var h Histogram
	if h.Quantile(0.5) != 0 {
		t.Error("a quantile of nothing")
	}
	const n = 100_000
	for i := range n {
		h.Add(time.Duration(i+1) * time.Microsecond)
	}
	for _, q := range []float64{0.001, 0.5, 0.99, 0.999} {
		want := time.Duration(q*n+1) * time.Microsecond
		if got := h.Quantile(q); got < want-time.Microsecond || float64(got) > 1.07*float64(want) {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	if h.Max != 100*time.Millisecond || h.N != n || h.Quantile(1) != h.Max {
		t.Errorf("max %v of %d", h.Max, h.N)
	}
	h.Add(-time.Second)
	h.Add(time.Hour)
	if h.Quantile(1) != time.Hour || h.Quantile(0) > 200*time.Nanosecond {
		t.Errorf("from %v to %v", h.Quantile(0), h.Quantile(1))
	}
	last := time.Duration(-1)
	for i := range buckets {
		if u := upper(i); u <= last {
			t.Fatalf("bucket %d ends at %v, the one before at %v", i, u, last)
		} else if last = u; bucketOf(uint64(u/histogramUnit)-1) != i {
			t.Fatalf("%v lies in bucket %d, want %d", u, bucketOf(uint64(u/histogramUnit)-1), i)
		}
	}
}
