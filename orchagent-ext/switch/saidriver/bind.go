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

// The ids of records of bindings. A port that carries a group of another owner gets the
// table as a member of that group: the member's id, and the port behind a slash.
const (
	prefixBinding = "port:"
	prefixMember  = "member:"
)

// bindings is the kind of the tables that are bound to ports. It has the memberships of
// other owners' groups.
type bindings struct {
	setting
	lib     *sai.Library
	ports   *Ports
	created []sai.Created // by earlier processes
	own     owned
	joined  map[engine.ID]sai.ObjectID // members of other owners' groups, by the ids of bindings
}

// ingressACL reads the table or group that is bound to a port.
func (b *bindings) ingressACL(port sai.ObjectID) (sai.ObjectID, error) {
	return b.lib.GetObject(saiattr.Port, port, saiattr.PortIngressACL)
}

// boundBefore returns the object that is bound to a port, as far as it can be read: some
// libraries set the attribute but cannot read it.
func (b *bindings) boundBefore(port sai.ObjectID) (sai.ObjectID, error) {
	bound, err := b.ingressACL(port)
	if unreadable(err) {
		return sai.Null, nil
	}
	return bound, err
}

// setIngressACL binds a table or group to a port; Null unbinds.
func (b *bindings) setIngressACL(port, to sai.ObjectID) error {
	return b.lib.Set(saiattr.Port, port, saiattr.PortIngressACL.Object(uint64(to)))
}

// create binds a table, or the group that it is in, to a port; a port that carries a group
// of another owner has the table join that.
func (b *bindings) create(o *engine.Object, at refs, r *engine.Record) error {
	port, err := b.ports.find(engine.BoundPort(o))
	if err != nil {
		return err
	}
	key := o.Values[0].Keys[0]
	to := at.id(key)
	was, err := b.boundBefore(port)
	if err != nil {
		return err
	}
	if was == sai.Null || was == to {
		r.ID = engine.ID(prefixBinding + engine.BoundPort(o))
		return b.setIngressACL(port, to)
	}
	if !b.isGroup(was) {
		return fmt.Errorf("%w: port %s has an ingress ACL of another owner, %s, which is no group that a table could join", engine.ErrRefused, engine.BoundPort(o), was)
	}
	return b.join(was, at.id(strings.TrimSuffix(key, engine.SuffixGroup)), engine.BoundPort(o), r)
}

// isGroup reports whether an object is a group of ACL tables.
func (b *bindings) isGroup(id sai.ObjectID) bool {
	_, err := b.lib.Get(saiattr.ACLGroup, id, saiattr.ACLGroupStage)
	return err == nil
}

// join makes a table a member of another owner's group. Ports may share a group.
func (b *bindings) join(group, table sai.ObjectID, port string, r *engine.Record) error {
	member, err := b.memberOf(group, table), error(nil)
	if member == sai.Null {
		member, err = b.lib.Create(saiattr.ACLMember,
			saiattr.ACLMemberGroup.Object(uint64(group)), saiattr.ACLMemberTable.Object(uint64(table)), saiattr.ACLMemberPriority.Of(0))
	}
	if err != nil {
		return err
	}
	r.ID = memberID(member, port)
	b.joined[r.ID] = member
	return nil
}

// memberID returns the id of a membership for the ledger, together with its port.
func memberID(member sai.ObjectID, port string) engine.ID {
	return engine.ID(prefixMember + member.String() + "/" + port)
}

// memberOf returns the id of a table's membership of a group; Null if it is outside, or
// the library cannot read it.
func (b *bindings) memberOf(group, table sai.ObjectID) sai.ObjectID {
	members, _ := b.lib.GetObjects(saiattr.ACLGroup, group, saiattr.ACLGroupMembers)
	for _, m := range members {
		if of, err := b.lib.GetObject(saiattr.ACLMember, m, saiattr.ACLMemberTable); err == nil && of == table {
			return m
		}
	}
	for _, c := range b.created { // the process before may have ended before the ledger had it
		if c.Object != saiattr.ACLMember.Name {
			continue
		}
		in, err := b.lib.GetObject(saiattr.ACLMember, c.ID, saiattr.ACLMemberGroup)
		if of, unread := b.lib.GetObject(saiattr.ACLMember, c.ID, saiattr.ACLMemberTable); err == nil && unread == nil && in == group && of == table {
			return c.ID
		}
	}
	return sai.Null
}

