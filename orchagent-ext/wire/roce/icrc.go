// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"encoding/binary"
	"hash/crc32"
)

// maskedLen is the room for the longest run of masked headers: the 8 octets
// that take the place of the LRH, an IPv4 header with options, UDP and BTH.
const maskedLen = 8 + 60 + udpLen + BTHLen

// shortRest is how many octets behind the BTH are copied to the masked headers:
// up to there one run of the CRC over a copy is faster than a second run.
const shortRest = 64

// ICRC returns the invariant CRC that the packet carries and the one computed
// over it (annex A17.3.3). ok is false for a packet that was cut or is a
// fragment: its CRC cannot be computed.
//
// The CRC is the CRC-32 of IEEE 802.3 over 8 octets of ones, the IP header, the
// UDP header, the BTH and all octets after it, with the fields that change on the
// way set to ones. The packet has its least significant octet first.
//
// Decision: where IPv6 extension headers or an authentication header precede UDP,
// the CRC is over the IP header as the sender's RDMA stack wrote it (protocol
// UDP, length less those headers, final destination): RDMA stacks send plain
// headers, so they were added later. A length of 0 in IP or UDP, which an adapter fills in
// later, counts as the datagram's.
func (p *Packet) ICRC() (got, want uint32, ok bool) {
	if !p.complete() {
		return 0, 0, false
	}
	at := p.end - ICRCLen
	return binary.LittleEndian.Uint32(p.b[at:]), p.crc(p.masked[:0], at), true
}

// Valid reports whether a receiver would take the packet by its header: the transport header version is 0
// (IBTA volume 1 section 9.2.4), and the ICRC is right, where the whole packet was seen.
func (p *Packet) Valid() bool {
	const version = 0xf // in BTH octet 1
	if p.BTHBytes()[1]&version != 0 {
		return false
	}
	got, want, whole := p.ICRC()
	return !whole || got == want
}

// crc computes the ICRC that belongs at offset at. It writes behind room, which
// must have the capacity for maskedLen and shortRest octets more. b[at:] may hold
// anything: the ICRC itself is outside of its own input.
func (l *layers) crc(room []byte, at int) uint32 {
	masked, rest := l.appendMasked(room), l.b[l.udp+udpLen+BTHLen:at]
	if len(rest) <= shortRest {
		masked = append(masked, rest...)
		return crc32.Update(0, crc32.IEEETable, masked[len(room):])
	}
	crc := crc32.Update(0, crc32.IEEETable, masked[len(room):])
	return crc32.Update(crc, crc32.IEEETable, rest)
}

// appendMasked appends the octets of the ICRC's input up to the end of the BTH:
// the dummy local route header, then the headers with their mutable fields set to
// ones.
func (l *layers) appendMasked(m []byte) []byte {
	be := binary.BigEndian
	m = be.AppendUint64(m, 1<<64-1)
	ip := len(m)
	udp := l.b[l.udp : l.udp+udpLen+BTHLen]
	ports := be.Uint64(udp)
	if ports>>16&0xffff == 0 { // the sender had a length
		ports |= uint64(l.end-l.udp) & 0xffff << 16
	}
	if l.v6 {
		length := int(be.Uint16(l.b[l.ip+4:])) - (l.udp - l.ip - ipv6Len)
		if be.Uint16(l.b[l.ip+4:]) == 0 {
			length = l.end - l.udp
		}
		m = be.AppendUint64(m, 0x6fffffff<<32|uint64(length)<<16|protoUDP<<8|0xff)
		m = append(m, l.b[l.ip+8:l.ip+24]...)
		m = append(m, l.b[l.dst:l.dst+16]...)
	} else {
		header := int(l.b[l.ip]&0xf) * 4
		m = append(m, l.b[l.ip:l.ip+header]...)
		if be.Uint16(m[ip+2:]) == 0 {
			be.PutUint16(m[ip+2:], uint16(l.end-l.ip))
		}
		if added := l.udp - l.ip - header; added != 0 {
			be.PutUint16(m[ip+2:], be.Uint16(m[ip+2:])-uint16(added))
			m[ip+9] = protoUDP
		}
		// TOS, TTL, checksum
		m[ip+1], m[ip+8], m[ip+10], m[ip+11] = 0xff, 0xff, 0xff, 0xff
	}
	m = be.AppendUint64(m, ports|0xffff)                // checksum
	m = be.AppendUint64(m, be.Uint64(udp[8:])|0xff<<24) // FECN, BECN, reserved
	m = append(m, udp[16:]...)
	return m
}
