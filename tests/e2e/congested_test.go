// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// TestCongestedNodeNamesItsFlows: a connection of TCP and a session of RoCEv2 fill a queue. PPFC names
// the one by protocol and ports, the other by its queue pairs, from alarm to resume, over ICMP and
// UDP. PFCM names the session by the label that it came with, though this switch writes another.
//
//conformance:draft-xz/pt draft-xz/tcp-quic draft-xz/udp draft-xz/udp-port draft-xz/udp-fields draft-xz/flow-id draft-yang/iana
//conformance:draft-yang/option-type draft-yang/percent draft-yang/classify draft-xz/flags
func TestCongestedNodeNamesItsFlows(t *testing.T) {
	const high, us = 10_000, 4000
	l := newLeaf(t)
	l.onePath()
	slow := l.Uplinks[0].Name
	threshold := func(more ...string) {
		l.set("SLUICE_THRESHOLD", "gold", append([]string{"high_bytes", fmt.Sprint(high), "duration_us", fmt.Sprint(us)}, more...)...)
	}
	threshold()
	l.set("SLUICE_PORT", slow, "role", "fabric", "threshold", "gold")
	l.set("SLUICE_PORT", l.LeafA.Name, "role", "fabric", "flow_label", "enabled", "upstream_neighbor", l.A.LinkLocal.String())
	l.set("SLUICE", "global", "router_id_v6", fabric.WANRouters[0].String())
	l.set("SLUICE_PPFC_GATEWAY", fabric.HostA.Masked().String(), "gateway", fabric.HostA.Addr().String())
	l.set("SLUICE_PFCM", "global", "admin_state", "enabled", "icmpv6_type", "210")
	l.ppfc()
	l.labels()
	out := l.capture(l.B)
	c := l.capture(l.A)
	l.start("--sai-profile", withQueues, "--sai-profile", fmt.Sprintf("SLUICE_QUEUE_RATE=1000,%s=2", slow))
	l.awaitFields("SLUICE_STATE", "global", "pfcm", "active", "ppfc", "active", "flow_label", "active")
	codes := notify.DefaultCodePoints()
	codes.PFCMType, codes.PPFCPort = 210, 1022
	host, n := l.sender(l.A), 0
	connection := ports(unix.IPPROTO_TCP, 80)
	identifiers := []notify.FlowIdentifier{connection, {Form: notify.QPs, Protocol: unix.IPPROTO_UDP, SrcPort: 49152, DstPort: roce.UDPPort, SrcQP: ownQP, DstQP: elephantQP}}
	a, b := fabric.HostA.Addr(), fabric.HostB.Addr()
	streams := []uint16{flow.HashStreamID(0, a.As16(), b.As16(), 80), flow.HashStreamID(0, a.As16(), b.As16(), 0)}
	for _, tt := range []struct {
		transport     notify.Transport
		encapsulation notify.Encapsulation
		action        notify.Action
	}{{notify.OverICMP, notify.ICMPv6, notify.Pause}, {notify.OverUDP, notify.HopByHop, notify.Reduce(40)}} {
		if tt.transport == notify.OverUDP {
			threshold("action", "reduce", "reduction", "40")
			l.ppfc("transport", "udp", "udp_port", "1022")
			l.set("SLUICE_PFCM", "global", "admin_state", "enabled", "encapsulation", "hop-by-hop", "option_type", "30")
		}
		from, types, asked := c.Len(), map[notify.PT]int{}, map[uint16]int{}
		// read counts the messages since, by flow; it returns whether each flow has all of them.
		read := func() bool {
			clear(types)
			clear(asked)
			for _, f := range c.Frames()[from:] {
				var p notify.Packet
				if p.Parse(f.Data, codes) != nil {
					continue
				}
				switch m, q := &p.PPFC, &p.PFCM; {
				case p.Kind == notify.KindPPFC && m.Transport == tt.transport:
					right := m.Flags == 0 && slices.Contains(identifiers, m.Flow) && m.Source == a && m.Destination == b && m.RouterID == fabric.WANRouters[0] && p.Envelope.Dst == a
					if over := m.Transport == notify.OverUDP; over && m.CongestionQID != 0 || !over && m.CongestionPort != uint16(l.Uplinks[0].Index) {
						right = false
					}
					if want := map[bool]uint16{true: us}[m.PT == notify.Stop || m.PT == notify.Hold]; !right || m.PauseDuration != want {
						t.Fatalf("PPFC names %+v of %v: %+v", m.Flow, identifiers, m)
					}
					types[m.PT] |= 1 << slices.Index(identifiers, m.Flow)
				case p.Kind == notify.KindPFCM && q.Encapsulation == tt.encapsulation:
					if i := slices.Index(streams, q.StreamID); i < 0 || q.Source != a || q.Destination != b || !q.Cancels() && q.Action != tt.action {
						t.Fatalf("PFCM names stream %#x of %#x: %+v", q.StreamID, streams, q)
					}
					asked[q.StreamID]++
				}
			}
			all := len(asked) == len(streams)
			for _, pt := range []notify.PT{notify.Stop, notify.Resume, notify.Alarm, notify.Hold} {
				all = all && types[pt] == 1<<len(identifiers)-1
			}
			return all
		}
		l.soon("each flow is named from alarm to resume", func() bool {
			for range 30 { // three times the mark
				l.put(host, l.segment(unix.IPPROTO_TCP, 80), l.unlabeled(n))
				n++
			}
			l.until("the queue drains", func() bool { return sessionsOf(out, elephantQP) == n && segmentsOf(out, unix.IPPROTO_TCP, 80) == n })
			return read()
		})
	}
	for _, f := range out.Frames() {
		var p roce.Packet
		if p.Parse(f.Data, len(f.Data)) == nil && p.FlowLabel() == 0 {
			t.Fatal("a label is left as it came: the test shows nothing of labels")
		}
	}
	if silent := l.notified("pfcm", "relabelled") + l.notified("pfcm", "unreadable"); silent > 0 {
		t.Errorf("%d flows could not be named: %s", silent, l.notifiedAll("pfcm"))
	}
}

