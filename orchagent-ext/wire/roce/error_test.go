// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

func TestErrorsNameTheFieldThatIsWrong(t *testing.T) {
	ack := datagram(roce.RCAck, 8)
	ipv4, ipv6 := frame4(nil, udp, ack), frame6(udp, ack)
	const udpAt = ipAt + 40 // in ipv6
	srh := append([]byte{udp, 2, routing4, 1, 0, 0, 0, 0}, make([]byte, 16)...)
	options := []byte{udp, 0, 1, 4, 0, 0, 0, 0}
	truncated := func(o roce.Opcode, n int) []byte { return frame6(udp, datagram(o, n)) }

	for _, c := range []struct {
		name    string
		frame   []byte
		wireLen int
		header  roce.Header
		problem roce.Problem
	}{
		{"no octet", nil, 0, roce.HeaderEthernet, roce.Truncated},
		{"no EtherType", ipv6[:13], 64, roce.HeaderEthernet, roce.Cut},
		{"half a tag", with16(ipv6, 12, 0x8100)[:17], 64, roce.HeaderVLAN, roce.Cut},

		{"IPv4 cut", ipv4[:ipAt+19], 64, roce.HeaderIPv4, roce.Cut},
		{"IPv4 options cut", frame4(make([]byte, 8), udp, ack)[:ipAt+27], 99, roce.HeaderIPv4, roce.Cut},
		{"IPv6 behind the EtherType of IPv4", with16(ipv6, 12, roce.EtherTypeIPv4), 0, roce.HeaderIPv4, roce.BadVersion},
		{"IPv4 header of 16 octets", with(ipv4, ipAt, 0x44), 0, roce.HeaderIPv4, roce.BadLength},
		{"IPv4 shorter than its header", with16(ipv4, ipAt+2, 19), 0, roce.HeaderIPv4, roce.BadLength},
		{"IPv4 longer than the frame", with16(ipv4, ipAt+2, uint16(len(ipv4))), 0, roce.HeaderIPv4, roce.BadLength},

		{"IPv6 cut", ipv6[:ipAt+39], 80, roce.HeaderIPv6, roce.Cut},
		{"IPv4 behind the EtherType of IPv6", with16(frame4(make([]byte, 20), udp, ack), 12, roce.EtherTypeIPv6), 0, roce.HeaderIPv6, roce.BadVersion},
		{"IPv6 longer than the frame", with16(ipv6, ipAt+4, uint16(len(ack)+1)), 0, roce.HeaderIPv6, roce.BadLength},
		{"IPv6 longer than the tunnel", append(frame6(ipv6InIP, with16(packet6(udp, ack), 4, uint16(len(ack)+1))), 0), 0, roce.HeaderIPv6, roce.BadLength},
		{"IPv4 longer than the tunnel", append(frame6(ipInIP, with16(ipv4[ipAt:], 2, uint16(len(ipv4)-ipAt+1))), 0), 0, roce.HeaderIPv4, roce.BadLength},
		{"IPv4 does not fit the tunnel", append(frame6(ipInIP, ipv4[ipAt:ipAt+19]), 0), 0, roce.HeaderIPv4, roce.Truncated},
		{"three tunnels", frame6(ipv6InIP, packet6(ipv6InIP, packet6(ipv6InIP, packet6(udp, ack)))), 0, roce.HeaderIPv6, roce.TooMany},

		{"hop-by-hop cut", frame6(hopByHop, options[:7]), 0, roce.HeaderHopByHop, roce.Truncated},
		{"hop-by-hop too long", frame6(hopByHop, extend(ack, with(options, 1, 4))), 0, roce.HeaderHopByHop, roce.BadLength},
		{"destination options cut", frame6(destOptions, options[:2]), 0, roce.HeaderDestOptions, roce.Truncated},
		{"destination options too long", frame6(destOptions, extend(ack, with(options, 1, 255))), 0, roce.HeaderDestOptions, roce.BadLength},
		{"nine extension headers", frame6(destOptions, extend(ack, append(slices.Repeat([][]byte{with(options, 0, destOptions)}, 8), options)...)), 0, roce.HeaderDestOptions, roce.TooMany},
		{"routing header captured in part", frame6(routing, extend(ack, srh))[:ipAt+40+23], 118, roce.HeaderRouting, roce.Cut},
		{"more segments than the header has", frame6(routing, extend(ack, with(srh, 4, 1))), 0, roce.HeaderRouting, roce.BadLength},
		{"more segments left than there are", frame6(routing, extend(ack, with(srh, 3, 2))), 0, roce.HeaderRouting, roce.BadLength},
		{"fragment header cut", frame6(fragment, make([]byte, 7)), 0, roce.HeaderFragment, roce.Truncated},

		{"UDP cut", frame6(udp, ack[:7]), 0, roce.HeaderUDP, roce.Truncated},
		{"UDP of 7 octets", with16(ipv6, udpAt+4, 7), 0, roce.HeaderUDP, roce.BadLength},
		{"UDP longer than IP", with16(ipv6, udpAt+4, uint16(len(ack)+1)), 0, roce.HeaderUDP, roce.BadLength},
		{"UDP of 7 octets in a fragment", frame6(fragment, extend(with16(ack, 4, 7), []byte{udp, 0, 0, 1, 0, 0, 0, 0})), 0, roce.HeaderUDP, roce.BadLength},

		{"no BTH", with16(ipv6, udpAt+4, 8), 0, roce.HeaderBTH, roce.Truncated},
		{"half a BTH", with16(ipv6, udpAt+4, 8+11), 0, roce.HeaderBTH, roce.Truncated},
		{"pad without payload", with(ipv6, udpAt+9, 0x10), 0, roce.HeaderBTH, roce.BadPad},
		{"XRCETH cut", truncated(roce.XRCSendOnly, 3), 0, roce.HeaderXRCETH, roce.Truncated},
		{"DETH cut", truncated(roce.UDSendOnly, 7), 0, roce.HeaderDETH, roce.Truncated},
		{"RETH cut", truncated(roce.RCWriteOnly, 15), 0, roce.HeaderRETH, roce.Truncated},
		{"AtomicETH cut", truncated(roce.RCFetchAdd, 27), 0, roce.HeaderAtomicETH, roce.Truncated},
		{"AETH cut", truncated(roce.RCAck, 0), 0, roce.HeaderAETH, roce.Truncated},
		{"AtomicAckETH cut", truncated(roce.RCAtomicAck, 11), 0, roce.HeaderAtomicAckETH, roce.Truncated},
		{"ImmDt cut", truncated(roce.RCSendOnlyImm, 3), 0, roce.HeaderImmDt, roce.Truncated},
		{"IETH cut", truncated(roce.RCSendOnlyInv, 3), 0, roce.HeaderIETH, roce.Truncated},
		{"FETH cut", truncated(roce.RCFlush, 3), 0, roce.HeaderFETH, roce.Truncated},
		{"CNP cut", truncated(roce.CNP, 15), 0, roce.HeaderCNP, roce.Truncated},
		{"no ICRC", truncated(roce.RCAck, 7), 0, roce.HeaderICRC, roce.Truncated},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p roce.Packet
			err := p.Parse(c.frame, c.wireLen)
			var got *roce.Error
			want := roce.Error{Header: c.header, Problem: c.problem}
			if !errors.As(err, &got) || *got != want {
				t.Fatalf("%v, want %v", err, &want)
			}
			if text := "roce: " + headerTexts[c.header] + ": " + problemTexts[c.problem]; err.Error() != text {
				t.Errorf("%q, want %q", err, text)
			}
			if errors.Is(err, roce.ErrNotRoCE) {
				t.Error("a broken packet passes for another protocol")
			}
		})
	}
}

