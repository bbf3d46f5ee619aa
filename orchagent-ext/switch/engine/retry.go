// SPDX-License-Identifier: Apache-2.0

package engine

import "time"

// Times between two attempts at refused objects.
const (
	FirstRetry = time.Minute
	LastRetry  = time.Hour
)

// retry is when the switch is asked again for what it refused.
type retry struct {
	at    time.Time     // zero: it refused nothing
	pause time.Duration // before that
}

// due reports whether it is time for another attempt.
func (r *retry) due(now time.Time) bool { return !r.at.IsZero() && !now.Before(r.at) }

// schedule decides when to try again: after a minute, and then twice as long each time up
// to an hour, which is the cost of a switch that never can.
func (r *retry) schedule(refused bool, now time.Time) {
	switch {
	case !refused:
		*r = retry{}
	case r.at.IsZero() || r.due(now):
		r.pause = min(max(2*r.pause, FirstRetry), LastRetry)
		r.at = now.Add(r.pause)
	}
}
