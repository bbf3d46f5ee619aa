// SPDX-License-Identifier: Apache-2.0

package enforce

import (
	"net/netip"
	"testing"
	"time"

	"sluice/orchagent-ext/wire/notify"
)

//conformance:draft-yang/enforce draft-yang/maintain
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
		{notify.Reduce(0), 1000, Demand{Verb: Note}},
		{notify.Cancel, 1000, Demand{Verb: End}},
		{notify.Pause, 0, Demand{Verb: End}},
		{notify.Reduce(30), 0, Demand{Verb: End}},
		{notify.Action(notify.ReservedActionType) << 6, 1000, Demand{Verb: Note}},
	} {
		if got := OfPFCM(&notify.PFCM{Action: c.action, Time: c.time}); got != c.want {
			t.Errorf("%v for %d µs: %+v, want %+v", c.action, c.time, got, c.want)
		}
	}
}

//conformance:draft-xz/pt draft-xz/duration
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
		{notify.Alarm, 1000, Demand{Verb: Note}},
		{notify.Alarm, 0, Demand{Verb: Note}},
	} {
		if got := OfPPFC(&notify.PPFC{PT: c.pt, PauseDuration: c.time}); got != c.want {
			t.Errorf("%v for %d µs: %+v, want %+v", c.pt, c.time, got, c.want)
		}
	}
}

// What differs in what a message asks for does not differ in its key; whom it is from
// and what it is about does.
func TestKeysLeaveOutTheDemandOfAMessage(t *testing.T) {
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
		"neighbor": PFCMKey(&m, b, 1), "port": PFCMKey(&m, a, 2),
	} {
		if other == k {
			t.Errorf("another %s has the same key", name)
		}
	}

	p := notify.PPFC{PT: notify.Stop, CongestionPort: 5, CongestionQID: 6, PauseDuration: 10, RouterID: a,
		Source: a, Destination: b, Flow: notify.FlowIdentifier{Form: notify.QPs, DstQP: 17}}
	pk := PPFCKey(&p, a)
	end := p
	end.PT, end.PauseDuration, end.Priority = notify.Resume, 0, 9
	if PPFCKey(&end, a) != pk {
		t.Error("a resume has another key")
	}
	flow, port := p, p
	flow.Flow.DstQP, port.CongestionPort = 18, 6
	for name, other := range map[string]Key{"sender": PPFCKey(&p, b), "flow": PPFCKey(&flow, a), "port": PPFCKey(&port, a)} {
		if other == pk {
			t.Errorf("another %s has the same key", name)
		}
	}
	p.Transport = notify.OverUDP
	if got := PPFCKey(&p, a).Queue; got != 6 {
		t.Errorf("queue %d over UDP", got)
	}
}

// A PPFC is looked at only if its sender is its Router Identifier and is allowed, and one
// with the Router Identifier of another node ends nothing that this node asked for.
//
//conformance:draft-xz/router-id draft-xz/security
func TestPPFCIsTiedToItsSender(t *testing.T) {
	honest, other, stranger := netip.MustParseAddr("2001:db8::99"), netip.MustParseAddr("2001:db8::bad"), netip.MustParseAddr("2001:db8:1::1")
	peers := []netip.Prefix{netip.MustParsePrefix("2001:db8::/64")}
	m := notify.PPFC{PT: notify.Stop, PauseDuration: 1000, RouterID: honest, Source: honest, Destination: other}
	for from, want := range map[netip.Addr]bool{honest: true, other: false} {
		if got := MaySend(&m, from, peers); got != want {
			t.Errorf("from %s with router identifier %s: %v", from, m.RouterID, got)
		}
	}
	m.RouterID = stranger
	if MaySend(&m, stranger, peers) {
		t.Error("a node that is in no prefix may send")
	}
	m.RouterID = honest
	table := NewTable[string](10)
	table.Receive(nil, 0, PPFCKey(&m, honest), OfPPFC(&m), []Target[string]{{Flow: "a", Rate: 1}})
	resume := m
	resume.PT = notify.Resume
	if _, o := table.Receive(nil, 1, PPFCKey(&resume, other), OfPPFC(&resume), nil); o != Unknown || table.Hold("a").Until == 0 {
		t.Errorf("a resume of another node: %s, hold %+v", o.Label(), table.Hold("a"))
	}
	if _, o := table.Receive(nil, 2, PPFCKey(&resume, honest), OfPPFC(&resume), nil); o != Ended {
		t.Errorf("the resume of the node itself: %s", o.Label())
	}
}

