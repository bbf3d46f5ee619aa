// SPDX-License-Identifier: Apache-2.0

package roce

import "encoding/binary"

// EtherTypes and IP protocol numbers.
const (
	EtherTypeIPv4 = 0x0800
	EtherTypeIPv6 = 0x86dd

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
	protoDestOptions = 60

	routingSRH = 4 // RFC 8754
)

// Bounds above those of any honest packet; a hostile one must cost the parser
// little, even a jumbo frame of empty headers.
const (
	maxVLANTags   = 2
	maxExtensions = 8
	maxIPHeaders  = 3 // two encapsulations
)

// layers holds where each layer of one packet begins, as offsets into b. Of several IP
// headers the outermost is at outer, and ip ends as the innermost.
type layers struct {
	b []byte

	// link: Ethernet header of the frame that names the path, if there is one
	link  int
	outer int // first IP header of it
	ip    int // IP header that carries UDP
	dst   int // its final destination address: 16 octets, or 4 for IPv4
	udp   int
	// end: of the innermost layer parsed so far: first the frame on the wire, last the UDP
	// datagram
	end int

	v6       bool // the IP header at ip is IPv6
	fragment bool // first fragment of several
	through  bool // looks into tunnels
	tunnels  uint8
	other    Other // why it is not RoCEv2
}

// ethernet finds the IP header behind the Ethernet header at off and its VLAN tags: the
// depth-th one of the packet.
func (l *layers) ethernet(off, depth int) error {
	if off+ethernetLen > l.available() {
		return fail(HeaderEthernet, Truncated)
	}
	off += ethernetLen - 2
	for tags := 0; ; tags++ {
		switch etherType := binary.BigEndian.Uint16(l.b[off:]); etherType {
		case EtherTypeIPv6:
			return l.ipv6(off+2, depth)
		case EtherTypeIPv4:
			return l.ipv4(off+2, depth)
		case etherTypeVLAN, etherTypeQinQ, etherTypeOldQ:
			if tags == maxVLANTags {
				return l.not(OtherEtherType, etherType)
			}
			off += vlanLen
			if l.available() < off+2 {
				return fail(HeaderVLAN, Truncated)
			}
		case etherTypeMPLS, etherTypeMPLSUp:
			if l.through {
				return l.mpls(off+2, depth)
			}
			return l.not(OtherEtherType, etherType)
		default:
			return l.not(OtherEtherType, etherType)
		}
	}
}

// ipv4 parses the IPv4 header at off, the depth-th IP header of the packet.
func (l *layers) ipv4(off, depth int) error {
	if depth == 1 {
		l.outer = off
	}
	if off+ipv4MinLen > l.available() {
		return fail(HeaderIPv4, Truncated)
	}
	h := l.b[off:]
	if h[0]>>4 != 4 {
		return fail(HeaderIPv4, BadVersion)
	}
	headerLen, total := int(h[0]&0xf)*4, int(binary.BigEndian.Uint16(h[2:]))
	if headerLen < ipv4MinLen || total < headerLen || !l.shorten(off+total) {
		return fail(HeaderIPv4, BadLength)
	}
	if off+headerLen > l.available() {
		return fail(HeaderIPv4, Truncated)
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
	if depth == 1 {
		l.outer = off
	}
	if off+ipv6Len > l.available() {
		return fail(HeaderIPv6, Truncated)
	}
	h := l.b[off : off+ipv6Len]
	if h[0]>>4 != 6 {
		return fail(HeaderIPv6, BadVersion)
	}
	if !l.shorten(off + ipv6Len + int(binary.BigEndian.Uint16(h[4:]))) {
		return fail(HeaderIPv6, BadLength)
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
			if l.through {
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
		return 0, fail(header, Truncated)
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
		return 0, fail(header, Truncated)
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
func (l *layers) datagram(off, depth int) error {
	if off+udpLen > l.available() {
		return fail(HeaderUDP, Truncated)
	}
	if port := binary.BigEndian.Uint16(l.b[off+2:]); port != UDPPort {
		return l.otherPort(port, off, depth)
	}
	l.udp = off
	return nil
}

// trim ends the packet at the length in the UDP header.
func (l *layers) trim() error {
	length := int(binary.BigEndian.Uint16(l.b[l.udp+4:]))
	if length < udpLen || !l.shorten(l.udp+length) {
		return fail(HeaderUDP, BadLength)
	}
	return nil
}

// available returns the end of the octets that can be read: of the packet, or of
// the buffer where that was cut.
func (l *layers) available() int { return min(l.end, len(l.b)) }

// complete reports whether every octet of the datagram is in the buffer.
func (l *layers) complete() bool { return !l.fragment && l.end <= len(l.b) }
