// SPDX-License-Identifier: Apache-2.0

package placement

import "fmt"

// check is the result of comparing the model with the ports' counters.
type check struct {
	error     float64 // of the last check, in parts of the prediction
	bad, good int     // checks in a row
	degraded  bool
}

// Bounds between a right model and a wrong one.
const (
	checkedOctets = 64 << 10 // a check of less is void
	wrongShare    = 0.05     // of the prediction on other members: the check is bad
	badChecks     = 2        // in a row: the model is wrong
	goodChecks    = 10       // in a row: it is right again
)

// Check compares what the samples since the last check predict for each member with what
// its port sent in that time, in octets. Other traffic on the ports does no harm: octets
// count that were predicted on a port, are missing there, and may have left by other
// ports. Octets that a full queue drops, or a hold keeps back, are no fault of the model.
// After two bad checks in a row the model counts as wrong; moves stop, and new flows get
// hash labels. Ten good ones in a row, or SetGroup, end that.
func (t *Table) Check(sent []uint64) error {
	if len(sent) != len(t.members) {
		return fmt.Errorf("placement: counters of %d members, and the group has %d", len(sent), len(t.members))
	}
	var predicted, missing, more uint64
	for m, p := range t.predicted {
		predicted += p
		if p > sent[m] {
			missing += p - sent[m]
		} else {
			more += sent[m] - p
		}
	}
	// the rest was dropped, or waits: it left by no other port
	missing = min(missing, more)
	clear(t.predicted)
	if predicted < checkedOctets {
		return nil
	}
	c := &t.check
	c.error = float64(missing) / float64(predicted)
	if c.error > wrongShare {
		c.bad, c.good = c.bad+1, 0
	} else {
		c.bad, c.good = 0, c.good+1
	}
	switch {
	case c.bad >= badChecks && !c.degraded:
		c.degraded = true
		t.stats.Degradations++
	case c.good >= goodChecks:
		c.degraded = false
	}
	return nil
}

// Unchecked forgets the predictions since the last check: the ports' counters of that
// time are unknown.
func (t *Table) Unchecked() { clear(t.predicted) }
