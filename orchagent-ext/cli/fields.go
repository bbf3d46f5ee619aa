// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"sluice/orchagent-ext/cli/output"
)

// fieldNames are those of a record's columns as --fields takes them, by the title: the names
// that JSON has.
var fieldNames = map[string]string{
	"LABEL": "flow_label", "OPCODE": "opcode_name", "FROM": "src_qp_from", "FLAGS": "event", "ICRC": "icrc_ok",
}

// nameOf returns the name of a column.
func nameOf(title string) string {
	if name, ok := fieldNames[title]; ok {
		return name
	}
	return strings.ReplaceAll(strings.ToLower(title), "-", "_")
}

// fieldChoice is --fields: the columns of packets that are shown, in this order; nil: all.
type fieldChoice []string

// addFields adds --fields.
func addFields(flags *pflag.FlagSet, f *fieldChoice) {
	flags.Var(listFlag[string]{(*[]string)(f), "name", parseField}, "fields", "only these columns, or fields of JSON, in this order, with commas between")
}

// parseField returns the name of a field, given as a column's title or as in JSON.
func parseField(s string) (string, error) {
	var known []string
	for _, title := range recordColumns(true).Header {
		if strings.EqualFold(s, title) || s == nameOf(title) {
			return nameOf(title), nil
		}
		known = append(known, nameOf(title))
	}
	return "", fmt.Errorf("%q is not one of %s", s, strings.Join(known, ", "))
}

// columns returns the chosen columns of a table, and the place of each in its rows.
func (f fieldChoice) columns(all output.Columns) (output.Columns, []int) {
	if f == nil {
		return all, nil
	}
	var chosen []string
	var at []int
	for _, name := range f {
		i := slices.IndexFunc(all.Header, func(title string) bool { return nameOf(title) == name })
		if i < 0 { // a port, which is not shown
			continue
		}
		chosen, at = append(chosen, all.Header[i]), append(at, i)
	}
	return output.Columns{Header: chosen}, at
}

// cells returns the cells at those places; all of them for nil.
func cellsAt(cells []string, at []int) []string {
	if at == nil {
		return cells
	}
	chosen := make([]string, len(at))
	for i, from := range at {
		chosen[i] = cells[from]
	}
	return chosen
}

// of returns a record with the chosen fields alone; one that the record lacks is null.
func (f fieldChoice) of(record any) (any, error) {
	if f == nil {
		return record, nil
	}
	encoded, err := json.Marshal(record)
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &all); err != nil {
		return nil, err
	}
	return chosenFields{f, all}, nil
}

// chosenFields is an object with some fields, in their order.
type chosenFields struct {
	names []string
	all   map[string]json.RawMessage
}

// MarshalJSON implements [json.Marshaler].
func (c chosenFields) MarshalJSON() ([]byte, error) {
	out := bytes.NewBufferString("{")
	for i, name := range c.names {
		if i > 0 {
			out.WriteByte(',')
		}
		value := c.all[name]
		if value == nil {
			value = json.RawMessage("null")
		}
		fmt.Fprintf(out, "%q:%s", name, value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
