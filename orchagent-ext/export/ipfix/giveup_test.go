// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"testing"
	"time"
)

// TestCollectorIsGivenUpInTime: neither a wait nor a handshake reaches beyond the time
// to give up, by more than one short handshake.
func TestCollectorIsGivenUpInTime(t *testing.T) {
	c := &collector{config: &Config{GiveUp: 10 * time.Second}}
	lost := time.Duration(0)
	for wait := 200 * time.Millisecond; lost < c.config.GiveUp; wait = min(2*wait, maxBackoff) {
		d := c.pause(wait, lost)
		if d <= 0 || d > wait {
			t.Fatalf("lost for %v: a pause of %v, where %v is due", lost, d, wait)
		}
		lost += d
	}
	if lost != c.config.GiveUp {
		t.Errorf("given up after %v of pauses, want %v", lost, c.config.GiveUp)
	}
	for lost, want := range map[time.Duration]time.Duration{
		0: handshakeTime, 4 * time.Second: 6 * time.Second, 7 * time.Second: minHandshake, 10 * time.Second: minHandshake, time.Minute: minHandshake,
	} {
		if got := c.handshake(lost); got != want {
			t.Errorf("lost for %v: a handshake of %v, want %v", lost, got, want)
		}
	}
	never := &collector{config: &Config{}}
	if p, h := never.pause(time.Second, time.Hour), never.handshake(time.Hour); p != time.Second || h != handshakeTime {
		t.Errorf("a collector that is never given up: pause %v, handshake %v", p, h)
	}
}
