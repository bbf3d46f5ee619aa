// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// segment is the spine's.
var segment = netip.MustParseAddr("fc00:b:1::")

const protocolUDP, protocolIPv6, protocolRouting = 17, 41, 43

// routingHeader is a segment routing header (RFC 8754): the last segment comes first.
func routingHeader(next, left byte, segments ...netip.Addr) []byte {
	b := []byte{next, byte(2 * len(segments)), 4, left, byte(len(segments) - 1), 0, 0, 0}
	for _, s := range segments {
		b = append(b, s.AsSlice()...)
	}
	return b
}

// segments is a packet of the train from host A to an address, with headers between IPv6's
// and UDP's.
func (l *leaf) segments(psn int, to netip.Addr, next byte, headers []byte) []byte {
	l.t.Helper()
	b := roce.Ethernet{Dst: roce.MAC(l.A.Peer().MAC), Src: roce.MAC(l.A.MAC), EtherType: roce.EtherTypeIPv6}.Append(nil)
	ip := len(b)
	b = roce.IPv6Header{FlowLabel: heldLabel, NextHeader: next, HopLimit: 64, Src: fabric.HostA.Addr().As16(), Dst: to.As16()}.Append(b)
	b = append(b, headers...)
	b = roce.UDPHeader{SrcPort: 49152, DstPort: roce.UDPPort}.Append(b)
	b = roce.BTH{Opcode: roce.RCSendMiddle, PKey: 0xffff, DestQP: 0x77, PSN: uint32(psn)}.Append(b)
	b, err := roce.Finish(append(b, make([]byte, 128)...), ip)
	if err != nil {
		l.t.Fatal(err)
	}
	return b
}

// encapsulated is a packet of the train inside another to an address, whose label differs
// from the inner one.
func (l *leaf) encapsulated(psn int, to netip.Addr, next byte, headers []byte) []byte {
	l.t.Helper()
	const ethernet = 14
	inner := l.frame(packet{qp: 0x77, psn: uint32(psn), label: heldLabel + 1})
	inside := append(headers, inner[ethernet:]...)
	b := append([]byte(nil), inner[:ethernet]...)
	b = roce.IPv6Header{FlowLabel: heldLabel, PayloadLength: uint16(len(inside)), NextHeader: next, HopLimit: 64,
		Src: fabric.HostA.Addr().As16(), Dst: to.As16()}.Append(b)
	return append(b, inside...)
}

// endpoint is a leaf, and a spine that changes the outermost header by the route that
// iproute2 adds there, before a slow queue to host B. Both run; the spine sends PFCM to the
// leaf, and PPFC and Rate Advice to host A.
func endpoint(t *testing.T, route string) (l, s *leaf) {
	t.Helper()
	l = newLeaf(t)
	s = l.opposite()
	for _, one := range []*leaf{l, s} {
		one.in("sh", "-c", "for f in /proc/sys/net/ipv6/conf/*/seg6_enabled; do echo 1 > $f; done")
	}
	if err := l.ToB(netip.PrefixFrom(segment, 32)); err != nil { // the spine's own segment is more specific
		t.Fatal(err)
	}
	out := s.LeafA.Name
	s.in("ip", "sr", "tunsrc", "set", "fc00:b::1") // the spine has link-local addresses alone
	s.in(strings.Fields("ip -6 route add " + route + " dev " + out)...)
	l.neighbors("hold_limit_ms", "0") // a machine under load may drain for long
	s.neighbors()
	s.set("SLUICE_THRESHOLD", "gold", "high_bytes", "10000")
	s.set("SLUICE_PORT", out, "role", "edge", "threshold", "gold")
	s.set("SLUICE", "global", "router_id_v6", fabric.WANRouters[1].String())
	s.set("SLUICE_PPFC", "global", "admin_state", "enabled")
	s.set("SLUICE_PPFC_GATEWAY", fabric.HostA.Masked().String(), "gateway", fabric.HostA.Addr().String())
	s.set("SLUICE_RATE_ADVICE", "global", "admin_state", "enabled", "destination_qp", "copy", "min_rate_mbps", "1")
	s.set("SLUICE_RATE_ADVICE_HOST", fabric.HostA.Masked().String(), "NULL", "NULL")
	l.start("--sai-profile", withQueues)
	s.start("--sai-profile", withQueues, "--sai-profile", fmt.Sprintf("SLUICE_QUEUE_RATE=1000,%s=1", out))
	for _, one := range []*leaf{l, s} {
		one.awaitFields("SLUICE_STATE", "global", "pfcm", "active")
		one.awaitFields("SLUICE_CAPABILITY", "switch", "threshold_method", "exact", "hold_method", "exact", "hold_state", "active")
	}
	s.awaitFields("SLUICE_STATE", "global", "ppfc", "active", "rate_advice", "active")
	return l, s
}

