// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"net/netip"
	"slices"
	"testing"

	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// elephant4 raises a flow of IPv4, of which no PFCM can be sent.
func (f *fake) elephant4(id, octets uint64) {
	f.depth[idOf(queue, id)] = octets
	e := &sai.FlowEvent{Queue: queue, InPort: up, Flow: id, Octets: octets, At: f.now, Mark: sai.MarkHigh, Length: sai.FlowHead}
	src, dst := netip.MustParseAddr("10.0.0.1").As4(), netip.MustParseAddr("10.0.0.2").As4()
	e.Head[0] = 0x45
	copy(e.Head[12:], src[:])
	copy(e.Head[16:], dst[:])
	f.core.event(f.now, e)
}

// A queue that fills is raised by the switch below the mark of a flow, and the flow is asked
// to be held.
func TestQueueThatFillsAsksBelowTheMark(t *testing.T) {
	f := newFake(t, config())
	f.event(1, up, 1, 20_000, sai.MarkHigh)
	if got := f.take(); len(got) != 1 || got[0].pfcm.Action != notify.Pause {
		t.Errorf("sent %+v", got)
	}
}

// A flow with a small share of the queue is asked for by none, though elephants that cannot be
// held make it wait so long that it passes the mark.
func TestMouseBehindElephantsIsSpared(t *testing.T) {
	f := newFake(t, config())
	f.elephant4(1, 400_000)
	f.elephant4(2, 300_000)
	for range 5 {
		f.event(3, up, 3, 110_000, sai.MarkHigh)
		f.event(4, up, 4, 20_000, sai.MarkHigh) // the queue has less room left
		f.now += 2 * ms
	}
	if got := f.take(); len(got) != 0 {
		t.Errorf("mice are held: %+v", got)
	}
	f.event(5, up, 5, 300_000, sai.MarkHigh)
	if got := f.take(); len(got) != 1 || got[0].pfcm.StreamID != streamOf(5) {
		t.Errorf("an elephant that can be held: %+v", got)
	}
	f.depth[idOf(queue, 1)], f.depth[idOf(queue, 2)] = 0, 0
	f.until(f.now + 30*ms)
	f.take()
	f.event(3, up, 3, 110_000, sai.MarkHigh)
	if got := f.take(); len(got) != 1 || got[0].pfcm.StreamID != streamOf(3) {
		t.Errorf("the elephants have gone, and the largest flow above the mark is not asked for: %+v", got)
	}
}

// Flows of one size are all asked for, in whatever order they pass the mark: those that were
// asked drain, and are no measure for those that arrive.
func TestEqualFlowsAreAllAsked(t *testing.T) {
	f := newFake(t, config())
	var want []uint16
	for id := uint64(1); id <= 20; id++ {
		f.event(id, up, uint32(id), 101_000+900_000/id, sai.MarkHigh)
		want = append(want, streamOf(uint32(id)))
	}
	var got []uint16
	for _, s := range f.take() {
		got = append(got, s.pfcm.StreamID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("asked for %d of %d flows", len(got), len(want))
	}
}

// A neighbor that is reached again, as after the link was down, is asked for all flows that fill
// the queue at once.
func TestNeighborThatIsReachedAgainIsAskedAtOnce(t *testing.T) {
	f := newFake(t, config())
	f.event(1, up, 1, 150_000, sai.MarkHigh)
	f.take()
	f.whileDown(func() {
		f.event(2, up, 2, 150_000, sai.MarkHigh)
		if got := f.take(); len(got) != 0 {
			t.Fatalf("without an address: %+v", got)
		}
	})
	var got []uint16
	for _, s := range f.take() {
		got = append(got, s.pfcm.StreamID)
	}
	slices.Sort(got)
	want := []uint16{streamOf(1), streamOf(2)}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("asked for %v, want %v", got, want)
	}
}

// The event of a packet that leaves has no header as it arrived. The neighbor is asked as soon as a
// packet that arrives gives it, without a wait for the next refresh.
func TestFlowIsAskedForOnceItsArrivalIsKnown(t *testing.T) {
	f := newFake(t, config())
	f.depth[idOf(queue, 1)] = 150_000
	f.core.event(f.now, &sai.FlowEvent{Queue: queue, InPort: up, Flow: 1, Octets: 150_000, At: f.now, Mark: sai.MarkHigh,
		Length: sai.FlowHead, Head: head(sender, sink, 5)})
	if got := f.take(); len(got) != 0 {
		t.Fatalf("sent though the Stream ID is not known: %+v", got)
	}
	f.until(f.now + 2*ms)
	f.event(1, up, 5, 150_000, sai.MarkHigh)
	if got := f.take(); len(got) != 1 || got[0].pfcm.StreamID != streamOf(5) {
		t.Fatalf("%+v, want a pause", got)
	}
	f.until(f.now + 2*ms)
	f.event(1, up, 5, 150_000, sai.MarkHigh)
	if got := f.take(); len(got) != 0 {
		t.Errorf("asked again before the refresh: %+v", got)
	}
}
