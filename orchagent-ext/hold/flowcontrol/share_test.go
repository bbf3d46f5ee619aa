// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import "testing"

// TestShareIsKept: a thread that is busy whenever it may be, in turns of any length, uses its
// share of a CPU and no more; one that needs less never rests.
func TestShareIsKept(t *testing.T) {
	for _, turn := range []int64{2_000, 300_000, 5 * ms} {
		var s share
		now, cpu := 7*ms, int64(0)
		began := now
		for now-began < 2000*ms {
			now, cpu = now+turn, cpu+turn
			if rest := s.rest(now, cpu); rest > 0 {
				now += rest
			}
		}
		if part := 100 * cpu / (now - began); part > cpuShare || part < cpuShare-3 {
			t.Errorf("turns of %d µs: %d %% of a CPU, want %d", turn/1000, part, cpuShare)
		}
	}
	var s share
	for now, cpu := 7*ms, int64(0); now < 2000*ms; now, cpu = now+100_000, cpu+20_000 {
		if rest := s.rest(now, cpu); rest > 0 {
			t.Fatalf("it rests for %d ns with a fifth of a CPU", rest)
		}
	}
}

// TestBurstIsNotSlowed: what comes after silence is done at once.
func TestBurstIsNotSlowed(t *testing.T) {
	var s share
	s.rest(0, 0)
	if rest := s.rest(1000*ms, cpuBurst-1); rest > 0 {
		t.Errorf("it rests for %d ns after %d ns of work", rest, cpuBurst-1)
	}
}
