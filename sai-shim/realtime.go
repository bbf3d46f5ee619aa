// SPDX-License-Identifier: Apache-2.0

package sai

// #include "realtime.h"
import "C"

import (
	"fmt"
	"time"
)

// BoundRealtime has the kernel take real-time priority (SCHED_FIFO) from the calling thread when it
// has run for d without a wait that blocked: it then has ordinary priority, until it is given the
// other one again. d 0 ends that. One thread of the process can be bounded.
//
// A thread that runs Go needs it. Where the garbage collector reads the stack of its goroutine, it
// waits by sched_yield(2), which no thread of lower priority gets a CPU by: if it has the CPU of the
// collector's thread, both wait for the other one, until the kernel throttles real-time threads
// after 950 ms.
func BoundRealtime(d time.Duration) error {
	if status, err := C.realtime_bound(C.uint64_t(d / time.Microsecond)); status != 0 {
		return fmt.Errorf("bound a real-time thread: %w", err)
	}
	return nil
}

// RealtimeLost reports whether the kernel took the priority from the thread of [BoundRealtime], which
// calls it, since the last call. It counts the time that passes, where a hypervisor takes the CPU away,
// too: the thread's own time may be far less.
func RealtimeLost() bool { return bool(C.realtime_lost()) }
