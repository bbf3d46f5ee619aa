// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"sluice/yang/rows"
)

// Parse reads rows of Sluice's tables, and those of PORT that make devices ports, out of a
// text in the form of config_db.json: tables, rows by key, fields. Others are left out.
func Parse(r io.Reader) ([]rows.Row, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var tables map[string]json.RawMessage
	if err := json.Unmarshal(text, &tables); err != nil {
		return nil, fmt.Errorf("is not in the form of config_db.json: %w", err)
	}
	var all []rows.Row
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		ours := table == "SLUICE" || strings.HasPrefix(table, "SLUICE_")
		if !ours && table != tablePort {
			continue
		}
		var of map[string]map[string]any
		decoder := json.NewDecoder(bytes.NewReader(tables[table]))
		decoder.UseNumber()
		if err := decoder.Decode(&of); err != nil {
			return nil, fmt.Errorf("%s: must be rows by key, each with its fields: %w", table, err)
		}
		for _, key := range slices.Sorted(maps.Keys(of)) {
			r := rows.Row{Table: table, Key: key, Fields: make(map[string]string)}
			for _, name := range slices.Sorted(maps.Keys(of[key])) {
				column, value, err := field(name, of[key][name])
				if err != nil {
					return nil, fmt.Errorf("%s: %s: %w", r.Name(), name, err)
				}
				if column != "NULL" {
					r.Fields[column] = value
				}
			}
			if ours || isDevice(r) {
				all = append(all, r)
			}
		}
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

// Replace returns the change that writes the rows of a list, each as a whole; other rows
// stay.
func Replace(all []rows.Row) Change {
	return func(c Config) error {
		for _, r := range all { // only rows of the model's tables are judged
			if _, known := rows.Describe(r.Table); !known && !isDevice(r) {
				return &rows.Error{Table: r.Table, Key: r.Key, Reason: rows.NoTable(database, r.Table)}
			}
			c[r.Name()] = r
		}
		return nil
	}
}
