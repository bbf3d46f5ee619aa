// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"
	"time"

	"sluice/orchagent-ext/wire/notify"
)

// TestHoldActsAtOnceAndForItsTime: a flow that is to be reduced is slow before its rate was measured,
// by its fair share of the port; a paused one waits for the whole time of the message. A reduction
// that ends unmeasured is counted, and so are messages above the rate.
//
//conformance:draft-yang/enforce draft-yang/maintain draft-yang/percent draft-yang/action draft-yang/time draft-yang/copp
func TestHoldActsAtOnceAndForItsTime(t *testing.T) {
	const (
		share    = 2 // Mbit/s, of the only flow that the port holds
		packets  = 40
		lasts    = 60 * time.Millisecond
		slowed   = 8 * time.Millisecond // at half of the share they take four times as long
		notAlone = 3                    // bursts, since a busy machine delays one as well
	)
	l := newLeaf(t)
	l.onePath()
	up := l.Uplinks[0]
	l.set("PORT", up.Name, "lanes", "4", "admin_status", "up", "speed", fmt.Sprint(share))
	l.neighbors("hold_limit_ms", "0")
	l.start("--sai-profile", withQueues)
	l.awaitFields("SLUICE_STATE", "global", "pfcm", "active")
	neighbor, host := l.sender(up.Peer()), l.sender(l.A)
	asked, came, left := l.capture(up), l.capture(l.LeafA), l.capture(l.B)
	ask := func(action notify.Action, d time.Duration) {
		l.put(neighbor, l.pfcm(up, func(_ *notify.Envelope, m *notify.PFCM) { m.Action, m.Time = action, uint16(d.Microseconds()) }))
	}
	n := 0
	// burst sends packets under a message, and returns how long the last was delayed, and how long after
	// the message the first left.
	burst := func(action notify.Action) (delay, wait time.Duration) {
		from, message := n, asked.Len()
		ask(action, lasts)
		time.Sleep(2 * time.Millisecond) // where it takes longer until the hold begins, the burst does not count
		for range packets {
			l.put(host, l.frame(packet{qp: 0x77, psn: uint32(n), label: heldLabel}))
			n++
		}
		l.until("the packets leave", func() bool {
			return sessionsOf(left, 0x77) == n && sessionsOf(came, 0x77) == n && asked.Len() > message
		})
		ask(notify.Cancel, 0)
		out := timesOf(left, 0x77)
		return out[n-1].Sub(timesOf(came, 0x77)[n-1]), out[from].Sub(asked.Frames()[message].Time)
	}
	slow := 0
	l.soon("bursts are slowed before they are measured", func() bool {
		delay, _ := burst(notify.Reduce(50))
		if slow++; delay < slowed {
			slow = 0
		}
		return slow == notAlone
	})
	l.soon("a paused flow waits for the time of its message", func() bool {
		_, wait := burst(notify.Pause)
		return wait >= lasts
	})
	l.neighbors("rx_rate", "100", "rx_burst", "5")
	l.until("a reduction ends unmeasured, and messages above the rate are policed", func() bool {
		ask(notify.Reduce(50), 500*time.Microsecond)
		return l.notified("pfcm", "unmeasured") > 0 && l.notified("pfcm", "dropped_policed") > 0
	})
}
