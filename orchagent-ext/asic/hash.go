// SPDX-License-Identifier: Apache-2.0

package asic

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// hashUses are the uses of a hash of its own, those that every version of SAI has behind
// those that some have.
var hashUses = []*saiattr.Attr{saiattr.ECMPHashIPv6RDMA, saiattr.ECMPHashIPv6, saiattr.ECMPHashIPv4RDMA, saiattr.ECMPHashIPv4}

// hashUse is the first use of a hash that can be set, by its attribute's name. Of those of
// which the library does not say so it is the last one, which every version of SAI has.
func (d *SAI) hashUse(uses ...*saiattr.Attr) (unknown string) {
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
	return nil, fmt.Errorf("%w: the switch takes no hash by %q", ErrRefused, name)
}

// withoutHash are the features less the use of a hash that was refused: the hash of all
// packets serves, and at last the list of the default hash.
func (f Features) withoutHash(o *Object) (less Features, lack string) {
	if f.HashList {
		return f, ""
	}
	if o.Type == TypeSwitchHash {
		for rdma, all := range map[*saiattr.Attr]*saiattr.Attr{saiattr.ECMPHashIPv6RDMA: saiattr.ECMPHashIPv6, saiattr.ECMPHashIPv4RDMA: saiattr.ECMPHashIPv4} {
			if o.Attrs[0].Name != rdma.Name {
				continue
			}
			for _, use := range []*string{&f.HashIPv6, &f.HashRDMAIPv6, &f.HashRDMAIPv4} {
				if *use == rdma.Name {
					*use = all.Name
				}
			}
			return f, "a hash for RDMA packets alone"
		}
		if o.Attrs[0].Name == saiattr.ECMPHashIPv4.Name {
			return f, ""
		}
	}
	f.HashList = true
	return f, "a hash of its own"
}

func (d *SAI) hashOf(use *saiattr.Attr) (sai.ObjectID, error) {
	return d.lib.GetObject(saiattr.Switch, d.lib.Switch, use)
}

func (d *SAI) putHash(use *saiattr.Attr, hash sai.ObjectID) error {
	return d.lib.Set(saiattr.Switch, d.lib.Switch, use.Object(uint64(hash)))
}

func (d *SAI) setHash(o *Object, at refs, r *Record) error {
	use, err := hashUseOf(o.Attrs[0].Name)
	if err != nil {
		return err
	}
	hash := at.id(o.values[0].Keys[0])
	if was, err := d.hashOf(use); err == nil && was != sai.Null && was != hash {
		r.Previous = ID(was.String())
	}
	r.ID = ID(prefixUse + use.Name)
	return d.putHash(use, hash)
}

