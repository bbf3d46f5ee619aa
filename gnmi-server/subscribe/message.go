// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"sluice/gnmi-server/paths"
	"sluice/gnmi-server/tree"
)

// message collects updates that were found at the same time into one
// Notification (gNMI specification section 3.5.2.1), and sends it when that ends.
type message struct {
	stream *Stream
	at     time.Time // of all that it will have; zero: that of each cell

	note  *gpb.Notification // nil: before the first
	style paths.Style
	rows  map[string]bool // atomic rows that are sent already
}

// message returns an empty message of a time.
func (s *Stream) message(at time.Time) *message { return &message{stream: s, at: at} }

// add adds a state of a cell, or that it is gone.
func (m *message) add(c *tree.Cell, state *tree.State, duplicates uint32) error {
	if c.Leaf().Table.Atomic && c.Style() == paths.YANG {
		return m.row(c, state)
	}
	if err := m.begin(c.Style(), m.time(state)); err != nil {
		return err
	}
	if !state.Present {
		m.note.Delete = append(m.note.Delete, c.Path())
		return nil
	}
	u := c.Update(state, m.stream.Encoding)
	if duplicates > 0 {
		u = &gpb.Update{Path: u.Path, Val: u.Val, Duplicates: duplicates}
	}
	m.note.Update = append(m.note.Update, u)
	return nil
}

// time returns when a state was found, or read: at or after its change.
func (m *message) time(state *tree.State) int64 {
	if m.at.Before(state.Time) {
		return state.Time.UnixNano()
	}
	return m.at.UnixNano()
}

// begin makes sure that the Notification is one of a style and time, with room.
func (m *message) begin(style paths.Style, at int64) error {
	if m.note != nil && (m.style != style || m.note.Timestamp != at || len(m.note.Update)+len(m.note.Delete) >= bundle) {
		if err := m.flush(); err != nil {
			return err
		}
	}
	if m.note == nil {
		m.style = style
		m.note = &gpb.Notification{Timestamp: at, Prefix: m.stream.prefix(style)}
	}
	return nil
}

// row sends all that is subscribed of the row of a cell, in an atomic
// Notification of its own (gNMI specification section 2.1.1), once a message.
func (m *message) row(c *tree.Cell, state *tree.State) error {
	l := c.Leaf()
	name := l.Table.Name + paths.KeySeparator + l.Key
	if m.rows[name] {
		return nil
	}
	if m.rows == nil {
		m.rows = make(map[string]bool)
	}
	m.rows[name] = true
	if err := m.flush(); err != nil {
		return err
	}
	note := m.stream.atomic(l, m.time(state))
	for _, other := range m.stream.Live.Row(c) {
		if of := other.State(); of.Present && m.stream.wants(other) {
			u := other.Update(of, m.stream.Encoding)
			note.Update = append(note.Update, &gpb.Update{Path: &gpb.Path{Elem: u.Path.Elem[len(note.Prefix.Elem):]}, Val: u.Val})
			note.Timestamp = max(note.Timestamp, m.time(of))
		}
	}
	if len(note.Update) == 0 { // the row is gone, or its subscribed leaves
		note.Delete = []*gpb.Path{{}}
	}
	return m.stream.send(note)
}

// flush sends the message that was collected.
func (m *message) flush() error {
	if m.note == nil {
		return nil
	}
	note := m.note
	m.note = nil
	return m.stream.send(note)
}

// send sends a notification as an update of the stream.
func (s *Stream) send(note *gpb.Notification) error {
	return s.Send(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: note}})
}

// prefix returns the prefix of the client's messages (gNMI specification section
// 2.2.2.1), nil for an empty one.
func (s *Stream) prefix(style paths.Style) *gpb.Path {
	if s.Target == "" && s.origins[style] == "" {
		return nil
	}
	return &gpb.Path{Target: s.Target, Origin: s.origins[style]}
}

// wants reports whether any subscription has a cell.
func (s *Stream) wants(c *tree.Cell) bool {
	l := c.Leaf()
	for i := range s.Subscriptions {
		if q := s.Subscriptions[i].Query; q.Style == c.Style() && q.Has(l.Table, l.Key, l.Name) {
			return s.allowed(c)
		}
	}
	return false
}
