package orchagent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/sonicdb"
	"sluice/yang/rows"
)

// Foresee implements [asic.Shared].
func (d *Driver) Foresee(o *asic.Object) (*asic.Record, error) {
	r := &asic.Record{Object: *o, ID: asic.ID(o.Key)}
	if o.Type == asic.TypeHashField {
		return r, d.foreseeHash(r)
	}
	row := rowOf(o)
	if why := d.refusedNow(o.Key); why != "" && maps.Equal(d.refused[o.Key].fields, row.Fields) {
		return nil, fmt.Errorf("%w: %s", asic.ErrRefused, why)
	}
	there, err := getOne(d.config, row)
	if err != nil {
		return nil, err
	}
	if there != nil && !maps.Equal(there, row.Fields) {
		return nil, fmt.Errorf("%w: CONFIG_DB has a row %s that Sluice did not write: remove it, or do without", asic.ErrRefused, o.Key)
	}
	return r, nil
}

// Create implements [asic.Driver].
func (d *Driver) Create(o *asic.Object, _ map[string]*asic.Record) (*asic.Record, error) {
	row := rowOf(o)
	if d.leaving[o.Key] {
		d.awaitGone(row)
	}
	r, err := d.Foresee(o)
	if err != nil {
		return nil, err
	}
	if o.Type == asic.TypeHashField {
		return r, d.addHash(r)
	}
	var was []rows.Row
	if there, err := getOne(d.config, row); err != nil {
		return nil, err
	} else if there != nil {
		was = []rows.Row{row}
	}
	if err := d.config.Swap(context.Background(), was, sonicdb.Change{Row: row}); errors.Is(err, sonicdb.ErrChanged) {
		return nil, fmt.Errorf("%w: somebody else writes %s", asic.ErrRefused, o.Key) // nothing is ours there
	} else if err != nil {
		return nil, err
	}
	if err := d.confirm(row); errors.Is(err, errEnding) {
		return nil, err // the row stays, for the next process to judge
	} else if err != nil {
		d.refuse(row, err)
		err = fmt.Errorf("%w: %w", asic.ErrRefused, err)
		if gone := d.Remove(r); gone != nil && !errors.Is(gone, asic.ErrGone) {
			return nil, fmt.Errorf("remove %s, which orchagent did not take: %w", o.Key, gone) // tried again, and removed first
		}
		return nil, err
	}
	delete(d.refused, o.Key)
	return r, nil
}

// Remove implements [asic.Driver]: the whole row where it is ours.
func (d *Driver) Remove(r *asic.Record) error {
	if r.Type == asic.TypeHashField {
		return d.removeHash(r)
	}
	row := rowOf(&r.Object)
	there, err := getOne(d.config, row)
	if err != nil {
		return err
	}
	delete(d.notes, r.Key)
	if there == nil {
		return asic.ErrGone
	}
	row.Fields = there
	if err := d.config.Swap(context.Background(), []rows.Row{row}, sonicdb.Change{Row: row, Deleted: true}); err != nil {
		return err
	}
	d.leaving[r.Key] = true
	return nil
}

// Exists implements [asic.Driver]. A row that was changed comes back as it is.
func (d *Driver) Exists(r *asic.Record) (bool, error) {
	switch r.Type {
	case asic.TypeHashField:
		return d.hashes(r)
	case asic.TypeRow:
	default:
		return false, nil // of another driver
	}
	row := rowOf(&r.Object)
	there, err := getOne(d.config, row)
	if err != nil || there == nil {
		delete(d.notes, r.Key)
		return false, err
	}
	if !maps.Equal(there, row.Fields) {
		var needs []string
		if v := r.Attr(attrNeeds); v != "" {
			needs = strings.Split(strings.TrimPrefix(v, "@"), ",@")
		}
		r.Attrs = attrs(there, needs)
	}
	return true, d.look(row)
}