// unlabeled is a packet of a session that has no flow label.
func (l *leaf) unlabeled(n int) []byte {
	l.t.Helper()
	b := l.datagram(elephantQP, n)
	const label = 14 + 1
	b[label], b[label+1], b[label+2] = 0, 0, 0
	return b
}

// TestLossLowersTheRateThatIsAdvised: a sender overruns a queue that is shorter than the target, so
// that its depth asks for no less than what leaves. What the queue drops does: half of that.
//
//conformance:draft-zz/queue draft-zz/rate draft-zz/dest-qp
func TestLossLowersTheRateThatIsAdvised(t *testing.T) {
	const mbps = 12 // of the egress; the sender has some 29
	l := newLeaf(t)
	l.onePath()
	slow := l.Uplinks[0].Name
	l.set("SLUICE_THRESHOLD", "gold", "high_bytes", "10000")
	l.set("PORT", slow, "lanes", "4", "admin_status", "up", "speed", fmt.Sprint(mbps))
	l.set("SLUICE_PORT", slow, "role", "fabric", "threshold", "gold")
	l.set("SLUICE", "global", "router_id_v6", fabric.WANRouters[0].String())
	l.set("SLUICE_RATE_ADVICE", "global", "admin_state", "enabled", "target_bytes", "1000000", "target_delay_us", "1000000", "min_rate_mbps", "1")
	l.set("SLUICE_RATE_ADVICE_HOST", fabric.HostA.Masked().String(), "NULL", "NULL")
	l.start("--sai-profile", withQueues, "--sai-profile", fmt.Sprintf("SLUICE_QUEUE_RATE=1000,%s=%d", slow, mbps),
		"--sai-profile", fmt.Sprintf("SLUICE_QUEUE_BYTES=1000000,%s=60000", slow))
	l.awaitFields("SLUICE_STATE", "global", "rate_advice", "active")
	out, c := l.capture(l.B), l.capture(l.A)
	sent := l.sendUntilTheEnd(elephantQP)
	var rates []uint32
	// Without loss the first advice is of what leaves, and the next ones are higher, but for a busy
	// machine's pauses.
	l.until("advice falls, or stays at half of the egress", func() bool {
		rates = rates[:0]
		lower := 0
		for _, f := range c.Frames() {
			var p notify.Packet
			if p.Parse(f.Data, notify.DefaultCodePoints()) != nil || p.Kind != notify.KindRateAdvice {
				continue
			}
			now := p.RateAdvice.Rate
			if n := len(rates); n > 0 && (now < rates[n-1] || now == rates[n-1] && now <= mbps*2/3) {
				lower++
			}
			rates = append(rates, now)
		}
		all := sent.Load()
		missing := all - int64(sessionsOf(out, elephantQP)) // dropped, and some 60 in the queue
		if len(rates) > 40 && lower < 5 && missing > all/4 {
			t.Fatalf("an egress of %d Mbit/s that dropped %d of %d packets is advised as %v Mbit/s", mbps, missing, all, rates)
		}
		return lower >= 5 && missing >= 200
	})
}

