// SPDX-License-Identifier: Apache-2.0

package heap

import (
	"math/rand/v2"
	"testing"
)

// TestHeapReturnsElementsInOrder compares the heap with a plain search, over random changes.
func TestHeapReturnsElementsInOrder(t *testing.T) {
	t.Run("int64", func(t *testing.T) { compareWithSearch(t, func(r *rand.Rand) int64 { return int64(r.IntN(50)) }) })
	t.Run("float64", func(t *testing.T) {
		compareWithSearch(t, func(r *rand.Rand) float64 { return float64(r.IntN(50)) / 7 })
	})
}

// compareWithSearch gives elements keys of a kind, and takes some out.
func compareWithSearch[K int64 | float64](t *testing.T, key func(*rand.Rand) K) {
	const n = 40
	r := rand.New(rand.NewPCG(1, 2))
	h, want := New[K](n), map[int32]entry[K]{}
	for range 20000 {
		id := int32(r.IntN(n))
		if r.IntN(3) == 0 {
			h.Remove(id)
			delete(want, id)
		} else {
			at := key(r)
			turn := uint32(r.IntN(3)) - 1 // past the largest one
			h.Set(id, at, turn)
			want[id] = entry[K]{at, turn, id}
		}
		first := entry[K]{key: 1 << 60}
		for _, e := range want {
			if e.before(first) {
				first = e
			}
		}
		id, at, ok := h.First()
		if ok != (len(want) > 0) || ok && (id != first.id || at != first.key) || h.Len() != len(want) {
			t.Fatalf("first is %d at %v (%t) of %d, want %+v of %d", id, at, ok, h.Len(), first, len(want))
		}
	}
}

func TestHeapAllocatesNothingOnceMade(t *testing.T) {
	h := New[int64](1000)
	at := int64(0)
	if n := testing.AllocsPerRun(1000, func() {
		at++
		h.Set(int32(at*7919%1000), at, 0)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestElementsOfOneKeyComeByTurn: turns go on after the largest number.
func TestElementsOfOneKeyComeByTurn(t *testing.T) {
	h := New[int64](0)
	const n = 9
	for i := range int32(n) {
		if id := h.Number(); id != i {
			t.Fatalf("number %d, want %d", id, i)
		}
	}
	for i := range int32(n) {
		h.Set(n-1-i, 7, uint32(i)-n/2)
	}
	for i := range int32(n) {
		id, key, ok := h.First()
		if id != n-1-i || key != 7 || !ok {
			t.Errorf("element %d of key %d (%v), want %d", id, key, ok, n-1-i)
		}
		h.Remove(id)
	}
}
