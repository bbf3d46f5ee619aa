// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Changes counts the objects that changed on the switch.
type Changes struct {
	Created int
	Removed int // off the switch

	HandedOver int // removals that another process has yet to carry out ([ErrHandedOver])
	Set        int // changed in place
}

// programmer creates, changes and removes single objects on the switch, and has the records
// of those that are there, but for those of flows. The ledger has each change before the
// switch or after it, so that the next process finds all objects.
type programmer struct {
	driver Driver
	setter Setter // nil: an object of which an attribute changes is created again
	finder Finder // nil: ids are known before objects are created
	shared Shared // nil: the switch is this process's alone

	ledger   backlog
	objects  map[string]*Record
	failures map[string]int  // in a row, by step
	fixed    map[string]bool // attributes that the switch refused to change in place
	changes  Changes
}

// Attempts is how often in a row the switch fails at the same step, whatever it answers,
// before that is a refusal: the next method is tried.
const Attempts = 3

// judge makes a refusal of a failure that stays. step is the name of the attempt.
func (p *programmer) judge(step string, err error) error {
	if !errors.Is(err, ErrFailing) {
		delete(p.failures, step)
		return err
	}
	if p.failures[step]++; p.failures[step] < Attempts {
		return err
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// forgetFailures has every step and every attribute tried again.
func (p *programmer) forgetFailures() {
	clear(p.failures)
	clear(p.fixed)
}

// settable reports whether an attribute may be changed in place here.
func (p *programmer) settable(attr string) bool {
	return p.setter != nil && Settable(attr) && !p.fixed[attr]
}

// change sets attributes of an object. The ledger has them as unknown until then. An
// attribute is unknown rather than old or new, since a process that is killed in the call
// leaves either. A refusal is an [objectError] that names the attribute.
func (p *programmer) change(s *Step) error {
	o := &s.Object
	r := p.objects[o.Key]
	unknown := *r
	unknown.Attrs = slices.DeleteFunc(slices.Clone(r.Attrs), func(a Attr) bool { return slices.Contains(s.Set, a.Name) })
	for _, name := range s.Set {
		unknown.Attrs = append(unknown.Attrs, Attr{name, unsettled(r.Attr(name), o.Attr(name))})
	}
	p.objects[o.Key] = &unknown
	p.ledger.add(&unknown)
	if err := p.ledger.save(); err != nil {
		return err
	}
	for _, name := range s.Set {
		if err := p.set(&unknown, o, name); err != nil {
			err = fmt.Errorf("set %s of %s %s: %w", name, o.Type, o.Key, err)
			if errors.Is(err, ErrRefused) {
				return &objectError{o, name, err}
			}
			return err
		}
	}
	now := &Record{Object: *o, ID: r.ID, Previous: r.Previous}
	now.Values = nil
	p.objects[o.Key] = now
	p.ledger.add(now)
	p.changes.Set++
	return p.ledger.saveSome()
}

// unsettled returns the value of an attribute that is being set. It has the references of
// both values.
func unsettled(was, will string) string {
	values := slices.DeleteFunc([]string{was, will}, func(v string) bool { return !strings.HasPrefix(v, "@") })
	return strings.Join(append(values, ValueUnknown), ",")
}

// set changes an attribute of an object in place; [ErrRefused] with a driver that cannot.
func (p *programmer) set(r *Record, o *Object, attr string) error {
	if p.setter == nil {
		return fmt.Errorf("%w: the driver changes no object in place", ErrRefused)
	}
	return p.judge("set "+attr+" "+o.Key, p.setter.Set(r, o, attr, p.objects))
}

// create creates an object that refers to those on the switch; with a shared driver the
// ledger has it before.
func (p *programmer) create(o *Object) (*Record, error) {
	if p.shared == nil {
		return p.createBeside(o, p.objects)
	}
	r, err := p.shared.Foresee(o)
	if err != nil {
		return nil, err
	}
	p.ledger.add(r)
	if err := p.ledger.save(); err != nil {
		return nil, err
	}
	created, err := p.driver.Create(o, p.objects)
	switch {
	case errors.Is(err, ErrRefused):
		p.ledger.drop(r.ID)
	case err != nil: // it exists or not: the next attempt removes it first
		p.objects[o.Key] = &Record{Object: Object{Key: o.Key, Type: o.Type}, ID: r.ID, Previous: r.Previous}
	}
	return created, err
}

// createBeside creates an object that refers to those of existing. The ledger has a record
// of it while its id is unknown, and drops that when it is next written, together with the
// id.
func (p *programmer) createBeside(o *Object, existing map[string]*Record) (*Record, error) {
	if p.finder == nil {
		return p.driver.Create(o, existing)
	}
	if before := p.finder.Before(o); before != nil {
		before.Values = nil
		if err := p.ledger.mark(before); err != nil {
			return nil, err
		}
		p.ledger.drop(before.ID)
	}
	return p.driver.Create(o, existing)
}

// keep records an object that was created.
func (p *programmer) keep(o *Object, r *Record) error {
	p.objects[o.Key] = r
	p.ledger.add(r)
	p.changes.Created++
	// those are found by their table
	if p.finder != nil && o.Type != TypeACLEntry && o.Type != TypeACLCounter {
		return p.ledger.save()
	}
	return p.ledger.saveSome()
}

// remove removes an object and its record.
func (p *programmer) remove(key string) error {
	r := p.objects[key]
	switch err := p.discard(r); {
	case errors.Is(err, ErrHandedOver):
		p.changes.HandedOver++
	case err != nil:
		return err
	default:
		p.changes.Removed++
	}
	delete(p.objects, key)
	p.ledger.forget(r.ID)
	return p.ledger.saveSome()
}

// discard removes the object of a record; one that is gone already is a success.
func (p *programmer) discard(r *Record) error {
	if err := p.driver.Remove(r); err != nil && !errors.Is(err, ErrGone) {
		return fmt.Errorf("remove %s %s: %w", r.Type, r.Key, err)
	}
	return nil
}

// PrefixTrial begins the keys of objects that are created to find out whether the switch
// takes them, and removed at once.
const PrefixTrial = "trial/"

// try finds out whether the switch takes objects beside those that are in force, but for
// optional ones and those that would put them in force. It removes all of them.
func (p *programmer) try(objects []Object) (took bool, err error) {
	made := map[string]*Record{}
	var all []string
	took = true
	for i := range objects {
		o := objects[i]
		if o.Optional || o.Type == TypeSwitchHash {
			continue
		}
		key := o.Key
		o.Key, o.Attrs = PrefixTrial+key, slices.Clone(o.Attrs)
		for i := range o.Attrs {
			o.Attrs[i].Value = strings.ReplaceAll(o.Attrs[i].Value, "@", "@"+PrefixTrial)
		}
		r, err := p.createBeside(&o, made)
		if err != nil {
			took = false
			break
		}
		made[key], p.objects[o.Key] = r, r
		all = append(all, o.Key)
		p.ledger.add(r)
	}
	for _, key := range slices.Backward(all) {
		err = errors.Join(err, p.remove(key))
	}
	return took, errors.Join(err, p.ledger.save())
}

// missing forgets an object that is no longer on the switch.
func (p *programmer) missing(key string) {
	p.ledger.drop(p.objects[key].ID)
	delete(p.objects, key)
}

// checkBindings forgets the bindings that went with their ports.
func (p *programmer) checkBindings() error {
	for key, r := range p.objects {
		if r.Type != TypeBinding {
			continue
		}
		there, err := p.driver.Exists(r)
		if err != nil {
			return fmt.Errorf("look for %s: %w", r.ID, err)
		}
		if !there {
			p.missing(key)
		}
	}
	return nil
}
