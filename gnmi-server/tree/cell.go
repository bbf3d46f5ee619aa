// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"sync/atomic"
	"time"
	"weak"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"sluice/gnmi-server/encoding"
	"sluice/gnmi-server/paths"
)

// Cell is a leaf of [Live]. It may be used at any time: when its leaf is gone, its
// state says so, and a leaf that comes back has another cell.
type Cell struct {
	row   *shown
	name  string
	state atomic.Pointer[State]
}

// State is the value of a leaf at a time.
type State struct {
	Text    string
	Time    time.Time // when it was found to be so, or its row: the later
	Present bool

	made atomic.Pointer[made]
}

// made is an update of a state as long as a stream holds it, and those of other encodings.
type made struct {
	encoding gpb.Encoding
	update   weak.Pointer[gpb.Update]
	next     *made
}

// without returns the list with the update of an encoding left out.
func (m *made) without(e gpb.Encoding) *made {
	switch {
	case m == nil:
		return nil
	case m.encoding == e:
		return m.next // an encoding is there once
	}
	return &made{m.encoding, m.update, m.next.without(e)}
}

// set replaces the state of the leaf.
func (c *Cell) set(text string, at time.Time, present bool) {
	c.state.Store(&State{Text: text, Time: at, Present: present})
}

// State returns the present state of the leaf. It is immutable, and a later change makes
// another one. Any goroutine may call it.
func (c *Cell) State() *State { return c.state.Load() }

// Style returns the style of the leaf's name.
func (c *Cell) Style() paths.Style { return c.row.style }

// Leaf returns the leaf with an empty text.
func (c *Cell) Leaf() encoding.Leaf {
	return encoding.Leaf{Table: c.row.table, Key: c.row.key, Name: c.name}
}

// Path returns the leaf's path, its origin left out. It is a copy made at each call, so the
// caller may change it.
func (c *Cell) Path() *gpb.Path {
	return paths.Path(c.row.style, paths.AtLeaf, c.row.table, c.row.key, c.name)
}

// Update returns path and value of a state of the leaf, made once for all callers that hold it
// at the same time. They must leave it unchanged.
func (c *Cell) Update(s *State, e gpb.Encoding) *gpb.Update {
	first := s.made.Load()
	for m := first; m != nil; m = m.next {
		if m.encoding != e {
			continue
		}
		if u := m.update.Value(); u != nil {
			return u
		}
	}
	leaf := c.Leaf()
	leaf.Text = s.Text
	u := &gpb.Update{Path: c.Path(), Val: leaf.Value(c.row.style, e)}
	s.made.CompareAndSwap(first, &made{e, weak.Make(u), first.without(e)})
	return u
}
