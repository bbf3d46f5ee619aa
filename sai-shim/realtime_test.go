// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	sai "sluice/sai-shim"
)

// TestRealtimeThreadThatRunsOnLosesItsPriority: each time that it is given the priority; and no
// longer when the bound has ended.
func TestRealtimeThreadThatRunsOnLosesItsPriority(t *testing.T) {
	const limit = 8 * time.Millisecond
	done := make(chan struct{})
	var refused error // to have the priority
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with the goroutine
		runFIFO := func(d time.Duration) (lost bool) {
			if refused = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0); refused != nil {
				return false
			}
			for begin := time.Now(); time.Since(begin) < d; {
				if a, err := unix.SchedGetAttr(0, 0); err != nil || a.Policy == unix.SCHED_NORMAL {
					return err == nil
				}
			}
			return false
		}
		if err := sai.BoundRealtime(limit); err != nil {
			t.Error(err)
			return
		}
		for range 3 {
			if sai.RealtimeLost() {
				t.Error("it has lost the priority before it ran")
			}
			if !runFIFO(10*time.Second) && refused == nil {
				t.Error("it keeps real-time priority")
			}
			if refused == nil && (!sai.RealtimeLost() || sai.RealtimeLost()) {
				t.Error("the loss is not reported once")
			}
		}
		for range 20 { // waits that block
			if runFIFO(limit / 8) {
				t.Error("it loses real-time priority though it waits")
			}
			time.Sleep(time.Millisecond)
		}
		if err := sai.BoundRealtime(0); err != nil {
			t.Error(err)
		}
		if runFIFO(4 * limit) {
			t.Error("it loses real-time priority without a bound")
		}
	}()
	<-done
	if refused != nil {
		t.Skip("needs CAP_SYS_NICE: ", refused)
	}
}
