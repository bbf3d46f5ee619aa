// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"fmt"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// kind is how objects of one type are created, changed, removed and found. Errors are those
// of the library, for [Driver] to mark.
type kind interface {
	// create creates an object, and completes its record.
	create(o *engine.Object, at refs, r *engine.Record) error

	// set gives an attribute of an object its value in o.
	set(r *engine.Record, o *engine.Object, attr string, at refs) error

	// remove removes an object, or restores the value before.
	remove(r *engine.Record) error

	// exists reports whether the object of a record with a known id is there. It may correct
	// the record's attributes.
	exists(r *engine.Record) bool

	// before completes the record that the ledger has while the object is created; false:
	// the object is found without.
	before(r *engine.Record) bool

	// find looks for the object of a record that was written before it was created, and
	// completes the record.
	find(r *engine.Record) bool

	// prove is as [engine.Prover] has it.
	prove(r *engine.Record, at refs) error

	// audit is as [engine.Auditor] has it.
	audit(r *engine.Record, at refs) engine.Loss
}

// refs finds the ids of an object's references.
type refs struct{ existing map[string]*engine.Record }

// id returns the id of an object by its key; Null for an unknown one.
func (r refs) id(key string) sai.ObjectID {
	if key == "" || r.existing[key] == nil {
		return sai.Null
	}
	id, _ := sai.ParseObjectID(string(r.existing[key].ID))
	return id
}

// number returns that id as a number.
func (r refs) number(key string) uint64 { return uint64(r.id(key)) }

// owned has Sluice's tables, groups and hashes: another bound object is another owner's.
type owned map[sai.ObjectID]bool

// note adds an object of Sluice.
func (o owned) note(_ *engine.Record, id sai.ObjectID) { o[id] = true }

// another reports whether another owner has put an object of its own where Sluice's was.
// An unreadable value counts as Sluice's.
func (o owned) another(now sai.ObjectID, err error) bool {
	return err == nil && now != sai.Null && !o[now]
}

// setting has the answers of a kind that is an attribute of another owner's object: it is
// found without a record, and neither changes in place nor reads back.
type setting struct{}

func (setting) set(_ *engine.Record, o *engine.Object, attr string, _ refs) error {
	return notInPlace(o, attr)
}

func (setting) before(*engine.Record) bool { return false }

func (setting) find(*engine.Record) bool { return false }

func (setting) prove(r *engine.Record, _ refs) error { return errUnreadable(r) }

// notInPlace returns the refusal to change an attribute of an object in use.
func notInPlace(o *engine.Object, attr string) error {
	return fmt.Errorf("%w: %s of %s does not change in place", engine.ErrRefused, attr, o.Type)
}

// seed is the kind of the seed of ECMP's hash: SAI_SWITCH_ATTR_ECMP_DEFAULT_HASH_SEED. The
// software switch has it of the kernel.
type seed struct {
	setting
	lib *sai.Library
}

const idSeed = engine.ID("seed:ecmp")

func (s *seed) create(o *engine.Object, _ refs, r *engine.Record) error {
	r.ID = idSeed
	return s.lib.Set(saiattr.Switch, s.lib.Switch, o.Values[0])
}

func (s *seed) set(_ *engine.Record, o *engine.Object, attr string, _ refs) error {
	v, known := o.Typed(attr)
	if !known {
		return notInPlace(o, attr)
	}
	return s.lib.Set(saiattr.Switch, s.lib.Switch, v)
}

// remove restores the seed before, which the library has for 0.
func (s *seed) remove(*engine.Record) error {
	return s.lib.Set(saiattr.Switch, s.lib.Switch, saiattr.SwitchHashSeed.Of(0))
}

// exists gives the record the seed as it is now.
func (s *seed) exists(r *engine.Record) bool {
	now, err := s.lib.Get(saiattr.Switch, s.lib.Switch, saiattr.SwitchHashSeed)
	if r.ID != idSeed || err != nil {
		return false
	}
	r.Attrs = []engine.Attr{{Name: saiattr.SwitchHashSeed.Name, Value: saiattr.SwitchHashSeed.Of(uint64(uint32(now))).Text}}
	return true
}
