// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// congestedNode sends PPFC to a leaf that is the ingress gateway of host A, as a node does at the
// other end of its first uplink. Each message is about the flows from host A to host B.
type congestedNode struct {
	l     *leaf
	at    *fabric.Sender
	codes notify.CodePoints
}

// asks sends a message of a type about a flow, for a time in µs. It has flags, which mean nothing.
func (n *congestedNode) asks(pt notify.PT, us uint16, flow notify.FlowIdentifier) {
	n.l.t.Helper()
	n.sends(notify.PPFC{Flags: 42, PT: pt, PauseDuration: us, Source: fabric.HostA.Addr(), Destination: fabric.HostB.Addr(), RouterID: fabric.WANRouters[1], Flow: flow})
}

// sends sends a message from the address of its router.
func (n *congestedNode) sends(m notify.PPFC) {
	n.l.t.Helper()
	e, up := notify.DefaultEnvelope(notify.KindPPFC), n.l.Uplinks[0]
	e.Src, e.Dst, e.SrcMAC, e.DstMAC = m.RouterID, fabric.WANRouters[0], roce.MAC(up.Peer().MAC), roce.MAC(up.MAC)
	b, err := notify.AppendFrame(nil, &m, &e, n.codes)
	if err != nil {
		n.l.t.Fatal(err)
	}
	n.l.put(n.at, b)
}

// longest is the longest pause that a message can ask for, in µs.
const longest = 65_535

// newIngress is a leaf that serves host A as its ingress gateway, with fields of SLUICE_PPFC, and a
// node that may send PPFC to it. sluiced does not run yet.
func newIngress(t *testing.T, ppfc ...string) (*leaf, *congestedNode) {
	t.Helper()
	l := newLeaf(t)
	l.onePath()
	l.set("SLUICE", "global", "router_id_v6", fabric.WANRouters[0].String())
	l.ppfc(ppfc...)
	l.set("SLUICE_PPFC_GATEWAY", fabric.HostA.Masked().String(), "gateway", fabric.WANRouters[0].String())
	l.set("SLUICE_PPFC_PEER", fabric.WANRouters[1].String()+"/128", "NULL", "NULL")
	return l, &congestedNode{l, l.sender(l.Uplinks[0].Peer()), notify.DefaultCodePoints()}
}

// ppfc switches PPFC on, with fields of its row.
func (l *leaf) ppfc(pairs ...string) {
	l.t.Helper()
	l.set("SLUICE_PPFC", "global", append([]string{"admin_state", "enabled"}, pairs...)...)
}

// segment is a packet of a connection from host A to a port of host B, which is its label, too: the
// header of TCP without options, or that of UDP and as many octets more.
func (l *leaf) segment(protocol byte, to uint16) []byte {
	const header, payload = 20, 512
	b := roce.Ethernet{Dst: roce.MAC(l.A.Peer().MAC), Src: roce.MAC(l.A.MAC), EtherType: roce.EtherTypeIPv6}.Append(nil)
	b = roce.IPv6Header{FlowLabel: uint32(to), PayloadLength: header + payload, NextHeader: protocol, HopLimit: 64, Src: fabric.HostA.Addr().As16(), Dst: fabric.HostB.Addr().As16()}.Append(b)
	b = append(b, byte(fromPort>>8), byte(fromPort&0xff), byte(to>>8), byte(to))
	return append(b, make([]byte, header-4+payload)...)
}

// segmentsOf counts the captured packets of a protocol to a port.
func segmentsOf(c *fabric.Capture, protocol byte, dst uint16) (n int) {
	const next, port = 14 + 6, 14 + 40 + 2
	for _, f := range c.Frames() {
		if b := f.Data; len(b) > port+1 && b[12] == 0x86 && b[next] == protocol && uint16(b[port])<<8|uint16(b[port+1]) == dst {
			n++
		}
	}
	return n
}

