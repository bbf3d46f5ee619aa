// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/binary"
	"net/netip"

	"sluice/orchagent-ext/wire/roce"
)

// Protocol numbers and lengths in octets.
const (
	protoHopByHop    = 0
	protoICMPv4      = 1
	protoUDP         = 17
	protoRouting     = 43
	protoAH          = 51 // RFC 4302: verified by IPsec alone; see require_mark
	protoICMPv6      = 58
	protoNone        = 59
	protoDestOptions = 60

	ipv4Len = 20
	ipv6Len = 40
	udpLen  = 8

	dontFragment = 0x4000
)

// inFamily reports whether a is an IPv6 address, or else an IPv4 one. It is false for an
// IPv4 address mapped into IPv6.
func inFamily(a netip.Addr, v6 bool) bool {
	if v6 {
		return a.Is6() && !a.Is4In6()
	}
	return a.Is4()
}

// addr reads the address that b begins with.
func addr(b []byte, v6 bool) netip.Addr {
	if v6 {
		return netip.AddrFrom16([16]byte(b))
	}
	return netip.AddrFrom4([4]byte(b))
}

// appendAddr appends the 4 or 16 octets of an address, its zone left out.
func appendAddr(b []byte, a netip.Addr) []byte {
	b, _ = a.AppendBinary(b) // always nil
	return b
}

// The two headers are written here instead of by package roce's: with an address that was
// copied to a struct first, the processor reads back octets that are still on their way
// to the cache (a store-forwarding stall).

// appendIPv6 appends an IPv6 header (RFC 8200 section 3) with payload length 0, which is
// filled in later.
func (e *Envelope) appendIPv6(b []byte, proto uint8) []byte {
	b = binary.BigEndian.AppendUint64(b, 6<<60|uint64(e.TrafficClass)<<52|uint64(e.FlowLabel&0xfffff)<<32|
		uint64(proto)<<8|uint64(e.HopLimit))
	return appendAddr(appendAddr(b, e.Src), e.Dst)
}

// appendIPv4 sets Don't Fragment: all messages are too short for fragments, and RFC 6864
// lets the identification be 0 then.
func (e *Envelope) appendIPv4(b []byte, proto uint8) []byte {
	b = binary.BigEndian.AppendUint64(b, 0x45<<56|uint64(e.TrafficClass)<<48|dontFragment)
	b = binary.BigEndian.AppendUint32(b, uint32(e.HopLimit)<<24|uint32(proto)<<16)
	return appendAddr(appendAddr(b, e.Src), e.Dst)
}

// appendUDP appends the headers of IP and UDP; lengths and checksum are filled in later.
func (e *Envelope) appendUDP(b []byte, v6 bool, port uint16) []byte {
	if v6 {
		b = e.appendIPv6(b, protoUDP)
	} else {
		b = e.appendIPv4(b, protoUDP)
	}
	return roce.UDPHeader{SrcPort: e.SrcPort, DstPort: port}.Append(b)
}

// setLength completes the IP header of the packet b.
func setLength(b []byte) {
	be := binary.BigEndian
	if b[0]>>4 == 6 {
		be.PutUint16(b[4:], uint16(len(b)-ipv6Len))
		return
	}
	be.PutUint16(b[2:], uint16(len(b)))
	be.PutUint16(b[10:], roce.Checksum(0, b[:ipv4Len]))
}

// setICMPChecksum sets the checksum of the ICMP message right behind the IP
// header of the packet b. ICMPv6 includes the pseudo-header, ICMPv4 does not.
//
//conformance:draft-yang/icmp-checksum
func setICMPChecksum(b []byte) {
	at, sum := ipv4Len, uint16(0)
	if b[0]>>4 == 6 {
		at = ipv6Len
		sum = transportChecksum(b, at, protoICMPv6)
	} else {
		sum = roce.Checksum(0, b[at:])
	}
	binary.BigEndian.PutUint16(b[at+2:], sum)
}

// setUDP completes the UDP header right behind the IP header of the packet b.
func setUDP(b []byte) {
	at := ipv4Len
	if b[0]>>4 == 6 {
		at = ipv6Len
	}
	binary.BigEndian.PutUint16(b[at+4:], uint16(len(b)-at))
	sum := transportChecksum(b, at, protoUDP)
	if sum == 0 {
		sum = 0xffff // 0 would mean an absent checksum (RFC 768)
	}
	binary.BigEndian.PutUint16(b[at+6:], sum)
}

// transportChecksum is the checksum with pseudo-header over the packet b from
// at on. It is 0 where a right one is included.
func transportChecksum(b []byte, at int, proto uint32) uint16 {
	from, to := 12, ipv4Len // the addresses
	if b[0]>>4 == 6 {
		from, to = 8, ipv6Len
	}
	sum := uint32(len(b)-at) + proto
	if at > to { // extension headers or options are between
		sum, from = uint32(^roce.Checksum(sum, b[from:to])), at
	}
	return roce.Checksum(sum, b[from:])
}

// udpChecksum reports whether the UDP checksum is right, or absent where it may
// be.
func udpChecksum(b []byte, at int, optional bool) bool {
	if binary.BigEndian.Uint16(b[at+6:]) == 0 {
		return optional
	}
	return transportChecksum(b, at, protoUDP) == 0
}
