// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/switch/engine"
)

// Foresee implements [engine.Shared].
func (d *Driver) Foresee(o *engine.Object) (*engine.Record, error) {
	r := &engine.Record{Object: *o, ID: engine.ID(o.Key)}
	if o.Type == engine.TypeHashField {
		return r, d.foreseeHash(r)
	}
	row := rowOf(o)
	if why := d.said.refusedNow(o.Key); why != "" && maps.Equal(d.said.refused[o.Key].fields, row.Fields) {
		return nil, fmt.Errorf("%w: %s", engine.ErrRefused, why)
	}
	if err := d.unlisted(row); err != nil {
		return nil, err
	}
	inTheWay, err := d.db.operatorsRow(row)
	if err != nil {
		return nil, err
	}
	there, err := d.db.read(row)
	if err != nil {
		return nil, err
	}
	if inTheWay == "" && there != nil && !maps.Equal(there, row.Fields) {
		inTheWay = o.Key
	}
	if inTheWay != "" {
		return nil, fmt.Errorf("%w: there is a row %s that Sluice did not write; remove it to use this method", engine.ErrRefused, inTheWay)
	}
	return r, nil
}

// Answers implements [engine.Shared]: while orchagent restores its state, or has yet to take changes of ACLs,
// what was taken away stays away.
func (d *Driver) Answers() error {
	if err := d.warm.wait(time.Now()); err != nil {
		return err
	}
	for _, table := range []string{tableType, tableACL, tableRule} {
		if waits, err := waiting(d.db.appl, table); err != nil || len(waits) > 0 {
			return errors.Join(err, engine.ErrPending)
		}
	}
	return nil
}

// Create implements [engine.Driver].
func (d *Driver) Create(o *engine.Object, _ map[string]*engine.Record) (*engine.Record, error) {
	if err := d.warm.wait(time.Now()); err != nil {
		return nil, err
	}
	row := rowOf(o)
	if _, leaves := d.said.leaving[o.Key]; leaves && !inOrder(row.Table) || row.Table == tableGroup {
		if gone := d.said.awaitGone(row); !gone && row.Table == tableGroup { // it would take the removals after the group
			err := fmt.Errorf("syncd did not take within %v that queues are removed from %s", d.said.patience, row.Name())
			d.said.refuse(row, err)
			return nil, fmt.Errorf("%w: %w", engine.ErrRefused, err)
		}
	}
	d.said.meets[o.Key] = o.Meets
	r, err := d.Foresee(o)
	if err != nil {
		return nil, err
	}
	if o.Type == engine.TypeHashField {
		return r, d.addHash(r)
	}
	was, err := d.db.read(row)
	if err != nil {
		return nil, err
	}
	if err := d.db.write(sonicdb.Change{Row: row}, was); errors.Is(err, sonicdb.ErrChanged) {
		// Sluice owns no row there
		return nil, fmt.Errorf("%w: another process writes %s", engine.ErrRefused, o.Key)
	} else if err != nil {
		return nil, err
	}
	if err := d.said.confirm(row); errors.Is(err, errEnding) {
		return nil, err // the row stays, for the next process to judge
	} else if err != nil {
		d.said.refuse(row, err)
		err = fmt.Errorf("%w: %w", engine.ErrRefused, err)
		if gone := d.Remove(r); !goes(gone) {
			// tried again, and removed first
			return nil, fmt.Errorf("remove %s, which orchagent did not take: %w", o.Key, gone)
		}
		return nil, err
	}
	delete(d.said.refused, o.Key)
	delete(d.said.leaving, o.Key)
	return r, nil
}

// Remove implements [engine.Driver]: the whole row if Sluice owns it. It waits for no other process.
func (d *Driver) Remove(r *engine.Record) error {
	if r.Type == engine.TypeHashField {
		return d.removeHash(r)
	}
	if err := d.warm.wait(time.Now()); err != nil {
		return err
	}
	row := rowOf(&r.Object)
	there, err := d.db.read(row)
	if err != nil {
		return err
	}
	delete(d.said.notes, r.Key)
	if there == nil {
		return engine.ErrGone
	}
	if row.Table == tableACL { // a row of a rule would be taken when the table comes again
		if err := d.db.removeRules(row.Key); err != nil {
			return err
		}
	}
	if row.Table == tableGroup {
		if err := d.db.removeQueues(); err != nil {
			return err
		}
	}
	if err := d.db.write(sonicdb.Change{Row: row, Deleted: true}, there); err != nil {
		return err
	}
	if gone, err := d.said.gone(row); gone && err == nil {
		return nil
	}
	d.said.leaving[r.Key] = leave{row: row, at: time.Now()}
	return engine.ErrHandedOver
}

// goes reports whether an error of Remove is a success, maybe one to come.
func goes(err error) bool {
	return err == nil || errors.Is(err, engine.ErrGone) || errors.Is(err, engine.ErrHandedOver)
}

// removeRules removes the rows of an ACL table's rules.
func (d *store) removeRules(table string) error {
	named, err := namesOf(d.appl, tableRule, table+":")
	if err != nil || len(named) == 0 {
		return err
	}
	changes := make([]sonicdb.Change, len(named))
	for i, r := range named {
		changes[i] = sonicdb.Change{Row: r, Deleted: true}
	}
	return produce(d.appl, changes...)
}

// Exists implements [engine.Driver]. A row that was changed comes back as it is.
func (d *Driver) Exists(r *engine.Record) (bool, error) {
	switch r.Type {
	case engine.TypeHashField:
		return d.hashes(r)
	case engine.TypeRow:
	default:
		return false, nil // of another driver
	}
	row := rowOf(&r.Object)
	there, err := d.db.read(row)
	if err != nil || there == nil {
		delete(d.said.notes, r.Key)
		return false, err
	}
	if listed, err := d.listed(row); !listed || err != nil {
		return false, err // the row goes with the group's
	}
	if !maps.Equal(there, row.Fields) {
		var needs []string
		if v := r.Attr(attrNeeds); v != "" {
			needs = strings.Split(strings.TrimPrefix(v, "@"), ",@")
		}
		r.Attrs = attrs(there, needs)
	}
	full, err := d.said.check(row)
	if err != nil || !full {
		return true, err
	}
	d.said.refuse(row, errNoRoom(row))
	if err := d.Remove(r); !goes(err) {
		return true, err
	}
	return false, nil
}
