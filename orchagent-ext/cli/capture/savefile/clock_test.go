// SPDX-License-Identifier: Apache-2.0

package savefile

import (
	"math"
	"math/big"
	"testing"
	"time"
)

// exact is the time of ticks in numbers of any length.
func exact(resolution uint8, offset int64, ticks uint64) time.Time {
	base, exponent := int64(10), int64(resolution&0x7f)
	if resolution&0x80 != 0 {
		base = 2
	}
	ns := new(big.Int).Mul(new(big.Int).SetUint64(ticks), big.NewInt(1_000_000_000))
	ns.Quo(ns, new(big.Int).Exp(big.NewInt(base), big.NewInt(exponent), nil))
	ns.Add(ns, new(big.Int).Mul(big.NewInt(offset), big.NewInt(1_000_000_000)))
	switch {
	case ns.Cmp(big.NewInt(math.MinInt64+1)) < 0:
		return time.Unix(0, math.MinInt64+1).UTC()
	case ns.Cmp(big.NewInt(math.MaxInt64)) > 0:
		return time.Unix(0, math.MaxInt64).UTC()
	}
	return time.Unix(0, ns.Int64()).UTC()
}

// TestTimesAreExact: of all resolutions that a file can have, with offsets.
func TestTimesAreExact(t *testing.T) {
	cases, differ := 0, 0
	for resolution := range 256 {
		for _, offset := range []int64{0, 1, -1, 1_700_000_000, -1_700_000_000, math.MaxInt64, math.MinInt64} {
			c := newClock(uint8(resolution), offset)
			for _, ticks := range []uint64{0, 1, 2, 999_999, 1_000_000, 1_700_000_000, 1<<32 - 1, 1 << 32, 1_700_000_000_123_456, 1_700_000_000_123_456_789, 1<<62 + 12345, math.MaxInt64, math.MaxUint64} {
				cases++
				if got, want := c.time(ticks), exact(uint8(resolution), offset, ticks); !got.Equal(want) {
					if differ++; differ < 10 {
						t.Errorf("if_tsresol %#x, if_tsoffset %d, %d ticks: %v, want %v", resolution, offset, ticks, got, want)
					}
				}
			}
		}
	}
	t.Logf("%d times, %d differ", cases, differ)
}
