// SPDX-License-Identifier: Apache-2.0

package source

import (
	"math"
	"time"

	"sluice/orchagent-ext/hold/kernel"
)

// A window of measurement ends once it has enough samples, at the latest after longestWindow; the
// relative error of one is 1 ÷ √samples. A flow's rate is of many windows, so that its error is small,
// until the latest ones alone, whose error is 9 %, show that it has changed.
const (
	shortestWindow = 5 * time.Millisecond
	longestWindow  = 500 * time.Millisecond
	enoughSamples  = 16
	rateWindows    = 64
	latestWindows  = 8
	changed        = 4 // part of the rate by which the latest windows differ after a change

	countedAs = 1 << 20 // samples, whose error does not matter
)

// meter measures the rate at which a flow arrives. A window begins
// and ends with a sample, and is the shorter the sooner those came: the mean of the rates of many
// would be too high, so each counts by its length. The times are those at which
// the switch had the samples, where it reports them: on a busy machine they wait for the CPU, and
// come many at once.
type meter struct {
	begun   int64  // its sender has been slowed, or no longer, since then; earlier packets have another rate
	octets  uint64 // since
	samples uint32 // that they are of; counted packets are countedAs
	since   int64  // begin of the window, a packet's own time; 0: nothing is measured
	last    int64  // as far as octets goes, the time of a packet, too
	free    uint64 // bit/s, of the flow while it is not slowed; 0: unknown
	long    part   // of its windows, by which the rate goes
	latest  part   // of the latest ones alone
}

// restart begins again at a time (ns): the rate from here on is another.
func (m *meter) restart(now int64) { m.since, m.begun = 0, now }

// add takes a packet that the switch had at a time, and returns the rate of the window in bit/s that it
// ends; ok is false while a window goes on.
func (m *meter) add(at int64, p *kernel.Packet) (rate uint64, ok bool) {
	if m.since == 0 {
		m.octets, m.samples, m.since, m.last = 0, 0, at, at // its octets came before
		return 0, false
	}
	m.octets, m.last = m.octets+p.Octets, at
	if p.Samples == 0 {
		m.samples = countedAs
	}
	m.samples = min(m.samples+p.Samples, countedAs)
	span := at - m.since
	if span < int64(shortestWindow) || m.samples < enoughSamples && span < int64(longestWindow) {
		return 0, false
	}
	return m.octets * 8 * uint64(time.Second) / uint64(span), true
}

// next begins the next window with the packet that ended the last one.
func (m *meter) next(at int64) { m.octets, m.samples, m.since = 0, 0, at }

// cut ends the window of a flow that is not slowed with its last packet, as it will be slowed from now
// on. Without it windows that a hold ends would be left out: those whose samples came late.
func (m *meter) cut() {
	if m.since != 0 && m.last > m.since {
		m.average(m.last - m.since)
	}
}

// average takes the window of the flow, which is span ns long, while it is not slowed.
func (m *meter) average(span int64) {
	m.latest.add(float64(m.octets), float64(span), latestWindows)
	m.long.add(float64(m.octets), float64(span), rateWindows)
	if rate, latest := m.long.rate(), m.latest.rate(); math.Abs(latest-rate) > rate/changed {
		m.long = m.latest
	}
	m.free = uint64(m.long.rate())
}

// part has the octets of windows of measurement and their time in ns, of which older ones count less.
type part struct{ octets, span float64 }

// add takes a window, as one of n that count.
func (p *part) add(octets, span, n float64) {
	p.octets, p.span = p.octets*(1-1/n)+octets, p.span*(1-1/n)+span
}

// rate returns the mean rate in bit/s.
func (p *part) rate() float64 { return p.octets * 8 * float64(time.Second) / p.span }
