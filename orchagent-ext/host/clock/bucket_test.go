// SPDX-License-Identifier: Apache-2.0

package clock

import (
	"testing"
	"time"
)

// TestBucketPassesABurstAndThenItsRate: no more than the burst at once, and then the rate; a change is in
// force at once, and a clock that goes back gives nothing.
func TestBucketPassesABurstAndThenItsRate(t *testing.T) {
	var b Bucket
	now := time.Unix(1000, 0)
	for i, tt := range []struct {
		rate, burst uint32
		after       time.Duration
		n, want     int
	}{
		{0, 0, 0, 1000, 1000}, // nothing was set yet
		{10, 5, 0, 3, 3},
		{10, 5, 0, 3, 2},
		{10, 5, 0, 1, 0},
		{10, 5, 100 * time.Millisecond, 2, 1},
		{10, 5, time.Hour, 64, 5},
		{10, 5, 50 * time.Millisecond, 1, 0},
		{10, 5, 50 * time.Millisecond, 1, 1}, // of two halves
		{1000, 100, 10 * time.Millisecond, 64, 10},
		{1000, 100, time.Second, 64, 64},
		{10, 5, 0, 64, 5}, // what it held above its new size is lost
		{10, 5, -time.Hour, 64, 0},
	} {
		now = now.Add(tt.after)
		if got := b.Take(Rate{tt.rate, tt.burst}, tt.n, now.UnixNano()); got != tt.want {
			t.Errorf("%d: %d of %d packets pass, want %d", i, got, tt.n, tt.want)
		}
	}
}
