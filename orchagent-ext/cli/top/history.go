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
	counted     time.Time // when before was read, at the last addition to trend
	trend       []float64 // max ÷ mean of the uplinks, of the last readings
}

// Add adds a snapshot. Where sluiced has not written since the last one the rates stay,
// so that they do not jump to 0 and back for a reader that is faster than sluiced.
func (h *History) Add(s *Snapshot) {
	if h.now != nil && !s.At.Equal(h.now.At) {
		h.before = h.now
	}
	h.now = s
	if h.before == nil || h.before.At.Equal(h.counted) {
		return
	}
	h.counted = h.before.At
	if _, paths := s.portRates(h.before, s.At.Sub(h.before.At)); paths.WorstToMean.known {
		h.trend = append(h.trend, paths.WorstToMean.value)
		h.trend = h.trend[max(0, len(h.trend)-trendValues):]
	}
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
	v.Paths.trend = h.trend
	v.Host, v.Time, v.Unread = host, at.UTC(), unread
	if now.timed {
		v.CountersAge = Number{max(0, age.Seconds()), true}
	}
	return v
}
