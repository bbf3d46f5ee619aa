// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"maps"
	"slices"

	"sluice/gnmi-server/encoding"
	"sluice/gnmi-server/paths"
	"sluice/orchagent-ext/db/sonicdb"
)

// Reader reads rows from the databases.
type Reader struct {
	databases map[string]*sonicdb.DB // by name
}

// NewReader returns a reader of databases, which are those of [paths.Databases].
func NewReader(databases map[string]*sonicdb.DB) *Reader { return &Reader{databases} }

// Snapshot holds rows: their fields, by table and key.
type Snapshot map[*paths.Table]map[string]map[string]string

// Read returns the rows of all tables that queries mean, as they are now. One database is
// read after the other; the error is that of the first that fails.
func (r *Reader) Read(ctx context.Context, queries ...*paths.Query) (Snapshot, error) {
	wanted := make(map[string]map[string]bool) // tables by database
	for _, q := range queries {
		for _, p := range q.Parts {
			if wanted[p.Table.Database] == nil {
				wanted[p.Table.Database] = make(map[string]bool)
			}
			wanted[p.Table.Database][p.Table.Name] = true
		}
	}
	s := make(Snapshot)
	for database, tables := range wanted {
		all, err := r.databases[database].Read(ctx, slices.Collect(maps.Keys(tables))...)
		if err != nil {
			return nil, err
		}
		for _, row := range all {
			t := paths.Lookup(row.Table)
			if s[t] == nil {
				s[t] = make(map[string]map[string]string)
			}
			s[t][row.Key] = row.Fields
		}
	}
	return s, nil
}

// Leaves returns the leaves that a query names, sorted by table, key and leaf. Tables of
// one row have their leaves with defaults in style YANG, whether the database has the row
// or not.
func (s Snapshot) Leaves(q *paths.Query) []encoding.Leaf {
	var all []encoding.Leaf
	for i := range q.Parts {
		p := &q.Parts[i]
		keys := slices.Sorted(maps.Keys(s[p.Table]))
		if q.Style == paths.YANG && always(p.Table) {
			keys = []string{p.Table.Row} // also where the database lacks it
		}
		for _, key := range keys {
			if !p.HasRow(key) {
				continue
			}
			for _, l := range Expand(q.Style, p.Table, key, s[p.Table][key]) {
				if p.HasLeaf(l.Name) {
					all = append(all, l)
				}
			}
		}
	}
	return all
}

// Fields returns the size of a reading: the fields of all rows, and one more for each
// row.
func (s Snapshot) Fields() int {
	n := 0
	for _, t := range s {
		for _, fields := range t {
			n += 1 + len(fields)
		}
	}
	return n
}
