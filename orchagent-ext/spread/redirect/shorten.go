// SPDX-License-Identifier: Apache-2.0

package redirect

// shorten saves an entry where loads are even, and reports whether it did. Early decisions, from few
// samples, move a flow to a member and another one away from it. Instead the first flow goes where
// the second one is, and the second one back to its hash, which needs no rule.
func (t *Table) shorten(now int64) bool {
	loads, sum := t.loads()
	most := t.mean(sum) * (1 + t.cfg.Threshold) // of a member
	for i := range loads {
		most = max(most, loads[i].octets)
	}
	var ruled []*followed
	for _, f := range t.flows {
		if f.rule >= 0 {
			ruled = append(ruled, f)
		}
	}
	var first, second *followed
	for _, a := range ruled {
		for _, b := range ruled {
			if b.hash != a.rule || !t.exchanges(a, b, loads, most, now) {
				continue
			}
			if c := 0; first != nil {
				if c = a.flow.compare(first.flow); c > 0 || c == 0 && b.flow.compare(second.flow) > 0 {
					continue
				}
			}
			first, second = a, b
		}
	}
	if first == nil {
		return false
	}
	to := second.rule
	t.carry(move{flow: second, to: second.hash}, now)
	t.carry(move{flow: first, to: to}, now)
	return true
}

// exchanges reports whether two flows may change places now: no member gets more than most.
func (t *Table) exchanges(a, b *followed, loads []load, most float64, now int64) bool {
	more := a.octets - b.octets // at the member of b
	if loads[b.rule].octets+more/t.members[b.rule].Weight > most || loads[a.rule].octets-more/t.members[a.rule].Weight > most {
		return false
	}
	for _, f := range []*followed{a, b} {
		if can, _ := t.stays(f, now); !can {
			return false
		}
	}
	return true
}
