// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"encoding/binary"
	"net/netip"

	"sluice/orchagent-ext/wire/roce"
)

// Packet is a parsed message with its envelope. The zero value is ready for Parse; reuse
// one Packet for many messages. It copies all that it keeps of the buffer.
type Packet struct {
	Kind     Kind // KindNone: unread
	Envelope Envelope
	// an authentication header is before the message; who receives below the kernel's IPsec has it unverified
	AH bool

	// The message that Kind names; the others are leftovers.
	PFCM       PFCM
	PPFC       PPFC
	RateAdvice RateAdvice
	CNP        CNP
	PFC        PFC

	roce roce.Packet
}

const (
	ethernetLen   = 14
	vlanLen       = 4
	maxVLANTags   = 2
	maxExtensions = 8

	etherTypeVLAN = 0x8100
	etherTypeQinQ = 0x88a8
)

// Parse parses an Ethernet frame without frame check sequence and applies the stateless
// receive rules. It returns
//
//   - nil: a message to obey, as far as its content decides;
//   - [ErrNotNotification]: any other packet, whole or cut;
//   - an [*Error]: a message to ignore. If p.Kind differs from [KindNone] the message was
//     read, and p has its values.
//
// It leaves tunnels unopened: the hop limit of an encapsulated packet is no proof of a
// neighbor. Fragments are no notifications.
func (p *Packet) Parse(frame []byte, c CodePoints) error {
	p.Kind, p.Envelope, p.AH = KindNone, Envelope{}, false
	if len(frame) < ethernetLen {
		return fail(KindNone, Short)
	}
	e := Envelope{DstMAC: roce.MAC(frame[:6]), SrcMAC: roce.MAC(frame[6:12])}
	at := ethernetLen
	for range maxVLANTags {
		if t := binary.BigEndian.Uint16(frame[at-2:]); t != etherTypeVLAN && t != etherTypeQinQ {
			break
		}
		if at += vlanLen; at > len(frame) {
			return fail(KindNone, Short)
		}
	}
	switch binary.BigEndian.Uint16(frame[at-2:]) {
	case etherTypePause:
		return p.pfc(frame[at:], e)
	case roce.EtherTypeIPv6, roce.EtherTypeIPv4:
		err := p.ParseIP(frame[at:], c)
		p.Envelope.DstMAC, p.Envelope.SrcMAC = e.DstMAC, e.SrcMAC
		return err
	}
	return ErrNotNotification
}

// ParseIP is like [Packet.Parse] for a packet that begins with its IP header.
// Octets behind the end of the packet are ignored. It returns the same errors; the
// addresses of Ethernet in the envelope stay 0.
func (p *Packet) ParseIP(packet []byte, c CodePoints) error {
	p.Kind, p.Envelope, p.AH = KindNone, Envelope{}, false
	if len(packet) == 0 {
		return fail(KindNone, Short)
	}
	switch packet[0] >> 4 {
	case 4:
		return p.ipv4(packet, &c)
	case 6:
		return p.ipv6(packet, &c)
	}
	return ErrNotNotification
}

// ipv4 parses an IPv4 packet (RFC 791 section 3.1). A fragment is no notification.
func (p *Packet) ipv4(b []byte, c *CodePoints) error {
	if len(b) < ipv4Len {
		return fail(KindNone, Short)
	}
	at, total := int(b[0]&0xf)*4, int(binary.BigEndian.Uint16(b[2:]))
	if at < ipv4Len || total < at {
		return fail(KindNone, BadLength)
	}
	if total > len(b) {
		return fail(KindNone, Short)
	}
	if binary.BigEndian.Uint16(b[6:])&0x3fff != 0 { // more fragments, offset
		return ErrNotNotification
	}
	b, next := b[:total], b[9]
	if next == protoAH {
		length, ok := authentication(b[at:])
		if !ok {
			return fail(KindNone, Short)
		}
		next, p.AH = b[at], true
		at += length
	}
	return p.transport(b, at, next, c)
}

// authentication is the length of the authentication header that b begins with (RFC 4302
// section 2.2). The kernel's IPsec checks it.
func authentication(b []byte) (length int, ok bool) {
	if len(b) < 12 {
		return 0, false
	}
	length = 4 * (int(b[1]) + 2)
	return length, length >= 12 && length <= len(b)
}

// ipv6 parses an IPv6 packet and its extension headers (RFC 8200 section 4), at most
// maxExtensions of them. A message beside an unknown option that demands to discard the packet is
// refused. The kernel, which has the packet, too, answers it as section 4.2 asks.
func (p *Packet) ipv6(b []byte, c *CodePoints) error {
	discard, err := p.headers(b, c)
	if err == nil && discard {
		return fail(p.Kind, UnknownOption)
	}
	return err
}

