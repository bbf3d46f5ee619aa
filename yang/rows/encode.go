package rows

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

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
	r := Row{Table: t.name, Key: globalKey, Fields: make(map[string]string, len(tree))}
	if !t.global() {
		var parts []string
		for i, leaf := range t.keys {
			v, ok := tree[leaf]
			part := text(v)
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
			r.Fields[leaf] = text(v)
			continue
		}
		var parts []string
		for _, v := range list {
			part := text(v)
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

// text writes a value of RFC 7951 JSON, in which numbers of up to 32 bits are
// floats and larger ones are strings.
func text(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
