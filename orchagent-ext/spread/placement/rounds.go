// SPDX-License-Identifier: Apache-2.0

package placement

// rounds are those of moves: they begin above the threshold, and go on until the goal. After each
// the load is measured again. It decides by the spread alone, whatever flows there are.
type rounds struct {
	goal    float64 // max ÷ mean at which moves stop
	open    bool    // moves go on until the goal
	made    int     // rounds since then that were measured again
	recheck int64   // number of the window until which they are
	again   int     // times that the load of flows that pause for long is looked at again
	againAt int64   // when it is next, in ns; 0: unknown
	rest    rest
}

// Rates that were slightly wrong leave an uneven load: after moves it is measured again,
// in so many windows, before only a load above the threshold counts.
const (
	recheckWindows = 4
	recheckRounds  = 3
)

// againRounds is how often the load of flows that pause for long is looked at again: they have
// been measured once or twice when the first moves are made, and each burst differs a bit.
const againRounds = 4

// goalPart is the part of the distance between 1 and the goal at which moves stop among flows that
// pause for long: windows of two bursts differ by more than those of many.
const goalPart = 0.5

// A verdict is on the load that a look finds.
type verdict uint8

// The verdicts.
const (
	even    verdict = iota // enough
	resting                // uneven, after moves that did not last
	uneven                 // flows are to move
)

// A moment is the time of a look.
type moment struct {
	now    int64 // ns
	window int64 // number of windows that ended
	period int64 // mean period of flows that pause for long, in ns; 0: few do
}

// begin returns the verdict on a load.
func (r *rounds) begin(at moment, load spread, c *Config) verdict {
	limit := c.Threshold
	if r.goal = c.Goal; at.period != 0 {
		r.goal = 1 + (c.Goal-1)*goalPart
	}
	if r.open || !load.over(limit) && r.looksAgain(at) {
		limit = r.goal
	}
	switch {
	case load.mean <= 0 || !load.over(limit):
		r.open = r.open && at.window < r.recheck
		return even
	case r.open:
	case limit == r.goal: // one round more
		r.open, r.made = true, recheckRounds-1
	case c.WindowNS != 0 && !r.rest.over(at.now, load.ratio()):
		return resting
	default:
		r.open, r.made, r.again, r.againAt = true, 0, againRounds, 0
	}
	return uneven
}

// looksAgain reports whether a load between the goal and the threshold moves flows, since
// they have sent another burst since the last moves.
func (r *rounds) looksAgain(at moment) bool {
	switch {
	case r.again == 0 || at.now < r.againAt:
		return false
	case at.period == 0:
		r.again = 0
		return false
	case r.againAt == 0: // the first moves have just ended
	default:
		r.again--
	}
	begins := r.againAt != 0
	r.againAt = at.now + at.period
	return begins
}

// end ends moves at the goal, or where every move gains too little, after so many moves.
func (r *rounds) end(at moment, moves int, load spread, c *Config) {
	switch {
	case moves == c.MaxMoves && load.over(r.goal):
	case moves == 0 && at.window < r.recheck:
	case moves == 0 || c.WindowNS == 0 || r.made == recheckRounds:
		if r.open = false; moves == 0 && r.made == 0 && r.rest.first {
			r.rest = rest{} // before the first move
		}
	default:
		r.made, r.recheck = r.made+1, at.window+recheckWindows
	}
}

// stop ends moves in any case: the members are others.
func (r *rounds) stop() { r.open = false }
