// SPDX-License-Identifier: Apache-2.0

package machine

import "golang.org/x/sys/unix"

// ClockError returns how far the kernel's clock may be off, in µs, as adjtimex(2) has it;
// -1 where nothing synchronizes it.
func ClockError() int64 {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil || state == unix.TIME_ERROR || t.Status&unix.STA_UNSYNC != 0 {
		return -1
	}
	return t.Maxerror
}
