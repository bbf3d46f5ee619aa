// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
)

// round is one attempt to bring a policy to the switch, and what it went without.
type round struct {
	sw       *programmer
	features Features // as the switch offers them

	without  []lacking
	problems []string // of objects that are done without
	later    error    // of steps that the others did not wait for
}

// lacking is an optional object that the switch refused.
type lacking struct {
	Object
	why error
}

// create creates an object and records it. An optional object whose reference was refused
// is skipped.
func (r *round) create(o *Object) error {
	for key := range o.References {
		if r.sw.objects[key] == nil {
			if o.Optional {
				return nil // an object that it refers to was refused, and that was reported
			}
			return fmt.Errorf("create %s %s: %s is not on the switch", o.Type, o.Key, key)
		}
	}
	made, err := r.sw.create(o)
	if err = r.sw.judge("create "+o.Key, err); err == nil {
		return r.sw.keep(o, made)
	}
	failed := fmt.Errorf("create %s %s: %w", o.Type, o.Key, err)
	if o.Optional && errors.Is(err, ErrRefused) {
		if _, other := r.features.without(o, refusedAttr(err)); other != "" && o.Type != TypeACLEntry {
			return &objectError{o, "", failed}
		}
	}
	if !o.Optional || !errors.Is(err, ErrRefused) && !errors.Is(err, ErrFailing) {
		return &objectError{o, "", failed}
	}
	r.problems = append(r.problems, fmt.Sprintf("%s: %v", o.Key, err))
	r.without = append(r.without, lacking{*o, err})
	if !errors.Is(err, ErrRefused) {
		r.later = errors.Join(r.later, failed)
	}
	return nil
}

// unbind removes the bindings of a plan, and returns the other steps: where nothing is wanted no
// packet is changed from then on, however many entries are to be removed.
func (r *round) unbind(steps []Step) (rest []Step) {
	for _, s := range steps {
		if s.Object.Type == TypeBinding {
			r.removeOld(s.Object.Key)
		} else {
			rest = append(rest, s)
		}
	}
	return rest
}

// removeOld removes an object that is not wanted. If that fails the rest goes on, except
// for the objects that it refers to, which are in use.
func (r *round) removeOld(key string) {
	for _, o := range r.sw.objects {
		if r.later != nil && o.refersTo(key) {
			return
		}
	}
	if err := r.sw.remove(key); err != nil {
		r.later = errors.Join(r.later, err)
	}
}