const routing4 = 4 // the routing type of a segment routing header

var headerTexts = map[roce.Header]string{
	roce.HeaderEthernet:     "Ethernet header",
	roce.HeaderVLAN:         "VLAN tag",
	roce.HeaderIPv4:         "IPv4 header",
	roce.HeaderIPv6:         "IPv6 header",
	roce.HeaderHopByHop:     "IPv6 hop-by-hop options",
	roce.HeaderDestOptions:  "IPv6 destination options",
	roce.HeaderRouting:      "IPv6 routing header",
	roce.HeaderFragment:     "IPv6 fragment header",
	roce.HeaderUDP:          "UDP header",
	roce.HeaderBTH:          "BTH",
	roce.HeaderXRCETH:       "XRCETH",
	roce.HeaderDETH:         "DETH",
	roce.HeaderRETH:         "RETH",
	roce.HeaderAtomicETH:    "AtomicETH",
	roce.HeaderAETH:         "AETH",
	roce.HeaderAtomicAckETH: "AtomicAckETH",
	roce.HeaderImmDt:        "ImmDt",
	roce.HeaderIETH:         "IETH",
	roce.HeaderFETH:         "FETH",
	roce.HeaderCNP:          "CNP reserved octets",
	roce.HeaderICRC:         "ICRC",
}

