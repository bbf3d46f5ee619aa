// SPDX-License-Identifier: Apache-2.0

package leafspine

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// exactFlows is up to how many flows time is by max-min fair shares over time; for more it
// is that of the busiest link, which is a lower bound.
const exactFlows = 8192

// judge sums up the links and takes the time.
func (f Fabric) judge(streams []stream, r *Result) {
	load := make([]float64, f.links())
	var path [4]int
	for i := range streams {
		s := &streams[i]
		if s.spine >= 0 {
			r.Flows++
		}
		for _, l := range f.path(s, path[:0]) {
			load[l] += s.octets
		}
	}
	ideal, bound := 0.0, 0.0
	for l, octets := range load {
		t := octets / f.capacity(l)
		bound = max(bound, t)
		if l < 2*f.hosts() {
			ideal = max(ideal, t)
		}
	}
	for leaf := range f.Leaves {
		for _, down := range []bool{false, true} {
			sum, worst := 0.0, 0.0
			for spine := range f.Spines {
				octets := load[f.link(leaf, spine, down)]
				sum += octets
				worst = max(worst, octets)
			}
			ideal = max(ideal, sum/f.uplink()/float64(f.Spines))
			if sum == 0 {
				continue
			}
			if uneven := worst / (sum / float64(f.Spines)); down {
				r.Down = max(r.Down, uneven)
			} else {
				r.Up = max(r.Up, uneven)
			}
		}
	}
	if len(streams) <= exactFlows {
		bound = f.last(streams)
	}
	r.Time = bound / ideal
}

// Links are numbered: hosts to leaves, leaves to hosts, leaves to spines, spines to leaves.
func (f Fabric) links() int { return 2*f.hosts() + 2*f.Leaves*f.Spines }

func (f Fabric) link(leaf, spine int, down bool) int {
	l := 2*f.hosts() + leaf*f.Spines + spine
	if down {
		l += f.Leaves * f.Spines
	}
	return l
}

func (f Fabric) capacity(link int) float64 {
	if link < 2*f.hosts() {
		return 1
	}
	return f.uplink()
}

// path appends the links of a stream.
func (f Fabric) path(s *stream, to []int) []int {
	to = append(to, s.from, f.hosts()+s.to)
	if s.spine >= 0 {
		to = append(to, f.link(f.leaf(s.from), s.spine, false), f.link(f.leaf(s.to), s.spine, true))
	}
	return to
}

// last is when the last stream ends, all beginning at once and sharing links max-min
// fairly.
func (f Fabric) last(streams []stream) (now float64) {
	paths := make([][]int, len(streams))
	left, rate := make([]float64, len(streams)), make([]float64, len(streams))
	alive := make([]int, len(streams))
	for i := range streams {
		paths[i] = f.path(&streams[i], nil)
		left[i] = streams[i].octets
		alive[i] = i
	}
	on := make([][]int, f.links()) // streams
	room, users := make([]float64, f.links()), make([]int, f.links())
	for len(alive) > 0 {
		for l := range on {
			on[l], room[l], users[l] = on[l][:0], f.capacity(l), 0
		}
		for _, i := range alive {
			rate[i] = -1
			for _, l := range paths[i] {
				on[l] = append(on[l], i)
				users[l]++
			}
		}
		for open := len(alive); open > 0; {
			share := math.Inf(1)
			for l, n := range users {
				if n > 0 {
					share = min(share, room[l]/float64(n))
				}
			}
			for l := range users {
				if users[l] == 0 || room[l]/float64(users[l]) > share*(1+1e-9) {
					continue
				}
				for _, i := range on[l] {
					if rate[i] < 0 {
						rate[i] = share
						open--
						for _, m := range paths[i] {
							users[m]--
							room[m] -= share
						}
					}
				}
			}
		}
		step := math.Inf(1)
		for _, i := range alive {
			step = min(step, left[i]/rate[i])
		}
		now += step
		next := alive[:0]
		for _, i := range alive {
			// Streams that end almost at the same time end together.
			if left[i] -= rate[i] * step; left[i] > streams[i].octets*1e-3 {
				next = append(next, i)
			}
		}
		alive = next
	}
	return now
}

// Write prints results as a table.
func Write(w io.Writer, results []Result) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tab, "pattern\tQPs\tmethod\tflows\tuplinks max ÷ mean\tdownlinks max ÷ mean\ttime/ideal\tmoves\t")
	for _, r := range results {
		fmt.Fprintf(tab, "%s\t%d\t%s\t%d\t%.2f\t%.2f\t%.2f\t%d\t\n", r.Pattern, r.QPs, r.Method, r.Flows, r.Up, r.Down, r.Time, r.Moves)
	}
	return tab.Flush()
}
