// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/openconfig/goyang/pkg/yang"
	"sluice/yang/model"
	"sluice/yang/text"
)

// keySeparator is between the values of a key, as in all of SONiC's databases but
// APPL_DB.
const keySeparator = "|"

// table is the schema of one table's rows.
type table struct {
	name     string
	database string
	entry    *yang.Entry  // of a row: a container, or the list
	rowType  reflect.Type // the struct of a row
	// only: key of the table's only row, where it is a container
	only   string
	keys   []string       // leaves of the key, where it is a list
	fields []string       // all other leaves, sorted
	places map[string]int // of leaves in the struct
	// former: leaves by their former names, which are leaves, too
	former map[string]string
	rules  []rule
}

// byName are the tables of the modules sonic-sluice and sonic-sluice-state; byType
// the same by the struct of a row.
func byName() map[string]*table {
	names, _ := tables()
	return names
}

// byType returns the tables by the struct of their rows.
func byType() map[reflect.Type]*table {
	_, types := tables()
	return types
}

// tables are loaded at their first use: loading takes time, and few commands need them.
var tables = sync.OnceValues(load)

// load walks the generated schema and the generated types side by side. A model
// that this package cannot handle stops the program at once; a test would see it.
func load() (map[string]*table, map[reflect.Type]*table) {
	names, types := make(map[string]*table), make(map[reflect.Type]*table)
	device := reflect.TypeFor[model.Device]()
	for i := range device.NumField() {
		module := device.Field(i)
		if !strings.HasPrefix(module.Name, "SonicSluice") {
			continue
		}
		containers := module.Type.Elem()
		for j := range containers.NumField() {
			f := containers.Field(j)
			t, err := newTable(f.Tag.Get("path"), f.Type.Elem().Field(0))
			if err != nil {
				panic(fmt.Sprintf("rows: table %s: %v", f.Name, err))
			}
			names[t.name], types[t.rowType] = t, t
		}
	}
	return names, types
}

// newTable makes a table of a field of its container: *global, or map[key]*TABLE_LIST.
func newTable(name string, row reflect.StructField) (*table, error) {
	only, rowType := row.Tag.Get("path"), row.Type
	if rowType.Kind() == reflect.Map {
		only, rowType = "", rowType.Elem()
	}
	rowType = rowType.Elem()
	entry := model.SchemaTree()[rowType.Name()]
	t := &table{name: name, database: database(entry), entry: entry, rowType: rowType, only: only,
		keys: strings.Fields(entry.Key), former: map[string]string{}}
	for leaf, e := range entry.Dir {
		if err := supported(e); err != nil {
			return nil, fmt.Errorf("%s: %w", leaf, err)
		}
		if name := extension(e, "former-name"); name != "" {
			if entry.Dir[name] == nil || entry.Dir[name].Type.Kind != e.Type.Kind {
				return nil, fmt.Errorf("%s is the former name of %q, which is no leaf of the same type", leaf, name)
			}
			t.former[leaf] = name
		}
		if !slices.Contains(t.keys, leaf) {
			t.fields = append(t.fields, leaf)
		}
	}
	slices.Sort(t.fields)
	t.places = map[string]int{}
	for i := range rowType.NumField() {
		t.places[rowType.Field(i).Tag.Get("path")] = i
	}
	var err error
	t.rules, err = rulesOf(t)
	return t, err
}

// database returns the database of the table that a row's schema is in: the argument of
// the state module's extension, else CONFIG_DB.
func database(row *yang.Entry) string {
	return cmp.Or(extension(row.Parent, "database"), "CONFIG_DB")
}

// extension returns the argument of an extension of the state module, empty where the
// entry lacks it.
func extension(e *yang.Entry, name string) string {
	for _, x := range e.Exts {
		if _, keyword, _ := strings.Cut(x.Keyword, ":"); keyword == name {
			return x.Argument
		}
	}
	return ""
}

// Tables returns the names of the tables in a database that the models have,
// sorted: CONFIG_DB, STATE_DB or COUNTERS_DB.
func Tables(database string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(byName())) {
		if byName()[name].database == database {
			names = append(names, name)
		}
	}
	return names
}

// NoTable returns the text of an error for an unknown table of a database, with the
// nearest name.
func NoTable(database, name string) string {
	tables := Tables(database)
	if near := text.Nearest(name, tables); near != "" {
		return fmt.Sprintf("no such table; %s is one", near)
	}
	return "no such table; there are " + strings.Join(tables, ", ")
}

// Only returns the key of a table's only row, such as global; empty for a table
// of many rows.
func Only(table string) string {
	if t, ok := byName()[table]; ok {
		return t.only
	}
	return ""
}

// Fields returns the names of a table's fields as the database has them, sorted,
// leaf-lists with their "@"; nil for a table outside the models.
func Fields(table string) []string {
	t, ok := byName()[table]
	if !ok {
		return nil
	}
	fields := make([]string, len(t.fields))
	for i, leaf := range t.fields {
		fields[i] = t.column(leaf)
	}
	return fields
}

// Former returns the current name of a field whose name was changed, empty for any other
// field. Rows have both fields for one version, with the same value.
func Former(table, field string) string {
	if t, ok := byName()[table]; ok {
		return t.former[field]
	}
	return ""
}

// column returns how the database names a leaf.
func (t *table) column(leaf string) string {
	if t.entry.Dir[leaf].IsLeafList() {
		return leaf + "@"
	}
	return leaf
}
