// SPDX-License-Identifier: Apache-2.0

package roce

import "encoding/binary"

// EtherTypes and IP protocol numbers. Those that begin with a capital can begin a packet of
// [Packet.ParseFrom].
const (
	EtherTypeIPv4 = 0x0800
	EtherTypeIPv6 = 0x86dd
	// EtherTypeEthernet: an Ethernet frame follows (RFC 1701)
	EtherTypeEthernet = 0x6558
	// EtherTypePPP: a protocol number of PPP follows, with or without address and control octets
	// (RFC 1661, RFC 1662)
	EtherTypePPP = 0x880b
	// EtherTypePPPoE: a session of PPPoE (RFC 2516)
	EtherTypePPPoE = 0x8864
	// EtherTypeLLC: IEEE 802.2 without a length, as in jumbo frames
	EtherTypeLLC = 0x8870

	etherTypeVLAN = 0x8100 // IEEE 802.1Q
	etherTypeQinQ = 0x88a8 // IEEE 802.1ad
	etherTypeOldQ = 0x9100 // QinQ as switches wrote it before 802.1ad

	protoHopByHop    = 0
	protoIPv4        = 4
	protoUDP         = 17
	protoIPv6        = 41
	protoRouting     = 43
	protoFragment    = 44
	protoAH          = 51 // RFC 4302
	protoNone        = 59
	protoDestOptions = 60

	routingSRH = 4 // RFC 8754
)

// Bounds above those of any honest packet; a hostile one must cost the parser
// little, even a jumbo frame of empty headers.
const (
	maxTags       = 16 // VLAN tags of a capture, and layers below IP
	pathTags      = 2  // VLAN tags of a packet to be treated, as the switch reads them, or built
	maxExtensions = 8
	maxIPHeaders  = 3 // two encapsulations
)

// layers holds where each layer of one packet begins, as offsets into b. Of several IP
// headers the outermost is at outer, and ip ends as the innermost.
type layers struct {
	found
	// vlans: identifiers of the tags before outer, as many as tags counts; outside of found, so
	// that they need no clearing
	vlans [maxTags]uint16
}

// found is all of layers that begins as 0 with each packet.
type found struct {
	b []byte

	// link: Ethernet header of the frame that names the path; noLink: there is none
	link     int
	outer    int // first IP header of it; link: none was found
	outerLen int // octets on the wire from there on
	ip       int // IP header that carries UDP
	dst      int // its final destination address: 16 octets, or 4 for IPv4
	udp      int
	// end: of the innermost layer parsed so far: first the frame on the wire, last the UDP
	// datagram
	end int

	bth    int // offset of the BTH
	layout *layout
	pad    int // octets that fill the payload up

	v6       bool // the IP header at ip is IPv6
	fragment bool // first fragment of several
	copied   bool // the frame that names the path is a copy
	look     Look
	tunnels  uint8
	tags     uint8 // before outer
	other    Other // why it is other than RoCEv2
}

// noLink is the place of a link-layer header that is other than Ethernet, or missing.
const noLink = -1

// ethernet finds the IP header behind the Ethernet header at off: the depth-th one of the
// packet.
func (l *layers) ethernet(off, depth int) error {
	if off+ethernetLen > l.available() {
		return l.short(HeaderEthernet, off+ethernetLen)
	}
	etherType := binary.BigEndian.Uint16(l.b[off+ethernetLen-2:])
	off += ethernetLen
	switch etherType {
	case EtherTypeIPv6:
		return l.ipv6(off, depth)
	case EtherTypeIPv4:
		return l.ipv4(off, depth)
	}
	return l.from(etherType, off, depth)
}

