// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"sync/atomic"
	"time"
)

// bucket is a token bucket for packets. Any goroutine may configure it and read its
// drops; one goroutine takes tokens.
type bucket struct {
	rate, burst atomic.Uint32 // packets a second, packets; rate 0: all pass
	dropped     atomic.Uint64

	tokens float64
	filled time.Time // zero: it is full
}

// set makes it one of rate packets a second and of burst packets.
func (b *bucket) set(rate, burst uint32) {
	b.rate.Store(rate)
	b.burst.Store(burst)
}

// take returns how many of n packets pass at a time, the first of them.
//
//conformance:draft-lin/dos
func (b *bucket) take(n int, now time.Time) int {
	rate, burst := float64(b.rate.Load()), float64(b.burst.Load())
	if rate == 0 || n == 0 {
		return n
	}
	if b.filled.IsZero() {
		b.tokens = burst
	} else {
		b.tokens = min(burst, b.tokens+rate*max(0, now.Sub(b.filled).Seconds()))
	}
	b.filled = now
	pass := min(n, int(b.tokens))
	b.tokens -= float64(pass)
	b.dropped.Add(uint64(n - pass))
	return pass
}