var problemTexts = map[roce.Problem]string{
	roce.Truncated:  "truncated",
	roce.BadVersion: "wrong version",
	roce.BadLength:  "length contradicts the packet",
	roce.TooMany:    "nested too deep",
	roce.Cut:        "cut",
	roce.BadPad:     "pad count larger than the payload",
}

func TestParseIPErrors(t *testing.T) {
	for _, c := range []struct {
		packet []byte
		want   roce.Error
	}{
		{nil, roce.Error{Header: roce.HeaderIPv4, Problem: roce.Truncated}},
		{[]byte{0x45}, roce.Error{Header: roce.HeaderIPv4, Problem: roce.Truncated}},
		{[]byte{0x60}, roce.Error{Header: roce.HeaderIPv6, Problem: roce.Truncated}},
		{make([]byte, 64), roce.Error{Header: roce.HeaderIPv6, Problem: roce.BadVersion}},
	} {
		var p roce.Packet
		var got *roce.Error
		if err := p.ParseIP(c.packet, len(c.packet)); !errors.As(err, &got) || *got != c.want {
			t.Errorf("%x: %v, want %v", c.packet, err, &c.want)
		}
	}
}

//conformance:draft-lin/port
func TestNotRoCE(t *testing.T) {
	ack := datagram(roce.RCAck, 8)
	tags := [2]roce.VLANTag{{TPID: 0x88a8}, {TPID: 0x8100}}
	many := append(roce.Ethernet{Tags: tags, EtherType: 0x8100}.Append(nil), append(bytes.Repeat([]byte{0, 1, 0x81, 0}, 14), 0, 1, 0x86, 0xdd)...)
	for name, frame := range map[string][]byte{
		"ARP":                         with16(frame4(nil, udp, ack), 12, 0x0806),
		"PFC":                         with16(frame4(nil, udp, ack), 12, 0x8808),
		"802.3 length":                with16(frame4(nil, udp, ack), 12, 60),
		"seventeen VLAN tags":         append(many, packet6(udp, ack)...),
		"TCP":                         frame4(nil, 6, ack),
		"IPv4 in IPv4":                frame4(nil, ipInIP, frame4(nil, udp, ack)[ipAt:]),
		"later fragment":              with16(frame4(nil, udp, ack), ipAt+6, 1),
		"last fragment, IPv6":         frame6(fragment, extend(ack, []byte{udp, 0, 0, 8, 0, 0, 0, 0})),
		"ESP":                         frame6(50, ack),
		"no next header":              frame6(59, nil),
		"ICMPv6 behind hop-by-hop":    frame6(hopByHop, extend(ack, []byte{58, 0, 1, 4, 0, 0, 0, 0})),
		"another UDP port":            frame6(udp, with16(ack, 2, 4790)),
		"RoCEv2's port as the source": frame6(udp, with16(with16(ack, 0, 4791), 2, 53)),
	} {
		var p roce.Packet
		if err := p.Parse(frame, len(frame)); !errors.Is(err, roce.ErrNotRoCE) {
			t.Errorf("%s: %v, want %v", name, err, roce.ErrNotRoCE)
		}
	}
}
