// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"testing"
)

// BenchmarkPlace is the time of placing one flow, in a table with 10,000 others.
func BenchmarkPlace(b *testing.B) {
	for _, n := range []int{4, 16, 64} {
		b.Run(map[int]string{4: "4", 16: "16", 64: "64"}[n], func(b *testing.B) {
			tab := newTable(b, Config{Capacity: 10001}, equal(n)...)
			tab.fill(same(10000))
			var more []Flow
			for i := range 1000 {
				more = append(more, flowOf(20000+i, 16))
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				f := more[i%len(more)]
				tab.Place(f, -1, uint32(i)%labelMask+1)
				tab.Forget(f)
				i++
			}
		})
	}
}

// BenchmarkMove is the time of a move, of those that even out 1,000 flows.
func BenchmarkMove(b *testing.B) {
	tab := newTable(b, Config{Moves: MovesAny, RestNS: 1}, equal(16)...)
	rates := lognormal(1000, 1, 1)
	tab.adopt(rates)
	moves, now := 0, 20*second
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		for f := range tab.on.flows.index { // as the hash has them
			if e := tab.on.flows.lookup(&f); e.label != e.hash {
				tab.on.relabel(e, e.hash, e.hashMember)
			}
		}
		b.StartTimer()
		now += second
		moves += len(tab.Look(now))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(moves, 1)), "ns/move")
}

// BenchmarkLookTenThousandFlows is the time of a look over 10,000 flows as the hash has
// them, of very different sizes, that makes all moves it may.
func BenchmarkLookTenThousandFlows(b *testing.B) {
	tab := newTable(b, Config{Moves: MovesAny, RestNS: 1}, equal(16)...)
	rates := lognormal(10000, 2, 1)
	tab.adopt(rates)
	b.ReportAllocs()
	moves, now := 0, 20*second
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		for f := range tab.on.flows.index {
			if e := tab.on.flows.lookup(&f); e.label != e.hash {
				tab.on.relabel(e, e.hash, e.hashMember)
			}
		}
		b.StartTimer()
		now += second
		moves += len(tab.Look(now))
	}
	b.ReportMetric(float64(moves)/float64(b.N), "moves")
}
