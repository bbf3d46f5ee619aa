// SPDX-License-Identifier: Apache-2.0

package placement

import "math"

// Classes is the number of size classes: a class is half a power of two of octets/s.
const Classes = 128

// Class is the size class of a flow with a rate in octets/s.
func Class(rate float64) int {
	if !(rate > 1) {
		return 0
	}
	return int(min(math.Floor(2*math.Log2(rate)+1e-9), Classes-1))
}

// ClassRate is the rate that a flow of a class counts for, in octets/s: the middle.
func ClassRate(class int) float64 { return math.Exp2((float64(class) + 0.5) / 2) }

// A Quota is the number of flows of a size class to a destination leaf that each member
// is to take.
type Quota struct {
	Leaf, Class int
	Flows       []uint32 // by member
}

// quotas are those in force.
type quotas struct {
	flows   map[int][]uint32 // by leaf × Classes + class: by member
	have    map[int][]uint32 // scratch: load of the flows of each
	perLeaf []uint64         // by leaf and member: all classes
}

// any reports whether quotas are in force.
func (q *quotas) any() bool { return len(q.flows) > 0 }

// SetQuotas replaces the quotas; without any, scope is local again, and labels stay. It
// returns the number of quotas that were set aside: for an unknown leaf, class or member.
func (t *Table) SetQuotas(list []Quota) (refused int) {
	q := quotas{flows: map[int][]uint32{}, have: map[int][]uint32{}, perLeaf: make([]uint64, t.cfg.Leaves*len(t.members))}
	for _, one := range list {
		if !t.valid(&one) {
			refused++
			continue
		}
		key := one.Leaf*Classes + one.Class
		q.flows[key] = append([]uint32(nil), one.Flows...)
		q.have[key] = make([]uint32, len(t.members))
	}
	for key, flows := range q.flows {
		for m, n := range flows {
			q.perLeaf[key/Classes*len(t.members)+m] += uint64(n)
		}
	}
	t.quotas = q
	t.stats.QuotasRefused += uint64(refused)
	return refused
}

// valid reports whether a quota is for a leaf, a class and members that the table has.
func (t *Table) valid(q *Quota) bool {
	if q.Leaf < 0 || q.Leaf >= t.cfg.Leaves || q.Class < 0 || q.Class >= Classes || len(q.Flows) != len(t.members) {
		return false
	}
	sum := uint64(0)
	for m, n := range q.Flows {
		if n > 0 && t.members[m].Weight <= 0 {
			return false
		}
		sum += uint64(n)
	}
	return sum > 0
}

// choose returns the member for a new flow whose leaf has quotas: the one with fewest
// flows to it for its quota. Its size is still unknown.
func (q *quotas) choose(t *Table, e *entry) int {
	best, least := unknown, 0.0
	if e.leaf < 0 || !q.any() {
		return best
	}
	n := len(t.members)
	for m := range t.members {
		quota := q.perLeaf[e.leaf*n+m]
		if quota == 0 || t.members[m].Weight <= 0 {
			continue
		}
		if c := float64(t.toLeaf[e.leaf*n+m]+1) / float64(quota); best == unknown || c < least || c == least && m == e.member {
			best, least = m, c
		}
	}
	return best
}

// stay is the class of a flow that had a class until now: it keeps that while its rate is
// within half a class of it, so that small swings of rates keep the class.
func stay(class int, rate float64) int {
	if rate > 1 && math.Abs(2*math.Log2(rate)-float64(class)-0.5) < 1 {
		return class
	}
	return Class(rate)
}

// classOf is the size class of a flow.
func (t *Table) classOf(e *entry) int {
	if e.measured {
		return e.class
	}
	return Class(t.typical())
}

// key is under which quota a flow falls.
func (t *Table) key(e *entry) int { return e.leaf*Classes + t.classOf(e) }

// follow moves flows from members that have more than their quota to those that have
// less, within each leaf and class.
func (t *Table) follow(now int64) {
	q := &t.quotas
	for _, have := range q.have {
		clear(have)
	}
	for i := range t.entries {
		if e := &t.entries[i]; e.live && e.leaf >= 0 && e.member != unknown {
			if have := q.have[t.key(e)]; have != nil {
				have[e.member]++
			}
		}
	}
	clear(t.excluded)
	for i := range t.entries {
		if len(t.moves) == t.cfg.MaxMoves {
			return
		}
		e := &t.entries[i]
		if !e.live || e.leaf < 0 || e.member == unknown {
			continue
		}
		key := t.key(e)
		have, quota := q.have[key], q.flows[key]
		if have == nil || have[e.member] <= quota[e.member] {
			continue
		}
		to := unknown
		for m := range quota {
			if have[m] < quota[m] && (to == unknown || t.at(m)/t.members[m].Weight < t.at(to)/t.members[to].Weight) {
				to = m
			}
		}
		if to == unknown {
			continue
		}
		if !t.movable(e, now) {
			if !e.held {
				t.stats.Waiting++
			}
			continue
		}
		from := e.member
		if t.relabel(e, to, now) {
			have[from]--
			have[to]++
		}
	}
}

// Demand calls yield for each destination leaf, size class and member that flows go by,
// with their number: of flows that a plan can move. It leaves out flows that quotas
// cannot move: those of an unknown path, and all flows where the model is wrong or moves
// are forbidden.
func (t *Table) Demand(yield func(leaf, class, member int, flows uint32)) {
	if !t.mayMove() {
		return
	}
	type to struct{ key, member int }
	count := map[to]uint32{}
	for i := range t.entries {
		if e := &t.entries[i]; e.live && e.leaf >= 0 && e.member != unknown && t.rateOf(e) > 0 {
			count[to{t.key(e), e.member}]++
		}
	}
	for of, n := range count {
		yield(of.key/Classes, of.key%Classes, of.member, n)
	}
}
