// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"slices"
	"strings"
	"time"

	"sluice/gnmi-server/encoding"
	"sluice/gnmi-server/paths"
	"sluice/orchagent-ext/db/sonicdb"
)

// entry is a row of [Live]: its fields, and its cells once a stream asks for them. Most rows
// are never asked for.
type entry struct {
	fields sonicdb.Packed
	at     time.Time // of the last change
	there  bool      // the database has the row; else it has defaults only

	shown [2]*shown // by style; nil: no stream has asked
}

// leaves returns the leaves of the row in a style, sorted by name.
func (e *entry) leaves(s paths.Style, t *paths.Table, key string) []encoding.Leaf {
	if e == nil || !e.there && (s != paths.YANG || !always(t)) {
		return nil
	}
	return Expand(s, t, key, e.fields.Unpack())
}

// shown is a row in a style: its name once for all of its cells.
type shown struct {
	style paths.Style
	table *paths.Table
	key   string
	cells []*Cell // of all leaves, sorted by name
}

// set gives the row these leaves, which are sorted by name, and returns the cells that differ
// since: those that are there, and then those that are gone.
func (r *shown) set(leaves []encoding.Leaf, at time.Time) []*Cell {
	var changed, gone []*Cell
	now, was := make([]*Cell, 0, len(leaves)), r.cells
	for _, leaf := range leaves {
		for len(was) > 0 && was[0].name < leaf.Name {
			gone, was = append(gone, was[0]), was[1:]
		}
		var c *Cell
		if len(was) > 0 && was[0].name == leaf.Name {
			c, was = was[0], was[1:]
		} else {
			c = &Cell{row: r, name: leaf.Name}
		}
		now = append(now, c)
		if is := c.State(); is == nil || is.Text != leaf.Text {
			c.set(leaf.Text, at, true)
			changed = append(changed, c)
		}
	}
	gone = append(gone, was...)
	for _, c := range gone {
		c.set("", at, false)
	}
	r.cells = now
	return append(changed, gone...)
}

// named returns the cells of some leaves, in their order; nil: all.
func (r *shown) named(names []string) []*Cell {
	if names == nil {
		return r.cells
	}
	var all []*Cell
	for _, name := range names {
		at, ok := slices.BinarySearchFunc(r.cells, name, func(c *Cell, name string) int { return strings.Compare(c.name, name) })
		if ok {
			all = append(all, r.cells[at])
		}
	}
	return all
}
