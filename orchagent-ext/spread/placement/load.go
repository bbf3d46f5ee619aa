// SPDX-License-Identifier: Apache-2.0

package placement

import "math"

// account adds a flow to the load of its member (sign 1), or takes it off (-1).
func (t *Table) account(e *entry, sign int) {
	switch {
	case !e.measured:
		t.unmeasured += sign
	case e.rate > 0:
		t.count += sign
		t.sum += float64(sign) * e.rate
	}
	if e.member == unknown {
		return
	}
	if e.measured {
		t.load[e.member] += float64(sign) * e.rate
	} else {
		t.fresh[e.member] += sign
	}
	if e.leaf >= 0 {
		t.toLeaf[e.leaf*len(t.members)+e.member] += sign
	}
}

// recount sums up again, which bounds errors of rounding.
func (t *Table) recount() {
	clear(t.load)
	clear(t.fresh)
	clear(t.toLeaf)
	t.sum, t.count, t.unmeasured = 0, 0, 0
	for i := range t.entries {
		if e := &t.entries[i]; e.live {
			t.account(e, 1)
		}
	}
}

// typical is the load that a flow counts for until it is measured: the mean of those
// that were.
func (t *Table) typical() float64 {
	if t.count < 1 || t.sum <= 0 {
		return 1
	}
	return t.sum / float64(t.count)
}

// rateOf returns the rate of a flow in octets/s; a flow that is still unmeasured counts
// with the typical rate.
func (t *Table) rateOf(e *entry) float64 {
	if e.measured {
		return e.rate
	}
	return t.typical()
}

// at is the load of a member.
func (t *Table) at(m int) float64 { return max(t.load[m], 0) + float64(t.fresh[m])*t.typical() }

// measuredAt is the load of a member by flows that were measured, in octets/s; while none was, by
// all. Moves go by it: a new flow would begin some with a rate that is a guess, and flows that
// are found late are small.
func (t *Table) measuredAt(m int) float64 {
	if t.count == 0 {
		return t.at(m)
	}
	return max(t.load[m], 0)
}

// worst returns the member with the greatest load ÷ weight, its load ÷ weight, and the
// mean: all load ÷ all weight. Without load or weight the mean is 0.
func (t *Table) worst() (member int, worst, mean float64) {
	member = unknown
	for m := range t.members {
		mean += t.measuredAt(m)
		if w := t.members[m].Weight; w > 0 && (member == unknown || t.measuredAt(m)/w > worst) {
			member, worst = m, t.measuredAt(m)/w
		}
	}
	if t.weight <= 0 {
		return unknown, 0, 0
	}
	return member, worst, mean / t.weight
}

// Sample records the counter of a flow's entry: octets since the entry was made, at a
// time in nanoseconds of a monotonic clock. Samples and a look of the same moment have
// the same time. A flow is found idle only if it is sampled more often than its pauses
// last.
func (t *Table) Sample(f Flow, octets uint64, now int64) {
	e := t.lookup(&f)
	if e == nil {
		t.stats.Stray++
		return
	}
	passed, before := now-e.sampled, e.octets
	pause := now - e.still
	paused := e.seen && pause >= t.cfg.IdleNS
	if !e.seen || octets != before || passed < 0 {
		e.still = now
	}
	first := !e.seen
	if passed == 0 && !first {
		return // the next sample counts from here
	}
	e.octets, e.sampled, e.seen = octets, now, true
	switch {
	case first:
	case passed < 0: // the clock stepped back
		t.stats.ClockSteps++
	case octets < before: // the entry was made again
		t.stats.CounterResets++
	}
	if first || passed < 0 || octets < before {
		e.from, e.begun, e.cycle = octets, now, cycle{}
		return
	}
	if e.member != unknown {
		t.predicted[e.member] += octets - before
	}
	t.settling.octets += octets - before
	switch {
	case t.cfg.WindowNS == 0:
		t.measure(e)
	case paused && octets != before:
		t.burstBegins(e, before, now, pause)
	}
}

// measure ends a window of a flow's rate with its last sample.
func (t *Table) measure(e *entry) { t.measureUntil(e, e.octets, e.sampled) }

// measureUntil ends a window of a flow's rate at a time, when its counter had a value.
func (t *Table) measureUntil(e *entry, octets uint64, now int64) {
	passed := now - e.begun
	if passed <= 0 {
		return
	}
	rate := float64(octets-e.from) / float64(passed) * 1e9
	e.from, e.begun, e.last = octets, now, rate
	t.account(e, -1)
	if e.measured {
		part := 1 - math.Exp(-float64(passed)/float64(t.cfg.RateNS))
		if e.cycle.length > 2*t.cfg.WindowNS {
			part = min(part, max(leastPart, 1/float64(e.cycle.ended)))
		}
		rate = e.rate + (rate-e.rate)*part
	}
	if rate < 1e-3 { // of old flows
		rate = 0
	}
	e.rate, e.measured, e.class = rate, true, stay(e.class, rate)
	t.account(e, 1)
}

// movable reports whether a flow may get another label now.
func (t *Table) movable(e *entry, now int64) bool {
	switch {
	case e.held || t.cfg.Moves == MovesNever || t.resting(e, now):
		return false
	}
	return t.cfg.Moves == MovesAny || t.idle(e, now)
}

// resting reports whether a flow moved a moment ago.
func (t *Table) resting(e *entry, now int64) bool {
	return e.moved && now >= e.movedAt && now-e.movedAt < t.cfg.RestNS
}

// idle reports whether a flow's counter stood still until now for as long as packets of it can be
// under way.
func (t *Table) idle(e *entry, now int64) bool {
	return e.seen && e.sampled == now && e.sampled-e.still >= t.cfg.IdleNS
}

// measureAtLeast raises the rate of a flow among others that pause for long, whose own period, in
// ns, is not known: to what it sent by now in a whole one. A window that is shorter has nothing of
// its burst, or all.
func (t *Table) measureAtLeast(e *entry, period int64) {
	rate := float64(e.octets-e.from) / float64(period) * 1e9
	if e.measured && rate <= e.rate {
		return
	}
	t.account(e, -1)
	e.rate, e.last, e.measured, e.class = rate, rate, true, stay(e.class, rate)
	t.account(e, 1)
}
