// SPDX-License-Identifier: Apache-2.0

package redirect

import "time"

// work is what the switch does, and the time that it takes for it.
type work struct {
	pending  bool          // it is at work
	began    time.Time     // with that
	changing int           // rules that it is at work on
	changes  int           // of rules, in all
	spent    time.Duration // on these
}

// begin records that n rules are handed over.
func (w *work) begin(n int, now time.Time) {
	if !w.pending {
		w.began = now
	}
	w.changing += n
}

// end takes the progress of the switch. Time in which it waits for others is not its own.
func (w *work) end(p Progress, now time.Time) {
	w.pending = p != Done
	switch {
	case p == Waiting:
		w.began, w.changing = now, 0
	case p == Done && w.changing > 0:
		w.spent += now.Sub(w.began)
		w.changes, w.changing = w.changes+w.changing, 0
	}
}

// each is the mean time of a change; 0: there was none.
func (w *work) each() time.Duration {
	if w.changes == 0 {
		return 0
	}
	return w.spent / time.Duration(w.changes)
}

// moment is the clock of tables, in ns. It never goes back: that of a day does when it is set.
type moment struct {
	last    time.Time // that it was read at
	elapsed time.Duration
}

// at is a time by the clock.
func (m *moment) at(now time.Time) int64 {
	if passed := now.Sub(m.last); passed > 0 && !m.last.IsZero() {
		m.elapsed += passed
	}
	m.last = now
	return int64(m.elapsed)
}
