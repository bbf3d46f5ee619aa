// SPDX-License-Identifier: Apache-2.0

package clock

// Rate is how many events a second pass on average, and how many of them at once.
type Rate struct {
	PerSecond, Burst uint32 // PerSecond 0: all pass
}

// Bucket is a token bucket. The zero value is full. One goroutine uses it.
type Bucket struct {
	tokens float64
	filled int64 // ns; 0: it is full
}

// Take returns how many of n events pass at a time, the first of them. now is in ns of any
// clock; one that goes back adds no tokens. Another rate than before is in force at once:
// tokens above its burst are lost.
func (b *Bucket) Take(r Rate, n int, now int64) int {
	if r.PerSecond == 0 || n == 0 {
		return n
	}
	burst := float64(r.Burst)
	if b.filled == 0 {
		b.tokens = burst
	} else {
		b.tokens = min(burst, b.tokens+float64(r.PerSecond)*float64(max(0, now-b.filled))/1e9)
	}
	b.filled = now
	pass := min(n, int(b.tokens))
	b.tokens -= float64(pass)
	return pass
}
