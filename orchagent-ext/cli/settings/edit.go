// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"maps"
	"slices"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// Edit is the change of one row. A nil map is a missing row, an empty map a row without
// fields.
type Edit struct {
	// Table is the row's table.
	Table string `json:"table"`
	// Key is the row's key, without the table.
	Key string `json:"key"`
	// Before has the fields before the change.
	Before map[string]string `json:"before"`
	// After has the fields after it.
	After map[string]string `json:"after"`
}

// row returns the edit's row with these fields.
func (e Edit) row(fields map[string]string) rows.Row {
	return rows.Row{Table: e.Table, Key: e.Key, Fields: fields}
}

// Compare returns the edits that turn one configuration into another, sorted by name. It
// ignores tables outside the models, but for the rows of PORT that [WithDevices] writes.
func Compare(before, after Config) []Edit {
	names := make(map[string]bool)
	for name := range before {
		names[name] = true
	}
	for name := range after {
		names[name] = true
	}
	var edits []Edit
	for name := range names {
		was, had := before[name]
		is, has := after[name]
		r := was
		if has {
			r = is
		}
		if !modeled(r) && !isDevice(r) || had == has && maps.Equal(was.Fields, is.Fields) {
			continue
		}
		edits = append(edits, Edit{Table: r.Table, Key: r.Key, Before: fields(was, had), After: fields(is, has)})
	}
	slices.SortFunc(edits, func(a, b Edit) int { return cmp.Or(cmp.Compare(a.Table, b.Table), rows.Natural(a.Key, b.Key)) })
	return edits
}

// fields returns the fields of a row, or nil where the row is missing.
func fields(r rows.Row, there bool) map[string]string {
	switch {
	case !there:
		return nil
	case r.Fields == nil:
		return map[string]string{}
	}
	return r.Fields
}

// put gives a row exactly these fields; nil removes it.
func (c Config) put(e Edit, fields map[string]string) {
	r := e.row(fields)
	if fields == nil {
		delete(c, r.Name())
		return
	}
	c[r.Name()] = r
}

// has reports whether a row has exactly these fields; nil is a missing row.
func (c Config) has(e Edit, want map[string]string) bool {
	r, there := c[e.row(nil).Name()]
	return there == (want != nil) && maps.Equal(r.Fields, want)
}

// swap returns edits as [sonicdb.DB.Swap] takes them.
func swap(edits []Edit) (was []rows.Row, changes []sonicdb.Change) {
	for _, e := range edits {
		if e.Before != nil {
			was = append(was, e.row(e.Before))
		}
		changes = append(changes, sonicdb.Change{Row: e.row(e.After), Deleted: e.After == nil})
	}
	return was, changes
}

// Inverse returns the edit that takes an edit back.
func (e Edit) Inverse() Edit {
	return Edit{Table: e.Table, Key: e.Key, Before: e.After, After: e.Before}
}

// Changed returns the columns of the fields that an edit changes, sorted.
func (e Edit) Changed() []string {
	var all []string
	for _, column := range slices.Sorted(maps.Keys(union(e.Before, e.After))) {
		was, had := e.Before[column]
		if is, has := e.After[column]; had != has || was != is {
			all = append(all, column)
		}
	}
	return all
}

// Done reports whether a configuration has what an edit makes: the row is there, or not, and the
// fields that the edit changes are as after it. Fields that others have changed meanwhile do not
// count. The key may be in another spelling.
func (e Edit) Done(c Config) bool {
	r, there := c.find(e.row(nil))
	if !there || e.After == nil {
		return !there && e.After == nil
	}
	return !slices.ContainsFunc(e.Changed(), func(column string) bool {
		want, wanted := e.After[column]
		is, has := r.Fields[column]
		return has != wanted || is != want
	})
}

// Undone reports whether a configuration has nothing of an edit: a row that it removes is there, and no field
// that it changes is as after it. Others may have written other values since. The key may be in another spelling.
func (e Edit) Undone(c Config) bool {
	r, there := c.find(e.row(nil))
	if !there || e.After == nil {
		return there == (e.After == nil)
	}
	changed := e.Changed()
	return (e.Before != nil || len(changed) > 0) && !slices.ContainsFunc(changed, func(column string) bool {
		want, wanted := e.After[column]
		is, has := r.Fields[column]
		return has == wanted && is == want
	})
}

// Line is a field, or a row without fields, that is on one side of a comparison only.
type Line struct {
	Added        bool
	Row          string
	Field, Value string // empty: of a row of its key alone
}

// Sign is + for what is on the later side of a comparison, and - for what is not there any more.
func (l Line) Sign() string {
	if l.Added {
		return "+"
	}
	return "-"
}

// Lines returns edits by field, one line each; a value that changed is two lines.
func Lines(edits []Edit) []Line {
	var all []Line
	for _, e := range edits {
		name := e.row(nil).Name()
		for _, field := range slices.Sorted(maps.Keys(union(e.Before, e.After))) {
			was, had := e.Before[field]
			is, has := e.After[field]
			if had == has && was == is {
				continue
			}
			if had {
				all = append(all, Line{false, name, field, was})
			}
			if has {
				all = append(all, Line{true, name, field, is})
			}
		}
		if e.Before != nil && len(e.Before) == 0 && e.After == nil {
			all = append(all, Line{Row: name})
		}
		if e.After != nil && len(e.After) == 0 && e.Before == nil {
			all = append(all, Line{Added: true, Row: name})
		}
	}
	return all
}

// union returns the keys of both maps.
func union(a, b map[string]string) map[string]bool {
	all := make(map[string]bool)
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return all
}
