// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strings"
)

// fakeSwitch is a driver whose switch is a map.
type fakeSwitch struct {
	can     map[Method]Ability
	polices bool
	uses    *Features        // switch attributes that take a hash; nil: some
	refuse  map[Type]error   // by type
	fixed   map[string]error // by attribute: it does not change in place
	full    int              // objects that it has room for; 0: any number
	there   map[ID]*Record
	next    int
	calls   []string
}

func newFakeSwitch() *fakeSwitch {
	return &fakeSwitch{can: map[Method]Ability{Compute: {Can: true}, Rewrite: {Can: true}, Hash: {Can: true}, UDFHash: {Can: true}, Sample: {Can: true}}, refuse: map[Type]error{}, there: map[ID]*Record{}}
}

func (f *fakeSwitch) Probe() (Abilities, Features, error) {
	a := Abilities{}
	for m, can := range f.can {
		for _, n := range Needs() {
			if n.Check(m) == nil {
				a.Set(n, m, can)
			}
		}
	}
	features := Features{HashIPv6: "HASH6", HashRDMAIPv6: "RDMA6", HashRDMAIPv4: "RDMA4"}
	if f.uses != nil {
		features = *f.uses
	}
	features.PoliceCPU, features.Protocol = f.polices, true
	return a, features, nil
}

func (f *fakeSwitch) Objects(p Policy, c Choices, features Features) []Object {
	return Objects(p, c, features)
}

func (f *fakeSwitch) Create(o *Object, existing map[string]*Record) (*Record, error) {
	for key := range o.References {
		if r := existing[key]; r == nil || f.there[r.ID] == nil {
			return nil, fmt.Errorf("%s refers to %s, which is not there", o.Key, key)
		}
	}
	if err := f.refuse[o.Type]; err != nil {
		return nil, err
	}
	if f.full > 0 && len(f.there) >= f.full {
		return nil, fmt.Errorf("%w: table full", ErrRefused)
	}
	f.next++
	r := &Record{Object: *o, ID: ID(fmt.Sprintf("oid:%#x", f.next))}
	f.there[r.ID] = r
	f.calls = append(f.calls, "create "+o.Key)
	return r, nil
}

func (f *fakeSwitch) Remove(r *Record) error {
	for _, other := range f.there {
		for key := range other.References {
			if key == r.Key {
				return fmt.Errorf("%s is used by %s", r.Key, other.Key)
			}
		}
	}
	if f.there[r.ID] == nil {
		return ErrGone
	}
	delete(f.there, r.ID)
	f.calls = append(f.calls, "remove "+r.Key)
	return nil
}

func (f *fakeSwitch) Set(r *Record, o *Object, attr string, existing map[string]*Record) error {
	if err := f.fixed[attr]; err != nil {
		return err
	}
	is := f.there[r.ID]
	if is == nil {
		return ErrGone
	}
	to, there := o.Value(attr)
	for _, key := range strings.Split(to, ",") {
		if key, ok := strings.CutPrefix(key, "@"); ok && (existing[key] == nil || f.there[existing[key].ID] == nil) {
			return fmt.Errorf("%s is to refer to %s, which is not there", o.Key, key)
		}
	}
	now := *is
	now.Attrs = slices.DeleteFunc(slices.Clone(is.Attrs), func(a Attr) bool { return a.Name == attr })
	if there {
		now.Attrs = append(now.Attrs, Attr{attr, to})
	}
	f.there[r.ID] = &now
	f.calls = append(f.calls, "set "+o.Key+" "+attr)
	return nil
}

func (f *fakeSwitch) Exists(r *Record) (bool, error) { return f.there[r.ID] != nil, nil }

func (f *fakeSwitch) Strays(known map[string]*Record, flows map[ID]bool) (n int, err error) {
	for id, r := range f.there {
		if k := known[r.Key]; !flows[id] && (k == nil || k.ID != id) {
			delete(f.there, id)
			n++
		}
	}
	return n, nil
}

// keys are the objects on the switch.
func (f *fakeSwitch) keys() []string {
	var keys []string
	for _, r := range f.there {
		keys = append(keys, r.Key)
	}
	slices.Sort(keys)
	return keys
}

func (f *fakeSwitch) has(prefix string) (n int) {
	for _, k := range f.keys() {
		if strings.HasPrefix(k, prefix) {
			n++
		}
	}
	return n
}

// fakeLedger keeps rows as Redis would: as text.
type fakeLedger struct {
	rows map[ID]map[string]string
	err  error
}

func (l *fakeLedger) Load() (all []*Record, err error) {
	for id, fields := range l.rows {
		r, err := ParseRecord(id, fields)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, l.err
}

func (l *fakeLedger) Save(records []*Record, gone []ID) error {
	if l.err != nil {
		return l.err
	}
	if l.rows == nil {
		l.rows = map[ID]map[string]string{}
	}
	for _, id := range gone {
		delete(l.rows, id)
	}
	for _, r := range records {
		l.rows[r.ID] = r.Fields()
	}
	return nil
}
