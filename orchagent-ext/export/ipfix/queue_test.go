// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"testing"

	"pgregory.net/rapid"
)

// TestQueueTakesMemoryAsRecordsWait: a queue keeps the order and the number of records while it grows, also
// below a reader, and drops those above its size alone.
func TestQueueTakesMemoryAsRecordsWait(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		size := rapid.IntRange(1, 4*firstRoom).Draw(r, "size")
		q := newQueue(size, (*notSent).add, make(chan struct{}, 1))
		if len(q.ring) > firstRoom {
			r.Fatalf("room for %d records at once", len(q.ring))
		}
		var want []uint32
		next, dropped := uint32(0), 0
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			seen, _, _ := q.peek()
			records := make([]Record, rapid.IntRange(0, firstRoom).Draw(r, "offered"))
			for i := range records {
				records[i].DestQP = next
				if len(want) < size {
					want = append(want, next)
				} else {
					dropped++
				}
				next++
			}
			q.offer(records)
			for i := range seen { // of the ring before
				if seen[i].DestQP != want[i] {
					r.Fatalf("record %d of those that were seen is %d, want %d", i, seen[i].DestQP, want[i])
				}
			}
			n := rapid.IntRange(0, len(seen)).Draw(r, "taken")
			q.take(n)
			want = want[n:]
			got, waiting, _ := q.peek()
			if waiting != len(want) || len(want) > 0 && (len(got) == 0 || got[0].DestQP != want[0]) {
				r.Fatalf("%d records wait, want %d", waiting, len(want))
			}
			if _, lost := q.status(); lost.records != uint64(dropped) {
				r.Fatalf("%d records were dropped, want %d", lost.records, dropped)
			}
		}
	})
}
