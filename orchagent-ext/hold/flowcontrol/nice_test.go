// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// The threads of the process go before those of others while flow control runs: threads that there
// were, and threads that are made meanwhile. Then they are as before.
func TestThreadsGoBeforeOthersWhileFlowControlRuns(t *testing.T) {
	own, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Nice: own.Nice - 1}, 0); err != nil {
		t.Skip("needs CAP_SYS_NICE: ", err)
	}
	t.Cleanup(func() { setNice(own.Nice) })
	niceOf := func() int32 { // of a thread that is made for it
		got := make(chan int32)
		go func() {
			runtime.LockOSThread() // it ends with the goroutine
			a, err := unix.SchedGetAttr(0, 0)
			if err != nil {
				t.Error(err)
				a = &unix.SchedAttr{}
			}
			got <- a.Nice
		}()
		return <-got
	}
	before := setNice(nice)
	for range 8 {
		if got := niceOf(); got != nice {
			t.Errorf("a thread has nice %d, want %d", got, nice)
		}
	}
	setNice(before)
	for range 8 {
		if got := niceOf(); got != before {
			t.Errorf("then a thread has nice %d, before %d", got, before)
		}
	}
}