// TestEachGatewayOfThePrefixIsNotified: a source has two ingress gateways, here the hosts themselves. Both get
// the stop and the resume of a flow, with its time.
//
//conformance:draft-xz/gateways
func TestEachGatewayOfThePrefixIsNotified(t *testing.T) {
	const us = 4000
	l := newLeaf(t)
	l.onePath()
	slow := l.Uplinks[0].Name
	l.set("SLUICE_THRESHOLD", "gold", "high_bytes", "10000", "duration_us", fmt.Sprint(us))
	l.set("SLUICE_PORT", slow, "role", "fabric", "threshold", "gold")
	l.set("SLUICE", "global", "router_id_v6", fabric.WANRouters[0].String())
	a, b := fabric.HostA.Addr(), fabric.HostB.Addr()
	l.set("SLUICE_PPFC_GATEWAY", fabric.HostA.Masked().String(), "gateway", a.String(), "other_gateways@", b.String())
	l.ppfc("transport", "udp")
	captures := map[netip.Addr]*fabric.Capture{a: l.capture(l.A), b: l.capture(l.B)}
	l.start("--sai-profile", withQueues, "--sai-profile", fmt.Sprintf("SLUICE_QUEUE_RATE=1000,%s=2", slow))
	l.awaitFields("SLUICE_STATE", "global", "ppfc", "active")
	host, n := l.sender(l.A), 0
	l.soon("both gateways are told of the stop and of the end", func() bool {
		for range 30 { // some 18 kB
			l.put(host, l.datagram(elephantQP, n))
			n++
		}
		l.until("the queue drains", func() bool { return sessionsOf(captures[b], elephantQP) == n })
		for gateway, c := range captures {
			types := map[notify.PT]bool{}
			for _, f := range c.Frames() {
				var p notify.Packet
				if p.Parse(f.Data, notify.DefaultCodePoints()) != nil || p.Kind != notify.KindPPFC {
					continue
				}
				m := &p.PPFC
				if want := map[bool]uint16{true: us}[m.PT == notify.Stop || m.PT == notify.Hold]; p.Envelope.Dst != gateway || m.Flow.DstQP != elephantQP || m.PauseDuration != want {
					t.Fatalf("at %s: to %s %+v", gateway, p.Envelope.Dst, m)
				}
				types[m.PT] = true
			}
			if !types[notify.Stop] || !types[notify.Resume] {
				return false
			}
		}
		return true
	})
}
