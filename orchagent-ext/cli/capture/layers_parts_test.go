// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"encoding/binary"
	"slices"
	"testing"

	"sluice/orchagent-ext/cli/capture/link"
	"sluice/orchagent-ext/wire/roce"
)

// The parts of which the matrix is made: how a frame begins, the layers below IP, the copy or
// tunnel around it, IP, and the cut.
type (
	matrixLink struct {
		name string
		link link.Type
		// wrap makes a frame of what an EtherType announces; nil: it has no place there.
		wrap func(etherType uint16, payload []byte) []byte
	}
	matrixTags struct {
		name string
		// wrap returns the first EtherType, and all behind it.
		wrap  func(etherType uint16, payload []byte) (uint16, []byte)
		vlans []uint16
	}
	matrixCarrier struct {
		name string
		// wrap makes an IP packet that carries an Ethernet frame.
		wrap   func(frame []byte) []byte
		copied bool // the path is that of the frame
		unread bool // by tshark 4.0
	}
	matrixIP struct {
		name      string
		etherType uint16
		make      func(t *testing.T, h roce.BTH) (packet []byte, bth int)
	}
	matrixCut struct {
		name string
		// before: octets of the packet after the BTH that a mirror left; captured: likewise that the
		// capture has; -1: all
		before, captured int
		offload          bool // IP has length 0
	}
)

func u16(v ...uint16) (b []byte) {
	for _, x := range v {
		b = binary.BigEndian.AppendUint16(b, x)
	}
	return b
}

func cat(parts ...[]byte) []byte { return slices.Concat(parts...) }

var macs = []byte{2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa}

func ethernetFrame(etherType uint16, payload []byte) []byte {
	return cat(macs, u16(etherType), payload)
}

// onlyIP makes a frame of IP alone behind a header for each version.
func onlyIP(four, six []byte) func(uint16, []byte) []byte {
	return func(etherType uint16, payload []byte) []byte {
		switch {
		case etherType == roce.EtherTypeIPv4 && four != nil:
			return cat(four, payload)
		case etherType == roce.EtherTypeIPv6 && six != nil:
			return cat(six, payload)
		}
		return nil
	}
}

// typed reports whether an EtherType is one, instead of a length.
func typed(etherType uint16) bool { return etherType >= 0x600 }

// behind makes a frame of what an EtherType announces, behind a header that ends with it.
func behind(header ...byte) func(uint16, []byte) []byte {
	return func(etherType uint16, payload []byte) []byte {
		if !typed(etherType) {
			return nil
		}
		return cat(header, u16(etherType), payload)
	}
}

// whole makes a frame of an Ethernet frame behind a header.
func whole(header ...byte) func(uint16, []byte) []byte {
	return func(etherType uint16, payload []byte) []byte { return cat(header, ethernetFrame(etherType, payload)) }
}

// ppp makes PPP behind a header.
func ppp(header ...byte) func(uint16, []byte) []byte {
	return onlyIP(cat(header, []byte{0, 0x21}), cat(header, []byte{0, 0x57}))
}

// erfFrame makes a record of ERF of a type, with extension headers.
func erfFrame(kind byte, extensions int, inner func(uint16, []byte) []byte) func(uint16, []byte) []byte {
	return func(etherType uint16, payload []byte) []byte {
		b := inner(etherType, payload)
		if b == nil {
			return nil
		}
		var more []byte
		if extensions > 0 {
			kind |= 0x80
		}
		for i := range extensions {
			h := []byte{5, 0, 0, 0, 0, 0, 0, 1}
			if i < extensions-1 {
				h[0] |= 0x80
			}
			more = append(more, h...)
		}
		length := 16 + len(more) + len(b)
		return cat([]byte{0, 0, 0, 0, 0, 0xf1, 0x53, 0x65, kind, 4}, u16(uint16(length), 0, uint16(len(b))), more, b)
	}
}

