// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"

	"sluice/sai-shim/saiattr"
)

// EachLabel has functions that run around the change of each label; nil ones are skipped.
type EachLabel struct {
	Before func(FlowEntry) bool // false: the flow is to keep its label
	After  func(FlowEntry)      // the label has changed
}

// relabel gives flows other labels, as [Engine.Relabel] has it. The ledger has both labels
// of each until the switch has the new one: the next process finishes what a killed one
// began.
func (x *flowEntries) relabel(flows []FlowEntry, each EachLabel) (refused []FlowEntry, err error) {
	for _, f := range flows {
		if p := x.flows[unlabelled(f)]; p != nil && p.entry != "" {
			p.from, p.label = p.label, f.Label
			x.sw.ledger.add(p.record(unlabelled(f)))
		}
	}
	if err := x.sw.ledger.save(); err != nil {
		return nil, err
	}
	for _, f := range flows {
		key := unlabelled(f)
		p := x.flows[key]
		if p == nil || p.entry == "" {
			refused = append(refused, f)
			continue
		}
		if each.Before != nil && !each.Before(f) {
			p.label, p.from = p.from, 0
			refused = append(refused, f)
			x.sw.ledger.add(p.record(key))
			continue
		}
		switch setErr := x.setLabel(key, p); {
		case errors.Is(setErr, ErrRefused), errors.Is(setErr, ErrGone):
			p.label = p.from
			refused = append(refused, f)
		case setErr != nil: // the next call, or process, sets it
			err = errors.Join(err, setErr)
			continue
		default:
			x.sw.changes.Set++
			if each.After != nil {
				each.After(f)
			}
		}
		p.from = 0
		x.sw.ledger.add(p.record(key))
	}
	return refused, errors.Join(err, x.sw.ledger.save())
}

// setLabel writes the label of a flow to its entry, in place.
func (x *flowEntries) setLabel(f FlowEntry, p *pinned) error {
	o := NewObject(flowKey(f), TypeACLEntry, saiattr.ACLEntrySetLabel.Of(uint64(p.label)))
	if err := x.sw.set(p.record(f), &o, saiattr.ACLEntrySetLabel.Name); err != nil {
		return fmt.Errorf("set the label of %s: %w", o.Key, err)
	}
	return nil
}

// finishRelabel sets the label of a flow that a killed process was giving another one.
func (x *flowEntries) finishRelabel(f FlowEntry, p *pinned) error {
	if p.from == 0 {
		return nil
	}
	if err := x.setLabel(f, p); errors.Is(err, ErrRefused) {
		p.label = p.from
	} else if err != nil && !errors.Is(err, ErrGone) {
		return err
	}
	p.from = 0
	x.sw.ledger.add(p.record(f))
	return nil
}

// setSrcPort notes the UDP source port of a flow, as [Engine.SetSrcPort] has it.
func (x *flowEntries) setSrcPort(f FlowEntry) error {
	key := unlabelled(f)
	p := x.flows[key]
	if p == nil || p.srcPort == f.SrcPort || p.entry == "" {
		return nil
	}
	p.srcPort = f.SrcPort
	x.sw.ledger.add(p.record(key))
	return x.sw.ledger.saveSome()
}
