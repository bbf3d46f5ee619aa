// SPDX-License-Identifier: Apache-2.0

package placement

// A share is the part of a flow in the load of its member.
type share struct {
	member, leaf int     // unknown; -1
	measured     bool    // rate is known
	rate         float64 // octets/s
}

// loads are the sums of the shares of flows, by member.
type loads struct {
	group *group

	load       []float64 // by member: octets/s of measured flows
	fresh      []int     // by member: flows still unmeasured
	toLeaf     []int     // by leaf and member: flows
	sum        float64   // octets/s of all measured flows, also of unknown members
	count      int       // measured flows that send
	unmeasured int       // flows
}

// resize makes the loads those of the group's members, without flows.
func (l *loads) resize(leaves int) {
	n := len(l.group.members)
	*l = loads{group: l.group, load: make([]float64, n), fresh: make([]int, n), toLeaf: make([]int, n*leaves)}
}

// clear takes all flows off.
func (l *loads) clear() {
	clear(l.load)
	clear(l.fresh)
	clear(l.toLeaf)
	l.sum, l.count, l.unmeasured = 0, 0, 0
}

// account adds a share (sign 1), or takes it off (-1).
func (l *loads) account(s share, sign int) {
	switch {
	case !s.measured:
		l.unmeasured += sign
	case s.rate > 0:
		l.count += sign
		l.sum += float64(sign) * s.rate
	}
	if s.member == unknown {
		return
	}
	if s.measured {
		l.load[s.member] += float64(sign) * s.rate
	} else {
		l.fresh[s.member] += sign
	}
	if s.leaf >= 0 {
		l.toLeaf[s.leaf*len(l.group.members)+s.member] += sign
	}
}

// typical is the rate of a flow until it is measured: the mean of those that were.
func (l *loads) typical() float64 {
	if l.count < 1 || l.sum <= 0 {
		return 1
	}
	return l.sum / float64(l.count)
}

// rateOf returns the rate of a flow in octets/s; that of an unmeasured one is the typical rate.
func (l *loads) rateOf(m *meter) float64 {
	if m.measured {
		return m.rate
	}
	return l.typical()
}

// classOf is the size class of a flow.
func (l *loads) classOf(m *meter) int {
	if m.measured {
		return m.class
	}
	return Class(l.typical())
}

// at is the load of a member.
func (l *loads) at(m int) float64 { return max(l.load[m], 0) + float64(l.fresh[m])*l.typical() }

// measuredAt is the load of a member by measured flows, in octets/s; before the first of them, by
// all. Moves go by it: a new flow would begin some with a rate that is a guess, and flows that
// are found late are small.
func (l *loads) measuredAt(m int) float64 {
	if l.count == 0 {
		return l.at(m)
	}
	return max(l.load[m], 0)
}

// freshLoad is the load of unmeasured flows.
func (l *loads) freshLoad() float64 { return float64(l.unmeasured) * l.typical() }

// A spread is the worst member with its load ÷ weight, and the mean: all load ÷ all weight.
// Without load or weight the mean is 0.
type spread struct {
	member      int // or unknown
	worst, mean float64
}

// over reports whether max ÷ mean is above a limit.
func (s spread) over(limit float64) bool { return s.worst > limit*s.mean }

// ratio returns max ÷ mean; 0 without load.
func (s spread) ratio() float64 {
	if s.mean <= 0 {
		return 0
	}
	return s.worst / s.mean
}

// spread returns that of measured flows.
func (l *loads) spread() spread {
	s, members := spread{member: unknown}, l.group.members
	if l.group.weight <= 0 {
		return s
	}
	for m := range members {
		s.mean += l.measuredAt(m)
		if w := members[m].Weight; w > 0 && (s.member == unknown || l.measuredAt(m)/w > s.worst) {
			s.member, s.worst = m, l.measuredAt(m)/w
		}
	}
	s.mean /= l.group.weight
	return s
}

// least returns the member with room for a flow of a rate to a leaf. Members whose loads differ by
// less than a tenth of the flow are alike; among these it is the one with fewest flows to that
// leaf. The search begins at one of a number, so that leaves begin at different spines.
func (l *loads) least(rate float64, leaf, begin int) int {
	members := l.group.members
	least, widest := -1.0, 0.0
	for m := range members {
		if w := members[m].Weight; w > 0 {
			if c := (l.at(m) + rate) / w; least < 0 || c < least {
				least = c
			}
			widest = max(widest, w)
		}
	}
	limit := least*(1+1e-9) + rate/widest/10
	best, fewest := unknown, 0.0
	n := len(members)
	begin %= n
	for k := range n {
		m := (begin + k) % n
		w := members[m].Weight
		if w <= 0 || (l.at(m)+rate)/w > limit {
			continue
		}
		mine := 0.0
		if leaf >= 0 {
			mine = float64(l.toLeaf[leaf*n+m]) / w
		}
		if best == unknown || mine < fewest {
			best, fewest = m, mine
		}
	}
	return best
}
