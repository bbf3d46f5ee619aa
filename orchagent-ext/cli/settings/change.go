// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"sluice/yang/rows"
)

// Config has rows of CONFIG_DB by name.
type Config map[string]rows.Row

// NewConfig returns the configuration that consists of rows.
func NewConfig(all []rows.Row) Config {
	c := make(Config, len(all))
	for _, r := range all {
		c[r.Name()] = r
	}
	return c
}

// Change makes of a configuration the one that is wanted. It changes a copy.
type Change func(Config) error

// Set returns the change that gives fields of a row values, by their leaves; the row's
// other fields stay. Without values it makes sure that the row is there.
func (t *Table) Set(key string, values map[string]string) Change {
	return func(c Config) error {
		if err := t.visible(key); err != nil {
			return err
		}
		r, there := c.find(rows.Row{Table: t.Name, Key: key})
		r.Fields = maps.Clone(r.Fields)
		if r.Fields == nil {
			r.Fields = make(map[string]string)
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			l, _ := t.Leaf(name)
			value := values[name]
			if err := visible(value); err != nil {
				return &rows.Error{Table: t.Name, Key: key, Field: name, Value: value, Reason: err.Error()}
			}
			if l.List && value == "" {
				return &rows.Error{Table: t.Name, Key: key, Field: name, Reason: "must be " + l.Allowed + "; del removes it"}
			}
			r.Fields[l.Column] = value
		}
		if len(values) == 0 && len(t.Leaves) > 0 && (there || !slices.ContainsFunc(t.Leaves, func(l rows.Leaf) bool { return l.Mandatory })) {
			return fmt.Errorf("nothing to set: give one of --%s", strings.Join(t.Options(), ", --"))
		}
		c[r.Name()] = r
		return nil
	}
}

// find returns the row that has the key of r, in any of its spellings: the first of several. If
// there is none it returns r.
func (c Config) find(r rows.Row) (row rows.Row, there bool) {
	if row, there = c[r.Name()]; there {
		return row, true
	}
	canonical := r.CanonicalKey()
	row = r
	for _, other := range c {
		if other.Table == r.Table && other.CanonicalKey() == canonical && (!there || other.Key < row.Key) {
			row, there = other, true
		}
	}
	return row, there
}

// visible rejects characters that a terminal hides: a row that has them is hard to see,
// and to remove.
func visible(value string) error {
	if strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return errors.New("must have characters only that a terminal shows")
	}
	return nil
}

// visible rejects a key with characters that a terminal hides.
func (t *Table) visible(key string) error {
	if err := visible(key); err != nil {
		return fmt.Errorf("%s: the key %q %w", t.Name, key, err)
	}
	return nil
}

// Del returns the change that removes a row, or one field of it, which then has its
// default. The only row of a table is removed with its last field.
func (t *Table) Del(key, option string) Change {
	return func(c Config) error {
		r, there := c.find(rows.Row{Table: t.Name, Key: key})
		// one that is there may be removed
		if err := t.visible(key); err != nil && !there {
			return err
		}
		if !there {
			return &rows.Error{Table: t.Name, Key: key, Reason: "no such row" + t.others(c)}
		}
		if option == "" {
			delete(c, r.Name())
			return nil
		}
		// idle fields, too: a row of an earlier version may have them
		all, _ := rows.Describe(t.Name)
		l, known := all.Leaf(strings.ReplaceAll(option, "-", "_"))
		if !known {
			return &rows.Error{Table: t.Name, Key: key, Field: fmt.Sprintf("%.100q", option), Reason: "no such field; there are: " + strings.Join(t.Options(), ", ")}
		}
		if _, set := r.Fields[l.Column]; !set {
			return &rows.Error{Table: t.Name, Key: key, Field: l.Name, Reason: "is not set"}
		}
		r.Fields = maps.Clone(r.Fields)
		delete(r.Fields, l.Column)
		c[r.Name()] = r
		if t.Only != "" && len(r.Fields) == 0 {
			delete(c, r.Name())
		}
		return nil
	}
}

// shown is how many names a message lists.
const shown = 8

// others returns a list of the rows of a table that can have many, for an error; "" for
// other tables.
func (t *Table) others(c Config) string {
	if t.Only != "" {
		return ""
	}
	return "; there are: " + listed(c.Keys(t.Name))
}

// listed is a list of names that fits a message.
func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	more := ""
	if len(names) > shown {
		more = ", …"
	}
	return strings.Join(names[:min(len(names), shown)], ", ") + more
}

// Keys returns the keys of a table's rows in the order in which people count: Ethernet4
// before Ethernet12.
func (c Config) Keys(table string) []string {
	var keys []string
	for _, r := range c {
		if r.Table == table {
			keys = append(keys, r.Key)
		}
	}
	slices.SortFunc(keys, rows.Natural)
	return keys
}

// Apply returns the configuration after a change, judged as a whole, and the differences.
// A row that was wrong before and stays as it was is ignored.
func (c Config) Apply(change Change) (Config, []Edit, error) {
	next := maps.Clone(c)
	if err := change(next); err != nil {
		return nil, nil, err
	}
	before, after := c.ours(), next.ours()
	if wrong := rows.Follow(before, after, next.there); wrong != nil {
		return nil, nil, next.explain(wrong)
	}
	return next, Compare(c, next), nil
}

// explain adds the rows that exist to the error of a reference to a row that does not.
func (c Config) explain(wrong *rows.Error) error {
	r := c[rows.Row{Table: wrong.Table, Key: wrong.Key}.Name()]
	for _, f := range r.References() {
		if f.Field != wrong.Field || f.Key != wrong.Value {
			continue
		}
		var names []string
		for _, table := range f.Tables {
			names = append(names, c.Keys(table)...)
		}
		said := *wrong
		said.Reason += "; there are: " + listed(names)
		return &said
	}
	return wrong
}

// ours returns the rows of the model's tables, sorted by name.
func (c Config) ours() []rows.Row {
	return slices.DeleteFunc(c.written(), func(r rows.Row) bool { return !modeled(r) })
}

// written are the rows that changes write, sorted by name: those of the model's tables, and
// those that make devices ports.
func (c Config) written() []rows.Row {
	var all []rows.Row
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if modeled(c[name]) || isDevice(c[name]) {
			all = append(all, c[name])
		}
	}
	return all
}

// modeled reports whether a row is of a table of the models.
func modeled(r rows.Row) bool { return rows.Fields(r.Table) != nil }
