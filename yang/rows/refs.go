// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openconfig/goyang/pkg/yang"
)

// Reference is a row that another one needs: that of key Key in one of Tables.
type Reference struct {
	Field  string // that refers to it, or the leaf of the key
	Tables []string
	Key    string
}

// Good reports whether a row is there that f leads to. there is asked for one table after
// the other, until it is true.
func (f Reference) Good(there func(table, key string) bool) bool {
	return slices.ContainsFunc(f.Tables, func(table string) bool { return there(table, f.Key) })
}

// IsPortChannel reports whether a port is a row of PORTCHANNEL, by its name: all of SONiC's begin so.
func IsPortChannel(port string) bool { return strings.HasPrefix(port, "PortChannel") }

// Missing returns the error of row r for its broken reference f. The error names the
// field, its value and the tables.
func (r Row) Missing(f Reference) *Error {
	return r.wrong(f.Field, f.Key, "no such row in %s", strings.Join(f.Tables, " or "))
}

// References returns the references of a row, in the order of its key and sorted fields.
// The row must be one that [Decode] accepts.
func (r Row) References() []Reference {
	t, leaves, err := r.leaves()
	if err != nil {
		return nil
	}
	var all []Reference
	for _, leaf := range slices.Concat(t.keys, t.fields) {
		tables := targets(t.entry.Dir[leaf])
		if tables == nil {
			continue
		}
		for _, v := range leaves[leaf] {
			all = append(all, Reference{Field: leaf, Tables: tables, Key: v})
		}
	}
	return all
}

// targets returns the tables that a leaf may refer to; nil for other types than leafref.
func targets(e *yang.Entry) []string {
	var tables []string
	for _, t := range append([]*yang.YangType{e.Type}, e.Type.Type...) {
		if t.Kind == yang.Yleafref {
			name, _ := target(e, t.Path) // load has resolved it
			tables = append(tables, name)
		}
	}
	return tables
}

// target returns the table whose only key a leafref's path names.
func target(e *yang.Entry, path string) (string, error) {
	at := e
	if strings.HasPrefix(path, "/") {
		for at.Parent != nil {
			at = at.Parent
		}
	}
	for _, step := range strings.Split(strings.Trim(path, "/"), "/") {
		if _, name, ok := strings.Cut(step, ":"); ok {
			step = name
		}
		if step == ".." {
			at = at.Parent
		} else {
			at = at.Dir[step]
		}
		if at == nil {
			return "", fmt.Errorf("leafref path %s leads nowhere at %s", path, step)
		}
	}
	list := at.Parent
	if list == nil || list.Key != at.Name {
		return "", fmt.Errorf("leafref path %s does not lead to the key of a list", path)
	}
	return list.Parent.Name, nil
}
