// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"encoding/binary"
	"slices"

	"sluice/orchagent-ext/wire/roce"
)

// The frames of the hand-made cases have no VLAN tag: IP begins here.
const ipAt = 14

// frame4 is an IPv4 frame with lengths that fit, whatever it carries.
func frame4(options []byte, protocol uint8, payload []byte) []byte {
	b := roce.Ethernet{EtherType: roce.EtherTypeIPv4}.Append(nil)
	h := roce.IPv4Header{Protocol: protocol, TTL: 64, Src: [4]byte{10, 0, 0, 1}, Dst: [4]byte{10, 0, 0, 2}, Options: options}
	h.TotalLength = uint16(20 + len(options) + len(payload))
	return append(h.Append(b), payload...)
}

// frame6 is likewise an IPv6 frame.
func frame6(next uint8, payload []byte) []byte {
	return append(roce.Ethernet{EtherType: roce.EtherTypeIPv6}.Append(nil), packet6(next, payload)...)
}

func packet6(next uint8, payload []byte) []byte {
	h := roce.IPv6Header{NextHeader: next, HopLimit: 64, Src: [16]byte{0: 0xfd, 15: 1}, Dst: [16]byte{0: 0xfd, 15: 2}}
	h.PayloadLength = uint16(len(payload))
	return append(h.Append(nil), payload...)
}

// datagram is a UDP datagram for RoCEv2 whose BTH has the opcode, and n octets
// behind the BTH.
func datagram(o roce.Opcode, n int) []byte {
	b := roce.UDPHeader{SrcPort: 0xc000, DstPort: roce.UDPPort, Length: uint16(8 + 12 + n)}.Append(nil)
	return append(roce.BTH{Opcode: o}.Append(b), make([]byte, n)...)
}

// with returns a copy of b whose octets from at on are replaced.
func with(b []byte, at int, octets ...byte) []byte {
	b = slices.Clone(b)
	copy(b[at:], octets)
	return b
}

// with16 replaces the 16-bit number at at.
func with16(b []byte, at int, v uint16) []byte {
	return with(b, at, binary.BigEndian.AppendUint16(nil, v)...)
}

// extend puts headers, each of 8 octets or more with the next header as its
// first, before a datagram.
func extend(payload []byte, headers ...[]byte) []byte {
	return append(slices.Concat(headers...), payload...)
}
