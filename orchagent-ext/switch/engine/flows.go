// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"sluice/sai-shim/saiattr"
)

// flowEntries has the flows with an entry on the switch, and gives flows entries by the
// policy in force.
type flowEntries struct {
	sw     *programmer
	prover Prover                // nil: an entry that the switch took counts as proven
	flows  map[FlowEntry]*pinned // by the flow without its label
	probed bool                  // the table takes entries of flows

	// The policy in force.
	policy   Policy
	method   Method   // of the flow label
	features Features // less what tables of an earlier version lack
	pins     bool     // single flows have entries
}

// follow has the entries created and changed by a policy from now on.
func (x *flowEntries) follow(p Policy, c Choices, f Features) {
	x.policy, x.method, x.pins, x.features = p, c.Method(NeedFlowLabel), c.Pins(), f
}

// uses returns the keys of the objects that the entries refer to.
func (x *flowEntries) uses() []string {
	if len(x.flows) == 0 {
		return nil
	}
	return []string{KeyTable, keySample}
}

// all yields the flows, as [Engine.Flows] has it.
func (x *flowEntries) all(yield func(FlowEntry) bool) {
	for f, p := range x.flows {
		f.Label, f.SrcPort = p.label, p.srcPort
		if !yield(f) {
			return
		}
	}
}

// counter returns the id of a flow's counter; "": it has none.
func (x *flowEntries) counter(f FlowEntry) ID {
	if p := x.flows[unlabelled(f)]; p != nil {
		return p.counter
	}
	return ""
}

// add gives flows an entry, as [Engine.AddFlows] has it.
func (x *flowEntries) add(flows []FlowEntry) (refused int, err error) {
	if !x.pins {
		return 0, nil
	}
	for i, f := range flows {
		key := unlabelled(f)
		if x.flows[key] != nil {
			continue
		}
		if len(x.flows) >= int(x.policy.FlowCapacity) {
			return len(flows) - i, x.sw.ledger.save()
		}
		p := &pinned{label: f.Label, srcPort: f.SrcPort}
		err := x.createEntry(key, p)
		if errors.Is(err, ErrRefused) {
			return len(flows) - i, x.sw.ledger.save()
		}
		if err != nil {
			return 0, errors.Join(err, x.sw.ledger.save())
		}
		x.flows[key] = p
	}
	return 0, x.sw.ledger.save()
}

// ProbeFlow is a flow of discard-only addresses (RFC 6666), without packets in real
// traffic.
var ProbeFlow = FlowEntry{netip.MustParseAddr("100::1"), netip.MustParseAddr("100::2"), 0, 1, 0}

// probe finds out whether the switch takes the entries of flows, before a flow needs one:
// it creates an entry, reads it back and removes it.
func (x *flowEntries) probe() (err error) {
	if x.probed || !x.pins || len(x.flows) > 0 || x.sw.objects[KeyTable] == nil {
		return nil
	}
	before := x.sw.changes
	defer func() { x.sw.changes = before }()
	f, p := unlabelled(ProbeFlow), &pinned{label: ProbeFlow.Label}
	if err := x.createEntry(f, p); err != nil {
		return err
	}
	if x.prover != nil {
		r := &Record{Object: FlowObjects(x.policy, x.method, x.features, ProbeFlow)[1], ID: p.entry}
		if err = x.prover.Prove(r, x.sw.objects); !errors.Is(err, ErrRefused) {
			err = nil // the proof of the entry that copies reports what cannot be read
		}
	}
	x.probed = err == nil
	if err != nil {
		err = &objectError{&Object{Key: flowKey(f), Type: TypeACLEntry, Meets: NeedFlowLabel}, "", err}
	}
	return errors.Join(err, x.removeEntry(f, p))
}

// createEntry creates both objects, or leaves neither. The counter is first, as the entry
// refers to it.
func (x *flowEntries) createEntry(f FlowEntry, p *pinned) error {
	labelled := f
	labelled.Label = p.label
	objects := FlowObjects(x.policy, x.method, x.features, labelled)
	counter, err := x.sw.createBeside(&objects[0], x.sw.objects)
	if err = x.sw.judge("create counter of flow", err); err != nil {
		return &objectError{&objects[0], "", fmt.Errorf("create %s %s: %w", objects[0].Type, objects[0].Key, err)}
	}
	x.sw.objects[counter.Key] = counter
	if x.sw.ledger.unlisted() { // the flow's row has it, once there is one
		x.sw.ledger.add(counter)
		defer x.sw.ledger.forget(counter.ID)
	}
	entry, err := x.sw.createBeside(&objects[1], x.sw.objects)
	delete(x.sw.objects, counter.Key)
	if err = x.sw.judge("create entry of flow", err); err != nil {
		err = &objectError{&objects[1], "", fmt.Errorf("create %s %s: %w", objects[1].Type, objects[1].Key, err)}
		if removeErr := x.sw.discard(counter); removeErr != nil {
			err = errors.Join(err, removeErr)
		}
		return err
	}
	p.entry, p.counter, p.sampling = entry.ID, counter.ID, x.wantSampling()
	x.sw.ledger.add(p.record(f))
	x.sw.changes.Created += len(objects)
	return x.sw.ledger.saveSome()
}

