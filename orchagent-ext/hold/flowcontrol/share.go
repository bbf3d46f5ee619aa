// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"time"

	"golang.org/x/sys/unix"
)

// The share of a core that the real-time thread may have: nothing else runs on its core
// meanwhile, and a flood of messages would take all of it. It is enough for some 13,000 new
// holds a second with the software switch on a core of 2026, as many as one source may ask for.
const (
	mostShare  = 30                    // percent
	shareBurst = 10 * time.Millisecond // of CPU time at once

	// mostRun is how long the thread may run without a wait, rounded up to some ticks of the kernel,
	// before it loses real-time priority: longer than a burst, so it waits for a thread of lower
	// priority then ([sai.BoundRealtime]).
	mostRun = 12 * time.Millisecond
)

// share is the CPU time that the thread may still use, ns, as a token bucket. The zero value is
// full.
type share struct {
	used   int64 // more than was given, less than 0 for a rest; within shareBurst of 0
	cpu    int64 // CPU time of the thread when it was last asked
	at     int64 // when, ns of CLOCK_MONOTONIC
	before bool
}

// pause returns for how long (ns) the thread is to wait, by its CPU time until now, at most 33 ms: a
// hypervisor that takes the CPU away meanwhile leaves that in the thread's time, although it used
// none, and no turn uses as much as shareBurst.
func (s *share) pause(now, cpu int64) int64 {
	if !s.before {
		*s = share{used: -int64(shareBurst), cpu: cpu, at: now, before: true}
	}
	s.used = min(max(s.used+cpu-s.cpu-(now-s.at)*mostShare/100, -int64(shareBurst)), int64(shareBurst))
	s.cpu, s.at = cpu, now
	return max(s.used, 0) * 100 / mostShare
}

// threadTime is the CPU time of the calling thread, ns.
func threadTime() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0 // it is always there
	}
	return t.Nano()
}
