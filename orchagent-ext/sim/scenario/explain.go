// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"sluice/yang/text"
)

var (
	unknownKey = regexp.MustCompile(`^line (\d+): field (.+) not found in type (\S+)$`)
	wrongValue = regexp.MustCompile("^line (\\d+): cannot unmarshal !!(\\w+)(?: `(.*)`)? into (\\S+)$")
)

// kinds are the forms of values, for people.
var kinds = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint32": "a whole number of at least 0", "uint64": "a whole number of at least 0",
	"float64": "a number without its unit", "bool": "true or false", "string": "a word",
}

// explain returns an error of the YAML decoder in the words of the file.
func explain(err error) error {
	var bad *yaml.TypeError
	if !errors.As(err, &bad) {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	keys := map[string][]string{}
	keysOf(reflect.TypeFor[Scenario](), keys)
	var all []error
	for _, e := range bad.Errors {
		if m := unknownKey.FindStringSubmatch(e); m != nil {
			known := keys[m[3]]
			hint := "known are " + strings.Join(known, ", ")
			if near := text.Nearest(m[2], known); near != "" {
				hint = fmt.Sprintf("%s is known", near)
			}
			e = fmt.Sprintf("line %s: unknown key %s: %s", m[1], m[2], hint)
		} else if m := wrongValue.FindStringSubmatch(e); m != nil {
			want := kinds[m[4]]
			switch {
			case want != "":
			case strings.HasPrefix(m[4], "[]"):
				want = "a list"
			default:
				want = "a map of " + strings.Join(keys[m[4]], ", ")
			}
			e = fmt.Sprintf("line %s: %s is not %s", m[1], quoted(m[3], "a "+strings.NewReplacer("seq", "list").Replace(m[2])), want)
		}
		all = append(all, errors.New(e))
	}
	return errors.Join(all...)
}

// quoted returns the value in quotes; the other text where the decoder shows no value.
func quoted(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return fmt.Sprintf("%q", value)
}

// keysOf collects the keys of a struct and of those in it, by the name of the type.
func keysOf(t reflect.Type, to map[string][]string) {
	for t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || to[t.String()] != nil {
		return
	}
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("yaml"); key != "" && key != "-" {
			to[t.String()] = append(to[t.String()], key)
			keysOf(t.Field(i).Type, to)
		}
	}
	slices.Sort(to[t.String()])
}
