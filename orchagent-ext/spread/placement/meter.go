// SPDX-License-Identifier: Apache-2.0

package placement

import "math"

// A meter measures the rate of one flow by the samples of its counter. It knows neither the path
// of the flow nor other flows.
type meter struct {
	octets  uint64 // last sample of the entry's counter
	sampled int64  // when
	still   int64  // the first sample of this value
	seen    bool   // there was a sample

	rate     float64 // octets/s, an average
	measured bool    // rate is known
	class    int     // of rate, see stay
	last     float64 // octets/s in the last window
	from     uint64  // octets where the window began
	begun    int64   // when that was
	cycle    cycle
}

// A reading is the use of a sample.
type reading uint8

// The readings. All but counted begin measuring again.
const (
	counted     reading = iota // the octets since the sample before are known
	begins                     // the first sample
	repeated                   // a sample of this moment was there; the next one counts from it
	steppedBack                // the clock did
	fewer                      // the counter is smaller: the entry was made again
)

// read takes a sample of the counter, and returns for how long it had stood still, in ns.
func (m *meter) read(octets uint64, now int64) (r reading, pause int64) {
	passed, before := now-m.sampled, m.octets
	pause = now - m.still
	switch {
	case !m.seen:
		r = begins
	case passed < 0:
		r = steppedBack
	case passed == 0:
		r = repeated
	case octets < before:
		r = fewer
	}
	if r == begins || r == steppedBack || octets != before {
		m.still = now
	}
	if r == repeated {
		return r, pause
	}
	m.octets, m.sampled, m.seen = octets, now, true
	if r != counted {
		m.from, m.begun, m.cycle = octets, now, cycle{}
	}
	return r, pause
}

// idle reports whether the counter stood still until now for as long as packets can be under way.
func (m *meter) idle(now, idleNS int64) bool {
	return m.seen && m.sampled == now && m.sampled-m.still >= idleNS
}

// hold begins the pause of a held flow again, whose packets wait on the switch.
func (m *meter) hold() { m.still = m.sampled }

// measure ends a window with the last sample. It reports whether it changed the rate.
func (m *meter) measure(c *Config) bool { return m.measureUntil(m.octets, m.sampled, c) }

// measureUntil ends a window at a time, when the counter had a value.
func (m *meter) measureUntil(octets uint64, now int64, c *Config) bool {
	passed := now - m.begun
	if passed <= 0 {
		return false
	}
	rate := float64(octets-m.from) / float64(passed) * 1e9
	m.from, m.begun, m.last = octets, now, rate
	if m.measured {
		part := 1 - math.Exp(-float64(passed)/float64(c.RateNS))
		if m.cycle.length > 2*c.WindowNS {
			part = min(part, max(leastPart, 1/float64(m.cycle.ended)))
		}
		rate = m.rate + (rate-m.rate)*part
	}
	if rate < 1e-3 { // of old flows
		rate = 0
	}
	m.set(rate)
	return true
}

// set sets the average.
func (m *meter) set(rate float64) { m.rate, m.measured, m.class = rate, true, stay(m.class, rate) }

// measureAtLeast raises the rate of a flow among others that pause for long, whose own period, in
// ns, is unknown: to the octets of one whole period, so far. A window that is shorter has nothing
// of its burst, or all. It reports whether it changed the rate.
func (m *meter) measureAtLeast(period int64) bool {
	rate := float64(m.octets-m.from) / float64(period) * 1e9
	if m.measured && rate <= m.rate {
		return false
	}
	m.last = rate
	m.set(rate)
	return true
}

// measureLast replaces the average by the rate of the last window.
func (m *meter) measureLast() {
	m.set(m.last)
	m.cycle.ended = min(m.cycle.ended, 1)
}