// ppiFrame makes a frame of PPI with a field, around one of another link type.
func ppiFrame(dlt byte, inner func(uint16, []byte) []byte) func(uint16, []byte) []byte {
	return func(etherType uint16, payload []byte) []byte {
		b := inner(etherType, payload)
		if b == nil {
			return nil
		}
		return cat([]byte{0, 0, 16, 0, dlt, 0, 0, 0, 5, 0, 4, 0, 1, 2, 3, 4}, b)
	}
}

// nflogFrame makes a frame of NFLOG with the prefix and the payload, in a byte order.
func nflogFrame(order binary.AppendByteOrder) func(uint16, []byte) []byte {
	return func(etherType uint16, payload []byte) []byte {
		family := map[uint16]byte{roce.EtherTypeIPv4: 2, roce.EtherTypeIPv6: 10}[etherType]
		if family == 0 {
			return nil
		}
		b := []byte{family, 0, 0, 5}
		b = append(order.AppendUint16(order.AppendUint16(b, 5), 10), 0, 0, 0, 0) // an empty prefix
		b = order.AppendUint16(order.AppendUint16(b, uint16(4+len(payload))), 9)
		return append(b, payload...)
	}
}

// ipnetFrame makes a frame of Solaris' IPNET, with the length of the packet.
func ipnetFrame(etherType uint16, payload []byte) []byte {
	family := map[uint16]byte{roce.EtherTypeIPv4: 2, roce.EtherTypeIPv6: 26}[etherType]
	if family == 0 {
		return nil
	}
	return cat([]byte{1, family, 0, 0}, u32(uint32(len(payload)), 1, 0, 0, 0), payload)
}

// wifiFrame makes a data frame of IEEE 802.11, with QoS or without.
func wifiFrame(header []byte, qos bool) func(uint16, []byte) []byte {
	return func(etherType uint16, payload []byte) []byte {
		if !typed(etherType) {
			return nil
		}
		control, more := byte(0x08), []byte(nil)
		if qos {
			control, more = 0x88, []byte{0, 0}
		}
		return cat(header, []byte{control, 1, 0, 0}, macs, []byte{2, 0, 0, 0, 0, 0xc, 0, 0}, more, []byte{0xaa, 0xaa, 3, 0, 0, 0}, u16(etherType), payload)
	}
}

func matrixLinks() []matrixLink {
	sll2 := make([]byte, 18)
	sll2[5], sll2[7], sll2[9] = 3, 1, 6
	return []matrixLink{
		{"Ethernet", link.Ethernet, ethernetFrame},
		{"SLL", link.SLL, behind(0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0)},
		{"SLL2", link.SLL2, func(etherType uint16, payload []byte) []byte {
			if !typed(etherType) {
				return nil
			}
			return cat(u16(etherType), sll2, payload)
		}},
		{"SLL, LLC", link.SLL, func(etherType uint16, payload []byte) []byte {
			if typed(etherType) {
				return nil
			}
			return cat([]byte{0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0, 4}, payload)
		}},
		{"null, little endian", link.Null, onlyIP([]byte{2, 0, 0, 0}, []byte{30, 0, 0, 0})},
		{"null, big endian", link.Null, onlyIP([]byte{0, 0, 0, 2}, []byte{0, 0, 0, 28})},
		{"null of NetBSD", link.Null, onlyIP(nil, []byte{24, 0, 0, 0})},
		{"loop", link.Loop, onlyIP([]byte{0, 0, 0, 2}, []byte{0, 0, 0, 24})},
		{"PPP", link.PPP, ppp()},
		{"PPP with address", link.PPP, ppp(0xff, 3)},
		{"PPP, compressed", link.PPP, onlyIP([]byte{0x21}, []byte{0x57})},
		{"PPP in HDLC", link.PPPHDLC, ppp(0xff, 3)},
		{"PPP with direction", link.PPPWithDir, ppp(1, 0xff, 3)},
		{"HDLC of Cisco in PPP", link.PPPHDLC, behind(0x0f, 0)},
		{"Cisco HDLC", link.CiscoHDLC, behind(0x0f, 0)},
		{"PPPoE", link.PPPEther, func(etherType uint16, payload []byte) []byte {
			if etherType != roce.EtherTypeIPv4 && etherType != roce.EtherTypeIPv6 {
				return nil
			}
			_, b := pppoe(etherType, payload)
			return b
		}},
		{"raw", link.Raw, onlyIP([]byte{}, []byte{})},
		{"raw of BSD", link.RawBSD, onlyIP([]byte{}, []byte{})},
		{"IPv4", link.IPv4, onlyIP([]byte{}, nil)},
		{"IPv6", link.IPv6, onlyIP(nil, []byte{})},
		{"ERF", link.ERF, erfFrame(2, 0, whole(0, 0))},
		{"ERF, two extensions", link.ERF, erfFrame(2, 2, whole(0, 0))},
		{"ERF, colored", link.ERF, erfFrame(11, 0, whole(0, 0))},
		{"ERF, hashed", link.ERF, erfFrame(20, 0, whole(0, 0))},
		{"ERF, IPv4", link.ERF, erfFrame(22, 0, onlyIP([]byte{}, nil))},
		{"ERF, IPv6", link.ERF, erfFrame(23, 1, onlyIP(nil, []byte{}))},
		{"PPI, Ethernet", link.PPI, ppiFrame(1, ethernetFrame)},
		{"PPI, raw", link.PPI, ppiFrame(101, onlyIP([]byte{}, []byte{}))},
		{"PPI, IEEE 802.11", link.PPI, ppiFrame(105, wifiFrame(nil, true))},
		{"NFLOG", link.NFLOG, nflogFrame(binary.LittleEndian)},
		{"IPNET", link.IPNET, ipnetFrame},
		{"IEEE 802.11", link.WiFi, wifiFrame(nil, false)},
		{"IEEE 802.11, QoS", link.WiFi, wifiFrame(nil, true)},
		{"radiotap", link.Radiotap, wifiFrame([]byte{0, 0, 8, 0, 0, 0, 0, 0}, true)},
		{"MPLS", link.MPLS, onlyIP([]byte{0, 1, 1, 64}, []byte{0, 1, 1, 64})},
	}
}

