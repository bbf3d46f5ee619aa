// SPDX-License-Identifier: Apache-2.0

package sampled

import (
	"fmt"
	"time"
)

const (
	// Interval is the time between two readings of a queue's depth, where the switch keeps
	// up. Over 20 ms round trip 10 ms late are free, and 50 ms a queue that is longer by half.
	Interval = 10 * time.Millisecond

	// MostQueues are read: more readings keep SONiC's own counters waiting.
	MostQueues = 16

	// longest is the longest interval of readings.
	longest = time.Second

	// still is how many equal depths in a row are taken for one that is not refreshed, while
	// packets leave the queue: senders with windows keep a queue at one depth for a while. calm is
	// how many good ones in a row halve the interval again.
	still, calm = 100, 100

	// frozen is how many readings of the same values in a row, and how many samples that came
	// meanwhile, are taken for counters that stand still; or how many readings that failed, or
	// were beyond the buffer.
	frozen = 10

	// slow is how many readings in a row that take long are taken for a slow library: one alone may
	// have had no CPU.
	slow = 5

	// longestCalm is how many good readings in a row it takes at most.
	longestCalm = 64 * calm
)

// Reading is one reading of a queue's counters.
type Reading struct {
	Octets  uint64 // that wait; a gauge
	Packets uint64 // that left since the switch began; 0 where it is left out
	Dropped uint64 // packets that found the queue full; likewise
}

// Clock judges readings of a queue, and says how often to read. Set Interval before use.
type Clock struct {
	// Interval is the time between two readings: the configured one, or a multiple by a power
	// of 2 while readings are useless.
	Interval time.Duration

	// Sampled is how many samples of packets to the queue came so far.
	Sampled uint64

	least   time.Duration // as configured
	last    Reading
	seen    bool
	equal   int    // readings with the octets of the one before
	same    int    // readings that are the one before, in a row
	changed uint64 // Sampled when the last one differed
	missed  int    // readings in a row that failed
	slow    int    // readings in a row that took long
	good    int    // in a row
	needed  int    // of these, to halve the interval
	beyond  int    // readings in a row of more octets than the buffer has
	stuck   bool   // the depth is unknown: readings stand still, or are beyond the buffer
	reason  string
}

// Take takes a reading, and reports whether it may be used. size is the queue's buffer in octets; 0:
// unknown. Useless are a depth that stays the same while packets leave and none is dropped (a full
// queue has one depth), one larger than the buffer, counters that stand still although samples of the
// queue's packets come, and a counter that went backwards, as it does when it is cleared or wraps.
func (c *Clock) Take(r Reading, size uint64) bool {
	if c.least == 0 {
		c.least = c.Interval
	}
	last, first := c.last, !c.seen
	c.last, c.seen, c.missed = r, true, 0
	if r != last && (r.Octets != last.Octets || r.Octets == 0) {
		c.stuck = false
	}
	if c.beyond++; size == 0 || r.Octets <= size {
		c.beyond = 0
	}
	if c.same++; first || r != last || c.Sampled < c.changed { // samples are counted from 0 again
		c.same, c.changed = 0, c.Sampled
	}
	why := ""
	switch {
	case size != 0 && r.Octets > size:
		why = fmt.Sprintf("a queue reports %d octets, and its buffer has %d", r.Octets, size)
		c.stuck = c.stuck || c.beyond >= frozen
	case first:
		return true
	case c.same >= frozen && c.Sampled-c.changed >= frozen:
		why = fmt.Sprintf("the counters of a queue stood still for %d readings, while %d samples of its packets came", c.same, c.Sampled-c.changed)
		c.same, c.changed, c.stuck = 0, c.Sampled, true
	case r == last && r.Octets != 0:
		return false // the queue is paused, or the library has yet to read it again
	case r.Packets < last.Packets || r.Dropped < last.Dropped:
		why = fmt.Sprintf("a queue's counter went back from %d to %d packets", last.Packets, r.Packets)
	case r.Octets == last.Octets && r.Octets != 0 && r.Packets != last.Packets && r.Dropped == last.Dropped:
		if c.equal++; c.equal >= still {
			c.stuck = true
			why = fmt.Sprintf("a queue reported %d octets %d times while packets left", r.Octets, c.equal+1)
		}
	default:
		c.equal = 0
	}
	if why != "" {
		c.Slower(why)
		return false
	}
	if c.stuck {
		return false
	}
	if c.good++; c.good >= c.needed {
		c.good = 0
		if c.Interval = max(c.Interval/2, c.least); c.Interval == c.least {
			c.reason = ""
		}
	}
	return true
}

// Took takes how long a reading took. Several in a row that take half of the interval keep others from
// the library, such as those of SONiC's own counters.
func (c *Clock) Took(d time.Duration) {
	if c.least == 0 {
		c.least = c.Interval
	}
	if d <= c.Interval/2 {
		c.slow = 0
	} else if c.slow++; c.slow >= slow {
		c.slow = 0
		c.Slower(fmt.Sprintf("a reading of queues took %v", d.Round(time.Millisecond)))
	}
}

// Missed takes that a reading failed.
func (c *Clock) Missed(why string) {
	if c.missed++; c.missed >= frozen {
		c.missed = 0
		c.Slower(why)
	}
}

// Slower doubles the interval.
func (c *Clock) Slower(why string) {
	if c.least == 0 {
		c.least = c.Interval
	}
	c.reason, c.good, c.equal = why, 0, 0
	c.needed = min(max(2*c.needed, calm), longestCalm)
	c.Interval = min(2*c.Interval, max(longest, c.least))
}

// Stuck reports whether the depth of the queue is unknown, as readings stand still or are beyond its
// buffer several times in a row.
func (c *Clock) Stuck() bool { return c.stuck }

// Unproven returns why the readings cannot be relied on; "": they can.
func (c *Clock) Unproven() string { return c.reason }

// Fits returns why a flow cannot be held hop by hop by readings that are as old as delay; "": it
// can. excess is the rate in Mbit/s at which the queue may grow, buffer the octets that it has
// room for.
func Fits(excess uint32, delay time.Duration, buffer uint64) string {
	grows := uint64(excess) * uint64(delay/time.Microsecond) / 8
	if grows <= buffer {
		return ""
	}
	return fmt.Sprintf("a queue that grows by %d Mbit/s takes %d octets in the %v until it is noticed, and its buffer has %d", excess, grows, delay, buffer)
}
