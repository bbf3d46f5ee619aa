// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/openconfig/goyang/pkg/yang"
	"sluice/yang/model"
	"sluice/yang/rows"
)

// KeySeparator joins the leaves of a row's key, as the rows of package rows have it.
const KeySeparator = "|"

// Table is the schema of a table.
type Table struct {
	Name string
	// Module: that has it, which is also the name of its top container
	Module   string
	Database string   // CONFIG_DB, STATE_DB or COUNTERS_DB
	Row      string   // name of a row's node: global, or TABLE_LIST
	Keys     []string // leaves of the key; empty where the row is the only one
	Leaves   []string // all of a row, sorted, with those of the key
	Config   bool     // whether it may be written
	// Atomic: whether the leaves of a row mean something together only
	Atomic bool

	// Spelled: whether a value of the key has several spellings, as IPv6 addresses have
	Spelled bool

	entries map[string]*yang.Entry
}

// Databases are those with Sluice's tables.
var Databases = []string{"CONFIG_DB", "STATE_DB", "COUNTERS_DB"}

// Tables are all tables, sorted by name.
var Tables = sync.OnceValue(load)

// load returns the tables of all databases that the models define.
func load() []*Table {
	var all []*Table
	device := model.SchemaTree()["Device"]
	for _, database := range Databases {
		for _, name := range rows.Tables(database) {
			for _, module := range device.Dir {
				if e, ok := module.Dir[name]; ok {
					all = append(all, newTable(database, module, e))
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b *Table) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// newTable returns a table by its schema. An extension telemetry-atomic makes its rows
// atomic in updates (OpenConfig's openconfig-extensions).
func newTable(database string, module, e *yang.Entry) *Table {
	t := &Table{Name: e.Name, Module: module.Name, Database: database, Config: module.Config != yang.TSFalse}
	for _, row := range e.Dir {
		t.Row, t.Keys, t.entries = row.Name, strings.Fields(row.Key), row.Dir
	}
	t.Leaves = slices.Sorted(maps.Keys(t.entries))
	t.Spelled = slices.ContainsFunc(t.Keys, func(k string) bool { return rows.Spelled(t.entries[k].Type) })
	for _, x := range e.Exts {
		if _, word, _ := strings.Cut(x.Keyword, ":"); word == "telemetry-atomic" {
			t.Atomic = true
		}
	}
	return t
}

// Lookup returns the table of a name, or nil. The tables are made once and shared: for
// reading only.
func Lookup(name string) *Table {
	i, ok := slices.BinarySearchFunc(Tables(), name, func(t *Table, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return nil
	}
	return Tables()[i]
}

// Entry returns the schema of a leaf, or nil. It is of goyang, and shared: for reading
// only.
func (t *Table) Entry(leaf string) *yang.Entry { return t.entries[leaf] }

// IsKey reports whether a leaf is in the key. Such a leaf is a field of no row: its value
// is a part of the key.
func (t *Table) IsKey(leaf string) bool { return slices.Contains(t.Keys, leaf) }

// Counts reports whether a leaf counts events, and so always changes. Its type is
// counter, of Sluice's state model.
func (t *Table) Counts(leaf string) bool {
	e := t.entries[leaf]
	return e != nil && e.Type.Name == "counter"
}

// Column returns how the database names a leaf. SONiC's name of a leaf-list ends with @,
// and its values have commas between them.
func (t *Table) Column(leaf string) string {
	if e := t.entries[leaf]; e != nil && e.IsLeafList() {
		return leaf + "@"
	}
	return leaf
}

// Split returns the values of a key, one a leaf of Keys; ok is false where the
// key has too few.
func (t *Table) Split(key string) (values []string, ok bool) {
	if len(t.Keys) == 0 {
		return nil, key == t.Row
	}
	values = strings.SplitN(key, KeySeparator, len(t.Keys))
	return values, len(values) == len(t.Keys)
}

// Canonical returns a key with each value in the one spelling by which keys are compared.
func (t *Table) Canonical(key string) string {
	if !t.Spelled {
		return key
	}
	values, _ := t.Split(key)
	return strings.Join(t.canonical(values), KeySeparator)
}

// canonical returns the values of a key in the one spelling by which they are compared. It
// changes values.
func (t *Table) canonical(values []string) []string {
	if t.Spelled {
		for i, v := range values {
			values[i] = rows.Canonical(t.entries[t.Keys[i]].Type, v)
		}
	}
	return values
}

// Nameable reports whether a path can name the row of a key: it is in UTF-8, and each of
// its values has characters and differs from the wildcards of paths.
func (t *Table) Nameable(s Style, key string) bool {
	values, ok := t.Split(key)
	if !ok || !utf8.ValidString(key) || s == SonicDB && (key == Any || key == recursive) {
		return false
	}
	return !slices.ContainsFunc(values, func(v string) bool { return v == "" || v == Any })
}
