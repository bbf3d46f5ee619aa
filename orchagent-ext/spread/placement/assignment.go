// SPDX-License-Identifier: Apache-2.0

package placement

import "sluice/orchagent-ext/spread/ecmp"

// An assignment is flows with their labels and members. After each call labels counts the labels
// of all flows, and loads sums up their shares; the next call of recount bounds errors of rounding.
type assignment struct {
	flows  flows
	group  group
	labels labels
	loads  loads
	leaves int // destination leaves are numbered below it
}

func newAssignment(leaves int) *assignment {
	a := &assignment{flows: flows{index: map[Flow]uint32{}}, labels: labels{}, leaves: leaves}
	a.loads.group = &a.group
	return a
}

// regroup replaces the model and the members. Labels stay; the paths of all flows are predicted
// again. It returns how many flows with a known path have another one now.
func (a *assignment) regroup(model ecmp.Model, members []Member) (rerouted int, err error) {
	before := a.group.members
	if err := a.group.set(model, members); err != nil {
		return 0, err
	}
	a.loads.resize(a.leaves)
	for _, e := range a.flows.all {
		was := e.member
		e.member, e.hashMember, e.told = a.predict(e, e.label), a.predict(e, e.hash), 0
		if was != unknown && (e.member == unknown || members[e.member].Name != before[was].Name) {
			rerouted++
		}
	}
	a.recount()
	return rerouted, nil
}

// recount sums up again.
func (a *assignment) recount() {
	a.loads.clear()
	for i := range a.flows.entries { // of each look: all is slower
		if e := &a.flows.entries[i]; e.live {
			a.loads.account(e.share(), 1)
		}
	}
}

// enter adds a flow, without label and load until set; nil: there are capacity of them.
func (a *assignment) enter(f Flow, leaf int, hash uint32, capacity int) *entry {
	e := a.flows.add(f, hash, capacity)
	if e != nil {
		e.leaf = a.leaf(leaf)
	}
	return e
}

// leaf returns a leaf, or -1 for one that is unknown.
func (a *assignment) leaf(leaf int) int {
	if leaf < 0 || leaf >= a.leaves {
		return -1
	}
	return leaf
}

// set gives a flow that has just entered its label and member. It returns the number of flows
// with that label between the same hosts.
func (a *assignment) set(e *entry, label uint32, member int) uint32 {
	e.label, e.member = label, member
	a.loads.account(e.share(), 1)
	return a.labels.take(e.use())
}

// relabel gives a flow another label and member.
func (a *assignment) relabel(e *entry, label uint32, member int) {
	a.loads.account(e.share(), -1)
	a.labels.release(e.use())
	e.label, e.member = label, member
	a.labels.take(e.use())
	a.loads.account(e.share(), 1)
}

// setMember gives a flow another member by its label.
func (a *assignment) setMember(e *entry, member int) {
	was := e.share()
	e.member = member
	a.replace(was, e)
}

// setLeaf gives a flow another leaf.
func (a *assignment) setLeaf(e *entry, leaf int) {
	was := e.share()
	e.leaf = leaf
	a.replace(was, e)
}

// replace accounts for a flow that had another share.
func (a *assignment) replace(was share, e *entry) {
	a.loads.account(was, -1)
	a.loads.account(e.share(), 1)
}

// forget removes a flow; its label is free again.
func (a *assignment) forget(e *entry) {
	a.loads.account(e.share(), -1)
	a.labels.release(e.use())
	a.flows.remove(e.flow)
}

// predict is the model's member for the flow with a label, or unknown.
func (a *assignment) predict(e *entry, label uint32) int { return a.group.predict(&e.flow, label) }

// find returns a label for a member, or if all are taken that of the best other member;
// label 0 if every label is taken. For an unknown member it is the first that is free.
// The search visits labels in an order that begins at from and is the same in every run.
func (a *assignment) find(e *entry, from uint32, want int) (label uint32, member int) {
	label = a.search(e, from, func(u use) bool {
		member = a.group.predictNext(u.label)
		return (want == unknown || member == want) && a.labels[u] == 0
	})
	if label != 0 {
		return label, member
	}
	var cost float64
	best := unknown
	a.search(e, from, func(u use) bool {
		if m := a.group.predictNext(u.label); m != unknown && a.group.members[m].Weight > 0 {
			if c := a.loads.at(m) / a.group.members[m].Weight; (best == unknown || c < cost) && a.labels[u] == 0 {
				label, best, cost = u.label, m, c
			}
		}
		return false
	})
	return label, best
}

// search visits labels until one is taken, and returns it; 0: it gave up.
func (a *assignment) search(e *entry, label uint32, take func(use) bool) uint32 {
	a.group.setTuple(&e.flow, label)
	u := use{src: e.flow.Src, dst: e.flow.Dst, label: label}
	for range 1024 + 32*len(a.group.members) {
		if u.label != 0 && take(u) {
			return u.label
		}
		u.label = next(u.label)
	}
	return 0
}

// measure ends the windows of all flows at once, but for those within a cycle.
func (a *assignment) measure(now int64, c *Config) {
	period := a.flows.period(c.WindowNS)
	for _, e := range a.flows.all {
		was, m, changed := e.share(), &e.meter, false
		switch {
		case !m.seen || m.inCycle(now):
		case period == 0 || now-m.begun >= period:
			changed = m.measure(c)
		default:
			changed = m.measureAtLeast(period)
		}
		if changed {
			a.replace(was, e)
		}
	}
}

// measureLast replaces averages by the rates of the last windows.
func (a *assignment) measureLast() {
	for e := range a.flows.measured {
		e.meter.measureLast()
	}
	a.recount()
}