// from finds the IP header of what an EtherType announces at off, behind VLAN tags, and in
// captures behind other layers below IP.
func (l *layers) from(etherType uint16, off, depth int) error {
	for n := range maxTags + 1 {
		switch etherType {
		case EtherTypeIPv6:
			return l.ipv6(off, depth)
		case EtherTypeIPv4:
			return l.ipv4(off, depth)
		case etherTypeVLAN, etherTypeQinQ, etherTypeOldQ:
			if l.look == 0 && n == pathTags {
				return l.not(OtherEtherType, etherType)
			}
			if off+vlanLen > l.available() {
				return l.short(HeaderVLAN, off+vlanLen)
			}
			if depth == 1 && l.tags < maxTags {
				l.vlans[l.tags] = binary.BigEndian.Uint16(l.b[off:]) & 0xfff
				l.tags++
			}
			etherType, off = binary.BigEndian.Uint16(l.b[off+2:]), off+vlanLen
		default:
			if l.look == 0 {
				return l.not(OtherEtherType, etherType)
			}
			if (etherType == etherTypeMPLS || etherType == etherTypeMPLSUp) && l.look >= LookThrough {
				return l.mpls(off, depth)
			}
			var err error
			if etherType, off, err = l.below(etherType, off); err != nil {
				return err
			}
		}
	}
	return l.not(OtherEtherType, etherType)
}

// short is the error of a header that ends behind the octets that are there: cut by the
// capture, or truncated on the wire.
func (l *layers) short(h Header, end int) error {
	if end <= l.end {
		return fail(h, Cut)
	}
	return fail(h, Truncated)
}

// ipv4 parses the IPv4 header at off, the depth-th IP header of the packet.
func (l *layers) ipv4(off, depth int) error {
	if off+ipv4MinLen > l.available() {
		return l.short(HeaderIPv4, off+ipv4MinLen)
	}
	h := l.b[off:]
	if h[0]>>4 != 4 {
		return fail(HeaderIPv4, BadVersion)
	}
	headerLen, total := int(h[0]&0xf)*4, int(binary.BigEndian.Uint16(h[2:]))
	if total == 0 && l.look != 0 { // captured before the adapter filled it in, as in segmentation offload
		total = l.end - off
	}
	if headerLen < ipv4MinLen || total < headerLen {
		return fail(HeaderIPv4, BadLength)
	}
	if end := off + total; end <= l.end {
		l.end = end
	} else if !l.longer(end) {
		return fail(HeaderIPv4, BadLength)
	}
	if off+headerLen > l.available() {
		return fail(HeaderIPv4, Cut)
	}
	if depth == 1 {
		l.outer, l.outerLen = off, total
	}
	// more fragments, offset
	fragment := binary.BigEndian.Uint16(h[6:]) & 0x3fff
	next := h[9]
	if fragment&0x1fff != 0 {
		return l.not(OtherFragment, 0)
	}
	l.ip, l.v6, l.dst = off, false, off+16
	l.fragment = l.fragment || fragment != 0
	off += headerLen
	if next == protoAH {
		length, err := l.header(HeaderAH, off)
		if err != nil {
			return err
		}
		next = l.b[off]
		off += length
	}
	if next != protoUDP {
		return l.protocol(next, off, depth)
	}
	return l.datagram(off, depth)
}

// ipv6 parses the IPv6 header at off, the depth-th IP header of the packet,
// and the extension headers behind it.
func (l *layers) ipv6(off, depth int) error {
	if off+ipv6Len > l.available() {
		return l.short(HeaderIPv6, off+ipv6Len)
	}
	h := l.b[off : off+ipv6Len]
	if h[0]>>4 != 6 {
		return fail(HeaderIPv6, BadVersion)
	}
	total := ipv6Len + int(binary.BigEndian.Uint16(h[4:]))
	if total == ipv6Len && h[6] != protoNone && l.look != 0 { // likewise, or a jumbogram (RFC 2675)
		total = l.end - off
	}
	if end := off + total; end <= l.end {
		l.end = end
	} else if !l.longer(end) {
		return fail(HeaderIPv6, BadLength)
	}
	if depth == 1 {
		l.outer, l.outerLen = off, total
	}
	l.ip, l.v6, l.dst = off, true, off+24
	if h[6] == protoUDP {
		return l.datagram(off+ipv6Len, depth)
	}
	return l.extension(h[6], off+ipv6Len, depth)
}

// shorten notes where the next layer ends by its own length. It reports false
// where that lies behind the end of the layer around it; in a first fragment it
// may, since the rest is in the others. So octets of padding behind the IP packet, which
// Ethernet adds up to 60, are left out.
func (l *layers) shorten(end int) bool {
	if end > l.end {
		return l.fragment
	}
	l.end = end
	return true
}

