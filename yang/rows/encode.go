// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/openconfig/ygot/ygot"
)

// Encode returns the row of a model's struct, in the form of [Decode], with every leaf
// that is set. It leaves validation to its caller; errors are values that a row cannot
// hold (a missing key, a separator in a value, an unknown value of an enum). A leaf that
// was renamed is written under its former name, too; the struct's field of that name is
// ignored.
func Encode(s ygot.GoStruct) (Row, error) { return EncodeInto(map[string]string{}, s) }

// EncodeInto is [Encode] with the map of the row's fields: what is in it goes. Where rows are encoded
// each second, a map for all of them leaves no garbage.
func EncodeInto(fields map[string]string, s ygot.GoStruct) (Row, error) {
	v := reflect.ValueOf(s).Elem()
	t, ok := byType()[v.Type()]
	if !ok {
		return Row{}, fmt.Errorf("encode row: %T is no row of a table", s)
	}
	clear(fields)
	r := Row{Table: t.name, Key: t.only, Fields: fields}
	if t.only == "" {
		var parts []string
		for i, leaf := range t.keys {
			part, set, err := valueOf(v.Field(t.places[leaf]))
			if err != nil || !set || i < len(t.keys)-1 && strings.Contains(part, keySeparator) {
				return Row{}, fmt.Errorf("encode row of %s: %s %q cannot be in a key", t.name, leaf, part)
			}
			parts = append(parts, part)
		}
		r.Key = strings.Join(parts, keySeparator)
	}
	for _, leaf := range t.fields {
		from := leaf
		if name := t.former[leaf]; name != "" {
			from = name
		}
		f := v.Field(t.places[from])
		if f.Kind() != reflect.Slice {
			value, set, err := valueOf(f)
			if err != nil {
				return Row{}, fmt.Errorf("encode row of %s: %s: %w", t.name, leaf, err)
			}
			if set {
				r.Fields[leaf] = value
			}
			continue
		}
		var parts []string
		for i := range f.Len() {
			part, _, err := valueOf(f.Index(i))
			if err != nil {
				return Row{}, fmt.Errorf("encode row of %s: %s: %w", t.name, leaf, err)
			}
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

// valueOf writes the value of a leaf; set is false for an unset leaf.
func valueOf(v reflect.Value) (s string, set bool, err error) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return "", false, nil
		}
		return valueOf(v.Elem())
	case reflect.String:
		return v.String(), true, nil
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), true, nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10), true, nil
	case reflect.Float64: // the models' only decimals
		return decimal(v.Float()), true, nil
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e, enum := v.Interface().(ygot.GoEnum)
		switch {
		case !enum:
			return strconv.FormatInt(v.Int(), 10), true, nil
		case v.Int() == 0:
			return "", false, nil
		}
		if d, ok := e.ΛMap()[v.Type().Name()][v.Int()]; ok {
			return d.Name, true, nil
		}
		return "", false, fmt.Errorf("%d is no value of %s", v.Int(), v.Type().Name())
	}
	return "", false, fmt.Errorf("a %s cannot be written", v.Type())
}

// Set sets a leaf of a struct by the leaf's name: a text, a number, or the value of an
// enum that has a name.
func Set(s ygot.GoStruct, leaf, value string) error {
	v := reflect.ValueOf(s).Elem()
	t, ok := byType()[v.Type()]
	if !ok {
		return fmt.Errorf("set %s: %T is no row of a table", leaf, s)
	}
	place, ok := t.places[leaf]
	if !ok {
		return fmt.Errorf("set %s: %s has no such leaf", leaf, t.name)
	}
	f := v.Field(place)
	if e, enum := f.Interface().(ygot.GoEnum); enum {
		for n, d := range e.ΛMap()[f.Type().Name()] {
			if d.Name == value {
				f.SetInt(n)
				return nil
			}
		}
		return fmt.Errorf("set %s of %s: there is no value %q", leaf, t.name, value)
	}
	if f.Kind() != reflect.Pointer {
		return fmt.Errorf("set %s of %s: a %s cannot be set", leaf, t.name, f.Type())
	}
	to := reflect.New(f.Type().Elem())
	switch kind := to.Elem().Kind(); kind {
	case reflect.String:
		to.Elem().SetString(value)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(value, 10, to.Elem().Type().Bits())
		if err != nil {
			return fmt.Errorf("set %s of %s: %w", leaf, t.name, err)
		}
		to.Elem().SetUint(n)
	case reflect.Float64:
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("set %s of %s: %w", leaf, t.name, err)
		}
		to.Elem().SetFloat(n)
	default:
		return fmt.Errorf("set %s of %s: a %s cannot be set", leaf, t.name, kind)
	}
	f.Set(to)
	return nil
}

// SetEnum sets a leaf to the value of its enum that has a name; a name without value
// leaves it as it is.
func SetEnum[E interface {
	~int64
	ygot.GoEnum
}](leaf *E, name string) {
	for n, d := range (*leaf).ΛMap()[reflect.TypeFor[E]().Name()] {
		if d.Name == name {
			*leaf = E(n)
		}
	}
}
