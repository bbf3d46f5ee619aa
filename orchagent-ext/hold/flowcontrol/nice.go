// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// nice is the nice value (-20 to 19, the least goes first) of the process's other threads while the
// real-time thread runs. That one runs Go, too: it waits where one of them stops all to collect
// garbage, and where all rights to run Go are taken (GOMAXPROCS). On a busy machine such a thread
// would be off the CPU for up to 0.5 s then.
const nice = -20

// Rounds of [setNice]: threads that are made during one may have the former value.
const niceRounds = 3

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
