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

// Relabel gives flows that have an entry other labels, in place: all packets have one of
// the two labels meanwhile. The ledger has both labels of each until the switch has the
// new one: the next process finishes what a killed one began. It returns the flows that
// the switch refused to change, that lack an entry, or that each keeps; these have their
// former labels.
func (e *Engine) Relabel(flows []FlowEntry, each EachLabel) (refused []FlowEntry, err error) {
	for _, f := range flows {
		if p := e.flows[unlabelled(f)]; p != nil && p.entry != "" {
			p.from, p.label = p.label, f.Label
			e.dirty = append(e.dirty, p.record(unlabelled(f)))
		}
	}
	if err := e.save(); err != nil {
		return nil, err
	}
	for _, f := range flows {
		key := unlabelled(f)
		p := e.flows[key]
		if p == nil || p.entry == "" {
			refused = append(refused, f)
			continue
		}
		if each.Before != nil && !each.Before(f) {
			p.label, p.from = p.from, 0
			refused = append(refused, f)
			e.dirty = append(e.dirty, p.record(key))
			continue
		}
		switch setErr := e.setLabel(key, p); {
		case errors.Is(setErr, ErrRefused), errors.Is(setErr, ErrGone):
			p.label = p.from
			refused = append(refused, f)
		case setErr != nil: // the next call, or process, sets it
			err = errors.Join(err, setErr)
			continue
		default:
			e.outcome.Set++
			if each.After != nil {
				each.After(f)
			}
		}
		p.from = 0
		e.dirty = append(e.dirty, p.record(key))
	}
	return refused, errors.Join(err, e.save())
}

// setLabel writes the label of a flow to its entry, in place.
func (e *Engine) setLabel(f FlowEntry, p *pinned) error {
	o := NewObject(flowKey(f), TypeACLEntry, saiattr.ACLEntrySetLabel.Of(uint64(p.label)))
	if err := e.set(p.record(f), &o, saiattr.ACLEntrySetLabel.Name); err != nil {
		return fmt.Errorf("set the label of %s: %w", o.Key, err)
	}
	return nil
}

// finishRelabel sets the label of a flow that a killed process was giving another one.
func (e *Engine) finishRelabel(f FlowEntry, p *pinned) error {
	if p.from == 0 {
		return nil
	}
	if err := e.setLabel(f, p); errors.Is(err, ErrRefused) {
		p.label = p.from
	} else if err != nil && !errors.Is(err, ErrGone) {
		return err
	}
	p.from = 0
	e.dirty = append(e.dirty, p.record(f))
	return nil
}

// SetSrcPort notes the UDP source port of a flow that has an entry. It changes the ledger
// alone, as entries leave the port unmatched. A flow without an entry is left out.
func (e *Engine) SetSrcPort(f FlowEntry) error {
	key := unlabelled(f)
	p := e.flows[key]
	if p == nil || p.srcPort == f.SrcPort || p.entry == "" {
		return nil
	}
	p.srcPort = f.SrcPort
	e.dirty = append(e.dirty, p.record(key))
	return e.saveSome()
}
