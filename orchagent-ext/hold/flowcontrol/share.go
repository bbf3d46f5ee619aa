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

	// A turn is charged at most turnTime and itemTime for each event and message that it took, which
	// is more than it can have used: what a hypervisor took away, and packets of others that the kernel
	// received on this thread, are no work of the thread.
	turnTime = time.Millisecond
	itemTime = 100 * time.Microsecond

	// mostRun is how long the thread may run without a wait, a tick of the kernel and up to two of
	// them in fact, before it loses real-time priority: no turn takes as long, so it waits for a thread
	// of lower priority then ([sai.BoundRealtime]). It has its priority back at the end of the turn.
	mostRun = 4 * time.Millisecond
)

// share is the CPU time that the thread may still use, ns, as a token bucket. The zero value is
// full.
type share struct {
	used   int64 // charged, more than was given; less than 0 for a rest; within shareBurst of 0
	cpu    int64 // CPU time of the thread at the last call
	at     int64 // when, ns of CLOCK_MONOTONIC
	before bool
}

// pause returns for how long (ns) the thread is to wait after a turn that took so many events and
// messages, by its CPU time until now, at most 33 ms: no turn uses as much as shareBurst.
func (s *share) pause(now, cpu int64, items int) int64 {
	if !s.before {
		*s = share{used: -int64(shareBurst), cpu: cpu, at: now, before: true}
	}
	turn := min(cpu-s.cpu, int64(turnTime)+int64(items)*int64(itemTime))
	s.used = min(max(s.used+turn-(now-s.at)*mostShare/100, -int64(shareBurst)), int64(shareBurst))
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