// tag makes one tag: its EtherType, and what is before the next one.
func tag(etherType uint16, body ...byte) func(uint16, []byte) (uint16, []byte) {
	return func(next uint16, payload []byte) (uint16, []byte) { return etherType, cat(body, u16(next), payload) }
}

// nested puts tags one into the other, the outer one first.
func nested(tags ...func(uint16, []byte) (uint16, []byte)) func(uint16, []byte) (uint16, []byte) {
	return func(next uint16, payload []byte) (uint16, []byte) {
		for _, tag := range slices.Backward(tags) {
			if !typed(next) {
				break
			}
			next, payload = tag(next, payload)
		}
		return next, payload
	}
}

func pppoe(etherType uint16, payload []byte) (uint16, []byte) {
	protocol := map[uint16]uint16{roce.EtherTypeIPv4: 0x21, roce.EtherTypeIPv6: 0x57}[etherType]
	return 0x8864, cat([]byte{0x11, 0, 0, 1}, u16(uint16(len(payload)+2), protocol), payload)
}

func snap(etherType uint16, payload []byte) (uint16, []byte) {
	b := cat([]byte{0xaa, 0xaa, 3, 0, 0, 0}, u16(etherType), payload)
	return uint16(len(b)), b
}

func matrixTagKinds() []matrixTags {
	vlan := func(id byte) func(uint16, []byte) (uint16, []byte) { return tag(0x8100, 0x20, id) }
	cisco, arista := tag(0x8909, 1, 1, 0, 1, 0, 100), tag(0xd28b, 0, 1, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 5)
	mpls := func(labels ...byte) func(uint16, []byte) (uint16, []byte) {
		return func(_ uint16, payload []byte) (uint16, []byte) { return 0x8847, cat(labels, payload) }
	}
	return []matrixTags{
		{"none", nested(), nil},
		{"VLAN", vlan(100), []uint16{100}},
		{"QinQ", nested(tag(0x88a8, 0, 7), vlan(8)), []uint16{7, 8}},
		{"old QinQ", nested(tag(0x9100, 0, 7), vlan(8)), []uint16{7, 8}},
		{"three VLANs", nested(tag(0x88a8, 0, 1), vlan(2), vlan(3)), []uint16{1, 2, 3}},
		{"six VLANs", nested(vlan(1), vlan(2), vlan(3), vlan(4), vlan(5), vlan(6)), []uint16{1, 2, 3, 4, 5, 6}},
		{"Cisco", cisco, nil},
		{"VLAN, Cisco", nested(vlan(100), cisco), []uint16{100}},
		{"Arista, 64 bits", arista, nil},
		{"Arista, 48 bits", tag(0xd28b, 0, 1, 0, 0x20, 0, 0, 0, 0, 0, 5), nil},
		{"VLAN, Arista, VLAN", nested(vlan(5), arista, vlan(6)), []uint16{5, 6}},
		{"VN-Tag", tag(0x8926, 0, 1, 0, 2), nil},
		{"VN-Tag, VLAN", nested(tag(0x8926, 0, 1, 0, 2), vlan(9)), []uint16{9}},
		{"IEEE 802.1BR", tag(0x893f, 0, 1, 0, 2, 0, 0), nil},
		{"HSR", tag(0x892f, 0, 90, 0, 1), nil},
		{"IEEE 802.1CB", tag(0xf1c1, 0, 0, 0, 1), nil},
		{"PBB", nested(tag(0x88a8, 0, 20), func(next uint16, payload []byte) (uint16, []byte) {
			return 0x88e7, cat([]byte{0, 0, 1, 2}, ethernetFrame(next, payload))
		}, vlan(30)), []uint16{20, 30}},
		{"PPPoE", pppoe, nil},
		{"VLAN, PPPoE", nested(vlan(100), pppoe), []uint16{100}},
		{"SNAP", snap, nil},
		{"SNAP, VLAN", nested(snap, vlan(11)), []uint16{11}},
		{"MPLS", mpls(0, 1, 1, 64), nil},
		{"VLAN, MPLS, two labels", nested(vlan(100), mpls(0, 1, 0, 64, 0, 2, 1, 64)), []uint16{100}},
	}
}

