// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"encoding/binary"
	"net/netip"
)

// Packet is one RoCEv2 packet, parsed in place. Two headers name it, and they can be
// two: the outermost IP header, which the fabric forwards by, names the path (PathSrc16,
// PathDst16, FlowLabel, TrafficClass, HopLimit, Len); the innermost RoCEv2 names the
// session (Src, Dst, SrcPort, and all of the BTH).
//
// Its methods read from the buffer that was given to Parse and are valid after a
// Parse that returned nil, until the buffer changes. The zero value is ready for
// Parse; reuse one Packet for many packets, since an ICRC needs room of its own.
type Packet struct {
	layers
	// masked: headers with their variable fields masked, for the ICRC
	masked [maskedLen]byte
}

// Parse parses an Ethernet frame. wireLen is the frame's length in octets on the
// wire: len(frame), or more where a capture or mirror cut it.
//
// It returns nil for RoCEv2, [ErrNotRoCE] for other well-formed packets, and an
// [*Error] for one whose headers are truncated or contradict each other. The ICRC
// is left to [Packet.ICRC].
func (p *Packet) Parse(frame []byte, wireLen int) error {
	p.begin(frame, wireLen)
	if err := p.ethernet(0, 1); err != nil {
		return err
	}
	return p.transport()
}

// begin forgets the packet before. Fields are set one by one: a copy of fields that were just
// written waits for them.
func (l *layers) begin(b []byte, wireLen int) {
	l.found = found{}
	l.b, l.end = b, max(wireLen, len(b))
}

// ParseIP is like [Packet.Parse] for a packet that begins with its IP header. The version
// is that of the first nibble; 4 is IPv4, and anything else is checked as IPv6.
// [Packet.LinkHeader] is empty then.
func (p *Packet) ParseIP(packet []byte, wireLen int) error {
	p.begin(packet, wireLen)
	p.link, p.outer = noLink, noLink
	return p.parseIP()
}

// parseIP parses a packet that begins with its IP header, and then the transport.
func (p *Packet) parseIP() error {
	if len(p.b) == 0 {
		return fail(HeaderIPv4, Truncated)
	}
	parse := p.ipv6
	if p.b[0]>>4 == 4 {
		parse = p.ipv4
	}
	if err := parse(0, 1); err != nil {
		return err
	}
	return p.transport()
}

// transport parses the BTH and checks that the datagram has room for the extended headers of
// its opcode. A capture that lacks them has all that the BTH says.
func (p *Packet) transport() error {
	if err := p.trim(); err != nil {
		return err
	}
	p.bth = p.udp + udpLen
	available := p.available()
	if p.bth+BTHLen > available {
		return p.short(HeaderBTH, p.bth+BTHLen)
	}
	p.layout = &layouts[p.b[p.bth]]
	p.pad = int(p.b[p.bth+1] >> 4 & 3)
	payload := p.bth + int(p.layout.payload)
	if payload > p.end {
		return fail(p.firstMissing(), Truncated)
	}
	if p.fragment {
		return nil
	}
	if payload+ICRCLen > p.end {
		return fail(HeaderICRC, Truncated)
	}
	if payload+p.pad+ICRCLen > p.end {
		return fail(HeaderBTH, BadPad)
	}
	return nil
}

// firstMissing names the first extended header that ends behind the datagram.
func (p *Packet) firstMissing() Header {
	o := p.layout
	for _, h := range [...]struct {
		header Header
		at     uint8
	}{
		{HeaderXRCETH, o.xrceth}, {HeaderDETH, o.deth}, {HeaderFETH, o.feth}, {HeaderRETH, o.reth},
		{HeaderAtomicETH, o.atomic}, {HeaderAETH, o.aeth}, {HeaderAtomicAckETH, o.atomicAck},
		{HeaderImmDt, o.imm}, {HeaderIETH, o.ieth},
	} {
		if h.at != 0 && p.bth+int(h.at+headerLen[h.header]) > p.end {
			return h.header
		}
	}
	return HeaderCNP
}

// Is4 reports whether IPv4 carries the UDP datagram. It is about the session's header;
// the path's can be of the other family.
func (p *Packet) Is4() bool { return !p.v6 }

