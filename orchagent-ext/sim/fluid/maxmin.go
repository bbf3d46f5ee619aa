// SPDX-License-Identifier: Apache-2.0

package fluid

import "sluice/orchagent-ext/sim/heap"

// Flows are flows with their links, in one slice for all.
type Flows struct {
	links []int32
	ends  []int32 // by flow: index after its last link
}

// Add adds a flow that goes by links, and returns its number. A link may be listed once.
func (f *Flows) Add(links ...int32) int {
	f.links = append(f.links, links...)
	f.ends = append(f.ends, int32(len(f.links)))
	return len(f.ends) - 1
}

// Len is the number of flows.
func (f *Flows) Len() int { return len(f.ends) }

// Links returns the links of a flow. The slice is the flows'.
func (f *Flows) Links(i int) []int32 {
	first := int32(0)
	if i > 0 {
		first = f.ends[i-1]
	}
	return f.links[first:f.ends[i]]
}

// MaxMin returns the rate of each flow, in the unit of the links' capacities: each flow has
// as much as the link that limits it gives to each of the flows that it limits (Bertsekas
// and Gallager, Data Networks, section 6.5.2). demand bounds a flow; nil: all take what
// they get. A flow without links has the rate 0 where it has no demand.
func MaxMin(capacity []float64, f *Flows, demand []float64) []float64 {
	rates := make([]float64, f.Len())
	left := append([]float64(nil), capacity...)
	count := make([]int32, len(capacity))
	for _, l := range f.links {
		count[l]++
	}
	on := make([]int32, len(capacity)+1) // flows by link, as the flows have their links
	for l, c := range count {
		on[l+1] = on[l] + c
	}
	at := append([]int32(nil), on...)
	flows := make([]int32, len(f.links))
	for i := range f.Len() {
		for _, l := range f.Links(i) {
			flows[at[l]] = int32(i)
			at[l]++
		}
	}
	fixed := make([]bool, f.Len())
	// The rates at which links are full, and, after the links, flows have their demands.
	steps := heap.New[float64](len(capacity) + len(demand))
	for l := range capacity {
		if count[l] > 0 {
			steps.Set(int32(l), left[l]/float64(count[l]), 0)
		}
	}
	for i, d := range demand {
		steps.Set(int32(len(capacity)+i), d, 0)
	}
	fix := func(i int32, rate float64) {
		fixed[i], rates[i] = true, rate
		for _, l := range f.Links(int(i)) {
			left[l] -= rate
			count[l]--
		}
	}
	for {
		of, rate, ok := steps.First()
		if !ok {
			return rates
		}
		if i := of - int32(len(capacity)); i >= 0 {
			steps.Remove(of)
			if !fixed[i] {
				fix(i, rate)
			}
			continue
		}
		if count[of] == 0 {
			steps.Remove(of)
			continue
		}
		// Shares only grow: flows that another link limits leave more to the others.
		if now := max(left[of], 0) / float64(count[of]); now > rate {
			steps.Set(of, now, 0)
			continue
		}
		steps.Remove(of)
		for _, i := range flows[on[of]:on[of+1]] {
			if !fixed[i] {
				fix(i, rate)
			}
		}
	}
}
