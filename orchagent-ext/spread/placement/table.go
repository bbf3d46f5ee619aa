// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"net/netip"

	"sluice/orchagent-ext/spread/ecmp"
)

// A Flow has the fields that an entry on the switch matches, and the source port, which
// ECMP hashes. Addresses are those of the packet's outermost header, of IPv6.
type Flow struct {
	Src, Dst netip.Addr
	DestQP   uint32 // 24 bits
	SrcPort  uint16 // UDP
}

// A Member is a next hop of the group, in the order that the model counts them.
type Member struct {
	Name   string  // of its port, unique in the group
	Weight float64 // its share of the load, in any unit; 0: kept free
}

// A Table has the flows of one ECMP group. It is made of parts, each with a state of its own; in
// this order, a part uses only those before it: [meter] and the flows, the group's model, loads
// and labels in an [assignment], check, quotas, windows with settling and patience, rounds, and
// the mover.
type Table struct {
	cfg Config // with its defaults filled in

	on       *assignment
	check    check
	quotas   quotas
	windows  windows
	settling settling
	patience patience
	rounds   rounds
	mover    mover

	stats Stats // since New, but for those of the mover
}

// New returns a table without members: until [Table.SetGroup], flows get hash labels.
func New(cfg Config) *Table {
	t := &Table{cfg: cfg.withDefaults()}
	t.on = newAssignment(t.cfg.Leaves)
	t.mover = mover{on: t.on, cfg: &t.cfg, excluded: map[uint32]bool{}}
	return t
}

// Tune sets what of the configuration may change while flows are placed: which flows move, when,
// how many, and from which load on. Flows, rates and counters stay.
func (t *Table) Tune(cfg Config) { t.cfg.tune(&cfg) }

// SetGroup replaces the model and the members: at the start, and when a member, a weight,
// a bucket or the route changed. Labels stay; the paths of all flows are predicted again.
// It returns how many flows with a known path have another one now. Quotas are dropped.
// An error leaves the table as it was.
func (t *Table) SetGroup(model ecmp.Model, members []Member) (rerouted int, err error) {
	rerouted, err = t.on.regroup(model, members)
	if err != nil {
		return 0, err
	}
	t.quotas, t.check = quotas{}, check{predicted: make([]uint64, len(members))}
	t.rounds.stop()
	return rerouted, nil
}

// Len is the number of flows.
func (t *Table) Len() int { return len(t.on.flows.index) }

// Label returns the label of a flow, and its member (-1: unknown).
func (t *Table) Label(f Flow) (label uint32, member int, ok bool) {
	if e := t.on.flows.lookup(&f); e != nil {
		return e.label, e.member, true
	}
	return 0, unknown, false
}

// Forget removes a flow; its label is free again.
func (t *Table) Forget(f Flow) {
	if e := t.on.flows.lookup(&f); e != nil {
		t.on.forget(e)
	}
}

// SetLeaf sets the destination leaf of a flow; -1: unknown.
func (t *Table) SetLeaf(f Flow, leaf int) {
	if e := t.on.flows.lookup(&f); e != nil && e.leaf != t.on.leaf(leaf) {
		t.on.setLeaf(e, t.on.leaf(leaf))
	}
}

// SetHeld sets which flows are held, by their labels in force: a held flow keeps its label. Its
// packets wait on the switch while its counter rests, so it begins to be idle when the hold ends.
func (t *Table) SetHeld(held func(f Flow, label uint32) bool) {
	for _, e := range t.on.flows.all {
		if e.held = held(e.flow, e.label); e.held {
			e.meter.hold()
		}
	}
}

// Sample records the counter of a flow's entry: octets since the entry was made, at a
// time in nanoseconds of a monotonic clock. Samples and a look of the same moment have
// the same time. A flow is found idle only if it is sampled more often than its pauses
// last.
func (t *Table) Sample(f Flow, octets uint64, now int64) {
	e := t.on.flows.lookup(&f)
	if e == nil {
		t.stats.Stray++
		return
	}
	before, was := e.meter.octets, e.share()
	r, pause := e.meter.read(octets, now)
	switch r {
	case steppedBack:
		t.stats.ClockSteps++
	case fewer:
		t.stats.CounterResets++
	}
	if r != counted {
		return
	}
	t.check.expect(e.member, octets-before)
	t.windows.add(octets - before)
	changed := false
	switch {
	case t.cfg.WindowNS == 0:
		changed = e.meter.measure(&t.cfg)
	case pause >= t.cfg.IdleNS && octets != before:
		changed = e.meter.burst(before, now, pause, &t.cfg)
	}
	if changed {
		t.on.replace(was, e)
	}
}

// Observe records that packets of a flow, with its label, were seen on a member: it
// updates the model's score, the model learns from it, and where the model cannot
// predict, it sets the flow's path.
func (t *Table) Observe(f Flow, member int) {
	e := t.on.flows.lookup(&f)
	if e == nil || !t.on.group.has(member) {
		t.stats.Stray++
		return
	}
	// Observations under another label or member are void.
	if e.told != e.label || e.member != member {
		t.on.group.observe(&e.flow, e.label, member)
		e.told = e.label
	}
	if e.member != member {
		t.on.setMember(e, member)
	}
	if e.hashMember == unknown {
		e.hashMember = t.on.predict(e, e.hash)
	}
}

// Check compares the octets that samples since the last check predict for each member with those
// that its port sent in that time. Other traffic on the ports does no harm: octets
// count that were predicted on a port, are missing there, and may have left by other
// ports. Octets that a full queue drops, or a hold keeps back, are no fault of the model.
// After two bad checks in a row the model counts as wrong; moves stop, and new flows get
// hash labels. Ten good ones in a row, or SetGroup, end that.
func (t *Table) Check(sent []uint64) error {
	wrong, err := t.check.compare(sent)
	if wrong {
		t.stats.Degradations++
	}
	return err
}

// Unchecked forgets the predictions since the last check: the ports' counters of that
// time are unknown.
func (t *Table) Unchecked() { t.check.forget() }

// SetQuotas replaces the quotas; without any, scope is local again, and labels stay. It
// returns the number of quotas that were set aside: for an unknown leaf, class or member.
func (t *Table) SetQuotas(list []Quota) (refused int) {
	t.quotas, refused = newQuotas(list, t.on.leaves, t.on.group.members)
	t.stats.QuotasRefused += uint64(refused)
	return refused
}
