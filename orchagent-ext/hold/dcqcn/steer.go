// SPDX-License-Identifier: Apache-2.0

package dcqcn

import (
	"time"
)

// Steer decides when CNPs go to the sender of one flow. Between two measurements it goes by
// the published reaction point, which it follows in a [Rate] of its own; each measurement
// corrects that, for later steering, too. The zero value is idle. Rates are in bit/s, times in ns of one clock.
//
// Flows near their asked rates have CNPs at multiples of a beat of that clock, so that a caller
// wakes up once for all of them; others at once.
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
	opened  int     // CNPs since Begin
	strikes int     // windows in a row in which the sender ignored CNPs
	probes  int     // CNPs since it is known to ignore them

	samples float64 // that trust is of
	learned learned // by reductions, these and earlier ones
}

// learned has the results of measurements of a sender.
type learned struct{ trust, samples float64 }

const (
	// spacing of the first CNPs for a flow whose limit is more than farAbove of the asked rate: the
	// reaction point drops those that are closer than its own, and where they are further apart
	// than its timers it recovers between them. Some arrive closer together than they were sent:
	// only those that are certain after the last one that counted count in the model. After the
	// opening, each CNP is certain after the last.
	spacing  = (cnpSpacing + rateTimer) / 2
	certain  = cnpSpacing + int64(15*time.Microsecond)
	opening  = 8
	farAbove = 2

	// beat is the time between the moments at which other flows have their CNPs. The first step that
	// raises a flow's target is fastSteps + 1 rate timers after a CNP: the caller may be late by the
	// rest of them. Each beat costs the caller a wakeup.
	beat = 265 * int64(time.Microsecond)

	// stopped is the part of its rate that a flow keeps that is to pause: CNPs cannot stop a
	// sender, and further ones would only raise the time until it recovers.
	stopped = 1. / 20

	// window is the least time between two measurements that count.
	window = int64(5 * time.Millisecond)

	// A measurement of n samples has an error of 1 ÷ √n. The model is trusted as one of prior samples
	// at first, and with the measurements together as one of steady at most, so that a sender which
	// changes is followed; each corrects no more than mostPart of the error that it shows.
	//
	// The next reduction of the flow begins with the results of those before: CNPs that are late or lost on
	// their way let a sender be above the model, each time alike. It counts as of kept samples at most.
	prior, steady = 44, 512
	mostPart      = 0.5
	kept          = 256

	// memory is how much of a shortfall, or of the excess over a pause, is carried on, as time at the
	// asked rate; owed is it of the excess over a reduction. A caller that is some ms late lets
	// the sender recover to a multiple of the asked rate: then the flow goes below that by the
	// debt ÷ payback, at most by mostBack. One that owes more than soon has its CNPs at once.
	memory   = float64(time.Millisecond) / float64(time.Second)
	owed     = 12 * memory
	payback  = 5 * memory
	soon     = memory / 2
	mostBack = 0.5

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
	was := learned{1, prior}
	if s.learned.samples > prior {
		was = learned{s.learned.trust, min(s.learned.samples, kept)}
	}
	*s = Steer{offered: float64(offered), line: float64(line), trust: was.trust, samples: was.samples, learned: s.learned, at: now, since: now, sent: now - probing, strikes: s.strikes}
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
		most := owed
		if s.pauses() {
			most = memory
		}
		s.excess = max(-memory*s.asked, min(most*s.asked, s.excess+(rate-s.asked)*t))
		s.at += d
	}
}

// pauses reports whether the flow is to pause.
func (s *Steer) pauses() bool { return s.asked <= s.offered*stopped }

// owes returns the excess over a reduction as time at the asked rate, in seconds; less than 0 for a
// shortfall.
func (s *Steer) owes() float64 {
	if s.pauses() {
		return 0
	}
	return s.excess / s.asked
}

// wants reports whether the flow is to be slowed, as the model is now.
func (s *Steer) wants() bool {
	back := min(max(s.owes()/payback, 0), mostBack)
	return s.rate() > s.asked*(1-back) && (s.excess > 0 || s.urgent())
}

// urgent reports whether the flow is to have its CNPs at once: the sender's limit is far above the
// asked rate, as at the begin of a stop, or after the caller was late (it may then be above the rate
// that the flow offers, too), or the flow had too much lately.
func (s *Steer) urgent() bool {
	return float64(s.model.At(s.at))*s.trust > farAbove*s.asked || s.owes() > soon
}

// Due reports whether a CNP is to be sent now, and counts on it that it is.
func (s *Steer) Due(now int64) bool {
	if s.offered == 0 || now < s.sent+spacing {
		return false
	}
	if s.advance(now); now < s.earliest() || !s.wants() && !s.Ignores() {
		return false
	}
	if s.sent = now; s.model.line == 0 || now-s.model.cut >= certain {
		s.model.Notify(now, uint64(s.offered), uint64(s.line))
	}
	s.opened++
	if s.cnps++; s.Ignores() {
		s.probes++
	}
	return true
}

// earliest returns the earliest time of the next CNP, by the rate of now.
func (s *Steer) earliest() int64 {
	next := s.sent + spacing
	if s.opened >= opening {
		next = s.sent + certain
	}
	switch {
	case s.Ignores() && s.probes%fewCNPs == 0:
		return s.sent + probing
	case s.Ignores() || s.urgent():
		return next
	default:
		return (next + beat - 1) / beat * beat
	}
}

// Next returns when Due is to be called next.
func (s *Steer) Next() int64 {
	first := s.earliest()
	if s.Ignores() {
		return first
	}
	ahead := *s
	ahead.advance(first) // which may be long ago
	for end := ahead.at + horizon; ahead.at < end && !ahead.wants(); {
		ahead.advance((ahead.at/beat + 1) * beat)
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
	if mean > 0 && rate > 0 {
		// A window that ends with its samples is the shorter the sooner they came: it counts by those
		// that were to be expected in it.
		n := float64(samples) * mean / float64(rate)
		part := min(mostPart, n/(s.samples+n))
		s.trust = max(0.25, min(4, s.trust*(1+part*(float64(rate)/mean-1))))
		s.samples = min(s.samples+n, steady)
		if !s.pauses() {
			s.learned = learned{s.trust, s.samples}
		}
	}
	s.since, s.bits, s.cnps = now, 0, 0
	return true
}

// Ignores reports whether the sender goes on at its rate in spite of CNPs.
func (s *Steer) Ignores() bool { return s.strikes >= windows }

// Recovered reports whether the sender may be at the rate that it offers again at a time after the
// last CNP, by the model. It ends the steering then.
func (s *Steer) Recovered(now int64) bool {
	if s.offered == 0 {
		return true
	}
	if s.advance(now); float64(s.model.At(s.at)) < s.offered {
		return false
	}
	*s = Steer{strikes: s.strikes, learned: s.learned}
	return true
}
