// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"fmt"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// redirects reports whether entries can send flows to next hops of Sluice's own. Where SONiC
// creates the objects of routes, a port has its router interface already: those are another
// owner's, and the driver orchagent is the way there.
func (d *Driver) redirects() engine.Ability {
	if d.connected {
		return engine.Ability{Reason: "the next hops of this switch are of SONiC, and by the driver sai Sluice uses its own only"}
	}
	for _, is := range []struct {
		kind saiattr.Kind
		attr *saiattr.Attr
		name string
	}{
		{saiattr.ACLEntry, saiattr.ACLEntryRedirect, "ACL action REDIRECT"},
		{saiattr.ACLEntry, saiattr.ACLEntrySourcePort, "ACL match on the UDP source port"},
		{saiattr.NextHop, saiattr.NextHopAddress, "next hops"},
	} {
		if can, known := d.lib.CanCreate(is.kind, is.attr); !known || !can {
			return engine.Ability{Reason: "the SAI library has no " + is.name}
		}
	}
	return engine.Ability{Can: true, Reason: "the SAI library has ACL action REDIRECT"}
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

// createInterface creates the router interface of a port, in the default virtual router.
func (d *Driver) createInterface(o *engine.Object, r *engine.Record) error {
	name := o.Attr(saiattr.InterfacePort.Name)
	port, known := d.ports[name]
	if !known {
		return fmt.Errorf("%w: %s is no port of the switch", engine.ErrRefused, name)
	}
	router, err := d.lib.GetObject(saiattr.Switch, d.lib.Switch, saiattr.SwitchRouter)
	if err != nil {
		return uncreated(err)
	}
	if router == sai.Null {
		return fmt.Errorf("%w: the switch has no default virtual router", engine.ErrRefused)
	}
	id, err := d.lib.Create(saiattr.Interface, saiattr.InterfaceRouter.Object(uint64(router)), saiattr.InterfaceType.Enum("port"), saiattr.InterfacePort.Object(uint64(port)))
	if err != nil {
		return uncreated(err)
	}
	r.ID = engine.ID(id.String())
	return nil
}
