// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"testing"
	"time"
)

// TestCallAtTheEndIsCutInTime: the first check at which the process ends in a call that does not return, by when the
// call began; both after SIGTERM, milliseconds. A call has 4 s where there is time, and a container is killed
// after 10 s.
func TestCallAtTheEndIsCutInTime(t *testing.T) {
	for began, want := range map[int]int{
		-60_000: 7000, 0: 7000, 2999: 7000, 3000: 7000, // it had 4 s and more
		3001: 7250, 3500: 7500, 4000: 8000, 4900: 9000, 5000: 9000, // 4 s
		5001: 9000, 6000: 9000, 8999: 9000, // as long as there is time
		9000: 9000, 9001: 9250, 9249: 9250, // between two checks
	} {
		after := 0
		for ; began > after || !cuts(ms(after), ms(after-began)); after += 250 {
			if after > 10_000 {
				break
			}
		}
		if after != want {
			t.Errorf("a call that begins at %d ms is cut at %d, want %d", began, after, want)
		}
	}
	if worst := ms(9000) + pollInterval; worst >= exitTime || exitTime > ms(9500) {
		t.Errorf("cut after %v, and ended after %v", worst, exitTime)
	}
}

// ms is a time in milliseconds.
func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }
