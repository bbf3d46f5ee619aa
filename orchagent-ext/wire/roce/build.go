// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"encoding/binary"
	"slices"
)

// MAC is an Ethernet address, its octets in the order of the wire. The lowest bit of the
// first marks a group address (IEEE 802).
type MAC [6]byte

// Ethernet is the Ethernet header with its VLAN tags, the outermost first; a tag
// whose TPID is 0 is absent.
type Ethernet struct {
	Dst, Src  MAC
	Tags      [pathTags]VLANTag
	EtherType uint16
}

// VLANTag is an 802.1Q or 802.1ad tag.
type VLANTag struct {
	TPID uint16 // 0x8100, 0x88a8 or 0x9100
	TCI  uint16 // priority 3 bits, DEI 1, VLAN 12
}

// Append appends the header to b. It is 14 octets, 18 with one tag and 22 with two, in
// network byte order, without preamble and frame check sequence. EtherType is that of the
// payload, after the tags.
func (h Ethernet) Append(b []byte) []byte {
	b = append(append(b, h.Dst[:]...), h.Src[:]...)
	for _, t := range h.Tags {
		if t.TPID != 0 {
			b = binary.BigEndian.AppendUint16(b, t.TPID)
			b = binary.BigEndian.AppendUint16(b, t.TCI)
		}
	}
	return binary.BigEndian.AppendUint16(b, h.EtherType)
}

// IPv4Header is an IPv4 header (RFC 791). All numbers are in host byte order; the version
// is always 4, and IHL follows from Options.
type IPv4Header struct {
	TOS         uint8
	TotalLength uint16 // of the packet, octets; [Finish] sets it
	ID          uint16
	Fragment    uint16 // flags 3 bits, fragment offset 13 bits
	TTL         uint8
	Protocol    uint8
	Checksum    uint16 // [Finish] sets it
	Src, Dst    [4]byte
	Options     []byte // a multiple of 4 octets, at most 40
}

// Append appends the header to b. It is 20 octets and the options. TotalLength and
// Checksum are written as they are; call [Finish], or set both, before the packet is
// sent.
func (h IPv4Header) Append(b []byte) []byte {
	be := binary.BigEndian
	head := 0x40 | uint64(ipv4MinLen+len(h.Options))/4
	b = be.AppendUint64(b, head<<56|uint64(h.TOS)<<48|uint64(h.TotalLength)<<32|uint64(h.ID)<<16|uint64(h.Fragment))
	b = be.AppendUint32(b, uint32(h.TTL)<<24|uint32(h.Protocol)<<16|uint32(h.Checksum))
	b = append(append(b, h.Src[:]...), h.Dst[:]...)
	return append(b, h.Options...)
}

// IPv6Header is an IPv6 header (RFC 8200). The version is always 6; extension headers are
// appended by the caller, with NextHeader as the number of the first.
type IPv6Header struct {
	TrafficClass  uint8
	FlowLabel     uint32 // 20 bits
	PayloadLength uint16 // octets behind this header; [Finish] sets it
	NextHeader    uint8
	HopLimit      uint8
	Src, Dst      [16]byte
}

// Append appends the 40 octets of the header to b. Bits of FlowLabel above the lower 20
// are dropped.
func (h IPv6Header) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, 6<<60|uint64(h.TrafficClass)<<52|uint64(h.FlowLabel&0xfffff)<<32|
		uint64(h.PayloadLength)<<16|uint64(h.NextHeader)<<8|uint64(h.HopLimit))
	return append(append(b, h.Src[:]...), h.Dst[:]...)
}

// UDPHeader is a UDP header (RFC 768). For RoCEv2 DstPort is [UDPPort], and SrcPort
// spreads flows over paths (annex A17).
type UDPHeader struct {
	SrcPort, DstPort uint16
	Length           uint16 // header and payload, octets; [Finish] sets it
	Checksum         uint16 // [Finish] sets it
}

// Append appends the 8 octets of the header to b. Length and Checksum are written as they
// are; checksum 0 means that there is none (RFC 768).
func (h UDPHeader) Append(b []byte) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(h.SrcPort)<<48|uint64(h.DstPort)<<32|uint64(h.Length)<<16|uint64(h.Checksum))
}

// Finish completes the RoCEv2 packet whose IP header begins at b[ip] and whose
// last octet so far is that of the payload's padding: it sets the lengths of IP
// and UDP, appends the ICRC, and sets the checksums of IPv4 and UDP. Extension
// headers may be between IP and UDP, but only one IP header.
//
// Where b[ip:] is another kind of packet it returns an error and b at its old
// length; the length in its IP header may have been set.
func Finish(b []byte, ip int) ([]byte, error) {
	var l layers
	l.b = append(b, make([]byte, ICRCLen)...)
	if err := l.finish(ip); err != nil {
		return b, err
	}
	return l.b, nil
}

// finish sets lengths, the ICRC (the last four octets of b) and checksums, in
// this order: the ICRC covers the lengths and masks the checksums, and the UDP
// checksum covers the ICRC.
func (l *layers) finish(ip int) error {
	be := binary.BigEndian
	l.end = len(l.b)
	if ip < 0 || ip > len(l.b)-ipv4MinLen {
		return fail(HeaderIPv4, Truncated)
	}
	h := l.b[ip:]
	parse := l.ipv6
	switch v4 := h[0]>>4 == 4; {
	case v4 && len(h) > 0xffff:
		return fail(HeaderIPv4, BadLength)
	case v4:
		parse = l.ipv4
		be.PutUint16(h[2:], uint16(len(h)))
	case len(h) > ipv6Len+0xffff:
		return fail(HeaderIPv6, BadLength)
	case len(h) >= ipv6Len:
		be.PutUint16(h[4:], uint16(len(h)-ipv6Len))
	}
	if err := parse(ip, 1); err != nil {
		return err
	}
	if l.ip != ip || l.fragment || l.udp+udpLen+BTHLen+ICRCLen > l.end {
		return fail(HeaderBTH, BadLength)
	}
	be.PutUint16(l.b[l.udp+4:], uint16(l.end-l.udp))

	// The masked headers follow the packet for a moment: an array here
	// would be an allocation, the caller's buffer grows once.
	l.b = slices.Grow(l.b, maskedLen)
	at := l.end - ICRCLen
	binary.LittleEndian.PutUint32(l.b[at:], l.crc(l.b, at))
	l.setChecksums()
	return nil
}

// setChecksums sets the checksums of IPv4's header (RFC 791) and of UDP (RFC 768,
// RFC 8200 section 8.1). The pseudo-header has the final destination, which a
// segment routing header may hold. Both fields are cleared first, since a checksum covers
// its own field as 0.
func (l *layers) setChecksums() {
	be := binary.BigEndian
	src, dst := l.b[l.ip+8:l.ip+24], l.b[l.dst:]
	if !l.v6 {
		h := l.b[l.ip : l.ip+int(l.b[l.ip]&0xf)*4]
		clearSum(h[10:])
		be.PutUint16(h[10:], Checksum(0, h))
		src = h[12:16]
	}
	datagram := l.b[l.udp:l.end]
	clearSum(datagram[6:])
	sum := Checksum(PseudoHeader(src, dst[:len(src)], len(datagram), protoUDP), datagram)
	if sum == 0 {
		sum = 0xffff // 0 would mean an absent checksum (RFC 768)
	}
	be.PutUint16(datagram[6:], sum)
}

// clearSum sets the checksum that b begins with to 0. One that is 0 is left: to read octets of which
// some were just written takes a while.
func clearSum(b []byte) {
	if b[0]|b[1] != 0 {
		b[0], b[1] = 0, 0
	}
}
