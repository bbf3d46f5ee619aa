// SPDX-License-Identifier: Apache-2.0

package paths

import (
	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// Path returns the path of the node at a level above a leaf, or of the leaf; the origin
// is left out.
func Path(s Style, level int, t *Table, key, leaf string) *gpb.Path {
	p := &gpb.Path{Elem: make([]*gpb.PathElem, 0, level+1)}
	add := func(at int, e *gpb.PathElem) {
		if level >= at {
			p.Elem = append(p.Elem, e)
		}
	}
	add(AtTop, &gpb.PathElem{Name: top(s, t)})
	row := &gpb.PathElem{Name: t.Row}
	if s == SonicDB {
		add(AtTop, &gpb.PathElem{Name: Localhost})
		row.Name = key
	} else if values, ok := t.Split(key); ok && len(values) > 0 {
		row.Key = make(map[string]string, len(values))
		for i, v := range values {
			row.Key[t.Keys[i]] = v
		}
	}
	add(AtTable, &gpb.PathElem{Name: t.Name})
	add(AtRow, row)
	add(AtLeaf, &gpb.PathElem{Name: leaf})
	return p
}

// Index returns the strings by which package match of gNMI finds a leaf: style, table,
// the values of the key, and the leaf.
func Index(s Style, t *Table, key, leaf string) []string {
	index := make([]string, 0, 3+len(t.Keys))
	index = append(index, styleNames[s], t.Name)
	values, _ := t.Split(key)
	return append(append(index, t.canonical(values)...), leaf)
}

// Indexes returns the same for all leaves that a query means. A shorter index matches all
// that begin with it, and [Any] any one string.
func (q *Query) Indexes() [][]string {
	var all [][]string
	for _, p := range q.Parts {
		row := append([]string{styleNames[q.Style], p.Table.Name}, p.Keys...)
		if p.Leaves == nil {
			all = append(all, row)
			continue
		}
		for _, leaf := range p.Leaves {
			all = append(all, append(row[:len(row):len(row)], leaf))
		}
	}
	return all
}

// styleNames are the names of styles in logs.
var styleNames = [...]string{YANG: "yang", SonicDB: "sonic-db"}