// A stop before the source queue pair is learned, and a refresh and a resume behind it,
// are about one flow: keys match on what both messages have.
//
//conformance:draft-xz/map-qp
func TestKeysMatchOnWhatBothMessagesHave(t *testing.T) {
	node, dst := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	ppfc := func(pt notify.PT, f notify.FlowIdentifier) *notify.PPFC {
		return &notify.PPFC{PT: pt, PauseDuration: 1000, RouterID: node, Source: node, Destination: dst, Flow: f}
	}
	qps := func(src, dst uint32) notify.FlowIdentifier {
		return notify.FlowIdentifier{Form: notify.QPs, Protocol: 17, SrcPort: 49152, DstPort: 4791, SrcQP: src, DstQP: dst}
	}
	ports := notify.FlowIdentifier{Form: notify.Ports, Protocol: 17, SrcPort: 49152, DstPort: 4791}
	otherPorts := ports
	otherPorts.SrcPort++
	for _, c := range []struct {
		name string
		stop []notify.FlowIdentifier
		then *notify.PPFC
		want Outcome
		left int // demands
	}{
		{"resume with the learned source queue pair", []notify.FlowIdentifier{qps(0, 17)}, ppfc(notify.Resume, qps(5, 17)), Ended, 0},
		{"resume of one that forgot it", []notify.FlowIdentifier{qps(5, 17)}, ppfc(notify.Resume, qps(0, 17)), Ended, 0},
		{"resume of another source queue pair", []notify.FlowIdentifier{qps(5, 17)}, ppfc(notify.Resume, qps(6, 17)), Unknown, 1},
		{"resume of another destination queue pair", []notify.FlowIdentifier{qps(0, 17)}, ppfc(notify.Resume, qps(0, 18)), Unknown, 1},
		{"resume by the ports, which is another key", []notify.FlowIdentifier{qps(5, 17), qps(5, 18)}, ppfc(notify.Resume, ports), Unknown, 2},
		{"resume of the ports", []notify.FlowIdentifier{qps(5, 17), ports}, ppfc(notify.Resume, ports), Ended, 1},
		{"resume by other ports", []notify.FlowIdentifier{qps(5, 17)}, ppfc(notify.Resume, otherPorts), Unknown, 1},
		{"resume of the pair, which is another key", []notify.FlowIdentifier{qps(5, 17), ports}, ppfc(notify.Resume, notify.FlowIdentifier{}), Unknown, 2},
		{"resume of the pair", []notify.FlowIdentifier{qps(5, 17), {}}, ppfc(notify.Resume, notify.FlowIdentifier{}), Ended, 1},
		{"refresh with the learned source queue pair", []notify.FlowIdentifier{qps(0, 17)}, ppfc(notify.Stop, qps(5, 17)), Refreshed, 1},
		{"stop of another flow of the destination queue pair", []notify.FlowIdentifier{qps(4, 17)}, ppfc(notify.Stop, qps(5, 17)), Held, 2},
		{"stop without it, which could be of either", []notify.FlowIdentifier{qps(4, 17), qps(5, 17)}, ppfc(notify.Stop, qps(0, 17)), Held, 3},
	} {
		table := NewTable[string](10)
		for i, f := range c.stop {
			m := ppfc(notify.Stop, f)
			table.Receive(nil, 0, PPFCKey(m, node), OfPPFC(m), []Target[string]{{Flow: string(rune('a' + i)), Rate: 1}})
		}
		_, o := table.Receive(nil, 1, PPFCKey(c.then, node), OfPPFC(c.then), []Target[string]{{Flow: "z", Rate: 1}})
		left := 0
		for range table.All() {
			left++
		}
		if o != c.want || left != c.left {
			t.Errorf("%s: %s with %d demands left, want %s with %d", c.name, o.Label(), left, c.want.Label(), c.left)
		}
	}
}
