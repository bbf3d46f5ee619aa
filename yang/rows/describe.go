// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openconfig/goyang/pkg/yang"

	"sluice/yang/model"
)

// Description is the model's description of a table for people: the source of command
// lines, help and completion.
type Description struct {
	Name     string
	Database string
	Help     string
	Only     string // key of the only row; empty: there are many
	Keys     []Leaf // of a table of many rows
	Leaves   []Leaf // all others, sorted by name
}

// Leaf is a leaf of a table.
type Leaf struct {
	Name      string // as in the model: leaf-lists lack the "@"
	Column    string // as the database has it
	Help      string // empty: the name is enough
	Allowed   string // rule of a value in errors, after "must be"
	Default   string
	Values    []string // of an enumeration or a boolean, in the model's order
	Tables    []string // of which one must have a row with the value as key
	List      bool     // several values, with commas between
	Mandatory bool
	Units     string
	Counter   bool // it only increases, until it starts again at 0
	Number    bool // a number other than a counter
}

// Describe returns the description of a table; false for an unknown name. Names are those
// of tables in all databases of the models.
func Describe(name string) (Description, bool) {
	t, ok := byName()[name]
	if !ok {
		return Description{}, false
	}
	d := Description{Name: name, Database: t.database, Help: oneLine(t.entry.Parent.Description), Only: t.only}
	for _, leaf := range t.keys {
		d.Keys = append(d.Keys, t.describe(leaf))
	}
	for _, leaf := range t.fields {
		d.Leaves = append(d.Leaves, t.describe(leaf))
	}
	return d, true
}

// describe returns the description of a leaf.
func (t *table) describe(name string) Leaf {
	e := t.entry.Dir[name]
	return Leaf{
		Name: name, Column: t.column(name), Help: oneLine(e.Description), Allowed: allowed(e), Default: strings.Join(e.Default, ","),
		Values: valuesOf(e.Type), Tables: targets(e), List: e.IsLeafList(), Mandatory: e.Mandatory == yang.TSTrue, Units: model.Units[t.name+"/"+name],
		Counter: e.Type.Name == "counter", Number: e.Type.Name != "counter" && isNumber(e.Type.Kind) && !e.IsLeafList(),
	}
}

// isNumber reports whether a type is a number, whole or with decimals.
func isNumber(k yang.TypeKind) bool {
	return k >= yang.Yint8 && k <= yang.Yuint64 || k == yang.Ydecimal64
}

// Leaf returns the leaf of a name; leaves of the key are left out. ok is false for an
// unknown one. A name is the model's; see Column for that of the database.
func (d *Description) Leaf(name string) (Leaf, bool) {
	i := slices.IndexFunc(d.Leaves, func(l Leaf) bool { return l.Name == name })
	if i < 0 {
		return Leaf{}, false
	}
	return d.Leaves[i], true
}

// valuesOf returns the words of a boolean or an enum, nil for other types.
func valuesOf(t *yang.YangType) []string {
	switch t.Kind {
	case yang.Ybool:
		return []string{"true", "false"}
	case yang.Yenum:
		return enumNames(t.Enum)
	}
	return nil
}

// allowed returns the values that check accepts for a leaf, as text.
func allowed(e *yang.Entry) string {
	one := allowedOne(e.Type)
	if tables := targets(e); tables != nil {
		one = "a key of " + strings.Join(tables, " or ")
	}
	if !e.IsLeafList() {
		return one
	}
	if most := e.ListAttr.MaxElements; most < 1000 {
		return fmt.Sprintf("1..%d of these, with commas between: %s", most, one)
	}
	return "these, with commas between: " + one
}

// allowedOne returns the values that one type of a union allows, as text.
func allowedOne(t *yang.YangType) string {
	if f, ok := formats[t.Name]; ok {
		return strings.TrimPrefix(f.text, "must be ")
	}
	switch t.Kind {
	case yang.Ybool, yang.Yenum:
		return "one of " + strings.Join(valuesOf(t), ", ")
	case yang.Ystring:
		if len(t.Pattern) > 0 {
			return fmt.Sprintf("%s characters that match %s", ranges(t.Length), strings.Join(t.Pattern, " and "))
		}
		if len(t.Length) > 0 {
			return ranges(t.Length) + " characters"
		}
		return "text"
	case yang.Ydecimal64:
		return "a number with a point, " + ranges(t.Range)
	case yang.Yleafref, yang.Yunion:
		return "text"
	}
	return "a decimal number, " + ranges(t.Range)
}

// oneLine returns a description in one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
