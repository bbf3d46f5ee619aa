// SPDX-License-Identifier: Apache-2.0

package top

import "time"

// stale is the age from which on counters are too old for rates; sluiced writes them
// every second.
const stale = 5 * time.Second

// History keeps the two snapshots between which rates are. The zero value is
// ready.
type History struct {
	before, now *Snapshot
}

// Add adds a snapshot. Where sluiced has not written since the last one the rates stay,
// so that they do not jump to 0 and back for a reader that is faster than sluiced.
func (h *History) Add(s *Snapshot) {
	if h.now != nil && !s.At.Equal(h.now.At) {
		h.before = h.now
	}
	h.now = s
}

// View is the view at a time. Unread is why the databases cannot be read, empty
// where they can.
func (h *History) View(host string, at time.Time, unread string) *View {
	now, before := h.now, h.before
	if now == nil {
		now = &Snapshot{}
	}
	age := at.Sub(now.At)
	if now.timed && age >= stale {
		before = nil // the rates were those of then
	}
	v := Compare(before, now)
	v.Host, v.Time, v.Unread = host, at.UTC(), unread
	if now.timed {
		v.CountersAge = Number{max(0, age.Seconds()), true}
	}
	return v
}