// outer4 is an IPv4 packet of a protocol between two switches; outer6 one of IPv6.
func outer4(protocol byte, payload []byte) []byte {
	h := cat([]byte{0x45, 0x20}, u16(uint16(20+len(payload)), 7, 0), []byte{64, protocol}, u16(0), []byte{1, 1, 1, 1, 2, 2, 2, 2})
	binary.BigEndian.PutUint16(h[10:], roce.Checksum(0, h))
	return cat(h, payload)
}

func outer6(protocol byte, payload []byte) []byte {
	b := roce.IPv6Header{NextHeader: protocol, HopLimit: 64, PayloadLength: uint16(len(payload)), Src: [16]byte{0: 0xfc, 15: 1}, Dst: [16]byte{0: 0xfc, 15: 2}}.Append(nil)
	return cat(b, payload)
}

func udpTo(port uint16, payload []byte) []byte {
	return cat(u16(50000, port, uint16(8+len(payload)), 0), payload)
}

func matrixCarriers() []matrixCarrier {
	gre := func(header ...byte) func([]byte) []byte {
		return func(frame []byte) []byte { return outer4(47, cat(header, frame)) }
	}
	erspan2 := []byte{0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, 0, 5, 0, 0, 0, 2}
	erspan3 := func(last byte, more ...byte) []byte {
		return cat([]byte{0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 1, 0, 5, 0, 0, 0, 2, 0, 0, 0, last}, more)
	}
	return []matrixCarrier{
		{"none", nil, false, false},
		{"ERSPAN I", gre(0, 0, 0x88, 0xbe), true, true},
		{"ERSPAN II", gre(erspan2...), true, false},
		{"ERSPAN II over IPv6", func(frame []byte) []byte { return outer6(47, cat(erspan2, frame)) }, true, false},
		{"ERSPAN III", gre(erspan3(0)...), true, false},
		{"ERSPAN III, subheader", gre(erspan3(1, make([]byte, 8)...)...), true, false},
		{"NVIDIA 0x8949", gre(cat([]byte{0, 0, 0x89, 0x49}, make([]byte, 22))...), true, true},
		{"Intel 0x22eb", gre(cat([]byte{0, 0, 0x22, 0xeb}, make([]byte, 12))...), true, true},
		{"GRE with Ethernet", gre(0, 0, 0x65, 0x58), false, false},
		{"VXLAN", func(frame []byte) []byte { return outer4(17, udpTo(4789, cat([]byte{8, 0, 0, 0, 0, 0, 7, 0}, frame))) }, false, false},
		{"VXLAN-GPE", func(frame []byte) []byte { return outer4(17, udpTo(4790, cat([]byte{12, 0, 0, 3, 0, 0, 7, 0}, frame))) }, false, false},
		{"Geneve", func(frame []byte) []byte {
			return outer6(17, udpTo(6081, cat([]byte{0, 0, 0x65, 0x58, 0, 0, 7, 0}, frame)))
		}, false, false},
		{"sFlow", func(frame []byte) []byte { return outer4(17, udpTo(6343, sflowDatagram(frame, len(frame)))) }, true, false},
	}
}

