// SPDX-License-Identifier: Apache-2.0

package task

import (
	"errors"
	"testing"
	"time"
)

// TestFaultsBackOff: a loop that does not last is started ever later, one that does
// last, soon.
func TestFaultsBackOff(t *testing.T) {
	var f Faults
	now := time.Unix(0, 0)
	var delays []time.Duration
	for range 8 {
		f.Add(errors.New("x"), now, now)
		delays = append(delays, f.Delay)
	}
	if delays[0] != firstRestart || delays[1] != 2*firstRestart || delays[7] != lastRestart {
		t.Errorf("%v", delays)
	}
	f.Add(errors.New("x"), now.Add(-calm-1), now)
	if f.Delay != firstRestart || f.Count != 9 {
		t.Errorf("after a long run: %v, %d faults", f.Delay, f.Count)
	}
	if f.Warning(now) == "" || f.Warning(now.Add(warningTime+1)) != "" {
		t.Errorf("warning %q, and later %q", f.Warning(now), f.Warning(now.Add(warningTime+1)))
	}
}
