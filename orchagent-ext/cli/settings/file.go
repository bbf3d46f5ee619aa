// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"sluice/yang/rows"
)

// File has the rows of a file in the form of config_db.json.
type File struct {
	Rows []rows.Row // sorted by name
	Gone []rows.Row // null in the file: they are removed where it is loaded
}

// host is the part of a file for several ASICs that is of the host.
const host = "localhost"

// Parse reads rows of Sluice's tables, and those of PORT that make devices ports, out of a
// text in the form of config_db.json: tables, rows by key, fields. Others are left out. Of a file for
// several ASICs it reads the part of a namespace, as asic0, or "" for the host. A text without
// any of these tables is an error.
func Parse(r io.Reader, namespace string) (*File, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var tables map[string]json.RawMessage
	if err := json.Unmarshal(text, &tables); err != nil {
		return nil, fmt.Errorf("is not in the form of config_db.json: %w", err)
	}
	if tables, err = part(tables, namespace); err != nil {
		return nil, err
	}
	f, found := &File{}, false
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		ours := isOurs(table)
		switch upper := strings.ToUpper(table); {
		case table != upper && (isOurs(upper) || upper == tablePort):
			return nil, fmt.Errorf("%q is the name of no table: is %s meant?", table, upper)
		case !ours && table != tablePort:
			continue
		}
		all, err := rowsOf(table, tables[table])
		if err != nil {
			return nil, err
		}
		found = found || ours
		for _, r := range all {
			switch {
			case !ours && !isDevice(r):
			case r.Fields == nil:
				f.Gone = append(f.Gone, r)
			default:
				f.Rows = append(f.Rows, r)
			}
		}
	}
	if !found && len(f.Rows) == 0 {
		return nil, errors.New("has no table of Sluice, as SLUICE_PORT")
	}
	return f, nil
}

// isOurs reports whether a table has a name of Sluice's.
func isOurs(table string) bool { return table == "SLUICE" || strings.HasPrefix(table, "SLUICE_") }

// part returns the tables of a namespace in a file for several ASICs; others are returned as they are.
func part(tables map[string]json.RawMessage, namespace string) (map[string]json.RawMessage, error) {
	_, several := tables[host]
	if !several {
		return tables, nil
	}
	name := cmp.Or(namespace, host)
	text, there := tables[name]
	if !there {
		return nil, fmt.Errorf("has the parts %s, and none of %s", strings.Join(slices.Sorted(maps.Keys(tables)), ", "), name)
	}
	var own map[string]json.RawMessage
	if err := json.Unmarshal(text, &own); err != nil {
		return nil, fmt.Errorf("%s: is not in the form of config_db.json: %w", name, err)
	}
	return own, nil
}

// rowsOf returns the rows of a table, sorted by key. One that is null has nil for its fields.
func rowsOf(table string, text json.RawMessage) (all []rows.Row, err error) {
	var of map[string]map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&of); err != nil {
		return nil, fmt.Errorf("%s: must be rows by key, each with its fields: %w", table, err)
	}
	if of == nil {
		return nil, fmt.Errorf("%s: must be rows by key: null is for each row that is to be removed", table)
	}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		r := rows.Row{Table: table, Key: key}
		if of[key] != nil {
			r.Fields = make(map[string]string)
		}
		for _, name := range slices.Sorted(maps.Keys(of[key])) {
			column, value, err := field(name, of[key][name])
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", r.Name(), name, err)
			}
			if column != "NULL" {
				r.Fields[column] = value
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// field returns a field as the database has it; SONiC's files have a leaf-list as list,
// and some programs write numbers and booleans without quotes.
func field(name string, value any) (column, text string, err error) {
	switch v := value.(type) {
	case string:
		return name, v, nil
	case json.Number, bool:
		return name, fmt.Sprint(v), nil
	case []any:
		var values []string
		for _, one := range v {
			_, text, err := field(name, one)
			if err != nil {
				return "", "", err
			}
			values = append(values, text)
		}
		return strings.TrimSuffix(name, "@") + "@", strings.Join(values, ","), nil
	}
	return "", "", fmt.Errorf("must be a text or a list of texts")
}

// In returns the rows of a file with keys in the spelling that a configuration has. Rows of the file
// that mean the same are left as they are: they contradict each other.
func (f *File) In(c Config) []rows.Row {
	names, own := c.names(), NewConfig(f.Rows).names()
	all := slices.Clone(f.Rows)
	for i, r := range all {
		canonical := canonicalName(r)
		if same := names[canonical]; len(same) > 0 && len(own[canonical]) == 1 && !slices.Contains(same, r.Name()) {
			all[i].Key = c[slices.Min(same)].Key
		}
	}
	return all
}

// names returns the names of the rows by their canonical names.
func (c Config) names() map[string][]string {
	names := make(map[string][]string, len(c))
	for name, r := range c {
		names[canonicalName(r)] = append(names[canonicalName(r)], name)
	}
	return names
}

// canonicalName returns the name of a row whose key is in its canonical spelling.
func canonicalName(r rows.Row) string { return rows.Row{Table: r.Table, Key: r.CanonicalKey()}.Name() }

// Load returns the change that writes the rows of a file, each as a whole, and removes those that are
// null in it; other rows stay.
func (f *File) Load() Change {
	return func(c Config) error {
		for _, r := range slices.Concat(f.Rows, f.Gone) { // only rows of the model's tables are judged
			if _, known := rows.Describe(r.Table); !known && !isDevice(r) {
				return &rows.Error{Table: r.Table, Key: r.Key, Reason: rows.NoTable(database, r.Table)}
			}
		}
		names := c.names()
		for _, r := range f.In(c) {
			c[r.Name()] = r
		}
		for _, r := range f.Gone {
			for _, name := range names[canonicalName(r)] {
				delete(c, name)
			}
		}
		return nil
	}
}