// named counts the messages of a kind, and those of them that name the flow of a test: PFCM
// by the header to an address as the leaf sent it, the others by the session with a host.
type named struct{ messages, right int }

// read counts a frame.
func (n *named) read(t *testing.T, f fabric.Frame, kind notify.Kind, to, host netip.Addr) {
	t.Helper()
	var p notify.Packet
	if p.Parse(f.Data, notify.DefaultCodePoints()) != nil || p.Kind != kind {
		return
	}
	a := fabric.HostA.Addr()
	n.messages++
	right := false
	switch kind {
	case notify.KindPFCM:
		m := p.PFCM
		right = m.StreamID == flow.HashStreamID(0, a.As16(), to.As16(), heldLabel) && m.Source == a && m.Destination == to &&
			m.QueueID == 0 && (m.Cancels() || m.Action == notify.Pause && m.Time > 0) &&
			p.Envelope.HopLimit == 255 && p.Envelope.Src.IsLinkLocalUnicast() && p.Envelope.Dst.IsLinkLocalUnicast()
	case notify.KindPPFC:
		m := p.PPFC
		right = m.Source == a && m.Destination == host && m.Flow.Form == notify.QPs && m.Flow.DstQP == 0x77 &&
			m.RouterID == fabric.WANRouters[1] && p.Envelope.Src == m.RouterID
	case notify.KindRateAdvice:
		right = p.Envelope.Dst == a && p.RateAdvice.SourceQP == 0x77 && p.RateAdvice.Rate > 0 && p.RateAdvice.Version == notify.RateAdviceVersion
	}
	if right {
		n.right++
	} else {
		t.Errorf("%v names another flow: %+v %+v %+v", kind, p.PFCM, p.PPFC, p.RateAdvice)
	}
}

// holdAtEndpoint sends a flow to an address through a spine that changes the outermost
// header, until packets wait at the leaf. It fails unless every message of the spine names
// the flow, the leaf holds that one, and each packet arrives, in order. PPFC names the
// session with a host.
func holdAtEndpoint(t *testing.T, to, host netip.Addr, route string, frame func(l *leaf, psn int) []byte) {
	l, s := endpoint(t, route)
	at := map[notify.Kind][]*fabric.Capture{}
	capture := func(p *fabric.Interface, kind notify.Kind) {
		c, err := p.Capture()
		if err != nil {
			t.Fatal(err)
		}
		at[kind] = append(at[kind], c)
	}
	arrived, err := l.B.Capture()
	if err != nil {
		t.Fatal(err)
	}
	capture(l.A, notify.KindPPFC)
	capture(l.A, notify.KindRateAdvice)
	for _, p := range l.Uplinks {
		capture(p, notify.KindPFCM)
	}
	stream := flow.HashStreamID(0, fabric.HostA.Addr().As16(), to.As16(), heldLabel)
	sender, n := l.sender(l.A), 0
	const apart, late = 400 * time.Microsecond, 100 * time.Millisecond // some 5 Mbit/s, also where a busy machine stops this thread
	due := time.Now()
	send := func() {
		l.put(sender, frame(l, n))
		n++
		for due = due.Add(apart); time.Now().Before(due); { // a sleep would be longer
		}
		if earliest := time.Now().Add(-late); due.Before(earliest) {
			due = earliest
		}
	}
	l.soon("packets wait at the leaf, and the sender is told", func() bool {
		for range 10 {
			send()
		}
		return l.waitingOf(stream) > 0 && s.notified("ppfc", "sent") > 0 && s.notified("rate-advice", "sent") > 0
	})
	// Once nothing is sent any more, a hold that began again on a busy machine matches no packet.
	if u := l.notified("pfcm", "dropped_unknown_stream"); u > 0 {
		t.Errorf("%d PFCM named flows that the leaf does not know", u)
	}
	l.arrived(arrived, n)
	s.awaitNotified("pfcm", "sent", 2) // pause and cancel
	for kind, captures := range at {
		var all named
		for _, c := range captures {
			frames, err := c.Stop()
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range frames {
				all.read(t, f, kind, to, host)
			}
		}
		if t.Logf("%d of %d %v name the flow", all.right, all.messages, kind); all.messages == 0 {
			t.Errorf("no %v was received", kind)
		}
	}
	l.quiet()
	s.quiet()
}

