// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"fmt"
	"strings"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// objectKinds are the library's types of objects that have ids.
var objectKinds = map[engine.Type]saiattr.Kind{
	engine.TypeTrapRoute: saiattr.TrapRoute, engine.TypeACLGroup: saiattr.ACLGroup, engine.TypeACLMember: saiattr.ACLMember, engine.TypeACLTable: saiattr.ACLTable, engine.TypeACLCounter: saiattr.ACLCounter, engine.TypeACLEntry: saiattr.ACLEntry,
	engine.TypeSample: saiattr.Sample, engine.TypeUserTrap: saiattr.UserTrap, engine.TypeUDFMatch: saiattr.UDFMatch, engine.TypeUDFGroup: saiattr.UDFGroup,
	engine.TypeUDF: saiattr.UDF, engine.TypeHash: saiattr.Hash, engine.TypePolicer: saiattr.Policer, engine.TypeTrapGroup: saiattr.TrapGroup, engine.TypeInterface: saiattr.Interface, engine.TypeNextHop: saiattr.NextHop,
	engine.TypeHopGroup: saiattr.HopGroup, engine.TypeHopMember: saiattr.HopMember,
}

// objects is the kind of a type whose objects have ids, and attributes alone.
type objects struct {
	lib      *sai.Library
	kind     saiattr.Kind
	adoption *adoption
	noted    func(*engine.Record, sai.ObjectID) // of the part that needs these objects; nil: none
}

func (k *objects) create(o *engine.Object, at refs, r *engine.Record) error {
	values := make([]saiattr.Value, len(o.Values))
	for i := range values {
		values[i] = o.Values[i].Resolve(at.number)
	}
	id, err := k.lib.Create(k.kind, values...)
	if err != nil {
		return err
	}
	k.made(r, id)
	return nil
}

// made completes the record of an object that was created.
func (k *objects) made(r *engine.Record, id sai.ObjectID) {
	r.ID = engine.ID(id.String())
	k.note(r, id)
}

// note passes an object that is on the switch to the part that needs it.
func (k *objects) note(r *engine.Record, id sai.ObjectID) {
	if k.noted != nil {
		k.noted(r, id)
	}
}

func (k *objects) set(r *engine.Record, o *engine.Object, attr string, at refs) error {
	v, known := o.Typed(attr)
	if !known {
		return notInPlace(o, attr)
	}
	id, err := sai.ParseObjectID(string(r.ID))
	if err != nil {
		return err
	}
	return k.lib.Set(k.kind, id, v.Resolve(at.number))
}

func (k *objects) remove(r *engine.Record) error {
	id, err := sai.ParseObjectID(string(r.ID))
	if err != nil {
		return err
	}
	return k.lib.Remove(k.kind, id)
}

func (k *objects) exists(r *engine.Record) bool {
	id, err := sai.ParseObjectID(string(r.ID))
	if err != nil || !k.adoption.isThere(k.kind, id, r) {
		return false
	}
	k.note(r, id)
	k.adoption.note(r)
	return true
}

func (k *objects) before(r *engine.Record) bool { return k.adoption.before(k.kind, r) }

func (k *objects) find(r *engine.Record) bool { return k.adoption.find(k.kind, r) != sai.Null }

func (k *objects) prove(r *engine.Record, at refs) error {
	id, err := sai.ParseObjectID(string(r.ID))
	if err != nil {
		return errUnreadable(r)
	}
	is := compare(k.lib, k.kind, id, r, at)
	if is.same == 0 {
		if counter := at.existing[strings.TrimPrefix(r.Attr(saiattr.ACLEntryCounter.Name), "@")]; counter != nil {
			if packets, _, err := count(k.lib, counter); err == nil && packets > 0 {
				return nil
			}
		}
	}
	return is.verdict()
}

// interfaces is the kind of router interfaces of ports.
type interfaces struct {
	objects
	ports *Ports
}

// create creates the router interface of a port, in the default virtual router.
func (k *interfaces) create(o *engine.Object, _ refs, r *engine.Record) error {
	name := o.Attr(saiattr.InterfacePort.Name)
	port := k.ports.PortID(name)
	if port == sai.Null {
		return fmt.Errorf("%w: %s is no port of the switch", engine.ErrRefused, name)
	}
	router, err := k.lib.GetObject(saiattr.Switch, k.lib.Switch, saiattr.SwitchRouter)
	if err != nil {
		return err
	}
	if router == sai.Null {
		return fmt.Errorf("%w: the switch has no default virtual router", engine.ErrRefused)
	}
	id, err := k.lib.Create(saiattr.Interface, saiattr.InterfaceRouter.Object(uint64(router)), saiattr.InterfaceType.Enum("port"), saiattr.InterfacePort.Object(uint64(port)))
	if err != nil {
		return err
	}
	k.made(r, id)
	return nil
}
