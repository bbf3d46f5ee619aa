// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"slices"
)

// Flows yields the flows that have an entry. Their order is random. The engine must stay
// unchanged meanwhile.
func (e *Engine) Flows(yield func(FlowEntry) bool) { e.entries.all(yield) }

// Has reports whether a flow has an entry. Label and SrcPort of f are ignored.
func (e *Engine) Has(f FlowEntry) bool { return e.entries.flows[unlabelled(f)] != nil }

// FlowCounter returns the record of a flow's counter, without its key; nil for a flow
// without an entry. It is cheap: callers need it many times a second.
func (e *Engine) FlowCounter(f FlowEntry) *Record {
	id := e.entries.counter(f)
	if id == "" {
		return nil
	}
	return &Record{Object: Object{Type: TypeACLCounter}, ID: id}
}

// AddFlows gives flows an entry, where a method has entries of flows, up to the policy's
// FlowCapacity; a flow that has one keeps its label. It returns the number of flows, the
// last ones of the list, for which the switch lacks room.
func (e *Engine) AddFlows(flows []FlowEntry) (refused int, err error) { return e.entries.add(flows) }

// RemoveFlows takes the entries of flows away. Flows without an entry are skipped. After
// an error the flows before it are removed, and the same call goes on.
func (e *Engine) RemoveFlows(flows []FlowEntry) error { return e.entries.remove(flows) }

// Relabel gives flows that have an entry other labels, in place: all packets have one of
// the two labels meanwhile. It returns the flows that the switch refused to change, that
// lack an entry, or that each keeps; these have their former labels.
func (e *Engine) Relabel(flows []FlowEntry, each EachLabel) (refused []FlowEntry, err error) {
	return e.entries.relabel(flows, each)
}

// SetSrcPort notes the UDP source port of a flow that has an entry. It changes the ledger
// alone, as entries leave the port unmatched. A flow without an entry is left out.
func (e *Engine) SetSrcPort(f FlowEntry) error { return e.entries.setSrcPort(f) }

// Redirect makes the redirections on the switch those that are given, by the method
// [Redirect]; with another method there are none. A flow that has one keeps it where the
// next hop is the same, and is set to another in place, so that all its packets avoid the
// hash meanwhile. It returns the refusals by key: the others are in force. After an error
// the next call goes on.
func (e *Engine) Redirect(all []Redirection) (refused map[string]error, err error) {
	e.redirected = slices.Clone(all)
	e.redirected.keep(e.outcome.Choices)
	if len(e.redirected) == 0 && !anyRedirected(e.sw.objects) {
		return nil, nil
	}
	err = errors.Join(e.step(), e.sw.ledger.save())
	return e.redirected.refused(e.last.without, e.sw.objects), errors.Join(err, e.last.later)
}

// Adopt returns the redirections that are on the switch. Those of an earlier process stay until
// [Engine.Redirect] is called.
func (e *Engine) Adopt() ([]Redirection, error) { return slices.Clone(e.redirected), nil }
