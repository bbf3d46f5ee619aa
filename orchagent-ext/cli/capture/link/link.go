// SPDX-License-Identifier: Apache-2.0

package link

import (
	"encoding/binary"

	"sluice/orchagent-ext/wire/roce"
)

// Type is a link type of capture files, by its number in pcap and pcapng.
type Type uint32

// The link types that are read.
const (
	Null       Type = 0 // BSD loopback, in the byte order of the machine
	Ethernet   Type = 1
	PPP        Type = 9
	RawBSD     Type = 12
	RawOpenBSD Type = 14
	PPPHDLC    Type = 50
	PPPEther   Type = 51
	Raw        Type = 101
	CiscoHDLC  Type = 104
	WiFi       Type = 105
	Loop       Type = 108 // OpenBSD loopback, in network byte order
	SLL        Type = 113
	Prism      Type = 119
	Radiotap   Type = 127
	AVS        Type = 163
	PPPPPPD    Type = 166
	PPI        Type = 192
	ERF        Type = 197
	PPPWithDir Type = 204
	MPLS       Type = 219
	IPNET      Type = 226
	IPv4       Type = 228
	IPv6       Type = 229
	NFLOG      Type = 239
	InfiniBand Type = 247 // which is named alone
	SLL2       Type = 276
)

// Lengths of headers, octets.
const (
	// SLLLen and SLL2Len are those of Linux cooked headers.
	SLLLen  = 16
	SLL2Len = 20

	loopLen  = 4
	ipnetLen = 24
	ppiLen   = 8 // without its fields
	erfLen   = 16
	hdlcLen  = 4

	etherTypeMPLS = 0x8847
)

// None is the EtherType of a frame whose packet is not read: of another link type, or of one
// with other than IP behind it.
const None uint16 = 0xffff

// Start returns the offset of the packet in a frame of a link type, and the EtherType that
// announces it, such as those of package roce; or [None]. An offset beyond the frame means
// that the frame lacks a part of its header.
func Start(t Type, b []byte) (at int, etherType uint16) {
	return start(t, b, true)
}

// start is Start. outer is false for a frame inside of PPI.
func start(t Type, b []byte, outer bool) (at int, etherType uint16) {
	be := binary.BigEndian
	switch t {
	case Ethernet:
		return 0, roce.EtherTypeEthernet
	case Raw, RawBSD, RawOpenBSD, IPv4, IPv6:
		return anyIP(b, 0)
	case SLL:
		if len(b) < SLLLen {
			return SLLLen, 0
		}
		return SLLLen, cooked(be.Uint16(b[14:]))
	case SLL2:
		if len(b) < SLL2Len {
			return SLL2Len, 0
		}
		return SLL2Len, cooked(be.Uint16(b))
	case Null, Loop:
		return loopback(t, b)
	case PPP:
		return 0, roce.EtherTypePPP
	case PPPEther:
		return 0, roce.EtherTypePPPoE
	case PPPHDLC, CiscoHDLC:
		return hdlc(t, b, 0)
	case PPPWithDir, PPPPPPD: // the direction first
		return hdlc(PPPHDLC, b, 1)
	case ERF:
		return erf(b)
	case NFLOG:
		return nflog(b)
	case IPNET:
		return anyIP(b, ipnetLen)
	case MPLS:
		return 0, etherTypeMPLS
	case WiFi:
		return wifi(b, 0)
	case Radiotap:
		if len(b) < 4 {
			return 4, 0
		}
		return wifi(b, int(binary.LittleEndian.Uint16(b[2:])))
	case Prism, AVS:
		if len(b) < 8 {
			return 8, 0
		}
		return prism(b)
	case PPI:
		if outer {
			return ppi(b)
		}
	}
	return 0, None
}

