// SPDX-License-Identifier: Apache-2.0

package placement

// A cycle is the time of a flow that sends in bursts, from the begin of one to the begin of
// another, a window later or more. Its rate is that of whole cycles: in a window that is shorter
// than its period it sends nothing, or all.
type cycle struct {
	at     int64 // when this one began
	begun  bool  // at holds
	length int64 // of the last one; 0: none ended yet
}

// mostCycle is the longest period that a flow is known to have.
const mostCycle = int64(10e9)

// burstBegins ends a cycle of a flow that paused until now, when its counter was at octets.
func (t *Table) burstBegins(e *entry, octets uint64, now int64) {
	c := &e.cycle
	length := now - c.at
	switch {
	case c.begun && length < t.cfg.WindowNS:
		return // of several bursts
	case c.begun && length <= mostCycle:
		if c.length == 0 && e.begun != c.at {
			e.from, e.begun = octets, now // windows had parts of it
		} else {
			t.measureUntil(e, octets, now)
		}
		c.length = length
	default:
		c.length = 0
	}
	c.at, c.begun = now, true
}

// inCycle reports whether a flow's rate is known only when its next burst begins: while that is
// to be expected.
func (t *Table) inCycle(e *entry, now int64) bool {
	c := &e.cycle
	if c.length == 0 || now-c.at > 2*c.length {
		c.length = 0
		return false
	}
	return true
}