// holdOf is the row of a hold by PPFC whose key names a flow; nil: there is none.
func (l *leaf) holdOf(flow string) map[string]string {
	l.t.Helper()
	for key, row := range l.table("SLUICE_HOLD") {
		if row["message"] == "ppfc" && strings.Contains(key, ","+flow+",") {
			return row
		}
	}
	return nil
}

// number64 is a number of a row; 0: it lacks the field.
func number64(row map[string]string, field string) int {
	n, _ := strconv.Atoi(row[field]) // empty where there is no row
	return n
}

// session is a flow of RoCEv2.
var session = notify.FlowIdentifier{Form: notify.QPs, Protocol: unix.IPPROTO_UDP, SrcPort: 49152, DstPort: roce.UDPPort, SrcQP: ownQP, DstQP: elephantQP}

// fromPort is the port of host A that connections have.
const fromPort = 5000

// ports is a connection of a protocol to a port.
func ports(protocol uint8, to uint16) notify.FlowIdentifier {
	return notify.FlowIdentifier{Form: notify.Ports, Protocol: protocol, SrcPort: fromPort, DstPort: to}
}

// seldom reports whether a round sends packets: each of the first, and then few, so that a hold has
// room for all that wait until a busy machine has published its row.
func seldom(round int) bool { return round < 200 || round%50 == 0 }