// Tunnelled reports whether another IP header encapsulates the one that carries the UDP
// datagram: one of IPv6 (SRv6, RFC 8986), or after [Packet.ParseThrough] any.
func (p *Packet) Tunnelled() bool { return p.outer != p.ip }

// Segments reports whether a segment routing header of the IP header that carries the
// UDP datagram names another final destination than this does.
func (p *Packet) Segments() bool { return p.v6 && p.dst != p.ip+24 }

// Fragment reports whether it is the first of several fragments, whose ICRC
// lies in another one. Its Payload has whatever follows the headers, ICRC and padding
// unknown.
func (p *Packet) Fragment() bool { return p.fragment }

// Complete reports whether all octets up to the ICRC are in the buffer: false for
// a packet that a capture cut and for a fragment. Only then can [Packet.ICRC] be
// computed.
func (p *Packet) Complete() bool { return p.complete() }

// Len returns the length in octets on the wire from the outermost IP header on,
// less link-layer header and padding.
func (p *Packet) Len() int { return p.outerLen }

// LinkHeader returns the octets before the outermost IP header: the Ethernet
// header with its VLAN tags and other layers below IP; empty where the packet began with
// another one. It is a part of the buffer; after a mirrored copy (ERSPAN) that of the
// copied frame.
func (p *Packet) LinkHeader() []byte {
	from := p.link
	if from == noLink {
		from = p.outer
	}
	return p.b[from:p.outer]
}

// Copied reports whether the packet is a copy that a switch sent of it, as by ERSPAN. The
// path is that of the packet that was copied.
func (p *Packet) Copied() bool { return p.copied }

// IPHeader returns the offset of the outermost IP header of the frame that names the path;
// ok is false where the last Parse found none. It is valid after any result of Parse.
func (p *Packet) IPHeader() (off int, ok bool) { return p.outer, p.outer != p.link }

// Src is the source address of the session: of the IP header that carries UDP. It is
// never an IPv4 address in mapped form.
func (p *Packet) Src() netip.Addr { return address(p.Src16(), p.v6) }

// Dst is the final destination address of the session: with a segment routing header
// that has segments left, its last segment.
func (p *Packet) Dst() netip.Addr { return address(p.Dst16(), p.v6) }

// address undoes mapped for IPv4.
func address(a [16]byte, v6 bool) netip.Addr {
	if v6 {
		return netip.AddrFrom16(a)
	}
	return netip.AddrFrom4([4]byte(a[12:]))
}

// Src16 is Src as 16 octets, IPv4 in the mapped form ::ffff:a.b.c.d. This is the form of
// keys: comparable, of fixed size, and cheaper than a netip.Addr.
func (p *Packet) Src16() [16]byte {
	if p.v6 {
		return [16]byte(p.b[p.ip+8 : p.ip+24])
	}
	return mapped(p.b[p.ip+12 : p.ip+16])
}

// Dst16 is Dst in the form of [Packet.Src16].
func (p *Packet) Dst16() [16]byte {
	if p.v6 {
		return [16]byte(p.b[p.dst : p.dst+16])
	}
	return mapped(p.b[p.dst : p.dst+4])
}

// mapped returns an IPv4 address as IPv4-mapped IPv6 (RFC 4291 section 2.5.5.2).
func mapped(b []byte) [16]byte {
	return [16]byte{10: 0xff, 11: 0xff, 12: b[0], 13: b[1], 14: b[2], 15: b[3]}
}

// path6 reports whether the outermost IP header, which names the path, is one of IPv6.
func (p *Packet) path6() bool { return p.b[p.outer]>>4 == 6 }

// PathSrc16 is the source address of the path: of the outermost IP header, in the form
// of [Packet.Src16].
func (p *Packet) PathSrc16() [16]byte {
	if p.path6() {
		return [16]byte(p.b[p.outer+8 : p.outer+24])
	}
	return mapped(p.b[p.outer+12 : p.outer+16])
}

// PathDst16 is the destination address of the path as it arrived: with a segment
// routing header the active segment.
func (p *Packet) PathDst16() [16]byte {
	if p.path6() {
		return [16]byte(p.b[p.outer+24 : p.outer+40])
	}
	return mapped(p.b[p.outer+16 : p.outer+20])
}

