// SPDX-License-Identifier: Apache-2.0

package enforce

import (
	"net/netip"
	"testing"
	"time"

	"sluice/orchagent-ext/notify"
)

func TestOfPFCM(t *testing.T) {
	ms := time.Millisecond
	for _, c := range []struct {
		action notify.Action
		time   uint16
		want   Demand
	}{
		{notify.Pause, 1000, Demand{Limit, 0, ms}},
		{notify.Pause | 20, 1000, Demand{Limit, 0, ms}}, // the percentage of a pause is ignored
		{notify.Reduce(30), 1000, Demand{Limit, 70, ms}},
		{notify.Reduce(63), 65535, Demand{Limit, 37, 65535 * time.Microsecond}},
		{notify.Reduce(0), 1000, Demand{Verb: Tell}},
		{notify.Cancel, 1000, Demand{Verb: End}},
		{notify.Pause, 0, Demand{Verb: End}},
		{notify.Reduce(30), 0, Demand{Verb: End}},
		{notify.Action(notify.ReservedActionType) << 6, 1000, Demand{Verb: Tell}},
	} {
		if got := OfPFCM(&notify.PFCM{Action: c.action, Time: c.time}); got != c.want {
			t.Errorf("%v for %d µs: %+v, want %+v", c.action, c.time, got, c.want)
		}
	}
}

func TestOfPPFC(t *testing.T) {
	ms := time.Millisecond
	for _, c := range []struct {
		pt   notify.PT
		time uint16
		want Demand
	}{
		{notify.Stop, 1000, Demand{Limit, 0, ms}},
		{notify.Stop, 0, Demand{Verb: End}},
		{notify.Resume, 1000, Demand{Verb: End}},
		{notify.Hold, 1000, Demand{Extend, 0, ms}},
		{notify.Hold, 0, Demand{Verb: End}},
		{notify.Alarm, 1000, Demand{Verb: Tell}},
		{notify.Alarm, 0, Demand{Verb: Tell}},
	} {
		if got := OfPPFC(&notify.PPFC{PT: c.pt, PauseDuration: c.time}); got != c.want {
			t.Errorf("%v for %d µs: %+v, want %+v", c.pt, c.time, got, c.want)
		}
	}
}

// What differs in what a message asks for does not differ in its key; whom it is from
// and what it is about does.
func TestKeys(t *testing.T) {
	a, b := netip.MustParseAddr("fe80::1"), netip.MustParseAddr("fe80::2")
	m := notify.PFCM{StreamID: 7, QueueID: 3, Action: notify.Pause, Time: 10, Source: a, Destination: b}
	k := PFCMKey(&m, a, 1)
	again := m
	again.Action, again.Time = notify.Cancel, 0
	if PFCMKey(&again, a, 1) != k {
		t.Error("a cancel has another key")
	}
	stream, queue := m, m
	stream.StreamID, queue.QueueID = 8, 4
	for name, other := range map[string]Key{
		"stream": PFCMKey(&stream, a, 1), "queue": PFCMKey(&queue, a, 1),
		"neighbour": PFCMKey(&m, b, 1), "port": PFCMKey(&m, a, 2),
	} {
		if other == k {
			t.Errorf("another %s has the same key", name)
		}
	}

	p := notify.PPFC{PT: notify.Stop, CongestionPort: 5, CongestionQID: 6, PauseDuration: 10, RouterID: a,
		Source: a, Destination: b, Flow: notify.FlowIdentifier{Form: notify.QPs, DstQP: 17}}
	pk := PPFCKey(&p)
	end := p
	end.PT, end.PauseDuration, end.Priority = notify.Resume, 0, 9
	if PPFCKey(&end) != pk {
		t.Error("a resume has another key")
	}
	router, flow, port := p, p, p
	router.RouterID, flow.Flow.DstQP, port.CongestionPort = b, 18, 6
	for name, other := range map[string]Key{"router": PPFCKey(&router), "flow": PPFCKey(&flow), "port": PPFCKey(&port)} {
		if other == pk {
			t.Errorf("another %s has the same key", name)
		}
	}
	p.Transport = notify.OverUDP
	if got := PPFCKey(&p).Queue; got != 6 {
		t.Errorf("queue %d over UDP", got)
	}
}
