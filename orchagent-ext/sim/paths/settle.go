// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"sluice/orchagent-ext/sim/fluid"
	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/placement"
	"sluice/orchagent-ext/spread/plan"
	"sluice/orchagent-ext/spread/redirect"
)

// Settle makes the decisions that precede a run: labels of connections that are to send, in
// their order, or rules to next hops after the tables watched the load for Config.SettleS.
// The connections are those that send at the same time.
func (c *Chooser) Settle(all []Connection, seed uint64) error {
	switch c.mode {
	case Placed, Planned:
		return c.place(all)
	case Redirected:
		return c.redirect(all, rand.New(rand.NewPCG(seed, 1)))
	default:
		return nil
	}
}

// uplink is the name of an uplink, which is that of its spine.
func uplink(i int) string { return fmt.Sprint("spine", i) }

// place places connections by labels, as a leaf does with each that is new to it.
func (c *Chooser) place(all []Connection) error {
	c.placed = make([]*placement.Table, c.topo.Leaves)
	for leaf := range c.placed {
		n := len(c.topo.Ups[leaf])
		model, err := ecmp.OfHash(c.hashes[0], n)
		if err != nil {
			return err
		}
		members := make([]placement.Member, n)
		for i := range members {
			members[i] = placement.Member{Name: uplink(i), Weight: 1}
		}
		t := placement.New(placement.Config{Capacity: c.cfg.Entries, Leaves: c.topo.Leaves, Moves: placement.MovesAny, MaxMoves: 1 << 12, Largest: c.cfg.Entries, RestNS: 1})
		if _, err := t.SetGroup(model, members); err != nil {
			return err
		}
		c.placed[leaf] = t
	}
	for _, n := range all {
		from, to := c.topo.Leaf(n.Src), c.topo.Leaf(n.Dst)
		if t := c.placed[from]; from != to && t.Len() < c.cfg.Entries {
			t.Place(c.flowOf(n), to, c.label(n))
			c.report.Placed++
		}
	}
	if c.mode == Planned {
		return c.plan(all)
	}
	return nil
}

// plan gives each leaf quotas, and lets it move its flows by them. Flows are idle: the run has
// yet to begin.
func (c *Chooser) plan(all []Connection) error {
	const rate = 1e9 // octets/s: connections of one load have one size
	second := int64(time.Second)
	sample := func(now int64) {
		for _, n := range all {
			if from := c.topo.Leaf(n.Src); from != c.topo.Leaf(n.Dst) {
				c.placed[from].Sample(c.flowOf(n), uint64(rate*float64(now)/1e9), now)
			}
		}
	}
	for now := second; now <= 8*second; now += second {
		sample(now)
	}
	names, index := make([]string, c.topo.Leaves), map[string]int{}
	for i := range names {
		names[i] = fmt.Sprint("leaf", i)
		index[names[i]] = i
	}
	var list []plan.Row
	spines := make([][]string, c.topo.Leaves)
	for leaf, t := range c.placed {
		row := plan.Row{Leaf: names[leaf], Spines: map[string]float64{}}
		site := leaf / (c.topo.Leaves / c.topo.Sites)
		for i := range c.topo.Ups[leaf] {
			name := fmt.Sprintf("%s of %d", uplink(i), site)
			spines[leaf] = append(spines[leaf], name)
			row.Spines[name] = 1
		}
		row.Demand, row.Placed = plan.DemandOf(t, names, spines[leaf])
		row.Trim()
		list = append(list, row)
	}
	made := plan.Make(list, 1)
	c.report.PlanUp, c.report.PlanDown = made.Up, made.Down
	for leaf, t := range c.placed {
		made.Leaves[names[leaf]].Apply(t, func(name string) int {
			if i, ok := index[name]; ok {
				return i
			}
			return -1
		}, spines[leaf])
	}
	for now := 9 * second; now <= 16*second; now += second {
		sample(now)
		moves := 0
		for _, t := range c.placed {
			moves += len(t.Look(now))
		}
		if moves == 0 {
			break
		}
	}
	return nil
}

// decideEvery is how often sluiced decides about rules.
const decideEvery = 100 * time.Millisecond

// perDecision is how many rules change in one decision.
const perDecision = 4

