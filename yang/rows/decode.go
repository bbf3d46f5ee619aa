// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/openconfig/goyang/pkg/yang"
	"github.com/openconfig/ygot/ygot"
	"github.com/openconfig/ygot/ytypes"
)

// Decode checks a row on its own and returns it as a pointer to the model's
// struct of its table (container global, or an entry of the list). Leaves that
// the row does not hold are unset: [Fill] gives them their defaults. The error
// is an *[Error].
func Decode(r Row) (ygot.GoStruct, error) {
	t, leaves, err := r.leaves()
	if err != nil {
		return nil, err
	}
	tree := make(map[string]any, len(leaves))
	for leaf, values := range leaves {
		tree[leaf] = t.json(leaf, values)
	}
	s := reflect.New(t.rowType).Interface().(ygot.GoStruct)
	if err := ytypes.Unmarshal(t.entry, s, tree); err != nil {
		return nil, r.wrong("", "", "%v", err)
	}
	return s, nil
}

// Fill gives every leaf that is unset its default of the schema. It changes s, and leaves
// a type that is not of the model as it is.
func Fill(s ygot.GoStruct) {
	if d, ok := s.(interface{ PopulateDefaults() }); ok {
		d.PopulateDefaults()
	}
}

// leaves returns the values of a row by leaf, checked; a leaf-list has any number,
// another leaf exactly one.
func (r Row) leaves() (*table, map[string][]string, error) {
	t, ok := byName()[r.Table]
	if !ok {
		return nil, nil, r.wrong("", "", "no model has a table %s", r.Table)
	}
	leaves, err := t.splitKey(r)
	if err != nil {
		return nil, nil, err
	}
	for _, field := range slices.Sorted(fieldNames(r.Fields)) {
		leaf, values, err := t.splitField(r, field)
		if err != nil {
			return nil, nil, err
		}
		if len(values) > 0 {
			leaves[leaf] = values
		}
	}
	for _, leaf := range t.fields {
		if t.entry.Dir[leaf].Mandatory == yang.TSTrue && leaves[leaf] == nil {
			return nil, nil, r.wrong(leaf, "", "is missing, and has no default")
		}
	}
	for _, rule := range t.rules {
		if !rule.holds(t, leaves) {
			return nil, nil, r.wrong(rule.leaf, strings.Join(leaves[rule.leaf], ","), "%s", rule.message)
		}
	}
	return t, leaves, nil
}

// fieldNames yields the fields of a row but the NULL of a row that has none.
func fieldNames(fields map[string]string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for f, v := range fields {
			if (f != "NULL" || v != "NULL") && !yield(f) {
				return
			}
		}
	}
}

// splitKey returns the leaves of a row's key, by name. The key of a table's only row has
// none.
func (t *table) splitKey(r Row) (map[string][]string, error) {
	leaves := make(map[string][]string)
	if t.only != "" {
		if r.Key != t.only {
			return nil, r.wrong("", "", "the only row of this table is %s|%s", r.Table, t.only)
		}
		return leaves, nil
	}
	values := strings.SplitN(r.Key, keySeparator, len(t.keys))
	if len(values) < len(t.keys) {
		return nil, r.wrong("", "", "the key must be %s", strings.Join(t.keys, keySeparator))
	}
	for i, leaf := range t.keys {
		if err := check(t.entry.Dir[leaf], values[i]); err != nil {
			return nil, r.wrong(leaf, values[i], "%v", err)
		}
		leaves[leaf] = values[i : i+1]
	}
	return leaves, nil
}

// splitField returns the leaf that a field is, and its values: none for an
// empty leaf-list.
func (t *table) splitField(r Row, field string) (leaf string, values []string, err error) {
	value := r.Fields[field]
	leaf, isList := strings.CutSuffix(field, "@")
	e, ok := t.entry.Dir[leaf]
	switch {
	case !ok:
		return "", nil, r.wrong(field, value, "no such field; there are: %s", strings.Join(Fields(t.name), ", "))
	case slices.Contains(t.keys, leaf):
		return "", nil, r.wrong(field, value, "is in the key, and no field")
	case e.IsLeafList() != isList:
		return "", nil, r.wrong(field, value, "the field's name must be %s", t.column(leaf))
	case !isList:
		values = []string{value}
	case value != "":
		values = strings.Split(value, ",")
	}
	for i, v := range values {
		if err := check(e, v); err != nil {
			return "", nil, r.wrong(field, v, "%v", err)
		}
		if slices.Contains(values[:i], v) {
			return "", nil, r.wrong(field, v, "must not be there twice")
		}
	}
	if isList {
		if err := checkCount(e.ListAttr, len(values)); err != nil {
			return "", nil, r.wrong(field, value, "%v", err)
		}
	}
	return leaf, values, nil
}

// checkCount returns an error for a leaf-list with too few or too many values
// (min-elements, max-elements).
func checkCount(a *yang.ListAttr, n int) error {
	switch {
	case uint64(n) < a.MinElements:
		return fmt.Errorf("must have at least %d values, and has %d", a.MinElements, n)
	case uint64(n) > a.MaxElements:
		return fmt.Errorf("must have at most %d values, and has %d", a.MaxElements, n)
	}
	return nil
}

// json returns checked values in the form of RFC 7951, as encoding/json has it.
func (t *table) json(leaf string, values []string) any {
	e := t.entry.Dir[leaf]
	if !e.IsLeafList() {
		return jsonValue(e.Type.Kind, values[0])
	}
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = jsonValue(e.Type.Kind, v)
	}
	return list
}

// jsonValue returns a checked value as encoding/json has it for ygot: 64-bit numbers are
// strings (RFC 7951 section 6.1).
func jsonValue(k yang.TypeKind, value string) any {
	switch k {
	case yang.Ybool:
		return value == "true"
	case yang.Yint8, yang.Yint16, yang.Yint32, yang.Yuint8, yang.Yuint16, yang.Yuint32:
		// checked; 32 bits are exact in it
		f, _ := strconv.ParseFloat(value, 64)
		return f
	}
	return value // 64 bits are strings in JSON
}

// AsError returns the *[Error] in err, or nil. Errors that wrap one count.
func AsError(err error) *Error {
	var e *Error
	errors.As(err, &e)
	return e
}
