// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

// carried are the ways in which a fabric carries a packet: the header that names the
// path is that of the function's first octets.
var carried = map[string]func(inner []byte) []byte{
	"IPv6 in IPv6": func(inner []byte) []byte { return around(inner, 41, nil) },
	"IPv6 in IPv6 behind a routing header": func(inner []byte) []byte {
		h := host(55)
		return around(inner, 43, append([]byte{41, 2, 4, 1, 0, 0, 0, 0}, h[:]...))
	},
	"two tunnels": func(inner []byte) []byte {
		b := around(inner, 41, nil)
		return around(b, 41, nil)
	},
}

// around puts an IP packet, or one with its Ethernet header, behind an IPv6 header of
// traffic class 3 (CE) and label 0x12345 from host 100 to host 200, in a frame.
func around(packet []byte, next uint8, before []byte) []byte {
	if packet[0]>>4 == 0 { // a frame: host() makes MAC addresses of zeros
		packet = packet[14:]
	}
	b := roce.Ethernet{EtherType: roce.EtherTypeIPv6}.Append(nil)
	b = roce.IPv6Header{
		TrafficClass: 3, FlowLabel: 0x12345, NextHeader: next, HopLimit: 9, PayloadLength: uint16(len(before) + len(packet)), Src: host(100), Dst: host(200),
	}.Append(b)
	return append(append(b, before...), packet...)
}

func parse(t *testing.T, frame []byte) *roce.Packet {
	t.Helper()
	p := new(roce.Packet)
	if err := p.Parse(frame, len(frame)); err != nil {
		t.Fatal(err)
	}
	return p
}

// neighborsStreamID is what a neighbor that goes by docs/wire-formats.md computes: from
// the octets of the IPv6 header that it sent.
func neighborsStreamID(seed uint32, frame []byte) uint16 {
	ip := frame[14:]
	b := binary.BigEndian.AppendUint32(nil, seed)
	b = append(b, ip[8:40]...)
	b = append(b, ip[1]&0xf, ip[2], ip[3])
	return max(uint16(crc32.ChecksumIEEE(b)), 1)
}

// The outermost IP header names the path: Stream ID, octets and ECN. The innermost RoCEv2
// names the session.
func TestTunnelNamesPathAndSession(t *testing.T) {
	for name, carry := range carried {
		t.Run(name, func(t *testing.T) {
			inner := send(t, 1, 2, 7)
			frame := carry(inner)
			p := parse(t, frame)
			k := KeyOf(p)
			if k.Src != host(100) || k.Dst != host(200) || k.FlowLabel != 0x12345 || !k.Tunnelled() {
				t.Errorf("the path is %s > %s, label %#05x, tunnelled %v", k.SrcAddr(), k.DstAddr(), k.FlowLabel, k.Tunnelled())
			}
			if src, dst := k.Session(); src != host(1) || dst != host(2) || k.DestQP != 7 {
				t.Errorf("the session is %s > %s, queue pair %d", k.SessionSrc(), k.SessionDst(), k.DestQP)
			}
			if got, want := HashStreamID(9, k.Src, k.Dst, k.FlowLabel), neighborsStreamID(9, frame); got != want {
				t.Errorf("Stream ID %#04x, the neighbor's %#04x", got, want)
			}
			if p.Len() != len(frame)-14 || p.TrafficClass() != 3 || p.HopLimit() != 9 {
				t.Errorf("%d octets, traffic class %d, hop limit %d", p.Len(), p.TrafficClass(), p.HopLimit())
			}
			if got, want, ok := p.ICRC(); !ok || got != want {
				t.Errorf("ICRC %08x, want %08x, %v", got, want, ok)
			}
			if got, want := k.Label(DraftLiteral, 5), DraftLiteral.Label(5, 7, host(100), host(200)); got != want {
				t.Errorf("label %#05x, want %#05x", got, want)
			}
		})
	}
}

// With a segment routing header and no tunnel the path goes to the active segment, and the
// session to the last one.
func TestSegmentsNamePathAndSession(t *testing.T) {
	plain := send(t, 1, 2, 7)
	final := host(2)
	b := roce.Ethernet{EtherType: roce.EtherTypeIPv6}.Append(nil)
	b = roce.IPv6Header{FlowLabel: 3, NextHeader: 43, HopLimit: 64, Src: host(1), Dst: host(77)}.Append(b)
	b = append(append(b, 17, 2, 4, 1, 0, 0, 0, 0), final[:]...)
	b = append(b, plain[54:]...)
	binary.BigEndian.PutUint16(b[18:], uint16(len(b)-54))
	k := KeyOf(parse(t, b))
	src, dst := k.Session()
	if k.Src != host(1) || k.Dst != host(77) || src != host(1) || dst != final || k.Tunnelled() {
		t.Errorf("path %s > %s, session %s > %s", k.SrcAddr(), k.DstAddr(), k.SessionSrc(), k.SessionDst())
	}
	if got, want := HashStreamID(0, k.Src, k.Dst, k.FlowLabel), neighborsStreamID(0, b); got != want {
		t.Errorf("Stream ID %#04x, the neighbor's %#04x", got, want)
	}
	if got, want := k.Label(DraftLiteral, 0), DraftLiteral.Label(0, 7, host(1), final); got != want {
		t.Errorf("label %#05x, want %#05x", got, want)
	}
}

// A connection is one session, however its packets are carried: what is learned of it
// outside of a tunnel holds inside.
func TestLearningGoesByTheSession(t *testing.T) {
	table := NewTable(Config{})
	cm := func(src, dst uint16, m roce.CM) []byte {
		return frame(t, src, dst, roce.BTH{Opcode: roce.UDSendOnly, DestQP: 1}, m.Append(nil))
	}
	observe(t, table, cm(1, 2, roce.CM{Attribute: roce.CMReq, LocalCommID: 1, LocalQPN: 70}), 0)
	observe(t, table, carried["IPv6 in IPv6"](cm(2, 1, roce.CM{Attribute: roce.CMRep, LocalCommID: 2, RemoteCommID: 1, LocalQPN: 80})), 1)
	for name, carry := range carried {
		f := observe(t, table, carry(send(t, 1, 2, 80)), 2)
		if qp, from := table.SrcQP(f); qp != 70 || from != CM {
			t.Errorf("%s: source queue pair %d from %q, want 70 from cm", name, qp, from)
		}
	}
}