// anyIP is for a packet that begins with its IP header at an offset.
func anyIP(b []byte, at int) (int, uint16) {
	if at >= len(b) {
		return at + 1, 0
	}
	if b[at]>>4 == 4 {
		return at, roce.EtherTypeIPv4
	}
	return at, roce.EtherTypeIPv6
}

// cooked returns the EtherType of a Linux cooked header: values below those of EtherTypes are
// the kernel's own, 4 of them LLC (if_ether.h: ETH_P_802_2).
func cooked(protocol uint16) uint16 {
	const (
		llc   = 0x0004
		least = 0x0600
	)
	switch {
	case protocol == llc:
		return roce.EtherTypeLLC
	case protocol < least:
		return None
	}
	return protocol
}

// loopback reads the address family that BSD's loopback devices write. Numbers of IPv6 differ
// by system; those of Null are in the byte order of the machine that captured.
func loopback(t Type, b []byte) (int, uint16) {
	if len(b) < loopLen {
		return loopLen, 0
	}
	family := binary.BigEndian.Uint32(b)
	if t == Null && family > 0xffff {
		family = binary.LittleEndian.Uint32(b)
	}
	switch family {
	case 2:
		return loopLen, roce.EtherTypeIPv4
	case 10, 23, 24, 28, 30: // Linux; Windows; NetBSD, OpenBSD; FreeBSD; Darwin
		return loopLen, roce.EtherTypeIPv6
	}
	return loopLen, None
}

// hdlc reads the header of Cisco HDLC, with an EtherType, or of PPP in HDLC framing (RFC
// 1662), which the first octet of PPPHDLC distinguishes.
func hdlc(t Type, b []byte, at int) (int, uint16) {
	const unicast, multicast = 0x0f, 0x8f
	if len(b) < at+hdlcLen {
		return at + hdlcLen, 0
	}
	if t == CiscoHDLC || b[at] == unicast || b[at] == multicast {
		return at + hdlcLen, binary.BigEndian.Uint16(b[at+2:])
	}
	return at, roce.EtherTypePPP
}

// ppi reads the header of per-packet information, which names another link type.
func ppi(b []byte) (int, uint16) {
	if len(b) < ppiLen {
		return ppiLen, 0
	}
	le := binary.LittleEndian
	length := int(le.Uint16(b[2:]))
	if length < ppiLen || length > len(b) {
		return max(length, len(b)+1), 0
	}
	at, etherType := start(Type(le.Uint32(b[4:])), b[length:], false)
	return length + at, etherType
}

// erf reads the header of Endace's extensible record format, with its extension headers.
func erf(b []byte) (int, uint16) {
	const more = 0x80 // another extension header of 8 octets follows
	if len(b) < erfLen {
		return erfLen, 0
	}
	at := erfLen
	for kind := b[8]; kind&more != 0; at += 8 {
		if at+8 > len(b) {
			return at + 8, 0
		}
		kind = b[at]
	}
	switch b[8] &^ more {
	case 2, 11, 16, 20: // Ethernet, and colored by three methods
		return at + 2, roce.EtherTypeEthernet
	case 1, 10, 15, 19: // HDLC, likewise
		return hdlc(PPPHDLC, b, at)
	case 22:
		return at, roce.EtherTypeIPv4
	case 23:
		return at, roce.EtherTypeIPv6
	}
	return 0, None
}

// nflog reads the header of Linux's packet log: attributes in the byte order of the machine
// that captured, one of which is the packet.
func nflog(b []byte) (int, uint16) {
	const (
		headerLen, attributeLen = 4, 4
		payload                 = 9
	)
	if len(b) < headerLen {
		return headerLen, 0
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for at := headerLen; at+attributeLen <= len(b); {
			length, kind := int(order.Uint16(b[at:])), order.Uint16(b[at+2:])&0x7fff
			if length < attributeLen {
				break
			}
			if kind == payload {
				return anyIP(b, at+attributeLen)
			}
			at += (length + 3) &^ 3
		}
	}
	return 0, None
}
