// SPDX-License-Identifier: Apache-2.0

package placement

// A rest is the time in which an uneven load moves no flow after moves that did not last:
// each move may cost packets their order, and rates that change faster than flows can move
// gain nothing by it.
type rest struct {
	at     int64   // when flows began to move last
	length int64   // from then on
	worst  float64 // max ÷ mean that has begun moves of late, at most
	begun  bool    // at holds
	first  bool    // it is the first
}

// How long a rest is: it doubles when the load is uneven again soon after it.
const (
	leastRest = int64(2e9)
	mostRest  = int64(64e9)
	// max ÷ mean beyond what began moves of late: the load is another one
	muchWorse = 0.1
)

// over reports whether a load with this max ÷ mean may move flows, and notes that they do.
func (r *rest) over(now int64, worst float64) bool {
	since := now - r.at
	switch {
	case !r.begun || since < 0 || since >= 2*r.length:
		r.length, r.worst = leastRest, worst
	case worst > r.worst+muchWorse:
		r.worst = worst // as long as before
	case since < r.length:
		return false
	default:
		r.length, r.worst = min(2*r.length, mostRest), max(r.worst, worst)
	}
	r.at, r.begun, r.first = now, true, !r.begun
	return true
}
