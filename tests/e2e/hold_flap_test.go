// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
)

// slowEgress starts leaf and spine: the spine's port to host B has mbps, and flows that fill its
// queue are asked to be held at the leaf.
func slowEgress(t *testing.T, mbps int, threshold ...string) (l, s *leaf) {
	t.Helper()
	l = newLeaf(t)
	l.onePath()
	s = l.opposite()
	l.neighbors("hold_limit_ms", "0")
	s.neighbors()
	s.set("SLUICE_THRESHOLD", "gold", threshold...)
	s.set("SLUICE_PORT", s.LeafA.Name, "role", "edge", "threshold", "gold")
	l.start("--sai-profile", withQueues)
	s.start("--sai-profile", withQueues, "--sai-profile", fmt.Sprintf("SLUICE_QUEUE_RATE=1000,%s=%d", s.LeafA.Name, mbps))
	for _, one := range []*leaf{l, s} {
		one.awaitFields("SLUICE_STATE", "global", "pfcm", "active")
		one.awaitFields("SLUICE_CAPABILITY", "switch", "threshold_method", "exact", "hold_method", "exact", "hold_state", "active")
	}
	return l, s
}

// linkIsDown is how long the link is down: nothing is waited for.
const linkIsDown = 200 * time.Millisecond

// flap takes an uplink's far end down for a time, and gives it back its address.
func (l *leaf) flap(p *fabric.Interface) (up time.Time) {
	l.t.Helper()
	far := p.Peer()
	if err := far.Set(false); err != nil {
		l.t.Fatal(err)
	}
	time.Sleep(linkIsDown)
	if err := far.Set(true); err != nil {
		l.t.Fatal(err)
	}
	if err := far.Restore(); err != nil {
		l.t.Fatal(err)
	}
	return time.Now()
}

// TestHoldAfterTheHeldLinkFlaps: when the link between a switch that holds and the one that asks
// comes back, the flows that fill the queue are asked for again, held, and stay in order. How many packets
// the queue drops meanwhile is a measure of `make rough`, scenario flap.
func TestHoldAfterTheHeldLinkFlaps(t *testing.T) {
	l, s := slowEgress(t, 20, "high_bytes", "20000")
	var streams []*stream
	for i := range 4 {
		streams = append(streams, &stream{qp: 0x100 + uint32(i), label: 0x4700 + uint32(i), mbps: 10, size: 1000})
	}
	near := l.capture(l.Uplinks[0])       // what the spine sends
	far := l.capture(l.Uplinks[0].Peer()) // what the leaf sends
	ld := l.load(streams...)
	// first waits for the first frame after a time that is as wanted, and returns when it came.
	first := func(what string, c *fabric.Capture, after time.Time, wanted func(fabric.Frame) bool) (at time.Time) {
		t.Helper()
		seen := 0
		l.until(what, func() bool {
			if c.Len() == seen {
				return false
			}
			frames := c.Frames()[seen:]
			seen += len(frames)
			i := slices.IndexFunc(frames, func(f fabric.Frame) bool { return f.Time.After(after) && wanted(f) })
			if i >= 0 {
				at = frames[i].Time
			}
			return i >= 0
		})
		return at
	}
	pauses := func(f fabric.Frame) bool { p, ok := pfcmOf(f); return ok && !p.PFCM.Cancels() }
	var up time.Time
	for i := range 3 {
		first("flows are asked for", near, up, pauses)
		held := l.notified("pfcm", "held")
		up = l.flap(l.Uplinks[0])
		passed := first("a packet passes", far, up, func(fabric.Frame) bool { return true })
		asked := first("flows are asked for again", near, passed, pauses)
		l.awaitNotified("pfcm", "held", held+1)
		t.Logf("flap %d: the first packet passed %v after the link came up, the first pause %v after that", i, passed.Sub(up), asked.Sub(passed))
	}
	for st, reordered := range ld.end() {
		if reordered > 0 {
			t.Errorf("stream %x: %d of %d packets reordered", st.qp, reordered, st.sent)
		}
	}
	t.Log(l.notifiedAll("pfcm"))
	t.Log(s.notifiedAll("pfcm"))
}
