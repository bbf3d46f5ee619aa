// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"sync/atomic"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"sluice/gnmi-server/encoding"
	"sluice/gnmi-server/paths"
)

// Cell is a leaf of [Live]. It may be used at any time: when its leaf is gone, its
// state says so, and a leaf that comes back has another cell.
type Cell struct {
	style paths.Style
	leaf  encoding.Leaf // as a value alone
	index []string
	state atomic.Pointer[State]
}

// State is the value of a leaf at a time.
type State struct {
	Text    string
	Time    time.Time // when it was found to be so
	Present bool

	updates [gpb.Encoding_JSON_IETF + 1]atomic.Pointer[gpb.Update]
}

// newCell returns the cell of a leaf, before its first value.
func newCell(s paths.Style, l encoding.Leaf) *Cell {
	l.Text = ""
	return &Cell{style: s, leaf: l, index: paths.Index(s, l.Table, l.Key, l.Name)}
}

// set replaces the state of the leaf.
func (c *Cell) set(text string, at time.Time, present bool) {
	c.state.Store(&State{Text: text, Time: at, Present: present})
}

// State returns the present state of the leaf. It is immutable, and a later change makes
// another one. Any goroutine may call it.
func (c *Cell) State() *State { return c.state.Load() }

// Style returns the style of the leaf's name.
func (c *Cell) Style() paths.Style { return c.style }

// Leaf returns the leaf with an empty text.
func (c *Cell) Leaf() encoding.Leaf { return c.leaf }

// Path returns the leaf's path, its origin left out. It is a copy made at each call, so the
// caller may change it.
func (c *Cell) Path() *gpb.Path {
	return paths.Path(c.style, paths.AtLeaf, c.leaf.Table, c.leaf.Key, c.leaf.Name)
}

// Update returns path and value of a state of the leaf, made once for all callers, who
// must leave it unchanged.
func (c *Cell) Update(s *State, e gpb.Encoding) *gpb.Update {
	if u := s.updates[e].Load(); u != nil {
		return u
	}
	leaf := c.leaf
	leaf.Text = s.Text
	u := &gpb.Update{Path: c.Path(), Val: leaf.Value(c.style, e)}
	s.updates[e].Store(u)
	return u
}
