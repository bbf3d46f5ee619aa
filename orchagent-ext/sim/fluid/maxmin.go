// SPDX-License-Identifier: Apache-2.0

package fluid

import "container/heap"

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
	var steps shares
	for l := range capacity {
		if count[l] > 0 {
			steps = append(steps, share{left[l] / float64(count[l]), int32(l), false})
		}
	}
	for i, d := range demand {
		steps = append(steps, share{d, int32(i), true})
	}
	fix := func(i int32, rate float64) {
		fixed[i], rates[i] = true, rate
		for _, l := range f.Links(int(i)) {
			left[l] -= rate
			count[l]--
		}
	}
	heap.Init(&steps)
	for steps.Len() > 0 {
		s := steps[0]
		if s.flow {
			heap.Pop(&steps)
			if !fixed[s.of] {
				fix(s.of, s.rate)
			}
			continue
		}
		if count[s.of] == 0 {
			heap.Pop(&steps)
			continue
		}
		// Shares only grow: flows that another link limits leave more to the others.
		if now := max(left[s.of], 0) / float64(count[s.of]); now > s.rate {
			steps[0].rate = now
			heap.Fix(&steps, 0)
			continue
		}
		heap.Pop(&steps)
		for _, i := range flows[on[s.of]:on[s.of+1]] {
			if !fixed[i] {
				fix(i, s.rate)
			}
		}
	}
	return rates
}

// share is the rate at which a link is full, or a flow has its demand.
type share struct {
	rate float64
	of   int32
	flow bool
}

// shares is a heap of them, by rate. Equal ones are ordered, so that results are the same in
// every run.
type shares []share

func (s shares) Len() int      { return len(s) }
func (s shares) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s shares) Less(i, j int) bool {
	if s[i].rate != s[j].rate {
		return s[i].rate < s[j].rate
	}
	return s[i].of < s[j].of
}
func (s *shares) Push(x any) { *s = append(*s, x.(share)) }
func (s *shares) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}
