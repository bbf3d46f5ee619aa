// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"fmt"
	"strings"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// prefixUse begins the id of a use of a hash, which has no object of its own.
const prefixUse = "switch:"

// hashUses is the kind of the settings that give a use of the switch Sluice's hash.
type hashUses struct {
	setting
	lib *sai.Library
	own owned
}

// everyUse are the uses of a hash of its own, those that every version of SAI has after
// those that some have.
var everyUse = []*saiattr.Attr{saiattr.ECMPHashIPv6RDMA, saiattr.ECMPHashIPv6, saiattr.ECMPHashIPv4RDMA, saiattr.ECMPHashIPv4}

// hashUse is the first use of a hash that can be set, by its attribute's name. If the
// library leaves that open for all it is the last one, which every version of SAI has.
func hashUse(lib *sai.Library, uses ...*saiattr.Attr) (unknown string) {
	for _, u := range uses {
		can, known := lib.CanSet(saiattr.Switch, u)
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
	for _, u := range everyUse {
		if u.Name == name {
			return u, nil
		}
	}
	return nil, fmt.Errorf("%w: the switch takes no hash by %q", engine.ErrRefused, name)
}

// hashOf reads the hash that a use has.
func hashOf(lib *sai.Library, use *saiattr.Attr) (sai.ObjectID, error) {
	return lib.GetObject(saiattr.Switch, lib.Switch, use)
}

// hasUse reports whether the library has a use of a hash. A use that old versions of SAI
// lack must be reported as settable: some libraries end the process when it is read.
func hasUse(lib *sai.Library, use *saiattr.Attr) bool {
	if use != saiattr.ECMPHashIPv6RDMA && use != saiattr.ECMPHashIPv4RDMA {
		return true
	}
	can, known := lib.CanSet(saiattr.Switch, use)
	return can && known
}

// put gives a use a hash; Null restores the switch's own fields.
func (k *hashUses) put(use *saiattr.Attr, hash sai.ObjectID) error {
	return k.lib.Set(saiattr.Switch, k.lib.Switch, use.Object(uint64(hash)))
}

// create gives a use of the switch Sluice's hash and records the former one.
func (k *hashUses) create(o *engine.Object, at refs, r *engine.Record) error {
	use, err := hashUseOf(o.Attrs[0].Name)
	if err != nil {
		return err
	}
	hash := at.id(o.Values[0].Keys[0])
	if was, err := hashOf(k.lib, use); err == nil && was != sai.Null && was != hash {
		r.Previous = engine.ID(was.String())
	}
	r.ID = engine.ID(prefixUse + use.Name)
	return k.put(use, hash)
}

// remove restores the former value of a use of a hash, unless another owner has changed it.
func (k *hashUses) remove(r *engine.Record) error {
	use, err := hashUseOf(strings.TrimPrefix(string(r.ID), prefixUse))
	if err != nil {
		return err
	}
	if k.own.another(hashOf(k.lib, use)) {
		return nil
	}
	was := sai.Null
	if r.Previous != "" {
		if was, err = sai.ParseObjectID(string(r.Previous)); err != nil {
			return err
		}
	}
	return k.put(use, was)
}

// exists reports whether a use has Sluice's hash. Another owner's means that the process was
// killed when it had put it back.
func (k *hashUses) exists(r *engine.Record) bool {
	name, set := strings.CutPrefix(string(r.ID), prefixUse)
	use, err := hashUseOf(name)
	if !set || err != nil {
		return false
	}
	hash, err := hashOf(k.lib, use)
	return unreadable(err) || err == nil && hash != sai.Null && !k.own.another(hash, nil)
}

// now returns the hash that the use of a record has.
func (k *hashUses) now(r *engine.Record) (sai.ObjectID, error) {
	use, err := hashUseOf(r.Attrs[0].Name)
	if err != nil {
		return sai.Null, err
	}
	return hashOf(k.lib, use)
}

func (k *hashUses) before(r *engine.Record) bool {
	was, err := k.now(r)
	r.Previous = engine.ID(was.String())
	return err == nil
}

func (k *hashUses) find(r *engine.Record) bool {
	now, err := k.now(r)
	if err != nil || now == sai.Null || engine.ID(now.String()) == r.Previous {
		return false // it was not set
	}
	r.ID = engine.ID(prefixUse + r.Attrs[0].Name)
	if r.Previous == engine.ID(sai.Null.String()) {
		r.Previous = ""
	}
	return true
}

// prove returns nil if the switch has Sluice's hash for a use.
func (k *hashUses) prove(r *engine.Record, at refs) error {
	use, err := hashUseOf(r.Attrs[0].Name)
	if err != nil {
		return err
	}
	want := at.id(engine.KeyHash)
	now, err := hashOf(k.lib, use)
	var is readBack
	is.add(now == want, now == sai.Null, fmt.Errorf("%s is %s, set was %s", use.Name, now, want), err)
	return is.verdict()
}