// TestGatewayHoldsTheFlowOfTheMessage: a hold by ports is of one protocol, one by queue pairs finds
// the session within a tunnel, and each ends by a resume of its own flow alone. PPFC goes by its own
// limits, also where PFCM's are stricter. A gateway without rows of SLUICE_PORT has no warning.
//
//conformance:draft-xz/security draft-xz/flow-id draft-xz/map-qp draft-xz/iana draft-xz/duration draft-xz/flags
func TestGatewayHoldsTheFlowOfTheMessage(t *testing.T) {
	l, node := newIngress(t, "hold_limit_ms", "0")
	for _, p := range append([]*fabric.Interface{l.LeafA}, l.Uplinks...) {
		l.remove("SLUICE_PORT", p.Name)
	}
	l.set("SLUICE_PFCM", "global", "admin_state", "disabled", "hold_limit_ms", "1", "rx_rate", "1", "rx_burst", "1", "rx_rate_per_source", "1", "tx_rate", "1")
	l.start("--sai-profile", withQueues)
	l.awaitFields("SLUICE_STATE", "global", "state", "running", "ppfc", "active", "warnings", "")
	host := l.sender(l.A)
	c := l.capture(l.B)
	cases := []struct {
		flow       notify.FlowIdentifier
		key        string
		held, free []byte
		arrived    func() (held, free int)
	}{
		{ports(unix.IPPROTO_TCP, 80), "6:5000:80", l.segment(unix.IPPROTO_TCP, 80), l.segment(unix.IPPROTO_UDP, 80), func() (int, int) {
			return segmentsOf(c, unix.IPPROTO_TCP, 80), segmentsOf(c, unix.IPPROTO_UDP, 80)
		}},
		{ports(unix.IPPROTO_UDP, 81), "17:5000:81", l.segment(unix.IPPROTO_UDP, 81), l.segment(unix.IPPROTO_TCP, 81), func() (int, int) {
			return segmentsOf(c, unix.IPPROTO_UDP, 81), segmentsOf(c, unix.IPPROTO_TCP, 81)
		}},
		{session, "0x000077", l.tunneled(l.datagram(elephantQP, 0), tunnelEnd), l.tunneled(l.datagram(victimQP, 0), tunnelEnd), func() (int, int) {
			return sessionsOf(c, elephantQP), sessionsOf(c, victimQP)
		}},
	}
	rounds, sent, matched := 0, 0, uint64(0)
	silent := ports(unix.IPPROTO_TCP, 82) // without packets
	l.until("packets of each flow wait, while the hold of another ends in each round", func() bool {
		waiting, more := 0, seldom(rounds)
		for _, tt := range cases {
			node.asks(notify.Stop, longest, tt.flow)
			if more {
				l.put(host, tt.held, tt.free, tt.free)
			}
			if row := l.holdOf(tt.key); number64(row, "waiting_bytes") > 0 && number64(row, "refreshes") > 2 {
				waiting++
			}
		}
		node.asks(notify.Stop, longest, silent)
		node.asks(notify.Resume, 0, silent)
		if rounds++; more {
			sent++
		}
		matched += uint64(len(cases)) + 1
		return waiting == len(cases)
	})
	for _, tt := range cases {
		if n := number64(l.holdOf(tt.key), "packets"); n > sent {
			t.Errorf("the hold of %s has matched %d packets, of %d", tt.key, n, sent)
		}
		node.asks(notify.Resume, 0, tt.flow)
		matched++
	}
	l.until("every packet arrives", func() bool {
		for _, tt := range cases {
			if held, free := tt.arrived(); held != sent || free != 2*sent {
				return false
			}
		}
		return true
	})
	if stopped := l.notified("ppfc", "watchdog") + l.notified("ppfc", "ignored") + l.notified("ppfc", "dropped_policed"); stopped > 0 {
		t.Errorf("PPFC has gone by the limits of PFCM: %s", l.notifiedAll("ppfc"))
	}

	// Types and ports of others are refused; PPFC has limits of its own.
	for _, clash := range []struct{ table, field, value string }{
		{"SLUICE_PFCM", "icmpv6_type", "135"}, {"SLUICE_PFCM", "option_type", "4"}, {"SLUICE_PFCM", "option_type", "5"},
		{"SLUICE_PPFC", "icmpv4_type", "8"}, {"SLUICE_PPFC", "udp_port", "4789"},
	} {
		l.set(clash.table, "global", "admin_state", "enabled", clash.field, clash.value)
		l.awaitFields("SLUICE_CONFIG_ERROR", clash.table+"|global", "field", clash.field, "value", clash.value)
	}
	l.remove("SLUICE_PFCM", "global")
	l.ppfc("icmpv6_type", "202", "hold_limit_ms", "5", "rx_rate", "100", "rx_burst", "10")
	node.codes.PPFCTypeV6 = 202
	word, stranger := notify.FlowIdentifier{Form: notify.OneWord, Word: 7}, netip.MustParseAddr("2001:db8:fe::1")
	l.until("a hold is released by the limit of PPFC, and messages are refused", func() bool {
		node.asks(notify.Stop, longest, session) // no packet of it comes
		node.asks(notify.Stop, longest, word)
		node.sends(notify.PPFC{PT: notify.Stop, PauseDuration: longest, Source: fabric.HostA.Addr(), Destination: fabric.HostB.Addr(), RouterID: stranger, Flow: session})
		for _, counter := range []string{"watchdog", "dropped_one_word", "dropped_policed", "dropped_sender"} {
			if l.notified("ppfc", counter) == 0 {
				return false
			}
		}
		return true
	})
	if obeyed := l.notified("ppfc", "obeyed"); obeyed > matched || l.notified("ppfc", "dropped_unknown_stream") == 0 {
		t.Errorf("%d obeyed, of at most %d about packets that came: %s", obeyed, matched, l.notifiedAll("ppfc"))
	}
	l.ppfc("icmpv6_type", "202", "hold_limit_ms", "0", "figure2", "accept")
	rounds, sent = 0, 0
	l.until("one word holds all flows of the hosts", func() bool {
		node.asks(notify.Stop, longest, word)
		if seldom(rounds) {
			l.put(host, l.segment(unix.IPPROTO_TCP, 83), l.datagram(0x500, sent))
			sent++
		}
		rounds++
		return number64(l.holdOf("all"), "waiting_bytes") > 0
	})
	node.asks(notify.Resume, 0, word)
	l.until("they arrive", func() bool { return segmentsOf(c, unix.IPPROTO_TCP, 83) == sent && sessionsOf(c, 0x500) == sent })
}

