// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"sort"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
)

// arrivals are a receiver's findings about the packets that came.
type arrivals struct {
	packets   int
	reordered int // after one of the flow with a later PSN
	twice     int // with a PSN that had come
	relabeled int // with another label than the packet before
	hasty     int // of those the ones that were sent less than a pause after it
	tooLong   int // late ones that were under way longer than any path takes: the machine held them up
}

// judgeOrder follows each flow's PSNs. A packet that is late counts as reordered if it was under
// way for at most limit: idle_us promises order to no packet that takes longer. A label that changes after
// a shorter pause of its flow is hasty.
func judgeOrder(frames []fabric.Frame, limit time.Duration) (a arrivals) {
	type state struct {
		next  uint32
		label uint32
		sent  time.Time // of the packet with the highest PSN
		seen  map[uint32]bool
	}
	flows := map[uint32]*state{}
	for _, f := range frames {
		p, ok := parse(f.Data)
		if !ok {
			continue
		}
		a.packets++
		s := flows[p.qp]
		if s == nil {
			s = &state{label: p.label, sent: p.sent, seen: map[uint32]bool{}}
			flows[p.qp] = s
		}
		switch {
		case s.seen[p.psn]:
			a.twice++
		case p.psn < s.next && f.Time.Sub(p.sent) > limit:
			a.tooLong++
		case p.psn < s.next:
			a.reordered++
		}
		if s.label != p.label {
			a.relabeled++
			if p.psn >= s.next && p.sent.Sub(s.sent) < limit {
				a.hasty++
			}
		}
		if p.psn >= s.next {
			s.sent = p.sent
		}
		s.seen[p.psn], s.label, s.next = true, p.label, max(s.next, p.psn+1)
	}
	return a
}

// longestPause returns the longest time between two packets of one flow, as they were sent.
func longestPause(frames []fabric.Frame) (longest time.Duration) {
	last := map[uint32]time.Time{}
	for _, f := range frames {
		if p, ok := parse(f.Data); ok {
			if before, seen := last[p.qp]; seen {
				longest = max(longest, p.sent.Sub(before))
			}
			last[p.qp] = p.sent
		}
	}
	return longest
}

// A mark is the octets sent, and those that paths have carried, up to a moment in which nothing was
// under way.
type mark struct {
	at    time.Duration // since the load began
	flows []uint64      // octets of each flow
	paths []uint64      // octets of each path
}

// spread is how a window's octets are spread.
type spread struct {
	worst, floor float64 // ÷ mean, by weight
}

// windows judges each stretch between two marks that lasts at least span and begins at from or
// later. It returns the spread of the one that is furthest above its floor, and their number.
func windows(marks []mark, weights []float64, from, span time.Duration) (worst spread, n int) {
	for i := range marks {
		if marks[i].at < from {
			continue
		}
		j := sort.Search(len(marks), func(j int) bool { return marks[j].at >= marks[i].at+span })
		if j == len(marks) {
			break
		}
		s := between(marks[i], marks[j], weights)
		if n++; n == 1 || s.worst*worst.floor > worst.worst*s.floor {
			worst = s
		}
	}
	return worst, n
}

// between is the spread of a window.
func between(a, b mark, weights []float64) (s spread) {
	flows, paths := differences(a.flows, b.flows), differences(a.paths, b.paths)
	var sum, weight float64
	for m, octets := range paths {
		sum, weight = sum+octets, weight+weights[m]
	}
	for m, octets := range paths {
		s.worst = max(s.worst, octets/weights[m]/(sum/weight))
	}
	s.floor = floor(flows, weights)
	return s
}

func differences(a, b []uint64) (d []float64) {
	for i := range a {
		d = append(d, float64(b[i]-a[i]))
	}
	return d
}

// floor is a lower bound of max ÷ mean by weight for flows of these octets, each on one path.
// If each of the k largest has at least s octets, a path of weight w with at most T·w octets
// takes at most T·w ÷ s of them, rounded down, and together they have to take k. For equal
// flows this is exact.
func floor(flows, weights []float64) float64 {
	sizes := slices.Clone(flows)
	slices.Sort(sizes)
	slices.Reverse(sizes)
	var sum, weight float64
	for _, s := range sizes {
		sum += s
	}
	for _, w := range weights {
		weight += w
	}
	if sum == 0 {
		return 1
	}
	mean, least := sum/weight, 1.0
	for k, size := range sizes {
		if size == 0 {
			break
		}
		takes := func(t float64) (n int) {
			for _, w := range weights {
				n += int(t*mean*w/size + 1e-9)
			}
			return n
		}
		if takes(least) > k {
			continue
		}
		// The bound is where a path takes one more: one of these.
		var steps []float64
		for _, w := range weights {
			for n := 1; n <= k+1; n++ {
				steps = append(steps, float64(n)*size/w/mean)
			}
		}
		slices.Sort(steps)
		at := sort.Search(len(steps), func(i int) bool { return takes(steps[i]) > k })
		least = max(least, steps[at])
	}
	return least
}
