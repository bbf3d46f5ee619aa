// SPDX-License-Identifier: Apache-2.0

package process

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
	before, threads := own.Nice-1, runtime.GOMAXPROCS(0)
	var r realtime
	r.Set(true)
	if is := runtime.GOMAXPROCS(0); is != threads+moreThreads {
		t.Errorf("%d threads run Go, %d before", is, threads)
	}
	for range 8 {
		if got := niceOf(); got != nice {
			t.Errorf("a thread has nice %d, want %d", got, nice)
		}
	}
	r.Set(false)
	if is := runtime.GOMAXPROCS(0); is != threads {
		t.Errorf("then %d threads run Go, %d before", is, threads)
	}
	for range 8 {
		if got := niceOf(); got != before {
			t.Errorf("then a thread has nice %d, before %d", got, before)
		}
	}
}
