// SPDX-License-Identifier: Apache-2.0

package clock

import (
	"testing"

	"pgregory.net/rapid"
)

// alarm is an element of a heap.
type alarm struct {
	at    int64
	place int
}

func (a *alarm) When() int64 { return a.at }
func (a *alarm) Place() *int { return &a.place }

// Whatever is put, moved and removed: the first is the earliest, and each element knows its place.
func TestHeapHasTheEarliestElementFirst(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var h Heap[*alarm]
		all, in := make([]alarm, 9), map[*alarm]bool{}
		for range rapid.IntRange(1, 60).Draw(r, "steps") {
			a := &all[rapid.IntRange(0, len(all)-1).Draw(r, "element")]
			if rapid.Bool().Draw(r, "put") {
				a.at = int64(rapid.IntRange(-5, 5).Draw(r, "at"))
				h.Put(a)
				in[a] = true
			} else {
				h.Remove(a)
				delete(in, a)
			}
			seen := map[*alarm]bool{}
			for one := range h.All {
				seen[one] = true
			}
			if len(seen) != len(in) || h.Len() != len(in) {
				r.Fatalf("%d elements, %d in all, want %d", h.Len(), len(seen), len(in))
			}
			first, ok := h.First()
			if ok != (len(in) > 0) {
				r.Fatalf("a first one: %v, of %d", ok, len(in))
			}
			for a := range in {
				if a.at < first.at || !seen[a] || a.place == 0 {
					r.Fatalf("the first is at %d, one at %d has place %d", first.at, a.at, a.place)
				}
			}
			for i := range all {
				if !in[&all[i]] && all[i].place != 0 {
					r.Fatalf("one outside has place %d", all[i].place)
				}
			}
		}
	})
}

func TestHeapAllocatesNothingBelowGrow(t *testing.T) {
	var h Heap[*alarm]
	h.Grow(100)
	all := make([]alarm, 100)
	if n := testing.AllocsPerRun(10, func() {
		for i := range all {
			all[i].at = int64(i * 31 % 100)
			h.Put(&all[i])
		}
		for i := range all {
			h.Remove(&all[i])
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
