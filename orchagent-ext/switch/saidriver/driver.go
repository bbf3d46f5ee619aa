// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"fmt"
	"strings"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// Driver is the driver that calls a SAI library: it passes each call of the engine to the
// part that has the state for it. It is for one goroutine, but for the methods of its parts
// that name others.
type Driver struct {
	Ports *Ports // of the switch
	CPU   *CPU   // packets to it

	lib      *sai.Library
	offers   prober
	kinds    map[engine.Type]kind
	hashes   *hashes
	adoption *adoption
	strays   strays
}

// Options are how a switch is used.
type Options struct {
	// Connected: other processes create objects on the switch, too. The driver then leaves
	// out the search for objects outside Sluice's tables: they could be theirs.
	Connected bool

	// Kernel: the switch is the Linux kernel, as [engine.Features] has it.
	Kernel bool

	// Created are the objects that earlier processes created last, as far as is known.
	Created []sai.Created

	// Creating is the type, as [sai.Call] has it, of the object that the process before was
	// creating when it ended: the call was under way. "" if it is unknown.
	Creating string

	// Last returns the object of a type that a process of Sluice created last, removed or
	// there; Null for an unknown one. A nil Last knows none.
	Last func(object string) sai.ObjectID
}

// New returns a driver for an open library whose switch was created. The driver closes
// the library by [Driver.Close]. [Ports.Set] comes before the first policy.
func New(lib *sai.Library, o Options) *Driver {
	own := owned{}
	d := &Driver{
		Ports: &Ports{lib: lib, kernel: o.Kernel, queues: map[sai.ObjectID][]sai.ObjectID{}}, CPU: &CPU{lib: lib},
		lib: lib, hashes: &hashes{lib: lib, own: own, fields: map[string]string{}},
		adoption: &adoption{lib: lib, options: o, own: own, adopted: map[string]*engine.Record{}, flows: map[engine.ID]bool{}},
	}
	bindings := &bindings{lib: lib, ports: d.Ports, created: o.Created, own: own, joined: map[engine.ID]sai.ObjectID{}}
	d.offers = prober{lib: lib, ports: d.Ports, connected: o.Connected, kernel: o.Kernel}
	d.strays = strays{lib: lib, ports: d.Ports, bindings: bindings}
	d.kinds = d.newKinds(bindings, own)
	return d
}

// newKinds returns the kinds of all types that the driver creates.
func (d *Driver) newKinds(bindings *bindings, own owned) map[engine.Type]kind {
	all := map[engine.Type]kind{
		engine.TypeBinding:    bindings,
		engine.TypeSwitchHash: &hashUses{lib: d.lib, own: own},
		engine.TypeHashList:   &hashList{lib: d.lib},
		engine.TypeSwitchSeed: &seed{lib: d.lib},
	}
	for t, k := range objectKinds {
		all[t] = &objects{lib: d.lib, kind: k, adoption: d.adoption, noted: userOf(t, d.CPU, own)}
	}
	all[engine.TypeHash] = &hashObjects{objects{lib: d.lib, kind: saiattr.Hash, adoption: d.adoption, noted: d.hashes.note}, d.hashes}
	all[engine.TypeInterface] = &interfaces{objects{lib: d.lib, kind: saiattr.Interface, adoption: d.adoption}, d.Ports}
	return all
}

// userOf returns the method of the part that needs the objects of a type; nil: none does.
func userOf(t engine.Type, cpu *CPU, own owned) func(*engine.Record, sai.ObjectID) {
	switch t {
	case engine.TypeACLTable, engine.TypeACLGroup:
		return own.note
	case engine.TypeUserTrap, engine.TypePolicer:
		return cpu.note
	}
	return nil
}

// Probe implements [engine.Driver]. Abilities that the library leaves open are tried.
func (d *Driver) Probe() (engine.Abilities, engine.Features, error) {
	a, f := d.offers.probe()
	return a, f, nil
}

// Objects implements [engine.Driver]: those of [engine.Objects], hashes with the fields
// that they got before.
func (d *Driver) Objects(p engine.Policy, c engine.Choices, f engine.Features) []engine.Object {
	return d.hashes.withFields(engine.Objects(p, c, f))
}

