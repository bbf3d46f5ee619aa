// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// moreThreads are the threads that may run Go besides those of Go's default. Where a busy machine
// preempts one while it runs Go, flow control can go on with another.
const moreThreads = 6

// nice is the nice value (-20 to 19, the least goes first) of the process's other threads while the
// real-time thread runs. That one runs Go, too: it waits where one of them stops all to collect
// garbage, and where all rights to run Go are taken (GOMAXPROCS). On a busy machine such a thread
// would be off the CPU for up to 0.5 s then.
const nice = -20

// Rounds of [setNice]: threads that are made during one may have the former value.
const niceRounds = 3

// realtime is how the process makes way for a real-time thread that runs Go, as flow control has one.
type realtime struct {
	threads int   // that ran Go before
	nice    int32 // value before
}

// Set makes the process ready for a real-time thread, or as it was before. It is for one goroutine
// at a time.
func (r *realtime) Set(on bool) {
	if !on {
		setNice(r.nice)
		runtime.GOMAXPROCS(r.threads)
		return
	}
	r.threads = runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(r.threads + moreThreads)
	r.nice = setNice(nice)
}

// setNice sets the nice value of the process's threads of ordinary priority, and of those that they
// make, and returns that of the calling thread before. Without CAP_SYS_NICE threads keep theirs.
func setNice(value int32) (before int32) {
	if own, err := unix.SchedGetAttr(0, 0); err == nil {
		before = own.Nice
	}
	for range niceRounds {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return before
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				continue
			}
			a, err := unix.SchedGetAttr(id, 0) // an error: it has ended
			if err != nil || a.Policy != unix.SCHED_NORMAL || a.Nice == value {
				continue
			}
			a.Nice = value
			_ = unix.SchedSetAttr(id, a, 0)
		}
	}
	return before
}
