// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
)

// scheduleRetry decides when the switch is asked again. A [Shared] one is asked with each
// policy, and by [Engine.CheckDrift].
func (e *Engine) scheduleRetry() {
	if e.sw.shared == nil {
		e.retry.schedule(e.offers.degraded() || len(e.last.without) > 0, e.Now())
	}
}

// forgetRefusals has all that the switch refused tried again. It is for an engine whose
// switch is empty.
func (e *Engine) forgetRefusals() {
	if e.sw.shared == nil {
		e.offers.reset()
	}
	e.sw.forgetFailures()
}

// retryRefused tries refused methods again, where it is time for that. The method in
// force stays until the switch took the better one beside it.
func (e *Engine) retryRefused(p Policy) error {
	if !e.retry.due(e.Now()) {
		return nil
	}
	e.sw.forgetFailures()
	if !e.offers.degraded() { // optional objects are tried with every plan
		return nil
	}
	reported := e.offers.reported
	all := Choose(reported.abilities, p, reported.features)
	for _, m := range append(NeedFlowLabel.Methods(), None) {
		if !reported.abilities[NeedFlowLabel][m].Can && m != None {
			continue
		}
		better := m != e.LabelMethod()
		all[NeedFlowLabel] = Choice{Method: m}
		all[NeedPlacement] = reported.abilities.choosePlacement(p, all)
		took, err := e.try(p, all, e.offers.undegraded())
		if err != nil {
			return err
		}
		if took {
			e.offers.restore()
		} else if better {
			withoutExport := p
			withoutExport.Export, withoutExport.Shown = nil, 0
			if took, err = e.try(withoutExport, all, e.offers.now.features); err != nil {
				return err
			}
		}
		if took && m != None {
			e.offers.allow(m)
		}
		if took || !better {
			return nil
		}
	}
	return nil
}

// try finds out whether the switch takes the objects of a policy, beside those that are in
// force.
func (e *Engine) try(p Policy, c Choices, f Features) (took bool, err error) {
	objects := e.sw.driver.Objects(p, c, f)
	if c.Pins() && p.Label != nil {
		objects = append(objects, FlowObjects(p, c.Method(NeedFlowLabel), f, ProbeFlow)...)
	}
	return e.sw.try(objects)
}

// CheckDrift checks that the objects are as they were created, that the switch has its
// abilities still, and whether it would accept refused objects now. It reports whether
// Reconcile is to run.
func (e *Engine) CheckDrift() (changed bool, err error) {
	if e.sw.shared == nil {
		changed = e.checkObjects()
		return changed || e.retry.due(e.Now()) || e.proof().provable(e.outcome.Choices), nil
	}
	for i := range e.last.without {
		o := &e.last.without[i].Object
		_, err := e.sw.shared.Foresee(o)
		if err != nil && !errors.Is(err, ErrRefused) {
			return false, fmt.Errorf("look for %s: %w", o.Key, err)
		}
		changed = changed || err == nil
	}
	if e.wants {
		abilities, features, err := e.sw.driver.Probe()
		if err != nil {
			return false, fmt.Errorf("ask the switch what it can do: %w", err)
		}
		changed = changed || e.offers.changed(abilities, features)
	}
	drifted, err := e.checkRows()
	return changed || drifted, err
}

// CheckBindings forgets the bindings that went with their ports, so that the next
// Reconcile binds again what it can. After an error some are forgotten already.
func (e *Engine) CheckBindings() error { return e.sw.checkBindings() }
