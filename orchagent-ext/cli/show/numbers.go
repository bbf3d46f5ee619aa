// SPDX-License-Identifier: Apache-2.0

package show

import (
	"encoding/json"
	"maps"

	"sluice/yang/rows"
)

// numbers returns the names of the fields and keys of a verb's tables that are numbers. Of a
// name that several tables have its own ones decide: flow_label is a number in SLUICE_FLOW
// and a state in SLUICE_STATE. A name is a number where it is one in any of them: the words
// that moves has in SLUICE_PLACEMENT do not look like one.
func (v *Verb) numbers() map[string]bool {
	is := make(map[string]bool)
	for _, tables := range [][]string{always, v.Tables} {
		one := make(map[string]bool)
		for _, table := range tables {
			d, _ := rows.Describe(table)
			for _, leaf := range append(d.Keys, d.Leaves...) {
				one[leaf.Name] = one[leaf.Name] || leaf.Counter || leaf.Number
			}
		}
		maps.Copy(is, one)
	}
	return is
}

// isNumber reports whether a text is a number of JSON.
func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') && json.Valid([]byte(s))
}

// withNumbers returns a value of JSON in which the fields of rows that are numbers are
// numbers: programs compare them as such. A text that is no number stays one.
func withNumbers(v any, numbers map[string]bool) any {
	switch v := v.(type) {
	case map[string]string:
		out := make(map[string]any, len(v))
		for name, value := range v {
			out[name] = value
			if numbers[name] && isNumber(value) {
				out[name] = json.Number(value)
			}
		}
		return out
	case map[string]map[string]string:
		out := make(map[string]any, len(v))
		for key, fields := range v {
			out[key] = withNumbers(fields, numbers)
		}
		return out
	case []map[string]string:
		out := make([]any, len(v))
		for i, fields := range v {
			out[i] = withNumbers(fields, numbers)
		}
		return out
	case map[string]any:
		out := maps.Clone(v)
		for name, value := range v {
			if text, is := value.(string); is {
				value = withNumbers(map[string]string{name: text}, numbers).(map[string]any)[name]
			}
			out[name] = withNumbers(value, numbers)
		}
		return out
	}
	return v
}
