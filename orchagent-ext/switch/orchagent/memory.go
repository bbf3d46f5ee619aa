// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"fmt"
	"slices"

	"sluice/orchagent-ext/host/files"
	"sluice/orchagent-ext/switch/engine"
)

// memory is a file of the hash fields that Sluice has added to the operator's lists, and of the lists
// that it has made. A row of Sluice is known by its name, but a field is anonymous, and a reboot empties the
// ledger, while `config save` may have kept the field. The zero memory is without a file,
// and forgets.
type memory struct{ file string }

// madeLists is the key of the lists that Sluice has made, beside those of fields by their lists.
const madeLists = "made"

// read returns the fields by list; nil: there are none, or they are unreadable: warn gets the
// reason.
func (m memory) read(warn func(error)) (all map[string][]string) {
	if m.file != "" {
		files.ReadOptional(m.file, &all, warn)
	}
	return all
}

// note writes whether Sluice owns a field of a list, and whether it has made the list. After an error the
// file is as before.
func (m memory) note(list, field string, owns, made bool) error {
	if m.file == "" {
		return nil
	}
	all := map[string][]string{}
	for key, fields := range m.read(func(error) {}) { // strayFields has warned
		all[key] = slices.Clone(fields)
	}
	set := func(key, value string, on bool) {
		all[key] = slices.DeleteFunc(all[key], func(v string) bool { return v == value })
		if on {
			all[key] = append(all[key], value)
		}
		if len(all[key]) == 0 {
			delete(all, key)
		}
	}
	set(list, field, owns)
	if made {
		set(madeLists, list, owns)
	}
	if len(all) == 0 {
		return files.RemoveState(m.file)
	}
	return files.WriteState(m.file, all)
}

// remember notes whether Sluice owns the field of a record.
func (d *Driver) remember(r *engine.Record, owns bool) {
	list, field := hashOf(&r.Object)
	if err := d.memory.note(list, field, owns, r.Previous == made); err != nil {
		d.said.notes[r.Key] = fmt.Sprintf("Sluice will not know after a reboot that it added it: %v", err)
	}
}

// strayFields adds the records of fields that Sluice has added, and that are still in their
// lists, to existing. Fields that a list lacks were lost with the reboot: Sluice gives
// up their ownership.
func (d *Driver) strayFields(existing map[string]*engine.Record) (n int, err error) {
	added := d.memory.read(func(err error) {
		d.log.Warn("hash fields that an earlier process added count as the operator's", "error", err)
	})
	hash, err := getOne(d.db.config, rowHash)
	if err != nil {
		return 0, err
	}
	for _, list := range hashLists {
		for _, field := range added[list] {
			o := hashObject(list, field, true)
			r := &engine.Record{Object: o, ID: engine.ID(o.Key)}
			if slices.Contains(added[madeLists], list) && field == added[list][0] {
				r.Previous = made
			}
			switch {
			case existing[o.Key] != nil:
			case slices.Contains(listOf(hash, list), field):
				existing[o.Key] = r
				n++
			default:
				d.remember(r, false)
			}
		}
	}
	return n, nil
}
