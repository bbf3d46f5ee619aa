// SPDX-License-Identifier: Apache-2.0

package placement

import "fmt"

// check compares the model with the ports' counters.
type check struct {
	predicted []uint64 // by member: octets since the last comparison
	error     float64  // of the last check, in parts of the prediction
	bad, good int      // checks in a row
	degraded  bool     // the model counts as wrong
}

// Bounds between a right model and a wrong one.
const (
	checkedOctets = 64 << 10 // a check of less is void
	wrongShare    = 0.05     // of the prediction on other members: the check is bad
	badChecks     = 2        // in a row: the model is wrong
	goodChecks    = 10       // in a row: it is right again
)

// expect adds octets that a member, if known, should have sent.
func (c *check) expect(member int, octets uint64) {
	if member != unknown {
		c.predicted[member] += octets
	}
}

// forget drops the predictions since the last comparison.
func (c *check) forget() { clear(c.predicted) }

// compare compares the predictions with the octets that ports sent. It reports whether the model
// counts as wrong from now on.
func (c *check) compare(sent []uint64) (wrong bool, err error) {
	if len(sent) != len(c.predicted) {
		return false, fmt.Errorf("placement: counters of %d members, and the group has %d", len(sent), len(c.predicted))
	}
	var predicted, missing, more uint64
	for m, p := range c.predicted {
		predicted += p
		if p > sent[m] {
			missing += p - sent[m]
		} else {
			more += sent[m] - p
		}
	}
	// the rest was dropped, or waits: it left by no other port
	missing = min(missing, more)
	c.forget()
	if predicted < checkedOctets {
		return false, nil
	}
	c.error = float64(missing) / float64(predicted)
	if c.error > wrongShare {
		c.bad, c.good = c.bad+1, 0
	} else {
		c.bad, c.good = 0, c.good+1
	}
	was := c.degraded
	switch {
	case c.bad >= badChecks:
		c.degraded = true
	case c.good >= goodChecks:
		c.degraded = false
	}
	return c.degraded && !was, nil
}