// wantSampling returns whether the policy has flows sampled.
func (x *flowEntries) wantSampling() sampling {
	if x.policy.Export != nil {
		return samples
	}
	return samplesNothing
}

// remove takes the entries of flows away, as [Engine.RemoveFlows] has it.
func (x *flowEntries) remove(flows []FlowEntry) error {
	for _, f := range flows {
		f = unlabelled(f)
		if p := x.flows[f]; p != nil {
			if err := x.removeEntry(f, p); err != nil {
				return errors.Join(err, x.sw.ledger.save())
			}
			delete(x.flows, f)
		}
	}
	return x.sw.ledger.save()
}

// removeEntry removes the objects of a flow, which stays among the flows.
func (x *flowEntries) removeEntry(f FlowEntry, p *pinned) error {
	entry := p.entry
	for _, r := range []*Record{p.record(f), p.counterRecord(f)} {
		if r.ID == "" {
			continue
		}
		if err := x.sw.discard(r); err != nil {
			return err
		}
		x.sw.changes.Removed++
	}
	p.entry, p.counter = "", ""
	if entry == "" {
		return nil
	}
	x.sw.ledger.forget(entry)
	return x.sw.ledger.saveSome()
}

// where are some flows, in an order that is the same in each process.
func (x *flowEntries) where(wanted func(*pinned) bool) (flows []FlowEntry) {
	for f, p := range x.flows {
		if wanted(p) {
			flows = append(flows, f)
		}
	}
	slices.SortFunc(flows, FlowEntry.compare)
	return flows
}

// leaveTable removes the entries of all flows, before their table goes. The flows are
// forgotten where the policy labels by another method from now on.
func (x *flowEntries) leaveTable() error {
	for _, f := range x.where(func(p *pinned) bool { return p.entry != "" }) {
		if err := x.removeEntry(f, x.flows[f]); err != nil {
			return err
		}
	}
	if !x.pins {
		clear(x.flows)
	}
	return nil
}

// restore creates the entries of flows that lost theirs with the table. A flow above
// the room of now comes to the CPU again, and is offered then.
func (x *flowEntries) restore() error {
	for _, f := range x.where(func(p *pinned) bool { return p.entry == "" }) {
		err := x.createEntry(f, x.flows[f])
		if errors.Is(err, ErrRefused) {
			delete(x.flows, f)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sample switches the sampling of the flows' entries, in place. The ledger has a
// mark meanwhile: which entries of a killed process sample is unknown.
func (x *flowEntries) sample(want sampling) error {
	change := x.where(func(p *pinned) bool { return p.entry != "" && p.sampling != want })
	if len(change) == 0 {
		return nil
	}
	mark := &Record{Object: Object{Key: keySampling, Type: typeChanging}, ID: idSampling}
	if err := x.sw.ledger.mark(mark); err != nil {
		return err
	}
	for _, f := range change {
		if err := x.sampleEntry(f, x.flows[f], want); err != nil {
			return err
		}
	}
	if err := x.sw.ledger.save(); err != nil { // before the mark goes
		return err
	}
	x.sw.ledger.drop(mark.ID)
	return nil
}

// sampleEntry changes one entry. Where the switch refuses, the entry is removed, and
// restore creates it again: the label of this flow has a gap.
func (x *flowEntries) sampleEntry(f FlowEntry, p *pinned, want sampling) error {
	policy := x.policy
	if want == samplesNothing {
		policy.Export = nil
	}
	labelled := f
	labelled.Label = p.label
	err := x.sw.set(p.record(f), &FlowObjects(policy, x.method, x.features, labelled)[1], saiattr.ACLEntrySample.Name)
	if errors.Is(err, ErrRefused) {
		return x.removeEntry(f, p)
	}
	if err != nil {
		return fmt.Errorf("set %s of %s %s: %w", saiattr.ACLEntrySample.Name, TypeACLEntry, flowKey(f), err)
	}
	p.sampling = want
	x.sw.ledger.add(p.record(f))
	x.sw.changes.Set++
	return x.sw.ledger.saveSome()
}
