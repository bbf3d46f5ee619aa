// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"fmt"
	"slices"

	"sluice/orchagent-ext/host/files"
	"sluice/orchagent-ext/switch/engine"
)

// memory is a file of the hash fields that Sluice has added to the operator's list. A row
// of Sluice is known by its name, but a field is anonymous, and a reboot empties the
// ledger, while `config save` may have kept the field. The zero memory is without a file,
// and forgets.
type memory struct{ file string }

// added returns the fields.
func (m memory) added() ([]string, error) {
	if m.file == "" {
		return nil, nil
	}
	var all map[string][]string
	if err := files.ReadState(m.file, &all); err != nil {
		return nil, err
	}
	return all[fieldECMPHash], nil
}

// note writes whether Sluice owns a field. After an error the file is as before.
func (m memory) note(field string, ours bool) error {
	if m.file == "" {
		return nil
	}
	fields, err := m.added()
	if err != nil {
		fields = nil // what cannot be read tells nothing
	}
	if slices.Contains(fields, field) == ours && err == nil {
		return nil
	}
	fields = slices.DeleteFunc(fields, func(f string) bool { return f == field })
	if ours {
		fields = append(fields, field)
	}
	if len(fields) == 0 {
		return files.RemoveState(m.file)
	}
	return files.WriteState(m.file, map[string][]string{fieldECMPHash: fields}, nil)
}

// remember notes whether Sluice owns the field of a record.
func (d *Driver) remember(r *engine.Record, ours bool) {
	if err := d.memory.note(r.Attr(fieldECMPHash), ours); err != nil {
		d.said.notes[r.Key] = fmt.Sprintf("Sluice will not know after a reboot that it added it: %v", err)
	}
}

// strayFields adds the records of fields that Sluice has added, and that are still in the
// list, to existing. Fields that the list lacks were lost with the reboot: Sluice gives
// up their ownership.
func (d *Driver) strayFields(existing map[string]*engine.Record) (n int, err error) {
	fields, err := d.memory.added()
	if err != nil {
		d.log.Warn("hash fields that an earlier process added count as the operator's", "error", err)
		return 0, nil
	}
	hash, err := getOne(d.db.config, rowHash)
	if err != nil {
		return 0, err
	}
	for _, field := range fields {
		o := hashObject(field, true)
		r := &engine.Record{Object: o, ID: engine.ID(o.Key)}
		switch {
		case existing[o.Key] != nil:
		case slices.Contains(listOf(hash, fieldECMPHash), field):
			existing[o.Key] = r
			n++
		default:
			d.remember(r, false)
		}
	}
	return n, nil
}
