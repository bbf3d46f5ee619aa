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

// present is a record's Previous of a hash field that was in the list before Sluice:
// it is the operator's, and stays.
const present = "present"

// foreseeHash looks whether the field is in the list already.
func (d *Driver) foreseeHash(r *engine.Record) error {
	fields, err := getOne(d.db.config, rowHash)
	if err != nil {
		return err
	}
	now := listOf(fields, fieldECMPHash)
	if len(now) == 0 {
		return fmt.Errorf("%w: %s", engine.ErrRefused, setECMPHash)
	}
	if slices.Contains(now, r.Attr(fieldECMPHash)) {
		r.Previous = present
	}
	return nil
}

// hashes reports whether the field is in the list.
func (d *Driver) hashes(r *engine.Record) (bool, error) {
	fields, err := getOne(d.db.config, rowHash)
	return slices.Contains(listOf(fields, fieldECMPHash), r.Attr(fieldECMPHash)), err
}

// addHash adds a field to the list of hash fields. The file remembers the field before,
// so that a killed process leaves none unrecorded.
func (d *Driver) addHash(r *engine.Record) error {
	if r.Previous == present {
		return nil
	}
	// before: a process that is killed now has not added it, which the next one sees
	d.remember(r, true)
	return d.changeHash(func(now []string) ([]string, error) { return append(now, r.Attr(fieldECMPHash)), nil })
}

// removeHash takes exactly the field out of the list as it is now, if Sluice added it.
// The last field stays, since orchagent refuses an empty list.
func (d *Driver) removeHash(r *engine.Record) error {
	delete(d.said.notes, r.Key)
	if r.Previous == present {
		return nil
	}
	err := d.changeHash(func(now []string) ([]string, error) {
		field := r.Attr(fieldECMPHash)
		if !slices.Contains(now, field) {
			return nil, engine.ErrGone
		}
		if len(now) == 1 {
			d.log.Warn("the field stays in ecmp_hash of SWITCH_HASH|GLOBAL: it is the only one, and orchagent takes no empty list", "field", field)
			return nil, engine.ErrGone
		}
		return slices.DeleteFunc(now, func(f string) bool { return f == field }), nil
	})
	if err == nil || errors.Is(err, engine.ErrGone) {
		d.remember(r, false)
	}
	return err
}

// changeHash changes the list and leaves the row's other fields, unless another process
// changed the row in between.
func (d *Driver) changeHash(change func(now []string) ([]string, error)) error {
	fields, err := getOne(d.db.config, rowHash)
	if err != nil {
		return err
	}
	now := listOf(fields, fieldECMPHash)
	if len(now) == 0 {
		return engine.ErrGone
	}
	want, err := change(now)
	if err != nil {
		return err
	}
	name := fieldECMPHash
	if _, marked := fields[name+"@"]; marked {
		name += "@"
	}
	changed := maps.Clone(fields)
	changed[name] = strings.Join(want, ",")
	was := rows.Row{Table: rowHash.Table, Key: rowHash.Key, Fields: fields}
	return d.db.config.Swap(context.Background(), []rows.Row{was}, sonicdb.Change{Row: rows.Row{Table: rowHash.Table, Key: rowHash.Key, Fields: changed}})
}
