// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"net/netip"

	"sluice/orchagent-ext/wire/roce"
)

// Addresses of the documentation ranges (RFC 3849, RFC 5737, RFC 7042).
var (
	hostA6, hostB6 = netip.MustParseAddr("2001:db8:a::11"), netip.MustParseAddr("2001:db8:b::22")
	node6, gate6   = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	link1, link2   = netip.MustParseAddr("fe80::200:5eff:fe00:5301"), netip.MustParseAddr("fe80::200:5eff:fe00:5302")
	hostA4, hostB4 = netip.MustParseAddr("192.0.2.11"), netip.MustParseAddr("198.51.100.22")
	node4, gate4   = netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("203.0.113.2")
	mac1, mac2     = roce.MAC{0, 0, 0x5e, 0, 0x53, 1}, roce.MAC{0, 0, 0x5e, 0, 0x53, 2}
)

// sample is one message in the envelope that Sluice would send it in.
type sample struct {
	name, says string
	message    Message
	envelope   Envelope
}

// envelope is the default one with addresses.
func envelope(k Kind, src, dst netip.Addr) Envelope {
	e := DefaultEnvelope(k)
	e.SrcMAC, e.DstMAC, e.Src, e.Dst = mac1, mac2, src, dst
	if k == KindPFC {
		e = Envelope{SrcMAC: mac1, DstMAC: PFCAddress}
	}
	return e
}

// samples has every message and variant. The golden captures are made of them,
// under their names.
func samples() []sample {
	neighbor := envelope(KindPFCM, link1, link2)
	pfcm := func(form Encapsulation, a Action, us uint16) *PFCM {
		return &PFCM{Encapsulation: form, StreamID: 0x1234, QueueID: 3, Action: a, Time: us, Destination: hostB6, Source: hostA6}
	}
	all := []sample{
		{"pfcm-icmpv6-pause", "PFCM as ICMPv6 message: pause for 500 µs", pfcm(ICMPv6, Pause, 500), neighbor},
		{"pfcm-icmpv6-reduce", "PFCM as ICMPv6 message: reduce by 50 % for 1000 µs", pfcm(ICMPv6, Reduce(50), 1000), neighbor},
		{"pfcm-icmpv6-cancel", "PFCM as ICMPv6 message: no backpressure, time 0", pfcm(ICMPv6, Cancel, 0), neighbor},
		{"pfcm-hop-by-hop", "PFCM as hop-by-hop option: pause for 65535 µs", pfcm(HopByHop, Pause, 65535), neighbor},
		{"pfcm-destination-options", "PFCM as destination option: reduce by 63 %, the most there is", pfcm(DestinationOptions, Reduce(99), 250), neighbor},
	}

	carriers := []struct {
		name, says         string
		transport          Transport
		hostA, hostB, node netip.Addr
		gateway            netip.Addr
	}{
		{"icmpv6", "ICMPv6", OverICMP, hostA6, hostB6, node6, gate6},
		{"icmpv4", "ICMPv4", OverICMP, hostA4, hostB4, node4, gate4},
		{"udp6", "UDP over IPv6", OverUDP, hostA6, hostB6, node6, gate6},
		{"udp4", "UDP over IPv4", OverUDP, hostA4, hostB4, node4, gate4},
	}
	for i, c := range carriers {
		for _, form := range []FlowForm{AllFlows, Ports, QPs} {
			m := PPFC{
				Transport: c.transport, PT: PT((i + int(form)) & 3), Priority: 26, PauseDuration: 1000,
				Source: c.hostA, Destination: c.hostB, RouterID: c.node,
				Flow: FlowIdentifier{Form: form},
			}
			if c.transport == OverICMP {
				m.CongestionPort = 17
			} else {
				m.CongestionQID = 3
			}
			if form != AllFlows {
				m.Flow.Protocol, m.Flow.SrcPort, m.Flow.DstPort = protoUDP, 49153, roce.UDPPort
			}
			if form == QPs {
				m.Flow.SrcQP, m.Flow.DstQP = 0x000111, 0x000222
			}
			all = append(all, sample{
				"ppfc-" + c.name + "-" + form.String(), "PPFC over " + c.says + ": " + m.PT.String() + ", flow identifier: " + form.String(),
				&m, envelope(KindPPFC, c.node, c.gateway),
			})
		}
	}

	advice := RateAdvice{PKey: DefaultPKey, DestQP: 0x111, Rate: 25000, Version: 1, DestinationQP: 0x111, SourceQP: 0x222}
	cnp := CNP{PKey: DefaultPKey, DestQP: 0x111}
	return append(all,
		sample{"rate-advice-v6", "Rate Advice over IPv6: 25 Gbit/s", &advice, envelope(KindRateAdvice, node6, hostA6)},
		sample{"rate-advice-v4", "Rate Advice over IPv4: 25 Gbit/s", &advice, envelope(KindRateAdvice, node4, hostA4)},
		sample{"cnp-v6", "CNP over IPv6", &cnp, envelope(KindCNP, hostB6, hostA6)},
		sample{"cnp-v4", "CNP over IPv4", &cnp, envelope(KindCNP, hostB4, hostA4)},
		sample{"pfc-pause", "PFC: pause priority 3 for 10 µs at 100 Gbit/s", &PFC{Enable: 1 << 3, Quanta: [8]uint16{3: Quanta(10, 100_000)}}, envelope(KindPFC, netip.Addr{}, netip.Addr{})},
		sample{"pfc-resume", "PFC: resume priorities 3 and 4", &PFC{Enable: 1<<3 | 1<<4}, envelope(KindPFC, netip.Addr{}, netip.Addr{})},
	)
}
