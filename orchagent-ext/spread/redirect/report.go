// SPDX-License-Identifier: Apache-2.0

package redirect

// TableReport is the state of a table, for the operator. Loads are in octets of samples,
// which are shares rather than rates.
type TableReport struct {
	Flows   int // that are observed
	Unknown int // of these, whose member was not seen yet
	Rules   int
	Free    int // rules that the bound of the table and the room of the switch leave
	Obstacles

	Worst float64 // max ÷ mean as it is; 0: no load
	Hash  float64 // max ÷ mean if all flows were by hash
	Floor float64 // no placement is below: the largest flow ÷ mean, at least 1

	Members []MemberReport
}

// MemberReport is one member.
type MemberReport struct {
	Member
	Share float64 // of all load, 0 to 1
	Hash  float64 // the same by hash
	Flows int
	Rules int
}

// Report returns the state at a time.
func (t *Table) Report(now int64) TableReport {
	t.decay(now)
	r := TableReport{Flows: len(t.flows), Members: make([]MemberReport, len(t.members))}
	hash := make([]float64, len(t.members))
	loads, sum := t.loads()
	largest := 0.0
	for _, f := range t.flows {
		largest = max(largest, f.octets)
		if f.hash >= 0 {
			hash[f.hash] += f.octets
		}
		if m := f.member(); m >= 0 {
			r.Members[m].Flows++
		} else {
			r.Unknown++
		}
	}
	r.Obstacles = t.stay
	mean := t.mean(sum)
	heaviest := 0.0 // weight
	for i := range t.members {
		w := t.members[i].Weight
		m := &r.Members[i]
		m.Member, m.Rules = t.members[i], loads[i].rules
		r.Rules += m.Rules
		if w <= 0 || sum == 0 {
			continue
		}
		heaviest = max(heaviest, w)
		m.Share, m.Hash = loads[i].octets*w/sum, hash[i]/sum
		r.Worst, r.Hash = max(r.Worst, loads[i].octets/mean), max(r.Hash, hash[i]/w/mean)
	}
	r.Free = min(t.cfg.Rules-r.Rules, t.room)
	if heaviest > 0 && mean > 0 {
		r.Floor = max(1, largest/heaviest/mean)
	}
	return r
}
