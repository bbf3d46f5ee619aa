// SPDX-License-Identifier: Apache-2.0

package placement

// A cycle is the time of a flow that sends in bursts, from the begin of one to the begin of
// another, a window later or more. Its rate is that of whole cycles: in a window that is shorter
// than its period it sends nothing, or all.
type cycle struct {
	at     int64  // when this one began
	octets uint64 // the counter then
	pause  int64  // before it, in ns
	begun  bool   // at and octets hold
	length int64  // of the last one, or 0
	ended  int    // cycles that the flow's rate is the mean of
}

const (
	// mostCycle is the longest period that a flow is known to have, in ns.
	mostCycle = int64(10e9)
	// leastPart is how far a cycle changes the average of a flow's rate at least. Bursts differ by
	// chance, so that all cycles count alike until there are 1 ÷ leastPart of them.
	leastPart = 0.2
	// likePause is how much pauses between bursts of one kind may differ, as a quotient.
	likePause = 2
)

// burstBegins ends a cycle of a flow that paused until now, when its counter was at octets.
// A pause that is much shorter than the one before the cycle is within a burst: the flow's packets
// are far apart, or the machine was busy. After one that is much longer the cycle is another one.
func (t *Table) burstBegins(e *entry, octets uint64, now, pause int64) {
	c := &e.cycle
	length := now - c.at
	switch {
	case c.begun && length <= mostCycle && pause < c.pause/likePause:
		return
	case c.begun && pause > c.pause*likePause:
		c.length = 0
	case c.begun && length < t.cfg.WindowNS:
		return // of several bursts
	case c.begun && length <= mostCycle:
		if c.length == 0 { // windows had parts of it: this is the first rate
			t.account(e, -1)
			e.measured = false
			t.account(e, 1)
			c.ended = 0
		}
		e.from, e.begun = c.octets, c.at
		c.length, c.ended = length, c.ended+1
		t.measureUntil(e, octets, now)
	default:
		c.length = 0
	}
	c.at, c.octets, c.pause, c.begun = now, octets, pause, true
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

// longCycle returns the mean length of the cycles that flows are in, by their load, in ns; 0: most
// send without pauses, or windows of rates have whole cycles.
func (t *Table) longCycle() int64 {
	var sum, weight float64
	for i := range t.entries {
		if e := &t.entries[i]; e.live && e.measured {
			sum, weight = sum+e.rate*float64(e.cycle.length), weight+e.rate
		}
	}
	if weight <= 0 || sum <= 2*float64(t.cfg.WindowNS)*weight {
		return 0
	}
	return int64(sum / weight)
}

// goalPart is the part of the distance between 1 and the goal at which moves stop among flows that
// pause for long: windows of two bursts differ by more than those of many.
const goalPart = 0.5

// goalOf returns the worst ÷ mean at which moves stop.
func (t *Table) goalOf() float64 {
	if t.longCycle() == 0 {
		return t.cfg.Goal
	}
	return 1 + (t.cfg.Goal-1)*goalPart
}

// lacksCycles reports whether flows pause for long, and much load is of some whose period is
// not known yet: their rates are guesses, and moves by these have to be taken back.
func (t *Table) lacksCycles() bool {
	if t.longCycle() == 0 {
		return false
	}
	var lacks, sum float64
	for i := range t.entries {
		if e := &t.entries[i]; e.live && e.measured {
			if sum += e.rate; e.cycle.length == 0 {
				lacks += e.rate
			}
		}
	}
	return lacks > freshShare*sum
}