// tunnelEnd is the other end of tunnels from host A, by the route to host B.
var tunnelEnd = netip.MustParseAddr("2001:db8:0:2::99")

// tunneled is a packet from host A inside another to an address.
func (l *leaf) tunneled(frame []byte, to netip.Addr) []byte {
	const ethernet = 14
	inside := frame[ethernet:]
	b := roce.Ethernet{Dst: roce.MAC(l.A.Peer().MAC), Src: roce.MAC(l.A.MAC), EtherType: roce.EtherTypeIPv6}.Append(nil)
	b = roce.IPv6Header{PayloadLength: uint16(len(inside)), NextHeader: protocolIPv6, HopLimit: 64, Src: fabric.HostA.Addr().As16(), Dst: to.As16()}.Append(b)
	return append(b, inside...)
}

// sessionsOf counts the captured packets of RoCEv2 to a queue pair, in tunnels, too.
func sessionsOf(c *fabric.Capture, qp uint32) int { return len(timesOf(c, qp)) }

// timesOf are the times of the captured packets of RoCEv2 to a queue pair, in tunnels, too.
func timesOf(c *fabric.Capture, qp uint32) (at []time.Time) {
	const ethernet, ipv6, next = 14, 40, 14 + 6
	for _, f := range c.Frames() {
		b := f.Data
		if len(b) > ethernet+ipv6 && b[12] == 0x86 && b[next] == protocolIPv6 {
			b = slices.Concat(b[:ethernet], b[ethernet+ipv6:])
		}
		var p roce.Packet
		if p.Parse(b, len(b)) == nil && p.DestQP() == qp {
			at = append(at, f.Time)
		}
	}
	return at
}

