// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"testing"
	"time"
)

// TestPacerSpreadsMessages: no more octets than the rate allows, and after a pause no more at once
// than belong into maxBehind.
func TestPacerSpreadsMessages(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	for _, rate := range []uint64{100_000, 10_000_000, 1_000_000_000} {
		for _, octets := range []int{500, 1232, 8952} {
			p, now := pacer{rate: rate}, start
			for pause := range 3 {
				began := now
				n := 3 * int(rate) / 8 / octets // messages of 3 s
				for i := range n {
					now = now.Add(p.wait(octets, now))
					if most := (now.Sub(began)+maxBehind).Seconds()*float64(rate)/8 + 1; float64(i*octets) > most {
						t.Fatalf("%d bit/s, messages of %d octets, after pause %d: %d octets within %v, at most %.0f are allowed", rate, octets, pause, i*octets, now.Sub(began), most)
					}
				}
				if took := now.Sub(began); took > 3*time.Second || took < 2*time.Second {
					t.Errorf("%d bit/s, messages of %d octets: those of 3 s took %v", rate, octets, took)
				}
				now = now.Add(time.Minute)
			}
		}
	}
	var none pacer
	for range 10 {
		if wait := none.wait(9000, start); wait != 0 {
			t.Errorf("without a rate: %v", wait)
		}
	}
}