// PathSrc is the source address of the path. It equals Src for packets outside of
// tunnels.
func (p *Packet) PathSrc() netip.Addr { return address(p.PathSrc16(), p.path6()) }

// PathDst is the destination address of the path as it arrived. It differs from Dst in a
// tunnel, and while a segment routing header has segments left.
func (p *Packet) PathDst() netip.Addr { return address(p.PathDst16(), p.path6()) }

// TrafficClass is the traffic class of the path, or the TOS octet of IPv4: DSCP in the
// upper 6 bits, ECN in the lower 2. ECN 3 is CE, congestion experienced (RFC 3168 section
// 5).
func (p *Packet) TrafficClass() uint8 {
	if p.path6() {
		return p.b[p.outer]<<4 | p.b[p.outer+1]>>4
	}
	return p.b[p.outer+1]
}

// HopLimit is the hop limit of the path, or IPv4's time to live. Each router before has
// decremented it once.
func (p *Packet) HopLimit() uint8 {
	if p.path6() {
		return p.b[p.outer+7]
	}
	return p.b[p.outer+8]
}

// FlowLabel is the 20-bit flow label of the path; 0 (unlabelled) for IPv4.
func (p *Packet) FlowLabel() uint32 {
	if !p.path6() {
		return 0
	}
	return uint24(p.b[p.outer+1:p.outer+4]) & 0xfffff
}

// SetFlowLabel writes the low 20 bits of label into the outermost IPv6 header, and
// nothing else: neither the UDP checksum nor the ICRC covers the flow label.
// It leaves IPv4 packets as they are.
//
//conformance:draft-hu/write draft-hu/only-label
func (p *Packet) SetFlowLabel(label uint32) {
	if !p.path6() {
		return
	}
	h := p.b[p.outer+1 : p.outer+4]
	h[0] = h[0]&0xf0 | byte(label>>16)&0xf
	h[1], h[2] = byte(label>>8), byte(label)
}

// SrcPort is the UDP source port. It is 0 in the CNPs of some switches, and constant for
// all queue pairs of some hosts.
func (p *Packet) SrcPort() uint16 { return binary.BigEndian.Uint16(p.b[p.udp:]) }

// Opcode is the BTH's opcode. Any of the 256 values is possible; see [Opcode.Known].
func (p *Packet) Opcode() Opcode { return Opcode(p.b[p.bth]) }

// PKey is the partition key. Bit 15 is full membership; 0xffff is the default partition.
func (p *Packet) PKey() uint16 { return binary.BigEndian.Uint16(p.b[p.bth+2:]) }

// DestQP is the 24-bit destination queue pair. It names a queue pair of Dst only: two
// hosts can use the same number.
func (p *Packet) DestQP() uint32 { return uint24(p.b[p.bth+5:]) }

// AckReq reports whether the requester asks for an acknowledgement. It is the A bit,
// octet 8 of the BTH.
func (p *Packet) AckReq() bool { return p.b[p.bth+8]&0x80 != 0 }

// PSN is the 24-bit packet sequence number. It counts modulo 2^24 from a start that the
// connection's two ends agreed on, each direction by itself; a response has that of its
// request.
func (p *Packet) PSN() uint32 { return uint24(p.b[p.bth+9:]) }

// BTH decodes the whole base transport header. Prefer the methods for single fields in
// the packet path: they read just these octets.
func (p *Packet) BTH() BTH { return decodeBTH(p.b[p.bth:]) }

// BTHBytes is the BTH and all that follows it up to the end of the UDP
// datagram (with pad and ICRC), as far as it is in the buffer. It is a part of the buffer
// and changes with it.
func (p *Packet) BTHBytes() []byte { return p.b[p.bth:p.available()] }

// PayloadLen returns how many octets Payload has on the wire, also where a
// capture cut it. Padding and ICRC are left out, but for a first fragment, whose rest is
// in another packet.
func (p *Packet) PayloadLen() int {
	n := p.end - p.bth - int(p.layout.payload)
	if !p.fragment {
		n -= p.pad + ICRCLen
	}
	return n
}

// VLANs returns the identifiers of the VLAN tags before the outermost IP header, the outer
// one first; nil for an untagged frame. It allocates.
func (p *Packet) VLANs() []uint16 { return append([]uint16(nil), p.vlans[:p.tags]...) }

