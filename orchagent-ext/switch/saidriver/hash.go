// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// hashUses are the uses of a hash of its own, those that every version of SAI has behind
// those that some have.
var hashUses = []*saiattr.Attr{saiattr.ECMPHashIPv6RDMA, saiattr.ECMPHashIPv6, saiattr.ECMPHashIPv4RDMA, saiattr.ECMPHashIPv4}

// hashUse is the first use of a hash that can be set, by its attribute's name. If the
// library leaves that open for all it is the last one, which every version of SAI has.
func (d *Driver) hashUse(uses ...*saiattr.Attr) (unknown string) {
	for _, u := range uses {
		can, known := d.lib.CanSet(saiattr.Switch, u)
		if can && known {
			return u.Name
		}
		if !known {
			unknown = u.Name
		}
	}
	return unknown
}

// hashUseOf is the use of a hash that has a name.
func hashUseOf(name string) (*saiattr.Attr, error) {
	for _, u := range hashUses {
		if u.Name == name {
			return u, nil
		}
	}
	return nil, fmt.Errorf("%w: the switch takes no hash by %q", engine.ErrRefused, name)
}

// hashOf reads the hash that a use has.
func (d *Driver) hashOf(use *saiattr.Attr) (sai.ObjectID, error) {
	return d.lib.GetObject(saiattr.Switch, d.lib.Switch, use)
}

// putHash gives a use a hash; Null restores the switch's own fields.
func (d *Driver) putHash(use *saiattr.Attr, hash sai.ObjectID) error {
	return d.lib.Set(saiattr.Switch, d.lib.Switch, use.Object(uint64(hash)))
}

// setHash gives a use of the switch Sluice's hash and records the former one.
func (d *Driver) setHash(o *engine.Object, at refs, r *engine.Record) error {
	use, err := hashUseOf(o.Attrs[0].Name)
	if err != nil {
		return err
	}
	hash := at.id(o.Values[0].Keys[0])
	if was, err := d.hashOf(use); err == nil && was != sai.Null && was != hash {
		r.Previous = engine.ID(was.String())
	}
	r.ID = engine.ID(prefixUse + use.Name)
	return d.putHash(use, hash)
}

// resetHash restores the former value of a use of a hash, unless another owner has
// changed it.
func (d *Driver) resetHash(r *engine.Record, name string) error {
	use, err := hashUseOf(name)
	if err != nil {
		return err
	}
	if d.another(d.hashOf(use)) {
		return nil
	}
	was := sai.Null
	if r.Previous != "" {
		if was, err = sai.ParseObjectID(string(r.Previous)); err != nil {
			return err
		}
	}
	return refusal(d.putHash(use, was))
}

// hasUse reports whether the library has a use of a hash. A use that old versions of SAI
// lack must be reported as settable: some libraries end the process when it is read.
func (d *Driver) hasUse(use *saiattr.Attr) bool {
	if use != saiattr.ECMPHashIPv6RDMA && use != saiattr.ECMPHashIPv4RDMA {
		return true
	}
	can, known := d.lib.CanSet(saiattr.Switch, use)
	return can && known
}

// fieldsInForce are the native fields and the UDF groups that ECMP hashes without Sluice,
// as far as the library can read them.
func (d *Driver) fieldsInForce() (fields []uint64, groups []uint64) {
	for _, use := range append(slices.Clone(hashUses), saiattr.ECMPHash) {
		if !d.hasUse(use) {
			continue
		}
		hash, err := d.hashOf(use)
		if err != nil || hash == sai.Null || d.own[hash] {
			continue
		}
		if use == saiattr.ECMPHash && fields != nil {
			break // those of the uses go before it
		}
		list, _ := d.lib.GetNumbers(saiattr.Hash, hash, saiattr.HashFields)
		for _, f := range list {
			if !slices.Contains(fields, uint64(f)) {
				fields = append(fields, uint64(f))
			}
		}
		of, _ := d.lib.GetObjects(saiattr.Hash, hash, saiattr.HashUDFGroups)
		for _, g := range of {
			if !slices.Contains(groups, uint64(g)) {
				groups = append(groups, uint64(g))
			}
		}
	}
	return fields, groups
}

// createHash creates a hash of the fields that ECMP hashes without Sluice, and those that
// the object adds. Where the library refuses that, it gets the fields that it takes, one
// by one. The record has the fields of the hash.
func (d *Driver) createHash(o *engine.Object, at refs, r *engine.Record) error {
	base, groups := d.fieldsInForce()
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
		return d.lib.Create(saiattr.Hash, values...)
	}
	fields := slices.Concat(base, must)
	id, err := create(fields)
	if err != nil {
		if id, fields, err = d.growHash(create, base, must); err != nil {
			return err
		}
	}
	for i := range r.Attrs {
		if r.Attrs[i].Name == saiattr.HashFields.Name {
			r.Attrs[i].Value = saiattr.HashFields.Numbers(fields...).Text
		}
	}
	r.ID = engine.ID(id.String())
	d.know(r, id)
	d.fields[fieldsKey(o)] = saiattr.HashFields.Numbers(fields...).Text // also where it refused ports
	return nil
}

// fieldsKey is the key of a hash in [Driver.fields].
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