// parseMember parses the text of memberID.
func parseMember(id engine.ID) (member sai.ObjectID, ok bool) {
	text, ok := strings.CutPrefix(string(id), prefixMember)
	if !ok {
		return sai.Null, false
	}
	text, _, _ = strings.Cut(text, "/")
	member, err := sai.ParseObjectID(text)
	return member, err == nil
}

// set binds another of Sluice's tables to a port that has one.
func (b *bindings) set(r *engine.Record, o *engine.Object, _ string, at refs) error {
	if _, joined := parseMember(r.ID); joined {
		return fmt.Errorf("%w: the table of a member of a group does not change in place", engine.ErrRefused)
	}
	port, err := b.ports.find(engine.BoundPort(o))
	if err != nil {
		return err
	}
	bound, err := b.boundBefore(port)
	if err != nil {
		return err
	}
	own := bound == sai.Null
	for key := range r.References {
		own = own || at.id(key) == bound
	}
	if !own {
		return fmt.Errorf("%w: port %s has an ingress ACL of another owner, %s", engine.ErrRefused, engine.BoundPort(o), bound)
	}
	return b.setIngressACL(port, at.id(o.Values[0].Keys[0]))
}

// remove removes a binding. A binding that another owner has made meanwhile stays.
func (b *bindings) remove(r *engine.Record) error {
	if member, joined := parseMember(r.ID); joined {
		delete(b.joined, r.ID)
		for _, other := range b.joined {
			if other == member { // of another port
				return nil
			}
		}
		return b.lib.Remove(saiattr.ACLMember, member)
	}
	name := strings.TrimPrefix(string(r.ID), prefixBinding)
	port, err := b.ports.find(name)
	if err != nil {
		return fmt.Errorf("%w: port %s", engine.ErrGone, name)
	}
	if b.own.another(b.ingressACL(port)) {
		return nil
	}
	return b.setIngressACL(port, sai.Null)
}

// exists reports whether a binding of the ledger is there.
func (b *bindings) exists(r *engine.Record) bool {
	if member, joined := parseMember(r.ID); joined {
		_, err := b.lib.GetObject(saiattr.ACLMember, member, saiattr.ACLMemberTable)
		if there := !errors.Is(err, sai.ErrNotFound); !there {
			return false
		}
		b.joined[r.ID] = member
		return true
	}
	port, err := b.ports.find(strings.TrimPrefix(string(r.ID), prefixBinding))
	if err != nil {
		return false
	}
	bound, err := b.ingressACL(port)
	return unreadable(err) || err == nil && bound != sai.Null // the ledger has the set values
}

// boundTo finds the binding of one of Sluice's tables, or groups, to a port that the
// records lack: by the object that the port carries, or by the members of that. tables
// are their keys.
func (b *bindings) boundTo(name string, port sai.ObjectID, tables map[sai.ObjectID]string) *engine.Record {
	bound, err := b.ingressACL(port)
	if err != nil || bound == sai.Null {
		return nil
	}
	if key := tables[bound]; key != "" {
		return &engine.Record{Object: engine.NewBinding(name, key), ID: engine.ID(prefixBinding + name)}
	}
	if !b.isGroup(bound) {
		return nil
	}
	for table, key := range tables {
		if member := b.memberOf(bound, table); member != sai.Null && !strings.HasSuffix(key, engine.SuffixGroup) {
			id := memberID(member, name)
			b.joined[id] = member
			return &engine.Record{Object: engine.NewBinding(name, key), ID: id}
		}
	}
	return nil
}
