// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
)

// A Planner decides when the fabric gets another plan. Times are of one monotonic clock,
// in nanoseconds. It is for one goroutine. The plan in force is given, so that a
// successor on another leaf can go on.
type Planner struct {
	Threshold float64 // [Uneven] above which another plan may be worth its moves; 1.05
	Settle    int64   // leaves and links have to be the same for so long; 5 s
	Rest      int64   // between two plans for the same leaves and links; 10 s

	shape  string // leaves and links at the last look
	since  int64  // when they were first seen
	madeAt int64  // the last plan, or when it began to look
	rest   int64  // until the next one, at least
	before float64
	bad    int // looks in a row that were too uneven
	began  bool
}

// The least gain of another plan, and the times between looks.
const (
	worth     = 0.02            // that max ÷ mean falls by, as planned
	badLooks  = 2               // in a row
	mostRest  = 10 * 60 * 1e9   // ns
	planBound = uint64(1) << 61 // numbers of plans
)

// Shape names the leaves and their links: a plan is for one shape.
func Shape(rows []Row) string {
	h := fnv.New64a()
	for i := range rows {
		fmt.Fprintf(h, "%q", rows[i].Leaf)
		for _, spine := range slices.Sorted(maps.Keys(rows[i].Spines)) {
			fmt.Fprintf(h, "%q%.6g", spine, rows[i].Spines[spine])
		}
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// Look returns another plan if one is due, or nil, and the reason. rows are the valid
// ones of now; inForce and shape are the number of the plan in force (0 before the first)
// and its [Shape].
func (p *Planner) Look(now int64, rows []Row, inForce uint64, shape string) (made *Plan, why string) {
	p.defaults(now)
	is := Shape(rows)
	if is != p.shape {
		p.shape, p.since, p.bad = is, now, 0
	}
	switch {
	case len(rows) < 2:
		return nil, "a plan needs two leaves"
	case now-p.since < p.Settle:
		return nil, "leaves or links changed a moment ago"
	case inForce >= planBound:
		return nil, fmt.Sprintf("the plan in force has number %d: another program wrote it", inForce)
	}
	if inForce == 0 || shape != is {
		made = Make(rows, inForce+1)
		if made.Flows == made.Unroutable {
			return nil, "no flow goes from leaf to leaf"
		}
		return p.make(now, made, 0), "leaves or links are others than those of the plan in force"
	}
	uneven := Uneven(rows)
	if uneven <= p.Threshold {
		p.bad = 0
		return nil, ""
	}
	if p.bad++; p.bad < badLooks || now-p.madeAt < p.rest {
		return nil, fmt.Sprintf("max ÷ mean is %.3f: it is looked at again", uneven)
	}
	made = Make(rows, inForce+1)
	if made.Flows == made.Unroutable || made.Uneven > uneven-worth {
		return nil, fmt.Sprintf("max ÷ mean is %.3f, and would be %.3f: another plan is not worth its moves", uneven, made.Uneven)
	}
	if placed := UnevenPlaced(rows); placed > 0 && made.Uneven > placed-worth {
		return nil, fmt.Sprintf("max ÷ mean is %.3f, and not by flows that a plan could move: those alone have %.3f, and would have %.3f", uneven, placed, made.Uneven)
	}
	return p.make(now, made, uneven), fmt.Sprintf("max ÷ mean was %.3f, and will be %.3f", uneven, made.Uneven)
}

// defaults sets zero fields to their defaults, at the first look.
func (p *Planner) defaults(now int64) {
	if p.began {
		return
	}
	p.began, p.madeAt, p.since = true, now, now
	if p.Threshold <= 1 {
		p.Threshold = 1.05
	}
	if p.Settle <= 0 {
		p.Settle = 5e9
	}
	if p.Rest <= 0 {
		p.Rest = 10e9
	}
	p.rest = p.Rest
}

// make records a plan. After plans without a gain the next one comes later and later.
func (p *Planner) make(now int64, made *Plan, uneven float64) *Plan {
	p.rest = p.Rest
	if uneven > 0 && p.before > 0 && uneven > p.before-worth {
		p.rest = min(2*max(p.rest, now-p.madeAt), mostRest)
	}
	p.madeAt, p.before, p.bad = now, uneven, 0
	return made
}