// headers parses the extension headers of an IPv6 packet, and the message behind or in them. discard: the
// packet has an option of another type that demands to discard it.
//
//conformance:draft-yang/option-type
func (p *Packet) headers(b []byte, c *CodePoints) (discard bool, err error) {
	if len(b) < ipv6Len {
		return false, fail(KindNone, Short)
	}
	end := ipv6Len + int(binary.BigEndian.Uint16(b[4:]))
	if end > len(b) {
		return false, fail(KindNone, Short)
	}
	b = b[:end]
	next, at := b[6], ipv6Len
	var option []byte // the data of the first PFCM
	var form Encapsulation
	for range maxExtensions {
		switch next {
		case protoHopByHop, protoDestOptions, protoRouting:
		case protoAH:
			length, ok := authentication(b[at:])
			if !ok {
				return discard, fail(KindNone, Short)
			}
			next, p.AH = b[at], true
			at += length
			continue
		default:
			if option != nil {
				return discard, p.pfcmOption(b, option, form)
			}
			return discard, p.transport(b, at, next, c)
		}
		if len(b)-at < 8 || len(b)-at < 8+int(b[at+1])*8 {
			return discard, fail(KindNone, Short)
		}
		header := b[at : at+8+int(b[at+1])*8]
		if next == protoRouting {
			if header[3] != 0 { // segments left: it is still under way
				return discard, ErrNotNotification
			}
		} else {
			data, demands, err := findOption(header[2:], c.PFCMOption)
			if discard = discard || demands; option == nil {
				option, form = data, optionsForm(next)
			}
			switch {
			case err == nil:
			case option == nil:
				return discard, err
			default: // behind a PFCM
				return discard, cmp.Or(p.pfcmOption(b, option, form), fail(KindPFCM, BadLength))
			}
		}
		next = header[0]
		at += len(header)
	}
	return discard, ErrNotNotification
}

// optionsForm returns the form of a PFCM by the header that carries the option.
func optionsForm(next uint8) Encapsulation {
	if next == protoHopByHop {
		return HopByHop
	}
	return DestinationOptions
}

// actionMask has the bits of an option's type by which an unknown one is skipped (0) or demands to discard
// the packet (RFC 8200 section 4.2).
const actionMask = 0xc0

// findOption returns the data of the first option of that type, or nil; an option without
// data has a non-nil empty slice. demands: another option is one that demands to discard the packet.
func findOption(options []byte, option uint8) (data []byte, demands bool, err error) {
	for len(options) > 0 {
		if options[0] == optionPad1 {
			options = options[1:]
			continue
		}
		if len(options) < 2 || len(options) < 2+int(options[1]) {
			if options[0] == option {
				return data, demands, fail(KindPFCM, Short)
			}
			return data, demands, fail(KindNone, BadLength)
		}
		end := 2 + int(options[1])
		if options[0] != option {
			demands = demands || options[0]&actionMask != 0
		} else if data == nil {
			data = options[2:end]
		}
		options = options[end:]
	}
	return data, demands, nil
}

// transport parses the payload of the IP headers of the packet b, from b[at] on.
func (p *Packet) transport(b []byte, at int, proto uint8, c *CodePoints) error {
	v6 := b[0]>>4 == 6
	switch proto {
	case protoUDP:
		if len(b)-at < udpLen {
			return fail(KindNone, Short)
		}
		switch binary.BigEndian.Uint16(b[at+2:]) {
		case roce.UDPPort:
			return p.rocev2(b, at, c)
		case c.PPFCPort:
			return p.ppfcUDP(b, at, c)
		}
	case protoICMPv6, protoICMPv4:
		if at == len(b) {
			return fail(KindNone, Short)
		}
		kind := icmpKind(proto, b[at], c)
		switch {
		case kind == KindNone:
		case v6 != (proto == protoICMPv6):
			return fail(kind, FamilyMix)
		case kind == KindPFCM:
			return p.pfcmICMPv6(b, at, c)
		default:
			return p.ppfcICMP(b, at, c)
		}
	}
	return ErrNotNotification
}

// icmpKind returns the kind of an ICMP message by its type, [KindNone] for others.
func icmpKind(proto, icmpType uint8, c *CodePoints) Kind {
	switch {
	case proto == protoICMPv6 && icmpType == c.PFCMType:
		return KindPFCM
	case proto == protoICMPv6 && icmpType == c.PPFCTypeV6, proto == protoICMPv4 && icmpType == c.PPFCTypeV4:
		return KindPPFC
	}
	return KindNone
}

// read records that a message of kind k was read from the packet b, with the fields of
// its IP header. It reports whether that header's checksum is right.
func (p *Packet) read(k Kind, b []byte) bool {
	p.Kind = k
	e := &p.Envelope
	if b[0]>>4 == 6 {
		word := binary.BigEndian.Uint32(b)
		e.TrafficClass, e.FlowLabel, e.HopLimit = uint8(word>>20), word&0xfffff, b[7]
		e.Src, e.Dst = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
		return true
	}
	e.TrafficClass, e.HopLimit = b[1], b[8]
	e.Src, e.Dst = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	return roce.Checksum(0, b[:int(b[0]&0xf)*4]) == 0
}

// Message returns the message that was read, or nil. It points into p and is valid until
// the next Parse.
func (p *Packet) Message() Message {
	switch p.Kind {
	case KindPFCM:
		return &p.PFCM
	case KindPPFC:
		return &p.PPFC
	case KindRateAdvice:
		return &p.RateAdvice
	case KindCNP:
		return &p.CNP
	case KindPFC:
		return &p.PFC
	}
	return nil
}

// checkLength compares the length of a message with the only one it may have.
func checkLength(got, want int) Reason {
	switch {
	case got < want:
		return Short
	case got > want:
		return BadLength
	}
	return Accepted
}

// unless returns [Accepted] where a rule holds, else the reason r.
func unless(holds bool, r Reason) Reason {
	if holds {
		return Accepted
	}
	return r
}

// first is the first of the reasons that is one.
func first(reasons ...Reason) Reason {
	for _, r := range reasons {
		if r != Accepted {
			return r
		}
	}
	return Accepted
}
