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

// flap takes an uplink's far end down for a time, and gives it back its address.
func (l *leaf) flap(p *fabric.Interface, down time.Duration) (up time.Time) {
	l.t.Helper()
	far := p.Peer()
	if err := far.Set(false); err != nil {
		l.t.Fatal(err)
	}
	time.Sleep(down)
	if err := far.Set(true); err != nil {
		l.t.Fatal(err)
	}
	if err := far.Restore(); err != nil {
		l.t.Fatal(err)
	}
	return time.Now()
}

// TestHoldAfterTheHeldLinkFlaps: when the link between a switch that holds and the one that asks
// comes back, the flows that fill the queue are asked for again at once, and no packet that is
// sent from then on is lost.
func TestHoldAfterTheHeldLinkFlaps(t *testing.T) {
	l, s := slowEgress(t, 20, "high_bytes", "20000")
	var streams []*stream
	for i := range 4 {
		streams = append(streams, &stream{qp: 0x100 + uint32(i), label: 0x4700 + uint32(i), mbps: 10, size: 1000})
	}
	near, err := l.Uplinks[0].Capture() // what the spine sends
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Uplinks[0].Peer().Capture() // what the leaf sends
	if err != nil {
		t.Fatal(err)
	}
	ld := l.load(streams...)
	var ups []time.Time
	var dropped []uint64 // by the queue, after each flap
	count := func() uint64 {
		q, err := s.LeafA.Queue()
		if err != nil {
			t.Fatal(err)
		}
		return q.Dropped + l.notified("pfcm", "hold_queue_full")
	}
	for range 3 {
		time.Sleep(500 * time.Millisecond)
		before := count()
		ups = append(ups, l.flap(l.Uplinks[0], 200*time.Millisecond))
		time.Sleep(700 * time.Millisecond)
		dropped = append(dropped, count()-before)
	}
	all := ld.end()
	asked, err := near.Stop()
	if err != nil {
		t.Fatal(err)
	}
	passed, err := far.Stop()
	if err != nil {
		t.Fatal(err)
	}
	after := func(frames []fabric.Frame, at time.Time, wanted func(fabric.Frame) bool) time.Time {
		for _, f := range frames {
			if f.Time.After(at) && wanted(f) {
				return f.Time
			}
		}
		return time.Now()
	}
	pauses := func(f fabric.Frame) bool { p, ok := pfcmOf(f); return ok && !p.PFCM.Cancels() }
	for i, up := range ups {
		first := after(passed, up, func(fabric.Frame) bool { return true })
		t.Logf("flap %d: the first packet passed %v after the link came up, the first pause %v after that; %d packets dropped in the 0.7 s after it",
			i, first.Sub(up), after(asked, up, pauses).Sub(first), dropped[i])
	}
	if slices.Min(dropped) > 0 { // one of three may meet a stall of a busy machine
		t.Errorf("packets dropped after each flap: %v", dropped)
	}
	for _, st := range streams {
		if v := all[st]; v.reordered > 0 {
			t.Errorf("stream %x: %v", st.qp, v)
		}
	}
	t.Log(l.notifiedAll("pfcm"))
	t.Log(s.notifiedAll("pfcm"))
}
