// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"testing"
	"time"
)

// TestPacerSpreadsMessages: no more than the pace, and after a pause no more at once than
// belong into maxBehind.
func TestPacerSpreadsMessages(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	for _, perSecond := range []uint32{1, 100, 1000, 50_000} {
		p, now := newPacer(perSecond), start
		for pause := range 3 {
			began := now
			for n := 1; n <= 3*int(perSecond); n++ {
				now = now.Add(p.wait(now))
				if most := 1 + int((now.Sub(began)+maxBehind)*time.Duration(perSecond)/time.Second); n > most {
					t.Fatalf("%d a second, after pause %d: %d messages within %v, at most %d are allowed", perSecond, pause, n, now.Sub(began), most)
				}
			}
			if took := now.Sub(began); took > 3*time.Second {
				t.Errorf("%d a second: 3 s of messages took %v", perSecond, took)
			}
			now = now.Add(time.Minute)
		}
	}
	none := newPacer(0)
	for range 10 {
		if wait := none.wait(start); wait != 0 {
			t.Errorf("without a pace: %v", wait)
		}
	}
}
