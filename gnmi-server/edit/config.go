// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"sluice/gnmi-server/paths"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// Config holds rows of CONFIG_DB.
type Config struct {
	rows map[string]rows.Row // of Sluice's tables, by name
	keys map[string]bool     // names of rows of all tables
	// spelled: names of rows whose keys have several spellings, by the canonical one; of two
	// that mean the same the first name
	spelled map[string]string
}

// NewConfig returns the configuration that consists of rows. Rows of tables outside the
// models serve as targets of references.
func NewConfig(all []rows.Row) *Config {
	c := &Config{rows: make(map[string]rows.Row), keys: make(map[string]bool), spelled: make(map[string]string)}
	for _, r := range all {
		c.keys[r.Name()] = true
		if t := paths.Lookup(r.Table); t != nil {
			c.put(t, r)
		}
	}
	return c
}

// References are SONiC's tables that rows of Sluice refer to.
var References = []string{"PORT", "PORTCHANNEL"}

// Apply returns the configuration that operations make of c, which stays as it is.
func (c *Config) Apply(operations []Operation) (*Config, error) {
	next := &Config{rows: maps.Clone(c.rows), keys: c.keys, spelled: maps.Clone(c.spelled)}
	said := make(map[string]string) // by the union: value of each leaf
	for i := range operations {     // all contents of a union replace together
		if o := &operations[i]; o.Kind == gpb.UpdateResult_UNION_REPLACE {
			next.remove(o.Query)
			if err := o.unite(said); err != nil {
				return nil, o.wrong(err)
			}
		}
	}
	for i := range operations {
		o := &operations[i]
		if o.Kind == gpb.UpdateResult_DELETE || o.Kind == gpb.UpdateResult_REPLACE {
			next.remove(o.Query)
		}
		for _, a := range o.assignments {
			next.assign(a.Table, a.Key, a.Name, a.Text)
		}
	}
	return next, nil
}

// unite records an operation of a union, which must not contradict another one.
func (o *Operation) unite(said map[string]string) error {
	for _, a := range o.assignments {
		if a.Name == "" {
			continue
		}
		name := a.Table.Name + "|" + a.Key + " " + a.Name
		if other, ok := said[name]; ok && other != a.Text {
			return fmt.Errorf("%s is %q here and %q elsewhere in the union", name, a.Text, other)
		}
		said[name] = a.Text
	}
	return nil
}

// remove removes the rows and leaves that a query names.
func (c *Config) remove(q *paths.Query) {
	for i := range q.Parts {
		p := &q.Parts[i]
		if key, one := p.Key(); one && len(p.Keys) > 0 && !p.Table.Spelled {
			c.removeFrom(p, p.Table.Name+"|"+key)
			continue
		}
		// Set has few operations that mean many rows
		for name, r := range c.rows {
			if r.Table == p.Table.Name && p.HasRow(r.Key) {
				c.removeFrom(p, name)
			}
		}
	}
}

// removeFrom removes the leaves of a row that a part names.
func (c *Config) removeFrom(p *paths.Part, name string) {
	r, ok := c.rows[name]
	if !ok {
		return
	}
	if p.Leaves != nil {
		r.Fields = maps.Clone(r.Fields)
		for _, leaf := range p.Leaves {
			delete(r.Fields, p.Table.Column(leaf))
		}
		c.rows[name] = r
	}
	// a container without leaves is not there
	if p.Leaves == nil || len(p.Keys) == 0 && len(r.Fields) == 0 {
		delete(c.rows, name) // and one that comes again has its spelling
	}
}

// put adds or replaces a row.
func (c *Config) put(t *paths.Table, r rows.Row) {
	name := r.Name()
	c.rows[name] = r
	if !t.Spelled {
		return
	}
	canonical := canonicalName(t, r.Key)
	if first, there := c.spelled[canonical]; !there || name < first {
		c.spelled[canonical] = name
	}
}

// canonicalName returns the name of a row whose key is in its canonical spelling.
func canonicalName(t *paths.Table, key string) string { return t.Name + "|" + t.Canonical(key) }

// assign sets a leaf; without a name it makes sure that the row is there.
func (c *Config) assign(t *paths.Table, key, leaf, text string) {
	name := canonicalName(t, key)
	if other, there := c.spelled[name]; there {
		name = other
	}
	r, ok := c.rows[name]
	if !ok {
		r = rows.Row{Table: t.Name, Key: strings.TrimPrefix(name, t.Name+"|")}
	}
	r.Fields = maps.Clone(r.Fields)
	if r.Fields == nil {
		r.Fields = make(map[string]string)
	}
	switch {
	case leaf == "":
	case text == "" && t.Entry(leaf).IsLeafList():
		delete(r.Fields, t.Column(leaf))
	default:
		r.Fields[t.Column(leaf)] = text
	}
	c.put(t, r)
}

// Changes returns the rows in which next differs from c, sorted by name.
func (c *Config) Changes(next *Config) []sonicdb.Change {
	var changes []sonicdb.Change
	for name, r := range next.rows {
		if was, ok := c.rows[name]; !ok || !maps.Equal(was.Fields, r.Fields) {
			changes = append(changes, sonicdb.Change{Row: r})
		}
	}
	for name, r := range c.rows {
		if _, ok := next.rows[name]; !ok {
			changes = append(changes, sonicdb.Change{Row: rows.Row{Table: r.Table, Key: r.Key}, Deleted: true})
		}
	}
	slices.SortFunc(changes, func(a, b sonicdb.Change) int { return strings.Compare(a.Row.Name(), b.Row.Name()) })
	return changes
}

// Row returns a row by its name.
func (c *Config) Row(name string) (rows.Row, bool) {
	r, ok := c.rows[name]
	return r, ok
}

// Check returns the error that forbids next to replace c, or nil: one in a row that
// changed, or in one that was valid before. A row that was wrong before and is unchanged
// is ignored.
func (c *Config) Check(next *Config) error {
	there := func(table, key string) bool {
		return slices.Contains(References, table) && c.keys[table+"|"+key]
	}
	if wrong := rows.Follow(slices.Collect(maps.Values(c.rows)), slices.Collect(maps.Values(next.rows)), there); wrong != nil {
		return wrong
	}
	return nil
}
