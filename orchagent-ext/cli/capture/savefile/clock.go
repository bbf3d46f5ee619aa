// SPDX-License-Identifier: Apache-2.0

package savefile

import (
	"math"
	"math/bits"
	"time"
)

// clock turns the times of an interface into those since 1970. Its zero value counts seconds.
type clock struct {
	// resolution is if_tsresol: 10 to the power of minus itself, or with the bit above 2
	resolution uint8
	per        uint64 // ticks in a second; 0: more than fit
	offset     int64  // s; if_tsoffset
}

// Bits of if_tsresol (draft-ietf-opsawg-pcapng section 4.2), and its default, microseconds.
const (
	binaryResolution  = 0x80
	defaultResolution = 6
)

const nsPerSecond = 1_000_000_000

// Times of a packet: pcapng can have others, which programs do not expect: they do not fit
// [time.Time.UnixNano].
var earliest, latest = time.Unix(0, math.MinInt64+1), time.Unix(0, math.MaxInt64)

// newClock returns the clock of a resolution and an offset in s.
func newClock(resolution uint8, offset int64) clock {
	c := clock{resolution: resolution, offset: offset}
	switch exponent := resolution &^ binaryResolution; {
	case resolution&binaryResolution != 0 && exponent < 64:
		c.per = 1 << exponent
	case resolution&binaryResolution == 0 && exponent <= maxPower:
		c.per = power(exponent)
	}
	return c
}

// maxPower is the largest power of ten in 64 bits.
const maxPower = 19

// power returns 10 to the power of n.
func power(n uint8) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}

// time returns the time of ticks in whole nanoseconds, or the nearest one
// that fits ns since 1970 (1677 to 2262).
func (c *clock) time(ticks uint64) time.Time {
	seconds, ns := c.split(ticks)
	const far = math.MaxInt64/nsPerSecond + 2 // s since 1970 that are too many
	var t time.Time
	if before := -uint64(c.offset); c.offset < 0 && before > seconds {
		t = time.Unix(-int64(min(before-seconds, far)), int64(ns))
	} else {
		seconds, carry := bits.Add64(seconds, uint64(c.offset), 0) // of a negative offset: the carry is right
		if (carry != 0) != (c.offset < 0) {
			seconds = far
		}
		t = time.Unix(int64(min(seconds, far)), int64(ns))
	}
	switch {
	case t.Before(earliest):
		t = earliest
	case t.After(latest):
		t = latest
	}
	return t.UTC()
}

// split returns ticks as s and ns, computed in 128 bits.
func (c *clock) split(ticks uint64) (seconds, ns uint64) {
	exponent := c.resolution &^ binaryResolution
	switch {
	case c.per != 0:
		seconds = ticks / c.per
		high, low := bits.Mul64(ticks%c.per, nsPerSecond)
		ns, _ = bits.Div64(high, low, c.per)
	case c.resolution&binaryResolution != 0: // 2^64 a second, or more
		high, _ := bits.Mul64(ticks, nsPerSecond)
		ns = high >> (exponent - 64)
	case exponent-9 <= maxPower: // 10^20 a second, or more
		ns = ticks / power(exponent-9)
	}
	return seconds, ns
}
