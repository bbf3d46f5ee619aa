// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"sluice/gnmi-server/encoding"
	"sluice/gnmi-server/paths"
	"sluice/gnmi-server/tree"
)

// Once sends the leaves of a snapshot that the subscriptions name, each leaf once, and
// then sync_response; with UpdatesOnly only the latter.
func (s *Stream) Once(snapshot tree.Snapshot, at time.Time) error {
	for i := range s.Subscriptions {
		q := s.Subscriptions[i].Query
		s.origins[q.Style] = q.Origin
	}
	type name struct {
		style     paths.Style
		table     *paths.Table
		key, leaf string
	}
	sent := make(map[name]bool)
	for i := range s.Subscriptions {
		q := s.Subscriptions[i].Query
		if s.UpdatesOnly {
			break
		}
		var note *gpb.Notification
		flush := func() error {
			if note == nil {
				return nil
			}
			defer func() { note = nil }()
			return s.send(note)
		}
		var row encoding.Leaf // of note, if it is atomic
		for _, l := range snapshot.Leaves(q) {
			n := name{q.Style, l.Table, l.Key, l.Name}
			if sent[n] || s.Allow != nil && !s.Allow(l.Table, l.Key, l.Name) {
				continue
			}
			sent[n] = true
			atomic := l.Table.Atomic && q.Style == paths.YANG
			if note != nil && (note.Atomic != atomic || atomic && (row.Table != l.Table || row.Key != l.Key) || len(note.Update) >= bundle && !atomic) {
				if err := flush(); err != nil {
					return err
				}
			}
			if note == nil {
				row = l
				note = &gpb.Notification{Timestamp: at.UnixNano(), Prefix: s.prefix(q.Style)}
				if atomic {
					note = s.atomic(l, at.UnixNano())
				}
			}
			path := paths.Path(q.Style, paths.AtLeaf, l.Table, l.Key, l.Name)
			if atomic {
				path = &gpb.Path{Elem: path.Elem[paths.AtRow:]}
			}
			note.Update = append(note.Update, &gpb.Update{Path: path, Val: l.Value(q.Style, s.Encoding)})
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return s.Send(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_SyncResponse{SyncResponse: true}})
}

// atomic returns a Notification of all that is subscribed of the row of a leaf
// (gNMI specification section 2.1.1).
func (s *Stream) atomic(l encoding.Leaf, at int64) *gpb.Notification {
	note := &gpb.Notification{Timestamp: at, Atomic: true, Prefix: paths.Path(paths.YANG, paths.AtRow, l.Table, l.Key, "")}
	note.Prefix.Origin, note.Prefix.Target = s.origins[paths.YANG], s.Target
	return note
}