// sflowDatagram is a datagram with one sample: the first octets of a frame of a length.
func sflowDatagram(header []byte, length int) []byte {
	pad := make([]byte, -len(header)&3)
	record := cat(u32(1, uint32(16+len(header)+len(pad)), 1, uint32(length), 0, uint32(len(header))), header, pad)
	sample := cat(u32(7, 3, 1000, 5000, 2, 3, 12, 1), record)
	return cat(u32(5, 1, 0x0a000001, 0, 1, 1000, 1, 1, uint32(len(sample))), sample)
}

func u32(v ...uint32) (b []byte) {
	for _, x := range v {
		b = binary.BigEndian.AppendUint32(b, x)
	}
	return b
}

var (
	four4 = [2][4]byte{{10, 0, 0, 1}, {10, 0, 0, 2}}
	six6  = [2][16]byte{{0: 0x20, 1: 1, 2: 0xd, 3: 0xb8, 15: 1}, {0: 0x20, 1: 1, 2: 0xd, 3: 0xb8, 15: 2}}
)

func matrixIPs() []matrixIP {
	finish := func(t *testing.T, b []byte, h roce.BTH) ([]byte, int) {
		b = roce.UDPHeader{SrcPort: 49152, DstPort: roce.UDPPort}.Append(b)
		bth := len(b)
		b = h.Append(b)
		b = append(roce.RETH{VA: 1 << 40, RKey: 7, Length: 64}.Append(b), make([]byte, 64)...)
		b, err := roce.Finish(b, 0)
		if err != nil {
			t.Fatal(err)
		}
		return b, bth + roce.BTHLen
	}
	four := func(options ...byte) func(*testing.T, roce.BTH) ([]byte, int) {
		return func(t *testing.T, h roce.BTH) ([]byte, int) {
			return finish(t, roce.IPv4Header{TTL: 64, Protocol: 17, Src: four4[0], Dst: four4[1], Options: options}.Append(nil), h)
		}
	}
	six := func(next byte, extension ...byte) func(*testing.T, roce.BTH) ([]byte, int) {
		return func(t *testing.T, h roce.BTH) ([]byte, int) {
			return finish(t, append(roce.IPv6Header{HopLimit: 64, NextHeader: next, Src: six6[0], Dst: six6[1]}.Append(nil), extension...), h)
		}
	}
	return []matrixIP{
		{"IPv4", roce.EtherTypeIPv4, four()},
		{"IPv4, options", roce.EtherTypeIPv4, four(1, 1, 1, 1)},
		{"IPv6", roce.EtherTypeIPv6, six(17)},
		{"IPv6, options", roce.EtherTypeIPv6, six(60, 17, 0, 1, 4, 0, 0, 0, 0)},
	}
}

var matrixCuts = []matrixCut{
	{"whole", -1, -1, false},
	{"captured up to the BTH", -1, 0, false},
	{"captured up to a part of the RETH", -1, 10, false},
	{"cut by a mirror", 4, -1, false},
	{"length 0", -1, -1, true},
}
