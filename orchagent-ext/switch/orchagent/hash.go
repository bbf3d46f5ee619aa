// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
)

// Lists of hash fields of SWITCH_HASH|GLOBAL. Those of a packet type count in place of the first one for its
// packets, where the switch has them: https://github.com/sonic-net/SONiC/pull/2100 and
// https://github.com/sonic-net/sonic-swss/pull/4568, as they were in May 2026.
const (
	fieldECMPHash = "ecmp_hash"
	fieldHash4    = "ecmp_hash_ipv4_rdma"
	fieldHash6    = "ecmp_hash_ipv6_rdma"
)

// hashLists are these.
var hashLists = []string{fieldECMPHash, fieldHash4, fieldHash6}

// Previous of a record of a hash field.
const (
	present = "present" // it was in the list before Sluice: it is the operator's, and stays
	made    = "made"    // there was no list, and it was made of ecmp_hash
)

// hashOf is the list and the field that an object is.
func hashOf(o *engine.Object) (list, field string) { return o.Attrs[0].Name, o.Attrs[0].Value }

// hashBase returns the fields that a list is made of where it is missing, and whether it is.
func hashBase(fields map[string]string, name string) (now []string, missing bool) {
	if now = listOf(fields, name); len(now) > 0 || name == fieldECMPHash {
		return now, false
	}
	return listOf(fields, fieldECMPHash), true
}

// foreseeHash looks whether the field is in the list already.
func (d *Driver) foreseeHash(r *engine.Record) error {
	fields, err := getOne(d.db.config, rowHash)
	if err != nil {
		return err
	}
	name, field := hashOf(&r.Object)
	now, missing := hashBase(fields, name)
	switch {
	case len(now) == 0:
		return fmt.Errorf("%w: %s", engine.ErrRefused, setECMPHash)
	case missing:
		r.Previous = made
	case slices.Contains(now, field):
		r.Previous = present
	}
	return nil
}

// hashes reports whether the field is in the list.
func (d *Driver) hashes(r *engine.Record) (bool, error) {
	name, field := hashOf(&r.Object)
	fields, err := getOne(d.db.config, rowHash)
	return slices.Contains(listOf(fields, name), field), err
}

// addHash adds a field to the list of hash fields. The file remembers the field before,
// so that a killed process leaves none unrecorded.
func (d *Driver) addHash(r *engine.Record) error {
	if r.Previous == present {
		return nil
	}
	// before: a process that is killed now has not added it, which the next one sees
	d.remember(r, true)
	name, field := hashOf(&r.Object)
	return d.changeHash(name, func(fields map[string]string) ([]string, error) {
		now, _ := hashBase(fields, name)
		if len(now) == 0 {
			return nil, engine.ErrGone
		}
		return append(slices.DeleteFunc(now, func(f string) bool { return f == field }), field), nil
	})
}

// removeHash takes exactly the field out of the list as it is now, if Sluice added it. A list that
// Sluice made, and that the operator has not changed, goes with it. The last field of ecmp_hash stays, since
// orchagent refuses an empty list.
func (d *Driver) removeHash(r *engine.Record) error {
	delete(d.said.notes, r.Key)
	if r.Previous == present {
		return nil
	}
	name, field := hashOf(&r.Object)
	err := d.changeHash(name, func(fields map[string]string) ([]string, error) {
		now := listOf(fields, name)
		switch {
		case !slices.Contains(now, field):
			return nil, engine.ErrGone
		case len(now) == 1 && name == fieldECMPHash:
			d.log.Warn("the field stays in ecmp_hash of SWITCH_HASH|GLOBAL: it is the only one, and orchagent takes no empty list", "field", field)
			return nil, engine.ErrGone
		case r.Previous == made && slices.Equal(without(now), without(listOf(fields, fieldECMPHash))):
			return nil, nil
		}
		return slices.DeleteFunc(now, func(f string) bool { return f == field }), nil
	})
	if err == nil || errors.Is(err, engine.ErrGone) {
		d.remember(r, false)
	}
	return err
}

// without are the fields of a list that Sluice never adds, sorted.
func without(fields []string) []string {
	fields = slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return f == fieldDestQP || f == fieldFlowLabel })
	slices.Sort(fields)
	return fields
}

// changeHash changes a list and leaves the row's other fields, unless another process
// changed the row in between. Without fields the list goes.
func (d *Driver) changeHash(name string, change func(fields map[string]string) ([]string, error)) error {
	fields, err := getOne(d.db.config, rowHash)
	if err != nil {
		return err
	}
	want, err := change(fields)
	if err != nil {
		return err
	}
	changed := maps.Clone(fields)
	_, plain := fields[name]
	delete(changed, name)
	delete(changed, name+"@")
	if !plain {
		name += "@"
	}
	if len(want) > 0 {
		changed[name] = strings.Join(want, ",")
	}
	was := rows.Row{Table: rowHash.Table, Key: rowHash.Key, Fields: fields}
	return d.db.config.Swap(context.Background(), []rows.Row{was}, sonicdb.Change{Row: rows.Row{Table: rowHash.Table, Key: rowHash.Key, Fields: changed}})
}
