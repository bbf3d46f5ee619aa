// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"errors"
	"fmt"
	"strings"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// Audit implements [engine.Auditor]. Objects of the software switch are this process's alone, and it audits
// the kernel below them itself.
func (d *Driver) Audit(r *engine.Record, existing map[string]*engine.Record) engine.Loss {
	if k, known := d.kinds[r.Type]; known && !d.offers.kernel {
		return k.audit(r, refs{existing})
	}
	return engine.Loss{}
}

// gone is the loss of an object that the library does not know any more.
var gone = engine.Loss{Fault: "it is gone"}

// another is the loss by an object of another owner in the place of Sluice's.
func another(what string, id sai.ObjectID) engine.Loss {
	return engine.Loss{Fault: fmt.Sprintf("another owner's %s is %s", what, id), Another: true}
}

func (k *objects) audit(r *engine.Record, at refs) engine.Loss {
	id, err := sai.ParseObjectID(string(r.ID))
	if err != nil {
		return engine.Loss{}
	}
	is := compare(k.lib, k.kind, id, r, at)
	switch {
	case is.differs != nil:
		return engine.Loss{Fault: is.differs.Error(), Attr: is.differing}
	case is.same > 0 && is.empty != nil:
		return engine.Loss{Fault: is.empty.Error(), Attr: is.differing}
	case is == readBack{}: // it has nothing to compare
		_, is.unread = k.lib.Get(k.kind, id, k.kind.Always)
	}
	if is.same == 0 && is.empty == nil && errors.Is(is.unread, sai.ErrNotFound) {
		return gone
	}
	return engine.Loss{}
}

func (b *bindings) audit(r *engine.Record, at refs) engine.Loss {
	name := strings.TrimPrefix(string(r.ID), prefixBinding)
	member, joined := parseMember(r.ID)
	if joined {
		name = engine.BoundPort(&r.Object)
	}
	port, err := b.ports.find(name)
	if err != nil {
		return engine.Loss{} // a port that went is another matter
	}
	bound, err := b.ingressACL(port)
	switch {
	case err != nil:
		return engine.Loss{}
	case bound == sai.Null:
		return engine.Loss{Fault: "nothing is bound to the port"}
	case joined:
		group, err := b.lib.GetObject(saiattr.ACLMember, member, saiattr.ACLMemberGroup)
		if errors.Is(err, sai.ErrNotFound) {
			return engine.Loss{Fault: "the table has left the group of the port"}
		}
		if err == nil && group != bound {
			return another(saiattr.PortIngressACL.Name, bound)
		}
		return engine.Loss{}
	}
	for key := range r.References {
		if at.id(key) == bound {
			return engine.Loss{}
		}
	}
	return another(saiattr.PortIngressACL.Name, bound)
}

func (k *hashUses) audit(r *engine.Record, at refs) engine.Loss {
	hash, err := k.now(r)
	switch {
	case err != nil:
		return engine.Loss{}
	case hash == sai.Null:
		return gone
	case k.own.another(hash, nil):
		return another(r.Attrs[0].Name, hash)
	}
	return engine.Loss{}
}

func (k *hashList) audit(r *engine.Record, _ refs) engine.Loss {
	if _, _, err := k.now(); err == nil && !k.exists(r) {
		return gone
	}
	return engine.Loss{}
}

func (s *seed) audit(r *engine.Record, _ refs) engine.Loss {
	now, err := s.lib.Get(saiattr.Switch, s.lib.Switch, saiattr.SwitchHashSeed)
	want := r.Attr(saiattr.SwitchHashSeed.Name)
	if is := saiattr.SwitchHashSeed.Of(uint64(uint32(now))).Text; err == nil && is != want {
		return engine.Loss{Fault: fmt.Sprintf("it is %s, set was %s", is, want), Attr: saiattr.SwitchHashSeed.Name}
	}
	return engine.Loss{}
}
