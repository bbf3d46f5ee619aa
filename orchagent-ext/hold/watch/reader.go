// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/hold/sampled"
	"sluice/orchagent-ext/host/clock"
	sai "sluice/sai-shim"
)

// reading is a [Depth] of a queue.
type reading struct {
	queue sai.ObjectID
	at    int64 // ns, CLOCK_MONOTONIC
	Depth
}

// reader reads the depth of queues in a goroutine of its own, and passes it to the thread of flow control.
type reader struct {
	read     func(ctx context.Context, queues []sai.ObjectID) []Depth
	wake     int // eventfd: a reading waits
	readings chan reading
	why      atomic.Pointer[string] // that readings cannot be relied on
	pace     atomic.Int64           // ns between two readings; 0: as configured

	mu     sync.Mutex // of depths
	depths map[sai.ObjectID]Readings
}

// unproven returns why the estimates cannot be relied on; "": they can.
func (r *reader) unproven() string {
	if why := r.why.Load(); why != nil {
		return *why
	}
	return ""
}

// interval returns the time between two readings.
func (r *reader) interval() time.Duration {
	return cmp.Or(time.Duration(r.pace.Load()), sampled.Interval)
}

// counts returns the counts of the queues that are watched; none for nil settings.
func (r *reader) counts(s *settings) (all []Readings) {
	if s == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, q := range s.Queues {
		if one, read := r.depths[id]; read {
			one.Port, one.Queue, one.Samples = q.Name, q.Number, s.sampled[id].Load()
			all = append(all, one)
		}
	}
	return all
}

// run reads the queues until ctx is done.
func (r *reader) run(ctx context.Context, config *atomic.Pointer[settings]) error {
	clocks := clocks{}
	for next := sampled.Interval; ; {
		if !clock.Sleep(ctx, next) {
			return nil
		}
		began := packetio.Monotonic()
		if next = r.round(ctx, config.Load(), clocks); next == 0 {
			next = sampled.Interval
			continue
		}
		next = max(next-time.Duration(packetio.Monotonic()-began), time.Millisecond)
	}
}

// clocks judge the readings of queues that are watched.
type clocks map[sai.ObjectID]*queueClock

// queueClock is that of a queue since it is watched.
type queueClock struct {
	sampled.Clock
	samples *atomic.Uint64 // of [settings]: others after it was left alone
}

// of returns the clock of a queue, which begins where the queue is watched again.
func (c clocks) of(id sai.ObjectID, samples *atomic.Uint64) *sampled.Clock {
	q := c[id]
	if q == nil || q.samples != samples {
		q = &queueClock{sampled.Clock{Interval: sampled.Interval}, samples}
		c[id] = q
	}
	q.Sampled = samples.Load()
	return &q.Clock
}

// round reads each queue once, and returns the interval until the next one; 0: all queues are
// left alone.
func (r *reader) round(ctx context.Context, c *settings, clocks clocks) (next time.Duration) {
	if c == nil || len(c.Queues) == 0 {
		clear(clocks)
		r.pace.Store(0)
		r.mu.Lock()
		r.depths = nil
		r.mu.Unlock()
		return 0
	}
	maps.DeleteFunc(clocks, func(id sai.ObjectID, _ *queueClock) bool { return c.sampled[id] == nil })
	ids := make([]sai.ObjectID, 0, len(c.Queues))
	for id := range c.Queues {
		ids = append(ids, id)
	}
	began := packetio.Monotonic()
	all := r.read(ctx, ids)
	now, why := packetio.Monotonic(), ""
	for i, d := range all {
		id := ids[i]
		clock := clocks.of(id, c.sampled[id])
		clock.Took(time.Duration(now-began) / time.Duration(len(all)))
		if d.Slow != "" {
			clock.Slower(d.Slow)
		}
		used := d.Err != nil // flow control is to know it
		if used {
			clock.Missed(d.Err.Error())
		} else if used = clock.Take(d.Reading, c.Room[id]); clock.Stuck() {
			d, used = Depth{Err: errors.New(clock.Unproven())}, true
		}
		r.count(id, now, clock.Interval, used && d.Err == nil)
		if used {
			select {
			case r.readings <- reading{id, now, d}:
			default: // flow control has stopped
			}
		}
		next = max(next, clock.Interval)
		if w := cmp.Or(clock.Unproven(), d.Doubt); w != "" {
			why = w
		}
		if d.Err != nil {
			why = d.Err.Error()
		}
	}
	r.pace.Store(int64(next))
	r.why.Store(&why)
	one := [8]byte{1} // in either byte order it is other than 0
	_, _ = unix.Write(r.wake, one[:])
	return max(next, sampled.Interval)
}

// count counts a reading.
func (r *reader) count(queue sai.ObjectID, now int64, interval time.Duration, useful bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.depths == nil {
		r.depths = map[sai.ObjectID]Readings{}
	}
	one := r.depths[queue]
	if one.All++; useful {
		one.At = now
	} else {
		one.Useless++
	}
	one.Interval = interval
	r.depths[queue] = one
}
