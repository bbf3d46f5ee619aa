// SPDX-License-Identifier: Apache-2.0

package placement

import "math"

// settling is whether loads change at present. The averages of rates lag behind: to move
// flows by them is to move some that would have to move again.
type settling struct {
	since int64     // number of the window when loads were seen to change; 0: they are steady
	was   []float64 // the part of all load that each member had then, by the averages
}

// When loads change, and how long that is waited for.
const (
	driftShare = 0.02 // of all load, on other members than by the averages
	// of all load, of flows that were not measured yet, or not over a period of theirs
	freshShare = 0.1
	moreDrift  = 2 // windows: those that began after the change
)

// A phase is the state of a change of loads.
type phase uint8

// The phases. Once a change is overdue, the rates of the last windows are those that count.
const (
	steady phase = iota
	changing
	overdue
)

// step returns the phase after a window of a number, with the parts of all load by member in the
// last windows, and by the averages. Averages follow the load: it has changed while the last
// windows differ from them.
func (s *settling) step(number int64, last, average []float64) phase {
	was := average
	if s.since != 0 && len(s.was) == len(was) {
		was = s.was
	}
	if drift(last, was) <= driftShare {
		s.since = 0
		return steady
	}
	if s.since == 0 {
		s.since, s.was = number, was
	}
	if number < s.since+moreDrift {
		return changing
	}
	s.since = 0
	return overdue
}

// drift is the part of the load that is on other members now than before.
func drift(now, before []float64) (d float64) {
	if len(now) != len(before) {
		return 0
	}
	for m := range now {
		d += math.Abs(now[m] - before[m])
	}
	return d / 2
}

// patience is the wait for large flows that send: in a pause of all one of them moves, where many
// small ones that pause earlier would.
type patience struct {
	since int64 // when flows above the threshold were found to send, or 0
}

// The longest wait: in times that make a flow idle, and in ns.
const (
	mostIdles = 10
	mostWait  = int64(1e9)
)

// waits reports whether moves wait for so many flows that send.
func (p *patience) waits(now int64, sending int, c *Config) bool {
	switch {
	case c.WindowNS == 0 || c.Moves != MovesIdle || sending == 0:
		p.since = 0
		return false
	case p.since == 0 || now < p.since:
		p.since = now
	}
	if now-p.since < min(mostIdles*c.IdleNS, mostWait) {
		return true
	}
	p.since = 0
	return false
}
