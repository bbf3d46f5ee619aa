// SPDX-License-Identifier: Apache-2.0

package roce

import "encoding/binary"

// Encapsulations besides IP in IPv6, which [Packet.Parse] parses, too.
const (
	etherTypeMPLS      = 0x8847
	etherTypeMPLSUp    = 0x8848 // labels that the upstream assigned, RFC 5332
	etherTypeTEB       = 0x6558 // an Ethernet frame
	etherTypeERSPAN2   = 0x88be // and type I
	etherTypeERSPAN3   = 0x22eb
	protoGRE           = 47
	protoMPLS          = 137 // RFC 4023
	protoEthernet      = 143 // RFC 8986
	portVXLAN          = 4789
	portVXLANLinux     = 8472 // Linux's before IANA assigned one
	portGeneve         = 6081
	portMPLS           = 6635 // RFC 7510
	vxlanLen           = 8
	geneveLen          = 8
	greLen             = 4
	mplsLen            = 4
	erspan2Len         = 8
	erspan3Len         = 12
	erspanSubheaderLen = 8
	greChecksum        = 0x8000
	greRouting         = 0x4000
	greKey             = 0x2000
	greSequence        = 0x1000
	greVersion         = 0x0007

	maxMPLSLabels = 8
	maxTunnels    = 6 // one in the other
)

// ParseThrough is [Packet.Parse] that also looks into tunnels: VXLAN, Geneve, GRE, MPLS,
// IP in IP, Ethernet in SRv6. Of a copy that ERSPAN brings, the path is that of the packet
// that was copied. At most six tunnels, one in the other, and eight MPLS labels are read;
// more is an [*Error] with [TooMany]. The other results are those of Parse.
func (p *Packet) ParseThrough(frame []byte, wireLen int) error {
	p.layers = layers{b: frame, end: max(wireLen, len(frame)), through: true}
	if err := p.ethernet(0, 1); err != nil {
		return err
	}
	return p.transport()
}

// ParseIPThrough is [Packet.ParseThrough] for a packet that begins with its IP header,
// such as those of a capture of a layer-3 interface.
func (p *Packet) ParseIPThrough(packet []byte, wireLen int) error {
	p.layers = layers{b: packet, end: max(wireLen, len(packet)), through: true}
	return p.parseIP()
}

// enter counts one more tunnel, whose header of a length at off can be read.
func (l *layers) enter(header Header, off, length int) error {
	if l.tunnels++; l.tunnels > maxTunnels {
		return fail(header, TooMany)
	}
	if off+length > l.end {
		return fail(header, BadLength)
	}
	if off+length > len(l.b) {
		return fail(header, Truncated)
	}
	return nil
}

// anyIP parses the IP header at off by its version.
func (l *layers) anyIP(header Header, off, depth int) error {
	if off >= l.available() {
		return fail(header, Truncated)
	}
	switch l.b[off] >> 4 {
	case 4:
		return l.ipv4(off, depth)
	case 6:
		return l.ipv6(off, depth)
	}
	return l.not(OtherTunnel, uint16(l.b[off]>>4))
}

// encapsulated parses the payload of a tunnel by the EtherType in the tunnel's
// header.
func (l *layers) encapsulated(etherType uint16, off, depth int) error {
	switch etherType {
	case EtherTypeIPv4:
		return l.ipv4(off, depth)
	case EtherTypeIPv6:
		return l.ipv6(off, depth)
	case etherTypeTEB:
		return l.ethernet(off, depth)
	case etherTypeMPLS, etherTypeMPLSUp:
		return l.mpls(off, depth)
	}
	return l.not(OtherEtherType, etherType)
}

// protocol parses the payload of an IP header by its protocol number, with depth
// IP headers so far.
func (l *layers) protocol(next byte, off, depth int) error {
	if !l.through {
		return l.not(OtherProtocol, uint16(next))
	}
	switch next {
	case protoIPv4, protoIPv6:
		if err := l.enter(HeaderIPv4, off, 0); err != nil {
			return err
		}
		if next == protoIPv4 {
			return l.ipv4(off, depth+1)
		}
		return l.ipv6(off, depth+1)
	case protoGRE:
		return l.gre(off, depth+1)
	case protoMPLS:
		return l.mpls(off, depth+1)
	case protoEthernet:
		if err := l.enter(HeaderEthernet, off, ethernetLen); err != nil {
			return err
		}
		return l.ethernet(off, depth+1)
	}
	return l.not(OtherProtocol, uint16(next))
}

