// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"testing"
	"time"
)

// A thread that always has work runs for its share of the time, whatever a turn takes; one that
// has less never waits; and what is not used is not saved beyond a burst.
func TestShareOfACoreIsNeverPassed(t *testing.T) {
	for _, turn := range []time.Duration{time.Microsecond, 300 * time.Microsecond, 5 * time.Millisecond} {
		var s share
		items := int(turn / itemTime) // that take such a turn
		now, cpu := int64(time.Hour), int64(0)
		s.pause(now, cpu, items)
		begin := now
		for now-begin < int64(10*time.Second) {
			now, cpu = now+int64(turn), cpu+int64(turn)
			now += s.pause(now, cpu, items)
		}
		most := (now-begin)*mostShare/100 + int64(shareBurst+turn)
		if cpu > most || cpu < most-2*int64(shareBurst+turn) {
			t.Errorf("turns of %v: %v of CPU time in %v", turn, time.Duration(cpu), time.Duration(now-begin))
		}
		for range 1000 { // a fifth of the time
			now, cpu = now+5*int64(turn), cpu+int64(turn)
			if pause := s.pause(now, cpu, items); pause > 0 {
				t.Fatalf("turns of %v, less than the share: waits for %d ns", turn, pause)
			}
		}
		now += int64(time.Hour)
		if s.pause(now, cpu, items); s.used != -int64(shareBurst) {
			t.Errorf("after an hour of rest %d ns are left", -s.used)
		}
	}
}

func TestThreadTimeCountsWork(t *testing.T) {
	begin := threadTime()
	for threadTime()-begin < int64(time.Millisecond) { // would never end
	}
}

// Time for which the hypervisor took the CPU away counts in the thread's: the next hold waits no
// longer for it than for a burst of work, and than for the work that the turn can have done.
func TestShareForgetsTimeThatTheMachineTook(t *testing.T) {
	for items, most := range map[int]time.Duration{1000: 34 * time.Millisecond, 10: 7 * time.Millisecond, 0: 4 * time.Millisecond} {
		var s share
		s.pause(0, 0, 0)
		now, cpu := int64(0), int64(0)
		for s.used < 0 { // by work, until nothing is saved
			now, cpu = now+int64(time.Millisecond), cpu+int64(time.Millisecond)
			s.pause(now, cpu, 0)
		}
		taken := int64(20 * time.Millisecond)
		if got := s.pause(now+taken, cpu+taken, items); got > int64(most) {
			t.Errorf("a pause of %v after 20 ms that were taken away from a turn of %d messages", time.Duration(got), items)
		}
	}
}