// TestSRv6End: an endpoint writes the next segment into the destination before its queue
// fills.
//
//conformance:draft-yang/addresses draft-yang/components draft-yang/classify draft-yang/by-label draft-yang/detect
//conformance:draft-yang/signal draft-yang/upstream draft-yang/link-local draft-yang/enforce draft-yang/icmp-type
//conformance:draft-yang/icmp-checksum draft-yang/hop-limit draft-yang/time draft-yang/action draft-xz/addresses
//conformance:draft-xz/flow-id draft-xz/router-id draft-zz/opcode draft-zz/port draft-zz/icrc draft-zz/rate
//conformance:draft-zz/version draft-zz/src-qp draft-yang/scope
func TestSRv6End(t *testing.T) {
	t.Parallel()
	holdAtEndpoint(t, segment, fabric.HostB.Addr(), segment.String()+"/128 encap seg6local action End", func(l *leaf, psn int) []byte {
		return l.segments(psn, segment, protocolRouting, routingHeader(protocolUDP, 1, fabric.HostB.Addr(), segment))
	})
}

// TestSRv6EndX: the endpoint also chooses the neighbor.
func TestSRv6EndX(t *testing.T) {
	t.Parallel()
	action := segment.String() + "/128 encap seg6local action End.X nh6 " + fabric.HostB.Addr().String()
	holdAtEndpoint(t, segment, fabric.HostB.Addr(), action, func(l *leaf, psn int) []byte {
		return l.segments(psn, segment, protocolRouting, routingHeader(protocolUDP, 1, fabric.HostB.Addr(), segment))
	})
}

// TestSRv6USID: the endpoint shifts the destination, which holds all segments: the session
// is known by the carrier as it arrived.
func TestSRv6USID(t *testing.T) {
	t.Parallel()
	carrier := netip.MustParseAddr("fc00:b:1:2::") // fc00:b:2:: leads to host B
	action := segment.String() + "/48 encap seg6local action End flavors next-csid lblen 32 nflen 16"
	holdAtEndpoint(t, carrier, carrier, action, func(l *leaf, psn int) []byte { return l.segments(psn, carrier, protocolUDP, nil) })
}

// TestSRv6HEncaps: the spine puts packets into a tunnel before its queue fills.
func TestSRv6HEncaps(t *testing.T) {
	t.Parallel()
	host := fabric.HostB.Addr()
	holdAtEndpoint(t, host, host, host.String()+"/128 encap seg6 mode encap segs fc00:b:2::", func(l *leaf, psn int) []byte {
		return l.segments(psn, host, protocolUDP, nil)
	})
}

// TestSRv6Decap: the spine takes packets out of a tunnel with a segment routing header.
func TestSRv6Decap(t *testing.T) {
	t.Parallel()
	action := segment.String() + "/128 encap seg6local action End.DX6 nh6 " + fabric.HostB.Addr().String()
	holdAtEndpoint(t, segment, fabric.HostB.Addr(), action, func(l *leaf, psn int) []byte {
		return l.encapsulated(psn, segment, protocolRouting, routingHeader(protocolIPv6, 0, segment))
	})
}

// TestSRv6IPinIP: the spine takes packets out of IPv6 in IPv6.
func TestSRv6IPinIP(t *testing.T) {
	t.Parallel()
	action := segment.String() + "/128 encap seg6local action End.DT6 table 254"
	holdAtEndpoint(t, segment, fabric.HostB.Addr(), action, func(l *leaf, psn int) []byte { return l.encapsulated(psn, segment, protocolIPv6, nil) })
}