// redirect lets each leaf's table watch samples of the load as a fluid, and decide.
func (c *Chooser) redirect(all []Connection, r *rand.Rand) error {
	index := map[string]int{}
	c.rules = make([]*redirect.Table, c.topo.Leaves)
	for leaf := range c.rules {
		t := redirect.NewTable(redirect.Config{Moves: redirect.MovesAny, Rules: c.cfg.Rules, PerLink: max(8, c.cfg.Rules/len(c.topo.Ups[leaf]))})
		members := make([]redirect.Member, len(c.topo.Ups[leaf]))
		for i := range members {
			members[i] = redirect.Member{Name: uplink(i), Weight: 1}
			index[uplink(i)] = i
		}
		t.SetMembers(members)
		c.rules[leaf] = t
	}
	// Connections of one 5-tuple are one flow.
	tuples, weight := c.tuples(all)
	byLeaf := make([][]int, c.topo.Leaves)
	for i, n := range tuples {
		if leaf := c.topo.Leaf(n.Src); leaf != c.topo.Leaf(n.Dst) {
			byLeaf[leaf] = append(byLeaf[leaf], i)
		}
	}
	back := map[redirect.Flow]Connection{}
	flows := make([]redirect.Flow, len(tuples))
	for i, n := range tuples {
		t := c.tuple(n)
		flows[i] = redirect.Flow{Src: t.Src, Dst: t.Dst, SrcPort: t.SrcPort}
		back[flows[i]] = n
	}
	ups := make([]int, len(tuples))
	sums := make([][]float64, c.topo.Leaves)
	stale := true
	var now time.Duration = 1
	for end := time.Duration(c.cfg.SettleS * 1e9); now < end; now += decideEvery {
		if stale { // rates and uplinks after the last changes
			rates := c.rates(tuples, weight)
			for i, n := range tuples {
				ups[i] = c.up(n)
			}
			for leaf, on := range byLeaf {
				sum := 0.0
				sums[leaf] = sums[leaf][:0]
				for _, i := range on {
					sum += rates[i]
					sums[leaf] = append(sums[leaf], sum)
				}
			}
			stale = false
		}
		for leaf, t := range c.rules {
			n := int(float64(c.cfg.SamplesPerS) * decideEvery.Seconds())
			for k := range n {
				if len(byLeaf[leaf]) == 0 {
					break
				}
				sum := sums[leaf]
				j := min(sort.SearchFloat64s(sum, r.Float64()*sum[len(sum)-1]), len(sum)-1)
				i := byLeaf[leaf][j]
				at := now + decideEvery*time.Duration(k)/time.Duration(n)
				t.Sample(flows[i], uint64(tuples[i].Src), uplink(ups[i]), 4096, int64(at))
			}
			stale = t.Decide(int64(now+decideEvery), perDecision) || stale
		}
		if stale {
			clear(c.forced)
			for _, t := range c.rules {
				for _, rule := range t.Rules() {
					c.forced[back[rule.Flow]] = index[rule.Member]
				}
			}
		}
	}
	c.report.Rules = len(c.forced)
	return nil
}

// up returns the uplink of a connection between two leaves.
func (c *Chooser) up(n Connection) int {
	path, _ := c.Forward(n)
	link := c.topo.Paths[path].Links[0]
	return slices.Index(c.topo.Ups[c.topo.Leaf(n.Src)], link)
}

// tuples returns one connection of each 5-tuple, in order, and how many share it.
func (c *Chooser) tuples(all []Connection) (tuples []Connection, weight []float64) {
	seen := map[Connection]int{}
	for _, n := range all {
		n = c.fiveTuple(n)
		i, ok := seen[n]
		if !ok {
			i = len(tuples)
			seen[n] = i
			tuples, weight = append(tuples, n), append(weight, 0)
		}
		weight[i]++
	}
	return tuples, weight
}

// rates returns the max-min fair rates of 5-tuples in bit/s. Where there are very many, all
// have the same rate: sampling finds none of them large.
func (c *Chooser) rates(tuples []Connection, weight []float64) []float64 {
	const most = 100_000
	if len(tuples) > most {
		return slices.Repeat([]float64{1}, len(tuples))
	}
	capacity := make([]float64, len(c.topo.Links))
	for i, l := range c.topo.Links {
		capacity[i] = 8e12 / float64(l.PSPerOctet)
	}
	var f fluid.Flows
	for i, n := range tuples {
		path, _ := c.Forward(n)
		for range int(weight[i]) {
			f.Add(c.Links(n, path)...)
		}
	}
	each := fluid.MaxMin(capacity, &f, nil)
	rates, k := make([]float64, len(tuples)), 0
	for i := range tuples {
		for range int(weight[i]) {
			rates[i] += each[k]
			k++
		}
	}
	return rates
}

// Links returns the links of a connection by a path, those of its hosts included.
func (c *Chooser) Links(n Connection, path uint32) []int32 {
	p := &c.topo.Paths[path]
	links := []int32{int32(n.Src)}
	for _, l := range p.Links[:p.N] {
		links = append(links, int32(l))
	}
	return append(links, int32(c.topo.Hosts+n.Dst))
}
