// SPDX-License-Identifier: Apache-2.0

package fluid

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestMaxMinOfAParkingLot: the textbook example. One flow crosses three links, each of which
// has a flow of its own; the second link is half as fast.
func TestMaxMinOfAParkingLot(t *testing.T) {
	var f Flows
	f.Add(0, 1, 2)
	f.Add(0)
	f.Add(1)
	f.Add(2)
	got := MaxMin([]float64{10, 5, 10}, &f, nil)
	for i, want := range []float64{2.5, 7.5, 2.5, 7.5} {
		if math.Abs(got[i]-want) > 1e-9 {
			t.Errorf("flow %d has %v, want %v", i, got[i], want)
		}
	}
	got = MaxMin([]float64{10, 5, 10}, &f, []float64{1, 100, 100, 3})
	for i, want := range []float64{1, 9, 4, 3} {
		if math.Abs(got[i]-want) > 1e-9 {
			t.Errorf("with demands flow %d has %v, want %v", i, got[i], want)
		}
	}
}

// TestMaxMinGivesEachFlowABottleneck: by the definition, each flow has a full link on which
// no flow has more.
func TestMaxMinGivesEachFlowABottleneck(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	capacity := make([]float64, 30)
	for i := range capacity {
		capacity[i] = float64(10 + r.IntN(90))
	}
	var f Flows
	for range 200 {
		links := r.Perm(len(capacity))[:3]
		f.Add(int32(links[0]), int32(links[1]), int32(links[2]))
	}
	rates := MaxMin(capacity, &f, nil)
	load, most := make([]float64, len(capacity)), make([]float64, len(capacity))
	for i, rate := range rates {
		for _, l := range f.Links(i) {
			load[l] += rate
			most[l] = max(most[l], rate)
		}
	}
	for i, rate := range rates {
		limited := false
		for _, l := range f.Links(i) {
			if load[l] > capacity[l]+1e-6 {
				t.Fatalf("link %d has %v of %v", l, load[l], capacity[l])
			}
			limited = limited || load[l] > capacity[l]-1e-6 && rate > most[l]-1e-6
		}
		if !limited {
			t.Errorf("flow %d has %v, and no link limits it", i, rate)
		}
	}
}