// Create implements [engine.Driver]. A refusal of the library wraps [engine.ErrRefused];
// any other answer is [engine.ErrFailing], since the engine tries again before it
// believes it.
func (d *Driver) Create(o *engine.Object, existing map[string]*engine.Record) (*engine.Record, error) {
	k, known := d.kinds[o.Type]
	if !known {
		return nil, fmt.Errorf("create %s: no such object type", o.Type)
	}
	r := &engine.Record{Object: *o}
	r.Values = nil
	if err := k.create(o, refs{existing}, r); err != nil {
		return nil, uncreated(err)
	}
	return r, nil
}

// Set implements [engine.Setter]. The errors are those of Create.
func (d *Driver) Set(r *engine.Record, o *engine.Object, attr string, existing map[string]*engine.Record) error {
	k, known := d.kinds[o.Type]
	if !known {
		return fmt.Errorf("set %s of %s: no such object type", attr, o.Type)
	}
	return uncreated(k.set(r, o, attr, refs{existing}))
}

// Remove implements [engine.Driver]. A binding or a hash that another owner has changed meanwhile
// stays.
func (d *Driver) Remove(r *engine.Record) error {
	k, known := d.kinds[r.Type]
	if !known {
		return fmt.Errorf("remove %s: no such object type", r.Type)
	}
	return refusal(k.remove(r))
}

// Exists implements [engine.Driver]. An id that was unknown is filled in. A library that
// cannot read is believed: the object counts as there.
func (d *Driver) Exists(r *engine.Record) (bool, error) {
	k, known := d.kinds[r.Type]
	if !known || strings.HasPrefix(string(r.ID), engine.PrefixUnknown) && !k.find(r) {
		return false, nil
	}
	return k.exists(r), nil
}

// Strays implements [engine.Driver]: entries, counters and bindings of Sluice's tables
// that the records lack.
func (d *Driver) Strays(existing map[string]*engine.Record, flows map[engine.ID]bool) (n int, err error) {
	return d.strays.take(existing, flows)
}

// Before implements [engine.Finder]. Entries, counters and bindings are found by their
// table. With a library that cannot list objects they have a record, too, by which the
// next process knows that objects may be left.
func (d *Driver) Before(o *engine.Object) *engine.Record {
	r := &engine.Record{Object: *o, ID: engine.ID(engine.PrefixUnknown + o.Key)}
	if k, known := d.kinds[o.Type]; !known || !k.before(r) {
		return nil
	}
	return r
}

// Lists implements [engine.Finder]: the library lists objects, so that objects whose id
// the ledger lacks are found by their attributes.
func (d *Driver) Lists() bool { return d.adoption.lists() }

// Left implements [engine.Finder]. A switch of Sluice's own that began cold is empty. The
// texts are for the operator, who decides on them.
func (d *Driver) Left() []string { return d.adoption.uncertain() }

// Prove implements [engine.Prover]: it reads back the attributes that the library took.
// An unreadable object is proven by its counter, once that has counted packets.
func (d *Driver) Prove(r *engine.Record, existing map[string]*engine.Record) error {
	k, known := d.kinds[r.Type]
	if !known {
		return errUnreadable(r)
	}
	return k.prove(r, refs{existing})
}

// Flows returns the library, by which single flows are watched and held where
// [Driver.Probe] reports the ability. Its settings are apart from the engine's objects:
// the caller that makes them takes them back.
func (d *Driver) Flows() *sai.Library { return d.lib }

// Count reads an ACL counter. The error is [engine.ErrGone] for a counter that was
// removed, [engine.ErrRefused] where the library does not count.
func (d *Driver) Count(counter *engine.Record) (packets, octets uint64, err error) {
	return count(d.lib, counter)
}

// Room returns how many more entries a table may have, as the library reports. table is
// the id in the record. It is SAI_ACL_TABLE_ATTR_AVAILABLE_ACL_ENTRY (saiacl.h).
func (d *Driver) Room(table engine.ID) (uint64, error) {
	id, err := sai.ParseObjectID(string(table))
	if err != nil {
		return 0, err
	}
	return d.lib.Get(saiattr.ACLTable, id, saiattr.ACLTableRoom)
}

// LeaveWarm has the library prepare a warm restart: it is closed next. It sets
// SAI_SWITCH_ATTR_RESTART_WARM (saiswitch.h); a library that lacks it answers
// [sai.ErrNotSupported].
func (d *Driver) LeaveWarm() error {
	return d.lib.Set(saiattr.Switch, d.lib.Switch, saiattr.SwitchRestartWarm.Is(true))
}

// Close closes the library. The objects stay on the switch, as far as the library
// keeps them.
func (d *Driver) Close() error { return d.lib.Close() }
