// SPDX-License-Identifier: Apache-2.0

package asic

import (
	"fmt"
	"slices"
)

// Step is one change of what stands on the switch.
type Step struct {
	Remove bool   `json:"remove"`
	Object Object `json:"object"`
}

// Compare returns the steps from what stands to what is wanted: what goes or
// changes is removed first, users before what they use; then the rest is
// created, in the order of want, where an object stands behind those that it
// refers to. An object whose ground is removed is removed and created anew.
func Compare(want []Object, have map[string]*Record) ([]Step, error) {
	stays := make(map[string]bool, len(want))
	seen := make(map[string]bool, len(want))
	for i := range want {
		o := &want[i]
		if seen[o.Key] {
			return nil, fmt.Errorf("plan: object %s is wanted twice", o.Key)
		}
		seen[o.Key] = true
		h := have[o.Key]
		keep := h != nil && o.same(&h.Object)
		for key := range o.refs {
			if !seen[key] {
				return nil, fmt.Errorf("plan: object %s refers to %s, which does not stand before it", o.Key, key)
			}
			keep = keep && stays[key]
		}
		stays[o.Key] = keep
	}
	steps := removals(have, stays)
	for i := range want {
		if !stays[want[i].Key] {
			steps = append(steps, Step{Object: want[i]})
		}
	}
	return steps, nil
}

// removals orders what does not stay: users before what they use, else by key.
func removals(have map[string]*Record, stays map[string]bool) []Step {
	var keys []string
	users := map[string]int{} // of objects that go, by objects that go
	for key := range have {
		if !stays[key] {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		for ref := range have[key].refs {
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
		for ref := range have[key].refs {
			if users[ref]--; users[ref] == 0 && have[ref] != nil && !stays[ref] {
				ready = append(ready, ref)
			}
		}
	}
	return steps
}
