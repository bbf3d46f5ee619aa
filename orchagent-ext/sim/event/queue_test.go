// SPDX-License-Identifier: Apache-2.0

package event

import (
	"math/rand/v2"
	"testing"
)

// TestQueueReturnsEventsInOrder compares the queue with a plain search, over random changes.
func TestQueueReturnsEventsInOrder(t *testing.T) {
	const n = 40
	r := rand.New(rand.NewPCG(1, 2))
	q, want := New(n), map[int32]int64{}
	for range 20000 {
		id := int32(r.IntN(n))
		if r.IntN(3) == 0 {
			q.Remove(id)
			delete(want, id)
		} else {
			at := int64(r.IntN(50))
			q.Set(id, at)
			want[id] = at
		}
		first := entry{at: 1 << 60}
		for id, at := range want {
			if e := (entry{at, id}); e.before(first) {
				first = e
			}
		}
		id, at, ok := q.Next()
		if ok != (len(want) > 0) || ok && (id != first.id || at != first.at) || q.Len() != len(want) {
			t.Fatalf("next is %d at %d (%t) of %d, want %+v of %d", id, at, ok, q.Len(), first, len(want))
		}
	}
}

func TestQueueAllocatesNothingOnceMade(t *testing.T) {
	q := New(1000)
	at := int64(0)
	if n := testing.AllocsPerRun(1000, func() {
		at++
		q.Set(int32(at*7919%1000), at)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