// longer takes an IP packet that ends behind the frame around it: a first fragment, since the
// rest is in the others, and in a capture one of a frame that was cut before it came there,
// as a mirror does. It reports false for any other.
func (l *layers) longer(end int) bool {
	if l.look != 0 && !l.fragment {
		l.b = l.b[:l.available()]
		l.end = end
		return true
	}
	return l.fragment
}

// extension walks the IPv6 extension headers from off on (RFC 8200 section 4).
func (l *layers) extension(next byte, off, depth int) error {
	for n := 0; ; n++ {
		var header Header
		switch next {
		case protoUDP:
			return l.datagram(off, depth)
		case protoHopByHop:
			header = HeaderHopByHop
		case protoDestOptions:
			header = HeaderDestOptions
		case protoRouting:
			header = HeaderRouting
		case protoFragment:
			header = HeaderFragment
		case protoAH:
			header = HeaderAH
		case protoIPv6, protoIPv4:
			if l.look >= LookThrough {
				return l.protocol(next, off, depth)
			}
			if depth == maxIPHeaders {
				return fail(HeaderIPv6, TooMany)
			}
			if next == protoIPv4 {
				return l.ipv4(off, depth+1)
			}
			return l.ipv6(off, depth+1)
		default:
			return l.protocol(next, off, depth)
		}
		if n == maxExtensions {
			return fail(header, TooMany)
		}
		length, err := l.header(header, off)
		if err != nil {
			return err
		}
		h := l.b[off:]
		if header == HeaderFragment {
			where := binary.BigEndian.Uint16(h[2:])
			if where&0xfff8 != 0 {
				return l.not(OtherFragment, 0)
			}
			l.fragment = l.fragment || where&1 != 0
		}
		if header == HeaderRouting {
			if err := l.routing(off, length); err != nil {
				return err
			}
		}
		next = h[0]
		off += length
	}
}

// header returns the length of the extension header at off, all of which can be
// read, or its first 8 octets where it is a later fragment's.
func (l *layers) header(header Header, off int) (length int, err error) {
	if off+8 > l.available() {
		return 0, l.short(header, off+8)
	}
	switch header {
	case HeaderFragment:
		length = 8
	case HeaderAH:
		length = 4 * (int(l.b[off+1]) + 2) // RFC 4302 section 2.2
	default:
		length = 8 * (int(l.b[off+1]) + 1)
	}
	if off+length > l.end {
		return 0, fail(header, BadLength)
	}
	if off+length > len(l.b) {
		return 0, fail(header, Cut)
	}
	return length, nil
}

// routing notes the last segment of a segment routing header as the final
// destination (RFC 8754 section 2: segment list entry 0). Other routing types
// leave the destination as it is.
func (l *layers) routing(off, length int) error {
	h := l.b[off : off+length]
	segmentsLeft, lastEntry := int(h[3]), int(h[4])
	if h[2] != routingSRH || segmentsLeft == 0 {
		return nil
	}
	if 8+16*(lastEntry+1) > length || segmentsLeft > lastEntry+1 {
		return fail(HeaderRouting, BadLength)
	}
	l.dst = off + 8
	return nil
}

// datagram notes the UDP header at off, if it is one for RoCEv2.
//
//conformance:draft-lin/port
func (l *layers) datagram(off, depth int) error {
	if off+udpLen > l.available() {
		return l.short(HeaderUDP, off+udpLen)
	}
	if port := binary.BigEndian.Uint16(l.b[off+2:]); port != UDPPort {
		return l.otherPort(port, off, depth)
	}
	l.udp = off
	return nil
}

// trim ends the packet at the length in the UDP header; in captures 0 is the length of the IP
// packet's rest (RFC 2675 section 4, and adapters that fill it in).
func (l *layers) trim() error {
	length := int(binary.BigEndian.Uint16(l.b[l.udp+4:]))
	if length >= udpLen && l.shorten(l.udp+length) || length == 0 && l.look != 0 {
		return nil
	}
	return fail(HeaderUDP, BadLength)
}

// available returns the end of the octets that can be read: of the packet, or of
// the buffer where that was cut.
func (l *layers) available() int { return min(l.end, len(l.b)) }

// complete reports whether every octet of the datagram is in the buffer.
func (l *layers) complete() bool { return !l.fragment && l.end <= len(l.b) }
