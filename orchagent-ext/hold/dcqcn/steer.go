// SPDX-License-Identifier: Apache-2.0

package dcqcn

import (
	"math"
	"time"
)

// Steer decides when CNPs go to the sender of one flow. Between two measurements it goes by
// the published reaction point, which it follows in a [Rate] of its own; each measurement
// corrects that. The zero value is idle. Rates are in bit/s, times in ns of one clock.
type Steer struct {
	model         Rate
	offered, line float64 // before the first CNP; of the sender's link
	asked         float64
	trust         float64 // the sender's rate as a multiple of the model's

	at      int64   // as far as the model is
	excess  float64 // bits above what was asked for, less those below, of the last while
	since   int64   // of the window of measurement
	bits    float64 // that the model sent in it
	cnps    int     // in it
	sent    int64   // time of the last CNP
	strikes int     // windows in a row in which the sender ignored CNPs
	probes  int     // CNPs since it is known to ignore them

	corrections int // windows that corrected trust
}

const (
	// spacing of CNPs for one flow: the reaction point drops those that are closer than its
	// own, and where they are further apart than its timers it recovers between them.
	spacing = (cnpSpacing + rateTimer) / 2

	// stopped is the part of its rate that a flow keeps that is to pause: CNPs cannot stop a
	// sender, and further ones would only raise the time until it recovers.
	stopped = 1. / 20

	// window is the least time between two measurements that count.
	window = int64(5 * time.Millisecond)

	// steady is of how many samples a window corrects half of the error that it shows.
	steady = 64

	// memory is how much of an excess is carried on, as time at the asked rate.
	memory = float64(time.Millisecond) / float64(time.Second)

	// A sender ignores CNPs if windows in a row measure more than ignoring of the rate that it
	// offers, although each had CNPs for a much lower one. It is sent as few as show whether
	// it obeys again, each probing, from then on.
	ignoring = 0.8
	windows  = 3
	fewCNPs  = 4
	probing  = int64(100 * time.Millisecond)

	// horizon is how far ahead the next CNP is looked for.
	horizon = 100 * rateTimer
)

// Begin begins to steer a flow that offers a rate on a link to the asked one; asked 0 is a
// pause. An unknown rate (0) counts as the link's. A sender that ignored CNPs before is taken
// to ignore them still.
func (s *Steer) Begin(now int64, offered, line, asked uint64) {
	if offered == 0 || offered > line {
		offered = line
	}
	*s = Steer{offered: float64(offered), line: float64(line), trust: 1, at: now, since: now, sent: now - spacing, strikes: s.strikes}
	s.Ask(asked)
}

// Ask changes the rate that is asked for; 0 is a pause.
func (s *Steer) Ask(asked uint64) { s.asked = max(float64(asked), s.offered*stopped) }

// rate returns the rate that the sender has by the model and the measurements.
func (s *Steer) rate() float64 {
	return min(float64(s.model.At(s.at)), s.offered) * s.trust
}

// advance lets the model send up to a time.
func (s *Steer) advance(now int64) {
	for s.at < now {
		d := min(rateTimer, now-s.at)
		rate, t := s.rate(), float64(d)/float64(time.Second)
		s.model.Sent(int(rate * t / 8))
		s.bits += rate * t
		most := s.asked * memory
		s.excess = max(-most, min(most, s.excess+(rate-s.asked)*t))
		s.at += d
	}
}

// wants reports whether the flow is to be slowed, as the model is now.
func (s *Steer) wants() bool {
	rate := s.rate()
	return rate > s.asked && (s.excess > 0 || rate > 2*s.asked)
}

// Due reports whether a CNP is to be sent now, and counts on it that it is.
func (s *Steer) Due(now int64) bool {
	if s.offered == 0 || now < s.sent+s.spacing() {
		return false
	}
	if s.advance(now); !s.wants() && !s.Ignores() {
		return false
	}
	s.model.Notify(now, uint64(s.offered), uint64(s.line))
	s.sent = now
	if s.cnps++; s.Ignores() {
		s.probes++
	}
	return true
}

// spacing returns the least time to the next CNP.
func (s *Steer) spacing() int64 {
	if s.Ignores() && s.probes%fewCNPs == 0 {
		return probing
	}
	return spacing
}

// Next returns when Due is to be called next.
func (s *Steer) Next() int64 {
	first := s.sent + s.spacing()
	if s.Ignores() {
		return first
	}
	ahead := *s
	ahead.advance(first) // which may be long ago
	for end := ahead.at + horizon; ahead.at < end && !ahead.wants(); {
		ahead.advance(ahead.at + rateTimer)
	}
	return max(first, ahead.at)
}

// Measured takes the rate at which the flow arrived since the last call that counted, of so many
// samples, and reports whether it counts: the time since then is long enough.
func (s *Steer) Measured(now int64, rate uint64, samples uint32) bool {
	if s.offered == 0 || now-s.since < window {
		return false
	}
	s.advance(now)
	mean := s.bits / (float64(now-s.since) / float64(time.Second))
	if s.cnps >= fewCNPs && s.asked < s.offered*ignoring/2 || s.Ignores() {
		if float64(rate) > s.offered*ignoring {
			s.strikes++
		} else {
			s.strikes = 0
		}
	}
	// The first window corrects the root of the error, further ones the less of it the fewer
	// samples they have: their own error is 1 ÷ √samples.
	s.corrections++
	part := max(1/float64(s.corrections+1), min(0.5, float64(samples)/float64(samples+steady)))
	if mean > 0 && rate > 0 {
		s.trust = max(0.25, min(4, s.trust*math.Pow(float64(rate)/mean, part)))
	}
	s.since, s.bits, s.cnps = now, 0, 0
	return true
}

// Ignores reports whether the sender goes on at its rate in spite of CNPs.
func (s *Steer) Ignores() bool { return s.strikes >= windows }