// TestGatewayAdvisesTheClientsThatMayBe: by the list of hosts and as Rate Advice is configured, with
// the P_Key that the flow has; the send limit is of Rate Advice and CNPs together. Policies limit
// flows whose source queue pair no packet shows. None of that needs a threshold.
//
//conformance:draft-zz/capable draft-zz/policy draft-zz/bth draft-zz/opcode draft-zz/remote draft-zz/dest-qp draft-xz/rocev2
func TestGatewayAdvisesTheClientsThatMayBe(t *testing.T) {
	const pkey, opcode, limit = 0x8123, 198, 20 // messages a second
	l, node := newIngress(t, "client_message", "rate-advice")
	c := l.capture(l.A)
	l.start("--sai-profile", withQueues)
	l.await("SLUICE_STATE", "global", func(f map[string]string) bool {
		return f["ppfc"] == "active" && strings.Contains(f["warnings"], "no client is notified")
	})
	refused := func(n uint64) {
		l.until("no advice to a client that is not listed", func() bool { // a busy switch drops messages that it reads late
			node.asks(notify.Stop, longest, session)
			return l.notified("rate-advice", "not_allowed") >= n
		})
	}
	refused(1)
	l.set("SLUICE_RATE_ADVICE_HOST", "2001:db8:77::/64", "NULL", "NULL")
	l.set("SLUICE_RATE_ADVICE", "global", "admin_state", "enabled", "opcode", fmt.Sprint(opcode), "source", "receiver", "min_rate_mbps", "7", "tx_rate", fmt.Sprint(limit))
	l.awaitFields("SLUICE_STATE", "global", "state", "running", "rate_advice", "active", "warnings", "")
	refused(l.notified("rate-advice", "not_allowed") + 1)
	codes := notify.DefaultCodePoints()
	codes.RateAdviceOpcode = opcode
	received := func(kind notify.Kind) (all []notify.Packet, at []time.Time) {
		for _, f := range c.Frames() {
			var p notify.Packet
			if p.Parse(f.Data, codes) == nil && p.Kind == kind {
				all, at = append(all, p), append(at, f.Time)
			}
		}
		return all, at
	}
	l.ppfc("client_message", "cnp")
	l.until("no CNP to a client that is not listed", func() bool {
		node.asks(notify.Stop, longest, session)
		return l.notified("cnp", "not_allowed") > 0
	})
	for _, kind := range []notify.Kind{notify.KindRateAdvice, notify.KindCNP} {
		if all, _ := received(kind); len(all) > 0 || l.notified("rate-advice", "sent")+l.notified("cnp", "sent") > 0 {
			t.Errorf("%d messages %v to a host that may receive none", len(all), kind)
		}
	}
	l.ppfc("client_message", "rate-advice")
	l.set("SLUICE_RATE_ADVICE_HOST", fabric.HostA.Masked().String(), "NULL", "NULL")
	host, sent := l.sender(l.A), 0
	l.until("the client is advised with the P_Key of its flow, as often as the limit allows", func() bool {
		for range 32 {
			l.put(host, l.datagramOf(elephantQP, sent, pkey))
			sent++
		}
		node.asks(notify.Stop, longest, session)
		all, _ := received(notify.KindRateAdvice)
		return len(all) > 0 && all[len(all)-1].RateAdvice.PKey == pkey && l.notified("rate-advice", "tx_policed") > 0
	})
	l.ppfc("client_message", "cnp")
	l.until("and then by CNPs", func() bool {
		node.asks(notify.Stop, longest, session)
		return l.notified("cnp", "tx_policed") > 0
	})
	l.awaitFields("SLUICE_STATE", "global", "state", "running", "warnings", "")
	var times []time.Time
	for kind, name := range map[notify.Kind]string{notify.KindRateAdvice: "rate-advice", notify.KindCNP: "cnp"} {
		l.until("each "+name+" arrives", func() bool {
			all, _ := received(kind)
			return uint64(len(all)) == l.notified(name, "sent") && len(all) > 0
		})
		all, at := received(kind)
		times = append(times, at...)
		for _, p := range all {
			a := p.RateAdvice
			var right bool
			if kind == notify.KindRateAdvice {
				right = p.Envelope.Src == fabric.HostB.Addr() && a.DestQP == ownQP && a.DestinationQP == ownQP && a.SourceQP == elephantQP && a.Rate == 7
			} else {
				right = p.Envelope.Src == fabric.WANRouters[0] && p.CNP.DestQP == ownQP && p.CNP.PKey == pkey
			}
			if !right || p.Envelope.Dst != fabric.HostA.Addr() {
				t.Errorf("%v from %v: %+v %+v", kind, p.Envelope.Src, a, p.CNP)
			}
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	const burst = limit / 10
	if span := times[len(times)-1].Sub(times[0]); float64(len(times)) > 2*(burst+1+limit*span.Seconds()) {
		t.Errorf("%d messages in %v, want some %d a second", len(times), span, limit)
	}

	// A rate by policy needs no source queue pair where the message has the packet's: no packet of a
	// connection shows it.
	l.set("SLUICE_RATE_ADVICE", "global", "admin_state", "enabled", "opcode", fmt.Sprint(opcode), "destination_qp", "copy", "min_rate_mbps", "1")
	l.set("SLUICE_RATE_POLICY", "bulk", "src_prefix", fabric.HostA.Masked().String(), "rate_mbps", "3")
	const alone, inside = 0x500, 0x501
	seen := map[uint32]bool{}
	l.until("senders of connections are advised, also in a tunnel", func() bool {
		for range 32 {
			l.put(host, l.frame(packet{qp: alone, psn: uint32(sent)}), l.tunneled(l.frame(packet{qp: inside, psn: uint32(sent)}), tunnelEnd))
			sent++
		}
		all, _ := received(notify.KindRateAdvice)
		for _, p := range all {
			if a := p.RateAdvice; a.DestQP == a.SourceQP && a.DestinationQP == a.DestQP && a.Rate == 3 && p.Envelope.Src == fabric.WANRouters[0] {
				seen[a.DestQP] = true
			}
		}
		return seen[alone] && seen[inside]
	})
}
