// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"testing"
	"time"
)

// BenchmarkPoll is the time of a poll over 10,000 flows, with a read of a map as that of a counter.
func BenchmarkPoll(b *testing.B) {
	c := kernel()
	c.Table.Capacity = 10000
	bed := newBed(b, c)
	for i := range 10000 {
		bed.add(hashed(uint32(i)), 1e6)
	}
	bed.step(time.Second)
	b.ReportAllocs()
	for b.Loop() {
		bed.now = bed.now.Add(100 * time.Millisecond)
		if _, err := bed.poll(); err != nil {
			b.Fatal(err)
		}
	}
}
