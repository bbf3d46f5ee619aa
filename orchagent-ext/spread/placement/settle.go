// SPDX-License-Identifier: Apache-2.0

package placement

import "math"

// settling is whether loads change at present. The averages of rates lag behind: to move
// flows by them is to move some that would have to move again.
type settling struct {
	octets uint64 // of all flows since the last look
	looked int64
	loud   int64     // when flows sent last
	begun  int64     // the window
	number int64     // of windows that ended
	since  int64     // the number when loads were seen to change; 0: they are steady
	was    []float64 // the part of all load that each member had then, by the averages
	idle   int64     // since when flows that should move send, or 0
}

// When loads change, and how long that is waited for.
const (
	driftShare = 0.02 // of all load, on other members than by the averages
	// of all load, of flows that were not measured yet, or not over a period of theirs
	freshShare = 0.1
	moreDrift  = 2 // windows: those that began after the change
)

// quietShare is the part of the mean rate below which all flows pause.
const quietShare = 0.05

// measureAll ends the windows of all flows at once, so that these saw the same bursts: when
// all are idle, or after twice the time. A shorter pause may be one within a burst, of which
// large flows then have less than their share.
func (t *Table) measureAll(now int64) {
	w, s := t.cfg.WindowNS, &t.settling
	if w == 0 {
		return
	}
	if now < s.loud || float64(s.octets)*1e9 > quietShare*t.sum*float64(now-s.looked) {
		s.loud = now
	}
	quiet := now-s.loud >= t.cfg.IdleNS
	s.octets, s.looked = 0, now
	if passed := now - s.begun; passed >= 0 && (passed < w || passed < 2*w && !quiet) {
		return
	}
	s.begun, s.number = now, s.number+1
	period := t.longCycle()
	for i := range t.entries {
		switch e := &t.entries[i]; {
		case !e.live || !e.seen || t.inCycle(e, now):
		case period == 0 || now-e.begun >= period:
			t.measure(e)
		default:
			t.measureAtLeast(e, period)
		}
	}
}

// unsettled reports whether moves have to wait. When they have waited for long enough, the
// rates of the last windows are those that count.
func (t *Table) unsettled(now int64) bool {
	s := &t.settling
	if t.cfg.WindowNS == 0 {
		return false
	}
	if fresh := float64(t.unmeasured) * t.typical(); t.unmeasured > 0 && fresh >= freshShare*(fresh+t.sum) {
		return true
	}
	if t.lacksCycles() {
		return true
	}
	// Averages follow the load: it has changed while the last windows differ from them.
	last, was := t.shares()
	if s.since != 0 && len(s.was) == len(was) {
		was = s.was
	}
	if drift(last, was) <= driftShare {
		s.since = 0
		return false
	}
	if s.since == 0 {
		s.since, s.was = s.number, was
	}
	if s.number < s.since+moreDrift {
		return true
	}
	for i := range t.entries {
		if e := &t.entries[i]; e.live && e.measured {
			e.rate, e.class, e.cycle.ended = e.last, stay(e.class, e.last), min(e.cycle.ended, 1)
		}
	}
	t.recount()
	s.since = 0
	return false
}

// shares returns the parts of all load that members have, by the last windows and by the
// averages; nil without load.
func (t *Table) shares() (last, average []float64) {
	n := len(t.members)
	last, average = make([]float64, n), make([]float64, n)
	var lastSum, sum float64
	for i := range t.entries {
		e := &t.entries[i]
		if !e.live || !e.measured || e.member == unknown {
			continue
		}
		last[e.member], average[e.member] = last[e.member]+e.last, average[e.member]+e.rate
		lastSum, sum = lastSum+e.last, sum+e.rate
	}
	if lastSum <= 0 || sum <= 0 {
		return nil, nil
	}
	for m := range last {
		last[m], average[m] = last[m]/lastSum, average[m]/sum
	}
	return last, average
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

// patience is for how long, in times that make a flow idle, moves wait for flows that send:
// in a pause of all one large flow moves, where many small ones that pause earlier would.
const (
	patience     = 10
	mostPatience = int64(1e9)
)

// patient reports whether to wait for flows that send.
func (t *Table) patient(now int64) bool {
	s := &t.settling
	switch {
	case t.cfg.WindowNS == 0 || t.cfg.Moves != MovesIdle || t.busy == 0:
		s.idle = 0
		return false
	case s.idle == 0 || now < s.idle:
		s.idle = now
	}
	if now-s.idle < min(patience*t.cfg.IdleNS, mostPatience) {
		return true
	}
	s.idle = 0
	return false
}