// Payload returns the octets between the extended headers and the padding, as far
// as they are in the buffer. It is a part of the buffer, and empty for an
// acknowledgement.
func (p *Packet) Payload() []byte {
	from, to := p.bth+int(p.layout.payload), p.end-p.pad-ICRCLen
	if p.fragment {
		to = p.end
	}
	to = min(to, len(p.b))
	from = min(from, to)
	return p.b[from:to]
}

// DETH returns the header, if the opcode and the capture have it. Only UD packets have it: it is where the
// source queue pair can be read instead of learned.
//
//conformance:draft-hu/qp-pair
func (p *Packet) DETH() (DETH, bool) {
	b := p.extended(p.layout.deth, dethLen)
	if b == nil {
		return DETH{}, false
	}
	return DETH{binary.BigEndian.Uint32(b), b[4], uint24(b[5:])}, true
}

// RETH returns the header, if the opcode and the capture have it. ok is false for the middle and last
// packets of a write: the first one has it for all.
func (p *Packet) RETH() (RETH, bool) {
	b := p.extended(p.layout.reth, rethLen)
	if b == nil {
		return RETH{}, false
	}
	return RETH{binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:])}, true
}

// AtomicETH returns the header, if the opcode and the capture have it. It is in compare-and-swap and
// fetch-and-add requests.
func (p *Packet) AtomicETH() (AtomicETH, bool) {
	b := p.extended(p.layout.atomic, atomicLen)
	if b == nil {
		return AtomicETH{}, false
	}
	be := binary.BigEndian
	return AtomicETH{be.Uint64(b), be.Uint32(b[8:]), be.Uint64(b[12:]), be.Uint64(b[20:])}, true
}

// AETH returns the header, if the opcode and the capture have it. Acknowledgements have it, and the first,
// last and only packets of read responses.
func (p *Packet) AETH() (AETH, bool) {
	b := p.extended(p.layout.aeth, aethLen)
	if b == nil {
		return AETH{}, false
	}
	return AETH{b[0], uint24(b[1:])}, true
}

// AtomicAckETH returns the header, if the opcode and the capture have it. Only an ATOMIC ACKNOWLEDGE has
// it, after its AETH.
func (p *Packet) AtomicAckETH() (AtomicAckETH, bool) {
	b := p.extended(p.layout.atomicAck, atomicAckLen)
	if b == nil {
		return AtomicAckETH{}, false
	}
	return AtomicAckETH{binary.BigEndian.Uint64(b)}, true
}

// ImmDt returns the header, if the opcode and the capture have it. The four octets are read in network
// byte order.
func (p *Packet) ImmDt() (ImmDt, bool) {
	b := p.extended(p.layout.imm, immLen)
	if b == nil {
		return ImmDt{}, false
	}
	return ImmDt{binary.BigEndian.Uint32(b)}, true
}

// IETH returns the header, if the opcode and the capture have it. Only sends with invalidate have it.
func (p *Packet) IETH() (IETH, bool) {
	b := p.extended(p.layout.ieth, iethLen)
	if b == nil {
		return IETH{}, false
	}
	return IETH{binary.BigEndian.Uint32(b)}, true
}

// XRCETH returns the header, if the opcode and the capture have it. Responses of XRC lack it: they name
// the requester's queue pair in the BTH.
func (p *Packet) XRCETH() (XRCETH, bool) {
	b := p.extended(p.layout.xrceth, xrcethLen)
	if b == nil {
		return XRCETH{}, false
	}
	return XRCETH{b[0], uint24(b[1:])}, true
}

// FETH returns the header, if the opcode and the capture have it. Only FLUSH has it.
func (p *Packet) FETH() (FETH, bool) {
	b := p.extended(p.layout.feth, fethLen)
	if b == nil {
		return FETH{}, false
	}
	return FETH{binary.BigEndian.Uint32(b)}, true
}

// extended returns the octets of an extended header of a length; nil where the opcode lacks
// the header, or the capture.
func (p *Packet) extended(offset uint8, length int) []byte {
	from := p.bth + int(offset)
	if offset == 0 || from+length > len(p.b) {
		return nil
	}
	return p.b[from : from+length]
}