// resetHash sets back what a use of a hash was before, unless another owner has changed it.
func (d *SAI) resetHash(r *Record, name string) error {
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

// added is the native field that Sluice adds to a list of hash fields, the last one; "":
// none, the hash has a UDF group.
func (o *Object) added() string {
	fields := strings.Split(o.Attr(saiattr.HashFields.Name), ",")
	if last := fields[len(fields)-1]; o.Attr(saiattr.HashUDFGroups.Name) == "" && (last == hashLabel || last == hashDestQP) {
		return last
	}
	return ""
}

// hasUse says whether the library has a use of a hash. One that not every version of SAI has
// is there where the library says that it can be set: others end the process when it is read.
func (d *SAI) hasUse(use *saiattr.Attr) bool {
	if use != saiattr.ECMPHashIPv6RDMA && use != saiattr.ECMPHashIPv4RDMA {
		return true
	}
	can, known := d.lib.CanSet(saiattr.Switch, use)
	return can && known
}

// fieldsInForce are the native fields and the UDF groups that ECMP hashes without Sluice,
// as far as the library tells; "": it does not.
func (d *SAI) fieldsInForce() (fields []uint64, groups []uint64) {
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

// createHash creates a hash that has what ECMP hashes without Sluice, and what the object
// adds. Where the library refuses that, it gets the fields that it takes, one by one. The
// record has those that are in it.
func (d *SAI) createHash(o *Object, at refs, r *Record) error {
	base, groups := d.fieldsInForce()
	if base == nil {
		base = saiattr.HashFields.Enum(fiveTuple...).List
	}
	var must []uint64
	if field := o.added(); field != "" {
		must = saiattr.HashFields.Enum(field).List
		base = slices.DeleteFunc(base, func(f uint64) bool { return f == must[0] })
	}
	for _, v := range o.values {
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
	r.ID = ID(id.String())
	d.know(r, id)
	return nil
}

// growHash creates the hash of the most fields that the library takes besides those that
// it must have.
func (d *SAI) growHash(create func([]uint64) (sai.ObjectID, error), base, must []uint64) (sai.ObjectID, []uint64, error) {
	id, err := create(must)
	if err != nil {
		return sai.Null, nil, err
	}
	fields := must
	for _, f := range base {
		more := append(slices.Clone(fields[:len(fields)-len(must)]), f)
		more = append(more, must...)
		next, refused := create(more)
		if refused != nil {
			continue
		}
		if err := d.lib.Remove(saiattr.Hash, id); err != nil {
			return sai.Null, nil, errors.Join(err, d.lib.Remove(saiattr.Hash, next))
		}
		id, fields = next, more
	}
	return id, fields, nil
}

// readFields has a record say which fields the library took.
func (d *SAI) readFields(r *Record, hash sai.ObjectID) {
	list, err := d.lib.GetNumbers(saiattr.Hash, hash, saiattr.HashFields)
	if err != nil {
		return
	}
	isFields := func(a Attr) bool { return a.Name == saiattr.HashFields.Name }
	if len(list) == 0 { // the process was killed before it added the first one
		r.Attrs = slices.DeleteFunc(r.Attrs, isFields)
	} else if i := slices.IndexFunc(r.Attrs, isFields); i >= 0 {
		r.Attrs[i].Value = saiattr.HashFields.Numbers(wide(list)...).Text
	}
}

func wide(list []uint32) []uint64 {
	all := make([]uint64, len(list))
	for i, n := range list {
		all[i] = uint64(n)
	}
	return all
}

// rememberFields notes the fields of a hash, so that the policy wants them the next time.
func (d *SAI) rememberFields(r *Record) {
	d.fields[r.added()] = r.Attr(saiattr.HashFields.Name)
}

// withFields has the hashes among objects have the fields that they got before.
func (d *SAI) withFields(objects []Object) []Object {
	for i := range objects {
		o := &objects[i]
		fields := d.fields[o.added()]
		if o.Type != TypeHash || fields == "" {
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
func (d *SAI) defaultHash() (sai.ObjectID, []uint64, error) {
	hash, err := d.hashOf(saiattr.ECMPHash)
	if err == nil && hash == sai.Null {
		err = fmt.Errorf("%w: %s is none", ErrRefused, saiattr.ECMPHash.Name)
	}
	if err != nil {
		return sai.Null, nil, err
	}
	list, err := d.lib.GetNumbers(saiattr.Hash, hash, saiattr.HashFields)
	return hash, wide(list), err
}

// extendList adds a field to the list of the default hash.
func (d *SAI) extendList(o *Object, r *Record) error {
	hash, fields, err := d.defaultHash()
	if err != nil {
		return err
	}
	r.Previous = listBefore(fields)
	r.ID = ID(prefixList + hash.String())
	field := saiattr.HashFields.Enum(o.Attrs[0].Value).List[0]
	if slices.Contains(fields, field) { // of another owner: it stays
		r.Previous = ""
		return nil
	}
	return d.lib.Set(saiattr.Hash, hash, saiattr.HashFields.Numbers(append(fields, field)...))
}

// listBefore is the Previous of a list of fields.
func listBefore(fields []uint64) ID {
	return ID(cmp.Or(saiattr.HashFields.Numbers(fields...).Text, noFields))
}

// listHas says whether the list of the default hash has the field of a record. Where that
// cannot be read the ledger has what was set.
func (d *SAI) listHas(r *Record) bool {
	_, fields, err := d.defaultHash()
	added, _ := saiattr.HashFields.Parse(r.Attrs[0].Value)
	return err != nil || slices.Contains(fields, added)
}

// findList completes a record that was written before a field was added to the list.
func (d *SAI) findList(r *Record) bool {
	hash, fields, err := d.defaultHash()
	added, _ := saiattr.HashFields.Parse(r.Attrs[0].Value)
	if err != nil || !slices.Contains(fields, added) {
		return false
	}
	r.ID = ID(prefixList + hash.String())
	if slices.Contains(strings.Split(string(r.Previous), ","), r.Attrs[0].Value) {
		r.Previous = "" // another owner had added it
	}
	return true
}

// noFields is the Previous of a list that was empty; "" is that of one that had the field.
const noFields = "none"

// resetList sets the list back as it was; where another owner has changed it meanwhile,
// Sluice's field alone is taken out.
func (d *SAI) resetList(r *Record) error {
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
func (d *SAI) proveList(r *Record) error {
	_, fields, err := d.defaultHash()
	added, _ := saiattr.HashFields.Parse(r.Attrs[0].Value)
	var is readBack
	is.add(slices.Contains(fields, added), len(fields) == 0, fmt.Errorf("%s of the default hash lacks %s", saiattr.HashFields.Name, r.Attrs[0].Value), err)
	return is.verdict()
}
