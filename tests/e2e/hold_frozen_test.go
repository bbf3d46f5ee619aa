// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/wire/roce"
)

// TestFrozenWhileItHolds: a sluiced that is stopped ends no hold. New packets pass it all the
// same; what waited is dropped and counted when sluiced goes on, and none is sent late.
func TestFrozenWhileItHolds(t *testing.T) {
	l := holding(t, []string{"hold_limit_ms", "0"}, "--sai-profile", frozenSoon)
	release := l.hold(l.Uplinks[0])
	defer release()
	l.awaitNotified("pfcm", "held", 1)
	c, s, n := l.capture(l.B), l.sender(l.A), 0
	put := func() {
		l.put(s, l.frame(packet{qp: 0x77, psn: uint32(n), label: heldLabel}))
		n++
	}
	signal := func(s unix.Signal) {
		if err := unix.Kill(l.sluiced.Pid, s); err != nil {
			t.Fatal(err)
		}
	}
	// A machine under load may let the hold run out before the stop: then nothing waits.
	l.until("packets are stale", func() bool {
		l.until("packets wait", func() bool { put(); return l.waiting() > 0 })
		signal(unix.SIGSTOP)
		before := c.Len()
		l.until("new packets pass", func() bool { put(); return c.Len() > before })
		signal(unix.SIGCONT)
		l.until("each packet has arrived, waits, or is counted", func() bool {
			length := len(l.frame(packet{qp: 0x77, label: heldLabel}))
			return int(l.notified("pfcm", "hold_queue_stale"))+c.Len()+l.waiting()/length == n
		})
		return l.notified("pfcm", "hold_queue_stale") > 0
	})
	release()
	l.quiet()
	if lost := l.notified("pfcm", "hold_queue_lost"); lost > 0 {
		t.Errorf("%d lost", lost)
	}
	frames, err := c.Stop()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d sent, %d arrived, %d stale", n, len(frames), l.notified("pfcm", "hold_queue_stale"))
	var p roce.Packet
	last := -1
	for _, f := range frames {
		if err := p.Parse(f.Data, len(f.Data)); err != nil {
			t.Fatal(err)
		}
		if int(p.PSN()) <= last {
			t.Errorf("packet %d comes after packet %d", p.PSN(), last)
		}
		last = int(p.PSN())
	}
}
