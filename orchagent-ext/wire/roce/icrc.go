// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"encoding/binary"
	"hash/crc32"
)

// The CRC runs over blocks of so many octets, and over crcLeast at least, in a fraction of the time
// that single octets take.
const (
	crcBlock = 16
	crcLeast = 64
)

// maxLead is how many octets fill the shortest run up.
const maxLead = crcLeast - (4 + ipv4MinLen + udpLen + BTHLen)

// shortRest is how many octets behind the BTH are copied to the masked headers:
// up to there one run of the CRC over a copy is faster than a second run.
const shortRest = 64

// maskedLen is the room for the longest run of masked headers: the octets that take the place
// of the LRH, an IPv4 header with options, UDP, BTH and what is copied, in whole blocks.
const maskedLen = (4 + 60 + udpLen + BTHLen + shortRest + crcBlock - 1) &^ (crcBlock - 1)

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
// must have the capacity for maskedLen octets more. b[at:] may hold
// anything: the ICRC itself is outside of its own input.
//
// The first 4 octets of ones bring the register to 0, which octets of 0 leave there: as many
// of these as fill up a block take the place of those.
func (l *layers) crc(room []byte, at int) uint32 {
	rest := l.b[l.udp+udpLen+BTHLen : at]
	header := ipv6Len
	if !l.v6 {
		header = int(l.b[l.ip]&0xf) * 4
	}
	n := 4 + header + udpLen + BTHLen
	short := len(rest) <= shortRest
	if short {
		n += len(rest)
	}
	lead := max(crcLeast-n, -n&(crcBlock-1))
	masked := room[len(room) : len(room)+maskedLen]
	*(*[maxLead]byte)(masked) = [maxLead]byte{}
	l.mask(masked[lead:], header)
	if !short {
		crc := crc32.Update(1<<32-1, crc32.IEEETable, masked[:lead+n])
		return crc32.Update(crc, crc32.IEEETable, rest)
	}
	copy(masked[lead+n-len(rest):], rest)
	return crc32.Update(1<<32-1, crc32.IEEETable, masked[:lead+n])
}

// mask writes the octets of the ICRC's input up to the end of the BTH: the last 4 of the dummy
// local route header, then the headers with their mutable fields set to ones. header is the
// length of IP's.
func (l *layers) mask(m []byte, header int) {
	be := binary.BigEndian
	udp := l.b[l.udp : l.udp+udpLen+BTHLen]
	ports := be.Uint64(udp)
	if ports>>16&0xffff == 0 { // the sender had a length
		ports |= uint64(l.end-l.udp) & 0xffff << 16
	}
	be.PutUint32(m, 1<<32-1)
	m = m[4:]
	added := l.udp - l.ip - header
	if l.v6 {
		ip := l.b[l.ip : l.ip+ipv6Len]
		length := int(be.Uint16(ip[4:])) - added
		if be.Uint16(ip[4:]) == 0 {
			length = l.end - l.udp
		}
		be.PutUint64(m, 0x6fffffff<<32|uint64(length)<<16|protoUDP<<8|0xff)
		*(*[16]byte)(m[8:]) = [16]byte(ip[8:])
		*(*[16]byte)(m[24:]) = [16]byte(l.b[l.dst:])
	} else {
		ip := l.b[l.ip : l.ip+header]
		length := int(be.Uint16(ip[2:])) - added
		if be.Uint16(ip[2:]) == 0 {
			length = l.end - l.udp + header
		}
		// TOS; then TTL and checksum
		be.PutUint64(m, be.Uint64(ip)&^(0xffff<<32)|0xff<<48|uint64(length)&0xffff<<32)
		be.PutUint64(m[8:], be.Uint64(ip[8:])&(1<<32-1)|(0xff00|protoUDP)<<48|0xffff<<32)
		be.PutUint32(m[16:], be.Uint32(ip[16:]))
		copy(m[ipv4MinLen:], ip[ipv4MinLen:])
	}
	m = m[header:]
	be.PutUint64(m, ports|0xffff)                    // checksum
	be.PutUint64(m[8:], be.Uint64(udp[8:])|0xff<<24) // FECN, BECN, reserved
	be.PutUint32(m[16:], be.Uint32(udp[16:]))
}
