// SPDX-License-Identifier: Apache-2.0

package roce

import "encoding/binary"

// Layers between Ethernet and IP that captures have; the packet path of a switch has VLAN
// tags alone.
const (
	etherTypeCisco  = 0x8909 // Cisco metadata: security group tags
	etherTypeArista = 0xd28b // timestamps that Arista's switches insert
	etherTypePBB    = 0x88e7 // IEEE 802.1ah

	pbbLen    = 4 // before the customer's frame
	pppoeLen  = 6
	llcLen    = 3
	snapLen   = 5 // after LLC
	leastType = 0x600

	sapSNAP = 0xaa
	sapIP   = 0x06

	pppIPv4   = 0x0021
	pppIPv6   = 0x0057
	pppMPLS   = 0x0281
	pppMPLSUp = 0x0283
)

// tagLens are the octets of tags with a fixed length, from behind their own EtherType up to
// the next one.
var tagLens = map[uint16]int{
	0x8926: 4, // VN-Tag
	0x893f: 6, // IEEE 802.1BR
	0x892f: 4, // HSR, IEC 62439-3
	0xf1c1: 4, // redundancy, IEEE 802.1CB
}

// below parses one layer below IP at off, that an EtherType announces: neither IP nor a VLAN
// tag. It returns the EtherType and the offset of what the layer carries.
func (l *layers) below(etherType uint16, off int) (next uint16, at int, err error) {
	switch {
	case etherType < leastType: // IEEE 802.3: a length
		if end := off + int(etherType); end < l.end {
			l.end = end
		}
		return l.llc(off)
	case etherType == EtherTypeLLC:
		return l.llc(off)
	case etherType == EtherTypePPPoE:
		return l.pppoe(off)
	case etherType == EtherTypePPP:
		return l.ppp(off)
	case etherType == etherTypePBB:
		return l.behind(HeaderPBB, off, pbbLen+ethernetLen-2)
	case etherType == etherTypeCisco: // version, count of options of 4 octets
		if off+2 > l.available() {
			return 0, 0, l.short(HeaderTag, off+2)
		}
		return l.behind(HeaderTag, off, 2+4*int(l.b[off+1]))
	case etherType == etherTypeArista: // subtype, version, time
		if off+4 > l.available() {
			return 0, 0, l.short(HeaderTag, off+4)
		}
		length := 8 // seconds, nanoseconds: 32 bits each
		if l.b[off+3]>>4 == 2 {
			length = 6 // 16 and 32 bits
		}
		return l.behind(HeaderTag, off, 4+length)
	}
	if length, known := tagLens[etherType]; known {
		return l.behind(HeaderTag, off, length)
	}
	return 0, 0, l.not(OtherEtherType, etherType)
}

// behind returns the EtherType behind length octets from off on, and the offset after it.
func (l *layers) behind(h Header, off, length int) (next uint16, at int, err error) {
	at = off + length + 2
	if at > l.available() {
		return 0, 0, l.short(h, at)
	}
	return binary.BigEndian.Uint16(l.b[at-2:]), at, nil
}

// llc parses IEEE 802.2 LLC, and SNAP after it (RFC 1042).
func (l *layers) llc(off int) (next uint16, at int, err error) {
	if off+llcLen > l.available() {
		return 0, 0, l.short(HeaderLLC, off+llcLen)
	}
	switch service := l.b[off]; service {
	case sapIP:
		return EtherTypeIPv4, off + llcLen, nil
	case sapSNAP:
		at = off + llcLen + snapLen
		if at > l.available() {
			return 0, 0, l.short(HeaderLLC, at)
		}
		organization := l.b[off+llcLen : at-2]
		if organization[0]|organization[1] != 0 || organization[2] != 0 && organization[2] != 0xf8 {
			return 0, 0, l.not(OtherLLC, sapSNAP)
		}
		return binary.BigEndian.Uint16(l.b[at-2:]), at, nil
	default:
		return 0, 0, l.not(OtherLLC, uint16(service))
	}
}

// pppoe parses the header of a PPPoE session (RFC 2516 section 4).
func (l *layers) pppoe(off int) (next uint16, at int, err error) {
	at = off + pppoeLen
	if at > l.available() {
		return 0, 0, l.short(HeaderPPP, at)
	}
	if l.b[off] != 0x11 || l.b[off+1] != 0 {
		return 0, 0, l.not(OtherEtherType, EtherTypePPPoE)
	}
	if end := at + int(binary.BigEndian.Uint16(l.b[off+4:])); end < l.end {
		l.end = end
	}
	return l.ppp(at)
}

// ppp parses the protocol number of PPP (RFC 1661 section 2), of one octet or two, with
// address and control before it or without (RFC 1662 section 3.1).
func (l *layers) ppp(off int) (next uint16, at int, err error) {
	if off+2 > l.available() {
		return 0, 0, l.short(HeaderPPP, off+2)
	}
	if l.b[off] == 0xff && l.b[off+1] == 0x03 {
		off += 2
	}
	if off+2 > l.available() {
		return 0, 0, l.short(HeaderPPP, off+2)
	}
	protocol, at := uint16(l.b[off]), off+1
	if protocol&1 == 0 {
		protocol, at = binary.BigEndian.Uint16(l.b[off:]), off+2
	}
	switch protocol {
	case pppIPv4:
		return EtherTypeIPv4, at, nil
	case pppIPv6:
		return EtherTypeIPv6, at, nil
	case pppMPLS:
		return etherTypeMPLS, at, nil
	case pppMPLSUp:
		return etherTypeMPLSUp, at, nil
	}
	return 0, 0, l.not(OtherPPP, protocol)
}
