// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"

	"sluice/sai-shim/saiattr"
)

// Step is one change of the objects on the switch.
type Step struct {
	Remove bool `json:"remove"`
	// attributes that change in place; none: the object is created or removed
	Set    []string `json:"set,omitempty"`
	Object Object   `json:"object"`
}

// Plan is the way from the objects on the switch to those of a policy, in order.
type Plan struct {
	First []Step // removals: of objects that are not wanted, or that have to be created again
	Then  []Step // creations and changes in place, each object after those that it refers to
	Last  []Step // removals: of objects that were in use until Then was done
}

// Steps are all steps in order. The slice is the caller's.
func (p Plan) Steps() []Step { return slices.Concat(p.First, p.Then, p.Last) }

// containsKey reports whether a step is for the object of a key.
func containsKey(steps []Step, key string) bool {
	return slices.ContainsFunc(steps, func(s Step) bool { return s.Object.Key == key })
}

// Settable reports whether SAI permits to change an attribute while the object is in use
// (flag CREATE_AND_SET of its headers). It is a subset: those that Sluice changes. It is
// false for a name that SAI lacks. Of rows it is [AttrPolls].
func Settable(attr string) bool {
	a := saiattr.ByName(attr)
	return a != nil && a.InPlace || attr == AttrPolls
}

// AttrPolls is the time between two polls of a group of counters, which syncd changes in place.
const AttrPolls = "POLL_INTERVAL"

// Compare plans the way from the objects on the switch to those of a policy.
// Attributes that settable allows change in place. An object of which another
// attribute changes is created again, and so are those that refer to it. used are
// keys of objects that are in use by more than the plan knows, until Then is done.
func Compare(want []Object, have map[string]*Record, settable func(attr string) bool, used ...string) (Plan, error) {
	c := comparison{want: want, have: have, settable: settable, again: map[string]bool{}}
	if err := c.check(); err != nil {
		return Plan{}, err
	}
	for c.compare() {
	}
	var p Plan
	late := c.inUse(used)
	p.First = removals(have, func(key string) bool { return c.stays[key] || late[key] && !c.wanted[key] })
	p.Last = removals(have, func(key string) bool { return c.stays[key] || !late[key] || c.wanted[key] })
	for i := range want {
		switch key := want[i].Key; {
		case !c.stays[key]:
			p.Then = append(p.Then, Step{Object: want[i]})
		case len(c.changes[key]) > 0:
			p.Then = append(p.Then, Step{Set: c.changes[key], Object: want[i]})
		}
	}
	return p, nil
}

// comparison is the state of Compare.
type comparison struct {
	// want: the objects of the policy, in order; have: those on the switch, by key. Both
	// are read only.
	want     []Object
	have     map[string]*Record
	settable func(attr string) bool

	wanted  map[string]bool
	again   map[string]bool     // objects that have to be created again, whatever they are
	stays   map[string]bool     // objects that are not removed
	changes map[string][]string // attributes of them that are set
}

// check checks that each object is wanted once, after those that it refers to.
func (c *comparison) check() error {
	c.wanted = make(map[string]bool, len(c.want))
	for i := range c.want {
		o := &c.want[i]
		if c.wanted[o.Key] {
			return fmt.Errorf("plan: object %s is wanted twice", o.Key)
		}
		c.wanted[o.Key] = true
		for key := range o.References {
			if !c.wanted[key] {
				return fmt.Errorf("plan: object %s refers to %s, which is not before it", o.Key, key)
			}
		}
	}
	return nil
}

// compare finds which objects stay. It returns true where it has to be called
// again: an object that is set uses, until then, one that has to be created again.
func (c *comparison) compare() (again bool) {
	c.stays, c.changes = make(map[string]bool, len(c.want)), map[string][]string{}
	for i := range c.want {
		o := &c.want[i]
		h := c.have[o.Key]
		if h == nil || c.again[o.Key] {
			continue
		}
		changes, keep := h.changes(o, c.settable)
		for key := range o.References {
			made := c.have[key] == nil && slices.ContainsFunc(changes, func(attr string) bool { return refers(o.Attr(attr), key) })
			keep = keep && (c.stays[key] || made)
		}
		if c.stays[o.Key] = keep; keep {
			c.changes[o.Key] = changes
		}
	}
	for key, changes := range c.changes {
		if len(changes) > 0 && c.needsRemoved(key) {
			c.again[key], again = true, true
		}
	}
	return again
}

// needsRemoved reports whether an object refers, itself or by objects that are to be
// removed, to one that is removed to be created again.
func (c *comparison) needsRemoved(key string) bool {
	for ref := range c.have[key].References {
		switch {
		case c.wanted[ref] && !c.stays[ref]:
			return true
		case !c.wanted[ref] && c.have[ref] != nil && c.needsRemoved(ref):
			return true
		}
	}
	return false
}

// inUse are the objects that are used until Then is done: by objects that are set, by
// objects outside the plan, and by others that are in use.
func (c *comparison) inUse(used []string) map[string]bool {
	late := map[string]bool{}
	queue := slices.Clone(used)
	for key, changes := range c.changes {
		if len(changes) > 0 {
			queue = slices.AppendSeq(queue, c.have[key].References)
		}
	}
	for len(queue) > 0 {
		key := queue[0]
		queue = queue[1:]
		if c.have[key] == nil || late[key] {
			continue
		}
		late[key] = true
		queue = slices.AppendSeq(queue, c.have[key].References)
	}
	return late
}

// removals returns the steps that remove objects: users before the objects that they use,
// else by key.
func removals(have map[string]*Record, stays func(key string) bool) []Step {
	var keys []string
	users := map[string]int{} // of objects that go, by objects that go
	for key := range have {
		if !stays(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		for ref := range have[key].References {
			users[ref]++
		}
	}
	steps := make([]Step, 0, len(keys))
	ready := make([]string, 0, len(keys))
	for _, key := range keys {
		if users[key] == 0 {
			ready = append(ready, key)
		}
	}
	for len(ready) > 0 {
		key := ready[0]
		ready = ready[1:]
		steps = append(steps, Step{Remove: true, Object: have[key].Object})
		for ref := range have[key].References {
			if users[ref]--; users[ref] == 0 && have[ref] != nil && !stays(ref) {
				ready = append(ready, ref)
			}
		}
	}
	return steps
}