// growHash creates the hash of the most fields that the library takes besides those that
// it must have. There is one hash at a time: a hash that the library does not remove is used
// as it is, since one that is left refers to the UDF groups for good.
func (d *Driver) growHash(create func([]uint64) (sai.ObjectID, error), base, must []uint64) (sai.ObjectID, []uint64, error) {
	id, err := create(must)
	if err != nil {
		return sai.Null, nil, err
	}
	fields := must
	for _, f := range base {
		more := append(slices.Clone(fields[:len(fields)-len(must)]), f)
		more = append(more, must...)
		if d.lib.Remove(saiattr.Hash, id) != nil {
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
func (d *Driver) readFields(r *engine.Record, hash sai.ObjectID) {
	list, err := d.lib.GetNumbers(saiattr.Hash, hash, saiattr.HashFields)
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

// rememberFields notes the fields of a hash, so that the policy wants them the next time.
func (d *Driver) rememberFields(r *engine.Record) {
	d.fields[fieldsKey(&r.Object)] = r.Attr(saiattr.HashFields.Name)
}

// withFields has the hashes among objects have the fields that they got before.
func (d *Driver) withFields(objects []engine.Object) []engine.Object {
	for i := range objects {
		o := &objects[i]
		fields := d.fields[fieldsKey(o)]
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

// prefixList begins the id of the default hash, to whose list of fields one was added.
const prefixList = "list:"

// defaultHash is the hash whose list can be set, with that list.
func (d *Driver) defaultHash() (sai.ObjectID, []uint64, error) {
	hash, err := d.hashOf(saiattr.ECMPHash)
	if err == nil && hash == sai.Null {
		err = fmt.Errorf("%w: %s is none", engine.ErrRefused, saiattr.ECMPHash.Name)
	}
	if err != nil {
		return sai.Null, nil, err
	}
	list, err := d.lib.GetNumbers(saiattr.Hash, hash, saiattr.HashFields)
	return hash, wide(list), err
}

// extendList adds a field to the list of the default hash.
func (d *Driver) extendList(o *engine.Object, r *engine.Record) error {
	hash, fields, err := d.defaultHash()
	if err != nil {
		return err
	}
	r.Previous = listBefore(fields)
	r.ID = engine.ID(prefixList + hash.String())
	field := saiattr.HashFields.Enum(o.Attrs[0].Value).List[0]
	if slices.Contains(fields, field) { // of another owner: it stays
		r.Previous = ""
		return nil
	}
	return d.lib.Set(saiattr.Hash, hash, saiattr.HashFields.Numbers(append(fields, field)...))
}

// listBefore is the Previous of a list of fields.
func listBefore(fields []uint64) engine.ID {
	return engine.ID(cmp.Or(saiattr.HashFields.Numbers(fields...).Text, noFields))
}

// listHas reports whether the list of the default hash has the field of a record. If the
// list is unreadable the ledger decides.
func (d *Driver) listHas(r *engine.Record) bool {
	_, fields, err := d.defaultHash()
	added, _ := saiattr.HashFields.Parse(r.Attrs[0].Value)
	return err != nil || slices.Contains(fields, added)
}

// findList completes a record that was written before a field was added to the list.
func (d *Driver) findList(r *engine.Record) bool {
	hash, fields, err := d.defaultHash()
	added, _ := saiattr.HashFields.Parse(r.Attrs[0].Value)
	if err != nil || !slices.Contains(fields, added) {
		return false
	}
	r.ID = engine.ID(prefixList + hash.String())
	if slices.Contains(strings.Split(string(r.Previous), ","), r.Attrs[0].Value) {
		r.Previous = "" // another owner had added it
	}
	return true
}

// noFields is the Previous of a list that was empty; "" is that of one that had the field.
const noFields = "none"

// resetList sets the list back as it was; where another owner has changed it meanwhile,
// Sluice's field alone is taken out.
func (d *Driver) resetList(r *engine.Record) error {
	hash, fields, err := d.defaultHash()
	if r.Previous == "" {
		return nil
	}
	var was []uint64
	for word := range strings.SplitSeq(string(r.Previous), ",") {
		if n, ok := saiattr.HashFields.Parse(word); ok {
			was = append(was, n)
		}
	}
	added, _ := saiattr.HashFields.Parse(r.Attrs[0].Value)
	switch {
	case hash == sai.Null:
		return refusal(err)
	case err == nil && !slices.Equal(fields, append(slices.Clone(was), added)):
		if !slices.Contains(fields, added) {
			return nil
		}
		was = slices.DeleteFunc(fields, func(f uint64) bool { return f == added })
	}
	return refusal(d.lib.Set(saiattr.Hash, hash, saiattr.HashFields.Numbers(was...)))
}

// proveList reads the list of the default hash back.
func (d *Driver) proveList(r *engine.Record) error {
	_, fields, err := d.defaultHash()
	added, _ := saiattr.HashFields.Parse(r.Attrs[0].Value)
	var is readBack
	is.add(slices.Contains(fields, added), len(fields) == 0, fmt.Errorf("%s of the default hash lacks %s", saiattr.HashFields.Name, r.Attrs[0].Value), err)
	return is.verdict()
}
