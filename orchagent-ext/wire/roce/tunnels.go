// SPDX-License-Identifier: Apache-2.0

package roce

import "encoding/binary"

// Encapsulations besides IP in IPv6, which [Packet.Parse] parses, too.
const (
	etherTypeMPLS      = 0x8847
	etherTypeMPLSUp    = 0x8848 // labels that the upstream assigned, RFC 5332
	etherTypeERSPAN2   = 0x88be // and type I
	etherTypeERSPAN3   = 0x22eb // with version 2; the same length without, of Intel's switches
	etherTypeNVIDIA    = 0x8949 // as SONiC configures mirrors of NVIDIA's switches
	protoGRE           = 47
	protoMPLS          = 137 // RFC 4023
	protoEthernet      = 143 // RFC 8986
	portVXLAN          = 4789
	portVXLANLinux     = 8472 // Linux's before IANA assigned one
	portVXLANGPE       = 4790
	portGeneve         = 6081
	portMPLS           = 6635 // RFC 7510
	vxlanLen           = 8
	geneveLen          = 8
	greLen             = 4
	mplsLen            = 4
	erspan2Len         = 8
	erspan3Len         = 12
	erspanSubheaderLen = 8
	nvidiaMirrorLen    = 22
	greChecksum        = 0x8000
	greRouting         = 0x4000
	greKey             = 0x2000
	greSequence        = 0x1000
	greVersion         = 0x0007

	maxMPLSLabels = 8
	maxTunnels    = 6 // one in the other
)

// Look is how far [Packet.ParseFrom] looks for RoCEv2 in the packets of a capture. Each value
// includes those before.
type Look uint8

// How far packets are parsed.
const (
	// LookLink is behind all layers below IP that captures have: tags, LLC, PBB, PPPoE.
	LookLink Look = iota + 1
	// LookCopies is also in the copies that switches send to an analyzer: ERSPAN, and the form
	// of NVIDIA's switches. The path is that of the packet that was copied.
	LookCopies
	// LookThrough is also in tunnels: VXLAN, Geneve, GRE, MPLS, IP in IP, Ethernet in SRv6. At
	// most six, one in the other, and eight MPLS labels are read; more is an [*Error] with
	// [TooMany].
	LookThrough
)

// ParseFrom is [Packet.Parse] for captures: of a packet that begins at b[at:] with what the
// EtherType announces, such as [EtherTypeEthernet], after a header of another link layer.
// wireLen is the length on the wire of all that b has a part of. A packet that is longer than
// the frame around it was cut before it came there. The other results are those of Parse.
func (p *Packet) ParseFrom(look Look, b []byte, at int, etherType uint16, wireLen int) error {
	p.begin(b, wireLen)
	p.link, p.outer, p.look = noLink, noLink, look
	if at > p.available() {
		return p.short(HeaderLink, at)
	}
	var err error
	if etherType == EtherTypeEthernet {
		p.link, p.outer = at, at
		err = p.ethernet(at, 1)
	} else {
		err = p.from(etherType, at, 1)
	}
	if err != nil {
		return err
	}
	return p.transport()
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
		return fail(header, Cut)
	}
	return nil
}

// anyIP parses the IP header at off by its version.
func (l *layers) anyIP(header Header, off, depth int) error {
	if off >= l.available() {
		return l.short(header, off+1)
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
	if etherType == EtherTypeEthernet {
		return l.ethernet(off, depth)
	}
	return l.from(etherType, off, depth)
}

// protocol parses the payload of an IP header by its protocol number, with depth
// IP headers so far.
func (l *layers) protocol(next byte, off, depth int) error {
	if next == protoGRE && l.look >= LookCopies {
		return l.gre(off, depth+1)
	}
	if l.look < LookThrough {
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

// gpeProtocols are the next protocols of VXLAN-GPE, as EtherTypes: IPv4, IPv6, Ethernet and
// MPLS. 0 is any other one.
var gpeProtocols = [256]uint16{1: EtherTypeIPv4, 2: EtherTypeIPv6, 3: EtherTypeEthernet, 5: etherTypeMPLS}

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
	case portVXLANGPE: // draft-ietf-nvo3-vxlan-gpe section 3
		if err := l.enter(HeaderVXLAN, off, vxlanLen); err != nil {
			return err
		}
		etherType := uint16(EtherTypeEthernet)
		if l.b[off]&0x04 != 0 { // the next protocol is named
			etherType = gpeProtocols[l.b[off+3]]
		}
		if etherType == 0 {
			return l.not(OtherTunnel, 0)
		}
		return l.encapsulated(etherType, off+vxlanLen, depth+1)
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
			return l.short(HeaderMPLS, off+mplsLen)
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
		return l.mirrored(HeaderERSPAN, off, length)
	case etherTypeERSPAN3:
		if off+erspan3Len <= l.available() && l.b[off+erspan3Len-1]&1 != 0 {
			return l.mirrored(HeaderERSPAN, off, erspan3Len+erspanSubheaderLen)
		}
		return l.mirrored(HeaderERSPAN, off, erspan3Len)
	case etherTypeNVIDIA:
		return l.mirrored(HeaderMirror, off, nvidiaMirrorLen)
	}
	if l.look < LookThrough {
		return l.not(OtherProtocol, protoGRE)
	}
	return l.encapsulated(etherType, off, depth)
}

// mirrored parses a frame that a switch copied, after a header of length octets. Its VLAN tags
// and its path are the copy's own.
func (l *layers) mirrored(header Header, off, length int) error {
	if err := l.enter(header, off, length); err != nil {
		return err
	}
	l.link, l.outer, l.tags, l.fragment, l.copied = off+length, off+length, 0, false, true
	return l.ethernet(l.link, 1)
}

// otherPort parses the datagram at off, to a port other than RoCEv2's, which may
// be a tunnel's.
func (l *layers) otherPort(port uint16, off, depth int) error {
	l.udp = off
	if l.look < LookThrough {
		return l.not(OtherPort, port)
	}
	switch port {
	case portVXLAN, portVXLANLinux, portVXLANGPE, portGeneve, portMPLS:
		length := int(binary.BigEndian.Uint16(l.b[off+4:]))
		if length < udpLen || !l.shorten(off+length) {
			return fail(HeaderUDP, BadLength)
		}
		return l.tunnelled(port, off+udpLen, depth)
	}
	return l.not(OtherPort, port)
}
