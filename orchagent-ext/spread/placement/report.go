// SPDX-License-Identifier: Apache-2.0

package placement

import "slices"

// Stats count since the table was made.
type Stats struct {
	Placements [whys]uint64 // by reason, see [Why]
	Adopted    uint64       // flows taken over with their label
	// of these: another flow between the same hosts has the same label
	Shared   uint64
	Looks    uint64
	Deferred uint64 // of these: held back while loads changed
	MoveStats
	Stray         uint64 // samples and observations of unknown flows
	ClockSteps    uint64 // samples older than the one before
	CounterResets uint64 // samples smaller than the one before
	Degradations  uint64 // times that the model was found wrong
	// the load is above the threshold, and no move of any flow would gain
	NoBetter      bool
	QuotasRefused uint64 // quotas of members, leaves or classes unknown to this table
}

// A Report describes the spread of the load. The ratios are 0 without load.
type Report struct {
	Load          []float64 // by member: octets/s, as predicted
	Hash          []float64 // likewise, with the hash labels
	On            []int     // by member: flows
	WorstOverMean float64   // of load ÷ weight
	// what the hash labels would give, for flows whose path they decide is known
	HashWorstOverMean float64
	Floor             float64 // least of all placements of these flows
	// Flows has all flows of the table; Held those that are held now.
	Flows             int
	Unknown           int // flows of unknown path
	Held              int
	Model             string
	ModelErrorPercent float64 // at the last check: predicted on a member and missing there
	Degraded          bool
	Stats
}

// Report sums up. It allocates, and takes about a millisecond for 10,000 flows.
func (t *Table) Report() Report {
	t.on.recount()
	g, l := &t.on.group, &t.on.loads
	r := Report{
		Load: make([]float64, len(g.members)), On: make([]int, len(g.members)), WorstOverMean: l.spread().ratio(), Flows: t.Len(),
		Degraded: t.check.degraded, ModelErrorPercent: 100 * t.check.error, Stats: t.stats,
	}
	r.MoveStats = t.mover.counts
	if g.model != nil {
		r.Model = g.model.String()
		r.Degraded = r.Degraded || g.model.Score().Wrong()
	}
	for m := range g.members {
		r.Load[m] = l.at(m)
	}
	hash, held := make([]float64, len(g.members)), make([]float64, len(g.members))
	rates := make([]float64, 0, t.Len())
	hashed := 0.0
	for _, e := range t.on.flows.all {
		if e.held {
			r.Held++
		}
		if e.member == unknown {
			r.Unknown++
			continue
		}
		r.On[e.member]++
		rate := l.rateOf(&e.meter)
		if e.hashMember != unknown {
			hash[e.hashMember] += rate
			hashed += rate
		}
		if e.held {
			held[e.member] += rate
		} else {
			rates = append(rates, rate)
		}
	}
	for m := range g.members {
		if w := g.members[m].Weight; w > 0 && hashed > 0 {
			r.HashWorstOverMean = max(r.HashWorstOverMean, hash[m]/w/(hashed/g.weight))
		}
	}
	r.Hash, r.Floor = hash, g.floor(rates, held)
	return r
}

// floor is a lower bound of max ÷ mean for every placement of flows of these rates,
// beside the load of held flows.
func (g *group) floor(rates, held []float64) float64 {
	total := 0.0
	for _, r := range rates {
		total += r
	}
	for _, h := range held {
		total += h
	}
	if total <= 0 || g.weight <= 0 {
		return 0
	}
	mean := total / g.weight
	floor := 1.0
	widest, members := 0.0, 0
	for m := range g.members {
		if w := g.members[m].Weight; w > 0 {
			floor = max(floor, held[m]/w/mean)
			widest = max(widest, w)
			members++
		}
	}
	slices.SortFunc(rates, func(a, b float64) int { // the largest first
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	if len(rates) > 0 {
		floor = max(floor, rates[0]/widest/mean)
	}
	// Of the k×members+1 largest, k+1 share a member: at least its k+1 smallest.
	for k := 1; k*members < len(rates); k++ {
		sum := 0.0
		for _, r := range rates[k*members-k : k*members+1] {
			sum += r
		}
		floor = max(floor, sum/widest/mean)
		if rates[k*members] < mean*widest*1e-3 {
			break
		}
	}
	return floor
}
