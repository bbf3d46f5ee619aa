// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sluice/yang/rows"
)

// always are the tables that every command reads.
var always = []string{"SLUICE_STATE", "SLUICE_CAPABILITY"}

// Wanted returns the tables of a verb, by the database that they are in.
func (v *Verb) Wanted() map[string][]string {
	all := make(map[string][]string)
	for _, table := range append(slices.Clone(always), v.Tables...) {
		database := "CONFIG_DB"
		if d, known := rows.Describe(table); known {
			database = d.Database
		}
		all[database] = append(all[database], table)
	}
	return all
}

// Data are rows by table, sorted as people count.
type Data struct{ tables map[string][]rows.Row }

// NewData returns the data of rows.
func NewData(all []rows.Row) *Data {
	d := &Data{tables: make(map[string][]rows.Row)}
	for _, r := range all {
		d.tables[r.Table] = append(d.tables[r.Table], r)
	}
	for _, of := range d.tables {
		slices.SortFunc(of, func(a, b rows.Row) int { return rows.Natural(a.Key, b.Key) })
	}
	return d
}

// rows returns the rows of a table.
func (d *Data) rows(table string) []rows.Row { return d.tables[table] }

// fields returns the keys and fields of a table's rows by name, for JSON: an empty list
// rather than null.
func (d *Data) fields(table string) []map[string]string {
	description, _ := rows.Describe(table)
	all := []map[string]string{}
	for _, r := range d.rows(table) {
		f := make(map[string]string)
		for i, value := range strings.SplitN(r.Key, "|", max(len(description.Keys), 1)) {
			if i < len(description.Keys) {
				f[description.Keys[i].Name] = value
			}
		}
		maps.Copy(f, r.Fields)
		all = append(all, f)
	}
	return all
}

// byKey are the fields of the rows of a table by their keys, for JSON.
func (d *Data) byKey(table string) map[string]map[string]string {
	all := make(map[string]map[string]string)
	for _, r := range d.rows(table) {
		all[r.Key] = known(r.Fields)
	}
	return all
}

// known returns fields that are never nil, since JSON has {} for an empty object.
func known(fields map[string]string) map[string]string {
	if fields == nil {
		return map[string]string{}
	}
	return fields
}

// only returns the fields of the only row of a table, or nil.
func (d *Data) only(table string) map[string]string {
	for _, r := range d.rows(table) {
		if r.Key == rows.Only(table) {
			return r.Fields
		}
	}
	return nil
}

// state returns the fields of SLUICE_STATE|global, nil if sluiced does not run.
func (d *Data) state() map[string]string { return d.only("SLUICE_STATE") }

// has reports whether a table has a row of the key.
func (d *Data) has(table, key string) bool {
	return slices.ContainsFunc(d.rows(table), func(r rows.Row) bool { return r.Key == key })
}

// members are a port, or those of a PortChannel, as a set; nil for all ports.
func (d *Data) members(name string) (map[string]bool, error) {
	if name == "" {
		return nil, nil
	}
	if d.has("PORT", name) {
		return map[string]bool{name: true}, nil
	}
	all := make(map[string]bool)
	for _, r := range d.rows("PORTCHANNEL_MEMBER") {
		if channel, port, _ := strings.Cut(r.Key, "|"); channel == name {
			all[port] = true
		}
	}
	if len(all) > 0 || d.has("PORTCHANNEL", name) {
		return all, nil
	}
	var there []string
	for _, r := range slices.Concat(d.rows("PORT"), d.rows("PORTCHANNEL")) {
		there = append(there, r.Key)
	}
	return nil, fmt.Errorf("--port %s: there is no such port or PortChannel; there are: %s", name, listed(there))
}

// shown is how many names a message lists.
const shown = 8

// listed returns names for an error, the first few of them.
func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	more := ""
	if len(names) > shown {
		more = ", …"
	}
	return strings.Join(names[:min(len(names), shown)], ", ") + more
}

// or returns a value, or otherwise where it is empty.
func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// words is a field's name as people read it.
func words(field string) string {
	return strings.ReplaceAll(strings.TrimSuffix(field, "@"), "_", " ")
}

// number returns the value of a decimal field; 0 for other texts.
func number(value string) uint64 {
	n, _ := strconv.ParseUint(value, 10, 64)
	return n
}

// hex returns a decimal number in hexadecimal, with so many digits; it returns other
// texts as they are.
func hex(value string, digits int) string {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return or(value, "-")
	}
	return fmt.Sprintf("0x%0*x", digits, n)
}

// pairsOf are fields as pairs, sorted by name.
func pairsOf(fields map[string]string) [][2]string {
	var pairs [][2]string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		pairs = append(pairs, [2]string{words(name), fields[name]})
	}
	return pairs
}
