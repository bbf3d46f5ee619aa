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

// quotas are those in force. Their keys are leaf × Classes + class.
type quotas struct {
	flows   map[int][]uint32 // by key and member
	have    map[int][]uint32 // by key and member: flows counted by count
	perLeaf []uint64         // by leaf and member: all classes
	members int
}

// newQuotas returns the valid ones of a list, and the number of the others: for an unknown leaf,
// class or member.
func newQuotas(list []Quota, leaves int, members []Member) (q quotas, refused int) {
	q = quotas{flows: map[int][]uint32{}, have: map[int][]uint32{}, perLeaf: make([]uint64, leaves*len(members)), members: len(members)}
	for i := range list {
		one := &list[i]
		if !one.valid(leaves, members) {
			refused++
			continue
		}
		key := one.Leaf*Classes + one.Class
		q.flows[key] = append([]uint32(nil), one.Flows...)
		q.have[key] = make([]uint32, len(members))
	}
	for key, flows := range q.flows {
		for m, n := range flows {
			q.perLeaf[key/Classes*len(members)+m] += uint64(n)
		}
	}
	return q, refused
}

// valid reports whether a quota is for one of the leaves, a class and these members.
func (q *Quota) valid(leaves int, members []Member) bool {
	if q.Leaf < 0 || q.Leaf >= leaves || q.Class < 0 || q.Class >= Classes || len(q.Flows) != len(members) {
		return false
	}
	sum := uint64(0)
	for m, n := range q.Flows {
		if n > 0 && members[m].Weight <= 0 {
			return false
		}
		sum += uint64(n)
	}
	return sum > 0
}

// any reports whether quotas are in force.
func (q *quotas) any() bool { return len(q.flows) > 0 }

// choose returns the member for a new flow whose leaf has quotas: the one with fewest
// flows to it for its quota. Its size is still unknown. Among equal ones it is its own.
func (q *quotas) choose(l *loads, leaf, own int) int {
	best, least := unknown, 0.0
	if leaf < 0 || !q.any() {
		return best
	}
	n := q.members
	for m := range n {
		quota := q.perLeaf[leaf*n+m]
		if quota == 0 || l.group.members[m].Weight <= 0 {
			continue
		}
		if c := float64(l.toLeaf[leaf*n+m]+1) / float64(quota); best == unknown || c < least || c == least && m == own {
			best, least = m, c
		}
	}
	return best
}

// count counts the flows of an assignment by key and member.
func (q *quotas) count(a *assignment) {
	for _, have := range q.have {
		clear(have)
	}
	for key, e := range a.keys {
		if have := q.have[key]; have != nil {
			have[e.member]++
		}
	}
}

// target returns the member that has less than its quota, for a flow whose own has more; unknown:
// the flow stays.
func (q *quotas) target(l *loads, key, own int) int {
	have, quota := q.have[key], q.flows[key]
	to := unknown
	if have == nil || have[own] <= quota[own] {
		return to
	}
	for m := range quota {
		if have[m] < quota[m] && (to == unknown || l.at(m)/l.group.members[m].Weight < l.at(to)/l.group.members[to].Weight) {
			to = m
		}
	}
	return to
}

// moved counts a flow on another member.
func (q *quotas) moved(key, from, to int) {
	q.have[key][from]--
	q.have[key][to]++
}

// keys yields the flows of known leaf and path, each with the key of its quota.
func (a *assignment) keys(yield func(int, *entry) bool) {
	for _, e := range a.flows.all {
		if e.leaf >= 0 && e.member != unknown && !yield(e.leaf*Classes+a.loads.classOf(&e.meter), e) {
			return
		}
	}
}

// stay is the class of a flow that had a class until now: it keeps that while its rate is
// within half a class of it, so that small swings of rates keep the class.
func stay(class int, rate float64) int {
	if rate > 1 && math.Abs(2*math.Log2(rate)-float64(class)-0.5) < 1 {
		return class
	}
	return Class(rate)
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
	for key, e := range t.on.keys {
		if t.on.loads.rateOf(&e.meter) > 0 {
			count[to{key, e.member}]++
		}
	}
	for of, n := range count {
		yield(of.key/Classes, of.key%Classes, of.member, n)
	}
}
