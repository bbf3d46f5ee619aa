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

// hashList is the kind of a field that is added to the list of the switch's default hash.
type hashList struct {
	setting
	lib *sai.Library
}

// prefixList begins the id of the default hash, to whose list of fields one was added.
const prefixList = "list:"

// now returns the hash whose list can be set, with that list.
func (k *hashList) now() (sai.ObjectID, []uint64, error) {
	hash, err := hashOf(k.lib, saiattr.ECMPHash)
	if err == nil && hash == sai.Null {
		err = fmt.Errorf("%w: %s is none", engine.ErrRefused, saiattr.ECMPHash.Name)
	}
	if err != nil {
		return sai.Null, nil, err
	}
	list, err := k.lib.GetNumbers(saiattr.Hash, hash, saiattr.HashFields)
	return hash, wide(list), err
}

// create adds a field to the list of the default hash.
func (k *hashList) create(o *engine.Object, _ refs, r *engine.Record) error {
	hash, fields, err := k.now()
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
	return k.lib.Set(saiattr.Hash, hash, saiattr.HashFields.Numbers(append(fields, field)...))
}

func (k *hashList) before(r *engine.Record) bool {
	_, fields, err := k.now()
	r.Previous = listBefore(fields)
	return err == nil
}

// listBefore is the Previous of a list of fields.
func listBefore(fields []uint64) engine.ID {
	return engine.ID(cmp.Or(saiattr.HashFields.Numbers(fields...).Text, noFields))
}

// exists reports whether the list of the default hash has the field of a record. If the
// list is unreadable the ledger decides.
func (k *hashList) exists(r *engine.Record) bool {
	_, fields, err := k.now()
	added, _ := saiattr.HashFields.Parse(r.Attrs[0].Value)
	return err != nil || slices.Contains(fields, added)
}

// find completes a record that was written before a field was added to the list.
func (k *hashList) find(r *engine.Record) bool {
	hash, fields, err := k.now()
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

// remove sets the list back as it was; where another owner has changed it meanwhile,
// Sluice's field alone is taken out.
func (k *hashList) remove(r *engine.Record) error {
	hash, fields, err := k.now()
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
		return err
	case err == nil && !slices.Equal(fields, append(slices.Clone(was), added)):
		if !slices.Contains(fields, added) {
			return nil
		}
		was = slices.DeleteFunc(fields, func(f uint64) bool { return f == added })
	}
	return k.lib.Set(saiattr.Hash, hash, saiattr.HashFields.Numbers(was...))
}

// prove reads the list of the default hash back.
func (k *hashList) prove(r *engine.Record, _ refs) error {
	_, fields, err := k.now()
	added, _ := saiattr.HashFields.Parse(r.Attrs[0].Value)
	var is readBack
	is.add(slices.Contains(fields, added), len(fields) == 0, fmt.Errorf("%s of the default hash lacks %s", saiattr.HashFields.Name, r.Attrs[0].Value), err)
	return is.verdict()
}
