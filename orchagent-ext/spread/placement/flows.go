// SPDX-License-Identifier: Apache-2.0

package placement

// unknown is the member of a flow whose path is unknown.
const unknown = -1

// An entry is a flow of the table.
type entry struct {
	flow       Flow
	leaf       int    // destination leaf; -1: unknown
	label      uint32 // in force
	hash       uint32 // the flow's label without placement
	member     int    // of the label, or unknown
	hashMember int    // of the hash label, or unknown
	told       uint32 // the label of the last observation given to the model

	meter meter

	// held: a hold of the flow is in force, so that it stays where it is. movedAt is in ns, and
	// holds where moved is true.
	held    bool
	first   bool // it sends with its hash label, and its first choice waits for a pause
	moved   bool
	movedAt int64
	live    bool // the slot is in use
}

// share returns the part of the flow in the load of its member.
func (e *entry) share() share { return share{e.member, e.leaf, e.meter.measured, e.meter.rate} }

// use returns the flow's label between its two hosts.
func (e *entry) use() use { return use{e.flow.Src, e.flow.Dst, e.label} }

// flows are the entries by slot: free has the unused slots, and index has exactly those of the
// live entries.
type flows struct {
	entries []entry
	free    []uint32
	index   map[Flow]uint32
}

// lookup returns the entry of a flow, or nil.
func (s *flows) lookup(f *Flow) *entry {
	if i, ok := s.index[*f]; ok {
		return &s.entries[i]
	}
	return nil
}

// add returns the entry of a new flow of unknown leaf and member, without label; nil: there are
// capacity of them. It may move the other entries, which makes pointers to them invalid.
func (s *flows) add(f Flow, hash uint32, capacity int) *entry {
	var i uint32
	switch {
	case len(s.free) > 0:
		i = s.free[len(s.free)-1]
		s.free = s.free[:len(s.free)-1]
	case len(s.entries) < capacity:
		i = uint32(len(s.entries))
		s.entries = append(s.entries, entry{})
	default:
		return nil
	}
	s.entries[i] = entry{flow: f, leaf: -1, hash: hash, member: unknown, hashMember: unknown, live: true}
	s.index[f] = i
	return &s.entries[i]
}

// remove frees the slot of a flow.
func (s *flows) remove(f Flow) {
	i := s.index[f]
	delete(s.index, f)
	s.entries[i] = entry{}
	s.free = append(s.free, i)
}

// all yields the live entries with their slots, in the order of these.
func (s *flows) all(yield func(uint32, *entry) bool) {
	for i := range s.entries {
		if e := &s.entries[i]; e.live && !yield(uint32(i), e) {
			return
		}
	}
}

// measured yields the flows of known rate.
func (s *flows) measured(yield func(*entry) bool) {
	for i := range s.entries {
		if e := &s.entries[i]; e.live && e.meter.measured && !yield(e) {
			return
		}
	}
}

// period returns the mean length of the cycles of flows, by their load, in ns; 0: most send
// without pauses, or a window of so many ns has whole cycles.
func (s *flows) period(window int64) int64 {
	var sum, weight float64
	for e := range s.measured {
		sum, weight = sum+e.meter.rate*float64(e.meter.cycle.length), weight+e.meter.rate
	}
	if weight <= 0 || sum <= 2*float64(window)*weight {
		return 0
	}
	return int64(sum / weight)
}

// lackCycles reports whether much load is of flows of unknown period.
func (s *flows) lackCycles() bool {
	var lacks, sum float64
	for e := range s.measured {
		if sum += e.meter.rate; e.meter.cycle.length == 0 {
			lacks += e.meter.rate
		}
	}
	return lacks > freshShare*sum
}

// parts returns the parts of all load by member, by the last windows and by the averages; nil
// without load.
func (s *flows) parts(members int) (last, average []float64) {
	last, average = make([]float64, members), make([]float64, members)
	var lastSum, sum float64
	for e := range s.measured {
		if m := e.member; m != unknown {
			last[m], average[m] = last[m]+e.meter.last, average[m]+e.meter.rate
			lastSum, sum = lastSum+e.meter.last, sum+e.meter.rate
		}
	}
	if lastSum <= 0 || sum <= 0 {
		return nil, nil
	}
	for m := range last {
		last[m], average[m] = last[m]/lastSum, average[m]/sum
	}
	return last, average
}
