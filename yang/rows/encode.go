// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/openconfig/goyang/pkg/yang"
	"github.com/openconfig/ygot/ygot"
)

// Encode returns the row of a model's struct: what [Decode] reads, for every
// leaf that is set. It does not validate; only what no row can hold is an error
// (no key, a separator in a value).
func Encode(s ygot.GoStruct) (Row, error) {
	t, ok := byType[reflect.TypeOf(s).Elem()]
	if !ok {
		return Row{}, fmt.Errorf("encode row: %T is no row of a table", s)
	}
	tree, err := ygot.ConstructIETFJSON(s, nil)
	if err != nil {
		return Row{}, fmt.Errorf("encode row of %s: %w", t.name, err)
	}
	r := Row{Table: t.name, Key: t.only, Fields: make(map[string]string, len(tree))}
	if t.only == "" {
		var parts []string
		for i, leaf := range t.keys {
			v, ok := tree[leaf]
			part := t.text(leaf, v)
			if !ok || i < len(t.keys)-1 && strings.Contains(part, keySeparator) {
				return Row{}, fmt.Errorf("encode row of %s: %s %q cannot be in a key", t.name, leaf, part)
			}
			parts = append(parts, part)
		}
		r.Key = strings.Join(parts, keySeparator)
	}
	for _, leaf := range t.fields {
		v, ok := tree[leaf]
		if !ok {
			continue
		}
		list, isList := v.([]any)
		if !isList {
			r.Fields[leaf] = t.text(leaf, v)
			continue
		}
		var parts []string
		for _, v := range list {
			part := t.text(leaf, v)
			if strings.Contains(part, ",") {
				return Row{}, r.wrong(t.column(leaf), part, "a comma separates values in the database, and cannot be in one")
			}
			parts = append(parts, part)
		}
		if len(parts) > 0 {
			r.Fields[t.column(leaf)] = strings.Join(parts, ",")
		}
	}
	return r, nil
}

// text writes the value of a leaf, given in RFC 7951 JSON: numbers of up to 32
// bits are floats there, larger ones and decimals strings.
func (t *table) text(leaf string, v any) string {
	if s, ok := v.(string); ok && t.entry.Dir[leaf].Type.Kind == yang.Ydecimal64 {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return decimal(f)
		}
	}
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
