// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"slices"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// hashes has the hashes of Sluice, and the fields that each got.
type hashes struct {
	lib    *sai.Library
	own    owned
	fields map[string]string // of hashes, by the field that Sluice added
}

// hashObjects is the kind of hashes.
type hashObjects struct {
	objects
	hashes *hashes
}

func (k *hashObjects) create(o *engine.Object, at refs, r *engine.Record) error {
	r.Attrs = slices.Clone(r.Attrs)
	return k.hashes.create(o, at, r)
}

func (k *hashObjects) find(r *engine.Record) bool {
	id := k.adoption.find(k.kind, r)
	if id != sai.Null {
		k.hashes.readFields(r, id)
	}
	return id != sai.Null
}

// fieldsInForce are the native fields and the UDF groups that ECMP hashes without Sluice,
// as far as the library can read them.
func (h *hashes) fieldsInForce() (fields []uint64, groups []uint64) {
	for _, use := range append(slices.Clone(everyUse), saiattr.ECMPHash) {
		if !hasUse(h.lib, use) {
			continue
		}
		hash, err := hashOf(h.lib, use)
		if err != nil || hash == sai.Null || h.own[hash] {
			continue
		}
		if use == saiattr.ECMPHash && fields != nil {
			break // those of the uses go before it
		}
		list, _ := h.lib.GetNumbers(saiattr.Hash, hash, saiattr.HashFields)
		for _, f := range list {
			if !slices.Contains(fields, uint64(f)) {
				fields = append(fields, uint64(f))
			}
		}
		of, _ := h.lib.GetObjects(saiattr.Hash, hash, saiattr.HashUDFGroups)
		for _, g := range of {
			if !slices.Contains(groups, uint64(g)) {
				groups = append(groups, uint64(g))
			}
		}
	}
	return fields, groups
}

// create creates a hash of the fields that ECMP hashes without Sluice, and those that
// the object adds. Where the library refuses that, it gets the fields that it takes, one
// by one. The record has the fields of the hash.
func (h *hashes) create(o *engine.Object, at refs, r *engine.Record) error {
	base, groups := h.fieldsInForce()
	if base == nil {
		base = saiattr.HashFields.Enum(engine.FiveTuple...).List
	}
	var must []uint64
	if field := o.AddedField(); field != "" {
		must = saiattr.HashFields.Enum(field).List
		base = slices.DeleteFunc(base, func(f uint64) bool { return f == must[0] })
		if field == engine.HashLabel {
			base = withPorts(base, o.HashesPorts())
		}
	}
	for _, v := range o.Values {
		if v.Attr == saiattr.HashUDFGroups {
			groups = append(groups, v.Resolve(at.number).List...)
		}
	}
	create := func(fields []uint64) (sai.ObjectID, error) {
		values := []saiattr.Value{saiattr.HashFields.Numbers(fields...)}
		if len(groups) > 0 {
			values = append(values, saiattr.HashUDFGroups.Object(groups...))
		}
		return h.lib.Create(saiattr.Hash, values...)
	}
	fields := slices.Concat(base, must)
	id, err := create(fields)
	if err != nil {
		if id, fields, err = h.grow(create, base, must); err != nil {
			return err
		}
	}
	for i := range r.Attrs {
		if r.Attrs[i].Name == saiattr.HashFields.Name {
			r.Attrs[i].Value = saiattr.HashFields.Numbers(fields...).Text
		}
	}
	r.ID = engine.ID(id.String())
	h.note(r, id)
	h.fields[fieldsKey(o)] = saiattr.HashFields.Numbers(fields...).Text // also where it refused ports
	return nil
}

// fieldsKey is the key of a hash in [hashes.fields].
func fieldsKey(o *engine.Object) string {
	if field := o.AddedField(); field != engine.HashLabel || o.HashesPorts() {
		return field
	}
	return engine.HashLabel + " alone"
}

// withPorts returns fields with those of ports, or without: beside a label ECMP hashes ports also where it
// hashed none before, as the kernel by default.
func withPorts(fields []uint64, wanted bool) []uint64 {
	ports := saiattr.HashFields.Enum(engine.Ports...).List
	all := slices.DeleteFunc(fields, func(f uint64) bool { return !wanted && slices.Contains(ports, f) })
	for _, f := range ports {
		if wanted && !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all
}

// grow creates the hash of the most fields that the library takes besides those that
// it must have. There is one hash at a time: a hash that the library does not remove is used
// as it is, since one that is left refers to the UDF groups for good.
func (h *hashes) grow(create func([]uint64) (sai.ObjectID, error), base, must []uint64) (sai.ObjectID, []uint64, error) {
	id, err := create(must)
	if err != nil {
		return sai.Null, nil, err
	}
	fields := must
	for _, f := range base {
		more := append(slices.Clone(fields[:len(fields)-len(must)]), f)
		more = append(more, must...)
		if h.lib.Remove(saiattr.Hash, id) != nil {
			break
		}
		if id, err = create(more); err == nil {
			fields = more
		} else if id, err = create(fields); err != nil {
			return sai.Null, nil, err
		}
	}
	return id, fields, nil
}

// readFields writes the fields that the library took to a record.
func (h *hashes) readFields(r *engine.Record, hash sai.ObjectID) {
	list, err := h.lib.GetNumbers(saiattr.Hash, hash, saiattr.HashFields)
	if err != nil {
		return
	}
	isFields := func(a engine.Attr) bool { return a.Name == saiattr.HashFields.Name }
	if len(list) == 0 { // the process was killed before it added the first one
		r.Attrs = slices.DeleteFunc(r.Attrs, isFields)
	} else if i := slices.IndexFunc(r.Attrs, isFields); i >= 0 {
		r.Attrs[i].Value = saiattr.HashFields.Numbers(wide(list)...).Text
	}
}

// wide returns 32-bit numbers as 64-bit ones.
func wide(list []uint32) []uint64 {
	all := make([]uint64, len(list))
	for i, n := range list {
		all[i] = uint64(n)
	}
	return all
}

// note records a hash that is on the switch. The policy wants its fields the next time.
func (h *hashes) note(r *engine.Record, id sai.ObjectID) {
	h.own.note(r, id)
	h.fields[fieldsKey(&r.Object)] = r.Attr(saiattr.HashFields.Name)
}

// withFields has the hashes among objects have the fields that they got before.
func (h *hashes) withFields(objects []engine.Object) []engine.Object {
	for i := range objects {
		o := &objects[i]
		fields := h.fields[fieldsKey(o)]
		if o.Type != engine.TypeHash || fields == "" {
			continue
		}
		o.Attrs = slices.Clone(o.Attrs)
		for k := range o.Attrs {
			if o.Attrs[k].Name == saiattr.HashFields.Name {
				o.Attrs[k].Value = fields
			}
		}
	}
	return objects
}
