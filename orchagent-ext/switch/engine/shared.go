// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ask probes a shared switch again if the policy needs it: an empty policy, which removes
// everything, must succeed without.
func (e *Engine) ask() error {
	if e.shared == nil || !e.wants {
		return nil
	}
	return e.askSwitch()
}

// askSwitch asks the switch for its abilities.
func (e *Engine) askSwitch() error {
	abilities, features, err := e.driver.Probe()
	if err != nil {
		return fmt.Errorf("ask the switch what it can do: %w", err)
	}
	e.abilities, e.asked = abilities, abilities.clone()
	e.features, e.offered, e.told = features, features, features
	return nil
}

// CheckDrift checks that the objects are as they were created, that the switch has its
// abilities still, and whether it would accept refused objects now. It reports whether
// Reconcile is to run.
func (e *Engine) CheckDrift() (changed bool, err error) {
	if e.shared == nil {
		return e.retryDue() || e.provable(), nil
	}
	for i := range e.without {
		_, err := e.shared.Foresee(&e.without[i])
		if err != nil && !errors.Is(err, ErrRefused) {
			return false, fmt.Errorf("look for %s: %w", e.without[i].Key, err)
		}
		changed = changed || err == nil
	}
	if e.wants {
		abilities, features, err := e.driver.Probe()
		if err != nil {
			return false, fmt.Errorf("ask the switch what it can do: %w", err)
		}
		changed = changed || features != e.told || !abilities.Equal(e.asked)
	}
	for _, key := range slices.Sorted(maps.Keys(e.objects)) {
		r := e.objects[key]
		was := r.Object
		there, err := e.driver.Exists(r)
		if err != nil {
			return changed, fmt.Errorf("look for %s: %w", r.ID, err)
		}
		if !there {
			delete(e.objects, key)
			e.gone = append(e.gone, r.ID)
		}
		changed = changed || !there || !r.same(&was)
	}
	return changed, nil
}

// CheckBindings forgets the bindings that went with their ports, so that the next
// Reconcile binds again what it can. After an error some are forgotten already.
func (e *Engine) CheckBindings() error {
	for key, r := range e.objects {
		if r.Type != TypeBinding {
			continue
		}
		there, err := e.driver.Exists(r)
		if err != nil {
			return fmt.Errorf("look for %s: %w", r.ID, err)
		}
		if !there {
			delete(e.objects, key)
			e.gone = append(e.gone, r.ID)
		}
	}
	return nil
}

// make creates an object; with a shared driver the ledger has it before.
func (e *Engine) make(o *Object) (*Record, error) {
	if e.shared == nil {
		return e.makeWith(o, e.objects)
	}
	r, err := e.shared.Foresee(o)
	if err != nil {
		return nil, err
	}
	e.dirty = append(e.dirty, r)
	if err := e.save(); err != nil {
		return nil, err
	}
	created, err := e.driver.Create(o, e.objects)
	switch {
	case errors.Is(err, ErrRefused):
		e.gone = append(e.gone, r.ID)
	case err != nil: // it exists or not: the next attempt removes it first
		e.objects[o.Key] = &Record{Object: Object{Key: o.Key, Type: o.Type}, ID: r.ID, Previous: r.Previous}
	}
	return created, err
}

// makeWith creates an object that refers to those of existing. The ledger has a record of
// it while its id is unknown, and drops that when it is next written, together with the
// id.
func (e *Engine) makeWith(o *Object, existing map[string]*Record) (*Record, error) {
	if e.finder == nil {
		return e.driver.Create(o, existing)
	}
	if before := e.finder.Before(o); before != nil {
		before.Values = nil
		// of an attempt that failed
		e.gone = slices.DeleteFunc(e.gone, func(id ID) bool { return id == before.ID })
		e.dirty = append(e.dirty, before)
		if err := e.save(); err != nil {
			return nil, err
		}
		e.gone = append(e.gone, before.ID)
	}
	return e.driver.Create(o, existing)
}
