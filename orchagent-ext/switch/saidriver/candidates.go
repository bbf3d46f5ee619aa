// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// candidates are the objects that may be that of a record. On a switch that others
// program, too, an object is taken only where it is certain whose it is: a process of
// Sluice got its id; it refers to an object that only Sluice knows; or the call that was
// to create it was still under way, and it is the only one of its type that was created
// since. Others that look the same are left, and reported.
func (a *adoption) candidates(kind saiattr.Kind, r *engine.Record) []sai.ObjectID {
	known := maps.Clone(a.flows)
	for _, is := range a.adopted {
		known[is.ID] = true
	}
	var recorded []sai.ObjectID
	for _, c := range a.options.Created {
		if c.Object == kind.Name && !known[engine.ID(c.ID.String())] && a.alike(kind, r, c.ID) {
			recorded = append(recorded, c.ID)
		}
	}
	open := a.options.Creating == kind.Name // its call
	ids, err := a.lib.Objects(kind)
	since := sai.Null // Sluice created none later, but for that one
	if err != nil && a.options.Last != nil {
		since = a.options.Last(kind.Name)
	}
	if err != nil && (!a.options.Connected || !open) && len(recorded) > 0 {
		return recorded
	}
	if err != nil {
		if ids, err = a.neighbors(kind, r); err != nil {
			a.left = append(a.left, fmt.Sprintf("the %s %s, which was being created when sluiced was killed, may be left on the switch: %v", r.Type, r.Key, err))
			return nil
		}
	}
	was := strings.Split(string(r.Previous), ",")
	ids = slices.DeleteFunc(ids, func(id sai.ObjectID) bool {
		return known[engine.ID(id.String())] || slices.Contains(was, id.String()) || slices.Contains(recorded, id)
	})
	later := slices.DeleteFunc(slices.Clone(ids), func(id sai.ObjectID) bool { return id <= since })
	alone := open && len(later) == 1 && (a.lists() || since != sai.Null)
	if alone {
		ids = later
	}
	ids = slices.DeleteFunc(ids, func(id sai.ObjectID) bool {
		return (a.options.Connected || r.Type == engine.TypeHash) && !a.alike(kind, r, id)
	})
	if !a.options.Connected || alone {
		return append(recorded, ids...)
	}
	own := slices.DeleteFunc(slices.Clone(ids), func(id sai.ObjectID) bool { return !a.refersToOwn(kind, r, id) })
	if len(own) == 0 && !slices.ContainsFunc(r.Attrs, refersToAny) {
		for _, id := range ids {
			a.left = append(a.left, fmt.Sprintf("%s %s may be of Sluice, which was killed while it created one, or of another owner: it is left on the switch", r.Type, id))
		}
	}
	return append(recorded, own...)
}

// alike reports whether an object equals its record, in all attributes that can be read.
func (a *adoption) alike(kind saiattr.Kind, r *engine.Record, id sai.ObjectID) bool {
	if r.Type == engine.TypeHash {
		list, err := a.lib.GetNumbers(saiattr.Hash, id, saiattr.HashFields)
		added, ok := saiattr.HashFields.Parse(r.AddedField())
		return err == nil && (ok && slices.Contains(list, uint32(added)) || a.refersToOwn(kind, r, id))
	}
	is := compare(a.lib, kind, id, r, refs{a.adopted})
	return is.same > 0 && is.differs == nil && is.empty == nil
}

// refersToAny reports whether an attribute refers to an object of Sluice.
func refersToAny(a engine.Attr) bool { return strings.HasPrefix(a.Value, "@") }

// refersToOwn reports whether an object refers to the object of Sluice that its record names.
func (a *adoption) refersToOwn(kind saiattr.Kind, r *engine.Record, id sai.ObjectID) bool {
	for _, attr := range r.Attrs {
		of := saiattr.ByName(attr.Name)
		key, refers := strings.CutPrefix(attr.Value, "@")
		if of == nil || !refers || a.adopted[key] == nil {
			continue
		}
		if same, _, known, err := compareOne(a.lib, kind, id, of, attr.Value, refs{a.adopted}); same && known && err == nil {
			return true
		}
	}
	return false
}

// nearby is how many ids before the next one are looked at.
const nearby = 64

// idCount are the bits of an id that are taken for a count. The others are kept: at an id
// of an unknown type or switch a serving process may end.
const idCount = 0xffff

// neighbors are the ids that objects may have which were created since a record was written:
// some before the next one. Libraries that serve several processes count ids up.
func (a *adoption) neighbors(kind saiattr.Kind, r *engine.Record) (ids []sai.ObjectID, err error) {
	if !a.options.Connected {
		return nil, errors.New("the SAI library lists no objects")
	}
	next, known := a.nextID(kind, r)
	if !known {
		return nil, errors.New("the SAI library lists no objects, and does not tell the next id")
	}
	from := next - min(nearby, next&idCount)
	if before, err := sai.ParseObjectID(string(r.Previous)); err == nil && before < next {
		from = max(from, before+1)
	}
	for id := from; id < next; id++ {
		if id != sai.Null {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// nextID is the id of an object as a record has it that is created and removed.
func (a *adoption) nextID(kind saiattr.Kind, r *engine.Record) (id sai.ObjectID, known bool) {
	if !a.options.Connected {
		return sai.Null, false
	}
	var values []saiattr.Value
	for _, attr := range r.Attrs {
		// the library may refuse others
		if field := r.AddedField(); r.Type == engine.TypeHash && attr.Name == saiattr.HashFields.Name {
			if field != "" {
				values = append(values, saiattr.HashFields.Enum(field))
			}
			continue
		}
		if v, ok := valueOf(attr, refs{a.adopted}); ok {
			values = append(values, v)
		}
	}
	id, err := a.lib.Create(kind, values...)
	if err == nil {
		err = a.lib.Remove(kind, id)
	}
	return id, err == nil
}

// valueOf is the value of an attribute of the ledger, where its text has all of it.
func valueOf(attr engine.Attr, at refs) (v saiattr.Value, ok bool) {
	a := saiattr.ByName(attr.Name)
	if a == nil {
		return v, false
	}
	switch a.Form {
	case saiattr.S32s:
		var list []uint64
		for word := range strings.SplitSeq(attr.Value, ",") {
			n, ok := a.Parse(word)
			if !ok {
				return v, false
			}
			list = append(list, n)
		}
		return a.Numbers(list...), true
	case saiattr.OID, saiattr.OIDs:
		id := at.id(strings.TrimPrefix(attr.Value, "@"))
		return a.Object(uint64(id)), id != sai.Null
	case saiattr.Bool, saiattr.U16, saiattr.U32, saiattr.U64, saiattr.S32, saiattr.U8s, saiattr.FieldU8, saiattr.FieldU16, saiattr.FieldU32:
		n, ok := a.Parse(attr.Value)
		return a.As(n, attr.Value), ok
	}
	return v, false
}
