// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// Style is a way to name leaves.
type Style int

// The styles.
const (
	YANG Style = iota
	SonicDB
)

// The levels of the tree. SonicDB's has the name of the namespace between the
// top (the database) and the table.
const (
	Root  = iota
	AtTop // a module, or a database
	AtTable
	AtRow
	AtLeaf
)

// Any is the value of a key that matches every value.
const Any = "*"

// Query is a path, resolved: the leaves that it means, and the node it names.
type Query struct {
	Style  Style
	Origin string // as the path had it
	Level  int    // of the node
	Parts  []Part // sorted by table
	// Every reports that a list was named without any key. Then the node is the list as a
	// whole; a reading returns its entries.
	Every bool
	// Missing is a key of the list that the path leaves open while it has others.
	Missing string

	deep bool // the path has "..."
	text string
}

// Part has the leaves of one table that a query names.
type Part struct {
	Table  *Table
	Keys   []string // values of the key's leaves, as [Table.Canonical] has them, or Any
	Leaves []string // sorted; nil: all
}

// String returns the path for errors and logs. It is cut at 512 octets.
func (q *Query) String() string { return q.text }

// Wild reports whether the query may mean more than one node. The root is one node,
// whatever is below it.
func (q *Query) Wild() bool {
	if q.Level == Root {
		return false
	}
	if len(q.Parts) != 1 && q.Level >= AtTable || q.deep {
		return true
	}
	if q.Level == AtTop {
		return slices.ContainsFunc(q.Parts, func(p Part) bool { return top(q.Style, p.Table) != top(q.Style, q.Parts[0].Table) })
	}
	p := q.Parts[0]
	return q.Level >= AtRow && slices.Contains(p.Keys, Any) || q.Level == AtLeaf && len(p.Leaves) != 1
}

// Has reports whether the query means a leaf of a row. t is a table of [Tables], compared
// by pointer.
func (q *Query) Has(t *Table, key, leaf string) bool {
	for i := range q.Parts {
		if p := &q.Parts[i]; p.Table == t {
			return p.HasRow(key) && p.HasLeaf(leaf)
		}
	}
	return false
}

// HasRow reports whether the part means leaves of a row. A key with too few values is
// false, but for a table of one row.
func (p *Part) HasRow(key string) bool {
	if len(p.Keys) == 0 {
		return true
	}
	values, ok := p.Table.Split(key)
	if !ok {
		return false
	}
	p.Table.canonical(values)
	for i, want := range p.Keys {
		if want != Any && want != values[i] {
			return false
		}
	}
	return true
}

// HasLeaf reports whether the part means a leaf of its rows. leaf is the model's name.
func (p *Part) HasLeaf(leaf string) bool {
	if p.Leaves == nil {
		return true
	}
	_, ok := slices.BinarySearch(p.Leaves, leaf)
	return ok
}

// Key returns the canonical key of the only row that the part means; ok is false where it
// may mean several.
func (p *Part) Key() (key string, ok bool) {
	if len(p.Table.Keys) == 0 {
		return p.Table.Row, true
	}
	return strings.Join(p.Keys, KeySeparator), !slices.Contains(p.Keys, Any)
}

// Shallow narrows the query to leaves at most depth levels below its node (depth
// extension, section 3.1); 0 is unlimited. It reports whether any leaf remains.
func (q *Query) Shallow(depth uint32) bool {
	return depth == 0 || int(depth) >= AtLeaf-q.Level || q.Level == AtLeaf
}

// Within narrows the query to the tables that keep accepts; it reports whether
// any remains.
func (q *Query) Within(keep func(*Table) bool) bool {
	q.Parts = slices.DeleteFunc(slices.Clone(q.Parts), func(p Part) bool { return !keep(p.Table) })
	return len(q.Parts) > 0
}

// top returns the name of the first level of a path: the module, or the database.
func top(s Style, t *Table) string {
	if s == SonicDB {
		return t.Database
	}
	return t.Module
}

// textLength is how much of a path errors and logs have, in octets.
const textLength = 512

// Short returns a text of at most n octets and, if it was longer, a mark. A character
// that the cut parts is left out. n is in octets, the mark is beyond it.
func Short(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// Text writes a path for people: /a/b[k=v]/c. Keys are sorted by name, and values are as
// they are, without escapes.
func Text(p *gpb.Path) string {
	var b strings.Builder
	if p.GetOrigin() != "" {
		b.WriteString(p.GetOrigin() + ":")
	}
	for _, e := range p.GetElem() {
		b.WriteString("/" + e.GetName())
		var keys []string
		for k, v := range e.GetKey() {
			keys = append(keys, "["+k+"="+v+"]")
		}
		slices.Sort(keys)
		b.WriteString(strings.Join(keys, ""))
	}
	if len(p.GetElem()) == 0 {
		b.WriteString("/")
	}
	return b.String()
}