// tunnelled parses the payload at off of a UDP datagram to a tunnel's port.
func (l *layers) tunnelled(port uint16, off, depth int) error {
	switch port {
	case portVXLAN, portVXLANLinux: // RFC 7348
		if err := l.enter(HeaderVXLAN, off, vxlanLen); err != nil {
			return err
		}
		if l.b[off]&0x08 == 0 { // no VNI: not VXLAN
			return l.not(OtherPort, port)
		}
		return l.ethernet(off+vxlanLen, depth+1)
	case portGeneve: // RFC 8926
		if err := l.enter(HeaderGeneve, off, geneveLen); err != nil {
			return err
		}
		if l.b[off]>>6 != 0 {
			return fail(HeaderGeneve, BadVersion)
		}
		length := geneveLen + 4*int(l.b[off]&0x3f)
		if off+length > l.end {
			return fail(HeaderGeneve, BadLength)
		}
		return l.encapsulated(binary.BigEndian.Uint16(l.b[off+2:]), off+length, depth+1)
	case portMPLS:
		return l.mpls(off, depth+1)
	}
	return l.not(OtherPort, port)
}

// mpls parses a stack of labels (RFC 3032), and then its payload by the first
// nibble: IP, or an Ethernet frame after a control word (RFC 4385).
func (l *layers) mpls(off, depth int) error {
	for labels := 0; ; labels++ {
		if labels == maxMPLSLabels {
			return fail(HeaderMPLS, TooMany)
		}
		if off+mplsLen > l.available() {
			return fail(HeaderMPLS, Truncated)
		}
		bottom := l.b[off+2]&1 != 0
		off += mplsLen
		if bottom {
			break
		}
	}
	if err := l.enter(HeaderMPLS, off, 1); err != nil {
		return err
	}
	if l.b[off]>>4 == 0 {
		return l.ethernet(off+mplsLen, depth)
	}
	return l.anyIP(HeaderMPLS, off, depth)
}

// gre parses a GRE header (RFC 2784, RFC 2890).
func (l *layers) gre(off, depth int) error {
	if err := l.enter(HeaderGRE, off, greLen); err != nil {
		return err
	}
	flags, etherType := binary.BigEndian.Uint16(l.b[off:]), binary.BigEndian.Uint16(l.b[off+2:])
	if flags&(greVersion|greRouting) != 0 { // PPTP; routing, which no longer is
		return l.not(OtherTunnel, flags)
	}
	off += greLen
	for _, option := range [...]uint16{greChecksum, greKey, greSequence} {
		if flags&option != 0 {
			off += 4
		}
	}
	switch etherType {
	case etherTypeERSPAN2:
		length := 0 // type I
		if flags&greSequence != 0 {
			length = erspan2Len
		}
		return l.mirrored(off, length)
	case etherTypeERSPAN3:
		if off+erspan3Len <= l.available() && l.b[off+erspan3Len-1]&1 != 0 {
			return l.mirrored(off, erspan3Len+erspanSubheaderLen)
		}
		return l.mirrored(off, erspan3Len)
	}
	return l.encapsulated(etherType, off, depth)
}

// mirrored parses a frame that a switch copied, after an ERSPAN header of length
// octets. The copy can be cut, so its length on the wire comes from its own
// headers.
func (l *layers) mirrored(off, length int) error {
	if err := l.enter(HeaderERSPAN, off, length); err != nil {
		return err
	}
	const longest = 1 << 17 // more than IP allows
	l.b = l.b[:min(l.end, len(l.b))]
	l.end = off + length + longest
	l.link = off + length
	return l.ethernet(l.link, 1)
}

// otherPort parses the datagram at off, to a port other than RoCEv2's, which may
// be a tunnel's.
func (l *layers) otherPort(port uint16, off, depth int) error {
	if !l.through {
		return l.not(OtherPort, port)
	}
	switch port {
	case portVXLAN, portVXLANLinux, portGeneve, portMPLS:
		length := int(binary.BigEndian.Uint16(l.b[off+4:]))
		if length < udpLen || !l.shorten(off+length) {
			return fail(HeaderUDP, BadLength)
		}
		return l.tunnelled(port, off+udpLen, depth)
	}
	return l.not(OtherPort, port)
}
