// SPDX-License-Identifier: Apache-2.0

package rtt

// A Reaction is the wait for a sender to obey advice of a lower rate. The zero value waits for none.
type Reaction struct {
	at   int64 // of the advice, ns, or 0
	from uint32
	to   uint32 // rates in Mbit/s
}

// When a fall of the rate is that of the advice, in parts of a hundred.
const (
	clearFall = 75  // advice below this part of the rate is waited for
	obeyed    = 115 // at most this part of the advice,
	noLess    = 50  // and at least that: a pause of the sender itself is another thing
)

// Advised notes advice of a rate to a sender that sends at another one, in Mbit/s.
func (r *Reaction) Advised(now int64, sends, advised uint32) {
	if r.at == 0 && uint64(advised)*100 < uint64(sends)*clearFall {
		*r = Reaction{now, sends, advised}
	}
}

// Came takes the rate at which packets came in an interval that ends now, in Mbit/s. It returns the
// time from the advice to its effect once that is seen; ok is false before, and where it came within
// an interval, which is too coarse for it.
//
// The rate fell within the interval that showed half of the fall, or the one before: in the mean when
// the last one began.
func (r *Reaction) Came(now int64, interval int64, rate uint32) (took int64, ok bool) {
	if r.at == 0 {
		return 0, false
	}
	switch waited := now - r.at; {
	case waited > int64(Most) || uint64(rate)*100 < uint64(r.to)*noLess:
		r.at = 0
	case uint64(rate)*100 <= uint64(r.to)*obeyed:
		r.at = 0
		took = waited - interval
		return took, took > interval
	}
	return 0, false
}
