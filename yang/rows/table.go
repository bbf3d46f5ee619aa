package rows

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/openconfig/goyang/pkg/yang"
	"sluice/yang/model"
)

const (
	globalKey    = "global"
	keySeparator = "|"
)

// table is what the schema says of one table's rows.
type table struct {
	name     string
	database string
	entry    *yang.Entry  // container global, or the list
	rowType  reflect.Type // the struct of a row
	keys     []string     // leaves of the key; none with container global
	fields   []string     // all other leaves, sorted
	rules    []rule
}

// global reports whether the table has but one row, TABLE|global.
func (t *table) global() bool { return len(t.keys) == 0 }

// byName are the tables of the modules sonic-sluice and sonic-sluice-state; byType
// the same by the struct of a row.
var byName, byType = load()

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
			rowType := f.Type.Elem().Field(0).Type // of *global, or of map[key]*TABLE_LIST
			if rowType.Kind() == reflect.Map {
				rowType = rowType.Elem()
			}
			t, err := newTable(f.Tag.Get("path"), rowType.Elem())
			if err != nil {
				panic(fmt.Sprintf("rows: table %s: %v", f.Name, err))
			}
			names[t.name], types[t.rowType] = t, t
		}
	}
	return names, types
}

func newTable(name string, rowType reflect.Type) (*table, error) {
	entry := model.SchemaTree[rowType.Name()]
	t := &table{name: name, database: database(entry), entry: entry, rowType: rowType, keys: strings.Fields(entry.Key)}
	for leaf, e := range entry.Dir {
		if err := supported(e); err != nil {
			return nil, fmt.Errorf("%s: %w", leaf, err)
		}
		if !slices.Contains(t.keys, leaf) {
			t.fields = append(t.fields, leaf)
		}
	}
	slices.Sort(t.fields)
	var err error
	t.rules, err = rulesOf(t)
	return t, err
}

// database returns the database of the table that a row's schema is in:
// CONFIG_DB, or what the state module says by its extension.
func database(row *yang.Entry) string {
	for _, x := range row.Parent.Exts {
		if _, name, _ := strings.Cut(x.Keyword, ":"); name == "database" {
			return x.Argument
		}
	}
	return "CONFIG_DB"
}

// Tables returns the names of the tables in a database that the models have,
// sorted: CONFIG_DB, STATE_DB or COUNTERS_DB.
func Tables(database string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if byName[name].database == database {
			names = append(names, name)
		}
	}
	return names
}

// Global reports whether a table has one row only, TABLE|global.
func Global(table string) bool {
	t, ok := byName[table]
	return ok && t.global()
}

// Fields returns the names of a table's fields as the database has them, sorted,
// leaf-lists with their "@"; nil for a table that no model has.
func Fields(table string) []string {
	t, ok := byName[table]
	if !ok {
		return nil
	}
	fields := slices.Clone(t.fields)
	for i, leaf := range fields {
		fields[i] = t.column(leaf)
	}
	return fields
}

// column returns how the database names a leaf.
func (t *table) column(leaf string) string {
	if t.entry.Dir[leaf].IsLeafList() {
		return leaf + "@"
	}
	return leaf
}
