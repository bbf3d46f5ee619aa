// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestMonotonicIsTheKernels(t *testing.T) {
	kernel := func() int64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			t.Fatal(err)
		}
		return ts.Nano()
	}
	const exact = int64(time.Millisecond) // at start this process may have lost its CPU between the clocks
	for range 100 {
		before, got := kernel(), Monotonic()
		if after := kernel(); got < before-exact || got > after+exact {
			t.Fatalf("%d, the kernel says %d to %d", got, before, after)
		}
	}
	if n := testing.AllocsPerRun(100, func() { Monotonic() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
