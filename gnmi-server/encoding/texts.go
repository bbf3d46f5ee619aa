// SPDX-License-Identifier: Apache-2.0

package encoding

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/goyang/pkg/yang"
	"sluice/gnmi-server/paths"
)

// members are those of a JSON object.
type members struct {
	names []string // sorted
	of    map[string]any
}

// object returns the members of a JSON object, sorted by name, or an error for another
// value.
func object(value any) (members, error) {
	of, ok := value.(map[string]any)
	if !ok {
		return members{}, errors.New("must be a JSON object")
	}
	m := members{of: of}
	for name := range of {
		m.names = append(m.names, name)
	}
	slices.Sort(m.names)
	return m, nil
}

// find returns the member that is a leaf of t, with or without its module.
func (m members) find(t *paths.Table, leaf string) (any, bool) {
	if v, ok := m.of[leaf]; ok {
		return v, true
	}
	v, ok := m.of[t.Module+":"+leaf]
	return v, ok
}

// unqualified returns a member's name with the prefix of its module removed.
func unqualified(parts []paths.Part, name string) string {
	for _, p := range parts {
		if s, ok := strings.CutPrefix(name, p.Table.Module+":"); ok {
			return s
		}
	}
	return name
}

// scalarText returns the text of a value in JSON, which must have the form that
// RFC 7951 gives the type (JSON_IETF), or that or a plain one (JSON).
func (d *decoder) scalarText(k yang.TypeKind, value any) (string, error) {
	if d.query.Style == paths.SonicDB {
		return anyText(value)
	}
	switch k {
	case yang.Ybool:
		if b, ok := value.(bool); ok {
			return strconv.FormatBool(b), nil
		}
		return "", fmt.Errorf("must be true or false, without quotes%s", but(value))
	case yang.Yint8, yang.Yint16, yang.Yint32, yang.Yuint8, yang.Yuint16, yang.Yuint32:
		if n, ok := value.(json.Number); ok {
			return n.String(), nil
		}
		if s, ok := value.(string); ok && !d.ietf {
			return s, nil
		}
		return "", fmt.Errorf("must be a number, without quotes%s", but(value))
	case yang.Yint64, yang.Yuint64, yang.Ydecimal64:
		if s, ok := value.(string); ok {
			return s, nil
		}
		if n, ok := value.(json.Number); ok && !d.ietf {
			return n.String(), nil
		}
		return "", fmt.Errorf("must be a number in quotes (RFC 7951 section 6.1)%s", but(value))
	}
	if s, ok := value.(string); ok {
		return s, nil
	}
	return "", fmt.Errorf("must be a string%s", but(value))
}

// but returns the wrong value for an error; "" for a long one.
func but(value any) string {
	text, err := json.Marshal(value)
	if err != nil || len(text) > 64 {
		return ""
	}
	return ", and is " + string(text)
}

// anyText returns the text of a JSON value for a database that knows texts only.
func anyText(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	}
	return "", fmt.Errorf("must be a string%s", but(value))
}

// protoText returns the text of a scalar value of PROTO or ASCII.
func protoText(v any) (text string, list bool, err error) {
	switch v := v.(type) {
	case *gpb.TypedValue_StringVal:
		return v.StringVal, false, nil
	case *gpb.TypedValue_AsciiVal:
		return v.AsciiVal, false, nil
	case *gpb.TypedValue_IntVal:
		return strconv.FormatInt(v.IntVal, 10), false, nil
	case *gpb.TypedValue_UintVal:
		return strconv.FormatUint(v.UintVal, 10), false, nil
	case *gpb.TypedValue_BoolVal:
		return strconv.FormatBool(v.BoolVal), false, nil
	case *gpb.TypedValue_DoubleVal:
		return number(v.DoubleVal), false, nil
	case *gpb.TypedValue_LeaflistVal:
		var parts []string
		for _, e := range v.LeaflistVal.GetElement() {
			part, nested, err := protoText(e.GetValue())
			if err != nil {
				return "", true, err
			}
			if nested {
				return "", true, errors.New("elements of leaflist_val must be scalars")
			}
			parts = append(parts, part)
		}
		text, err := join(parts)
		return text, true, err
	}
	return "", false, ErrEncoding
}

// fits returns an error for a scalar of another type than the leaf's, or nil (gNMI
// specification section 2.2.3).
func fits(k yang.TypeKind, v any) error {
	var ok bool
	var want string
	switch k {
	case yang.Ybool:
		_, ok = v.(*gpb.TypedValue_BoolVal)
		want = "bool_val"
	case yang.Yuint8, yang.Yuint16, yang.Yuint32, yang.Yuint64:
		_, ok = v.(*gpb.TypedValue_UintVal)
		if _, signed := v.(*gpb.TypedValue_IntVal); signed {
			// as many clients send them; package rows refuses what is negative
			ok = true
		}
		want = "uint_val"
	case yang.Yint8, yang.Yint16, yang.Yint32, yang.Yint64:
		_, ok = v.(*gpb.TypedValue_IntVal)
		want = "int_val"
	case yang.Ydecimal64:
		_, ok = v.(*gpb.TypedValue_DoubleVal)
		want = "double_val"
	default:
		_, ok = v.(*gpb.TypedValue_StringVal)
		want = "string_val"
	}
	if !ok {
		return fmt.Errorf("the value must be %s", want)
	}
	return nil
}
