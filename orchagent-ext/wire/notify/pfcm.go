// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/binary"
	"net/netip"
)

// Encapsulation is the form in which a [PFCM] travels. Its zero value is ICMPv6;
// [Packet.Parse] reads all three.
type Encapsulation uint8

// The forms of draft-yang sections 4.1 and 4.2.
const (
	ICMPv6 Encapsulation = iota
	HopByHop
	DestinationOptions
)

// encapsulationNames are the names in CONFIG_DB and flags.
var encapsulationNames = []string{"icmpv6", "hop-by-hop", "destination-options"}

// String returns the name of the form. e is one of the three; another value panics.
func (e Encapsulation) String() string { return encapsulationNames[e] }

// MarshalText returns the name. It implements [encoding.TextMarshaler], and its error is
// always nil.
func (e Encapsulation) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads a name. Another text is an error that lists the names, and sets e
// to ICMPv6.
func (e *Encapsulation) UnmarshalText(text []byte) error {
	i, err := unmarshalName(text, encapsulationNames)
	*e = Encapsulation(i)
	return err
}

// PFCM is the Precision Flow Control Message (draft-yang section 4). It asks
// the upstream neighbor to hold or slow one flow.
//
//conformance:draft-yang/time
type PFCM struct {
	Encapsulation Encapsulation
	StreamID      uint16 // names the flow between the two nodes; above 0
	QueueID       uint8  // the congested queue
	Action        Action
	Time          uint16 // µs for which Action holds; 0 cancels

	// Of the packet that met congestion, as it arrived there: IPv6 both.
	Destination, Source netip.Addr
}

// Lengths in octets.
const (
	// PFCMLen is the length of a PFCM by ICMPv6 from its type on, octets (draft-yang section
	// 4.2).
	PFCMLen     = 44
	pfcmDataLen = 42 // Opt Data Len, draft-yang section 4.1

	// pfcmHeaderLen is the length of an options header with this option alone: next header
	// and length, PadN of 2, the option. The padding is first, which puts both addresses on
	// multiples of 8.
	pfcmHeaderLen = 2 + 2 + 2 + pfcmDataLen

	// The beginning of an options header, up to the option's data.
	optionPad1 = 0
	optionPadN = 1
)

// Kind returns KindPFCM. It implements [Message].
func (PFCM) Kind() Kind { return KindPFCM }

// Cancels reports whether the message ends the same neighbor's request for this stream
// and queue.
//
// Decision: by draft-yang section 2 an action "MUST be maintained" for its time; that
// binds the receiver. The sender may change it later, so time 0 cancels as the action No
// Backpressure does.
func (m PFCM) Cancels() bool { return m.Action.Type() == NoBackpressure || m.Time == 0 }

// Check implements [Message]. It returns [ReservedAction], [ZeroStream], or [FamilyMix]
// for addresses other than IPv6; Time and QueueID may have any value.
func (m PFCM) Check() Reason {
	switch {
	case m.Action.Type() == ReservedActionType:
		return ReservedAction
	case m.StreamID == 0:
		return ZeroStream
	case !inFamily(m.Destination, true) || !inFamily(m.Source, true):
		return FamilyMix
	}
	return Accepted
}

// CheckHopLimit applies draft-yang section 5: the hop limit of a PFCM must be exactly
// 255, which proves a sender on the link: routers decrement it (RFC 5082). The other
// messages may have any.
//
// Decision: the draft names the ICMPv6 form; the rule holds for the options,
// too, since they ask for the same.
//
//conformance:draft-yang/hop-limit
func CheckHopLimit(k Kind, hopLimit uint8) Reason {
	if k == KindPFCM && hopLimit != 255 {
		return BadHopLimit
	}
	return Accepted
}

// allNodes is the link-local group of every node (RFC 4291 section 2.7.1).
var allNodes = netip.AddrFrom16([16]byte{0xff, 0x02, 15: 1})

// checkLink applies the rules of a neighbor's message besides the hop limit of 255: it
// comes from a link-local address, and is sent to one or to all nodes of the link.
//
// Decision: draft-yang section 5 has the hop limit only. A message from a global
// address, or to a group that reaches beyond the link, proves less.
func (e *Envelope) checkLink() Reason {
	switch {
	case !e.Src.IsLinkLocalUnicast():
		return BadSource
	case !e.Dst.IsLinkLocalUnicast() && e.Dst != allNodes:
		return BadDestination
	}
	return Accepted
}

// AppendPayload appends the ICMPv6 message of 44 octets, its checksum 0, or the
// options header of 48 octets with next header 59 (none).
//
//conformance:draft-yang/subtype draft-yang/reserved
func (m PFCM) AppendPayload(b []byte, c CodePoints) ([]byte, error) {
	if r := m.Check(); r != Accepted {
		return b, fail(KindPFCM, r)
	}
	if m.Encapsulation == ICMPv6 {
		b = append(b, c.PFCMType, c.PFCMCode, 0, 0, 0, 0,
			byte(m.StreamID>>8), byte(m.StreamID), m.QueueID, byte(m.Action), byte(m.Time>>8), byte(m.Time))
	} else {
		b = append(b, protoNone, pfcmHeaderLen/8-1, optionPadN, 0,
			c.PFCMOption, pfcmDataLen, 0, 0,
			byte(m.StreamID>>8), byte(m.StreamID), m.QueueID, byte(m.Action), byte(m.Time>>8), byte(m.Time), 0, 0)
	}
	return appendAddr(appendAddr(b, m.Destination), m.Source), nil
}

// AppendPacket appends the packet from its IPv6 header on.
//
//conformance:draft-yang/option
func (m PFCM) AppendPacket(b []byte, e *Envelope, c CodePoints) ([]byte, error) {
	start := len(b)
	proto := [...]uint8{protoICMPv6, protoHopByHop, protoDestOptions}[m.Encapsulation]
	if !inFamily(e.Src, true) || !inFamily(e.Dst, true) {
		return b, fail(KindPFCM, FamilyMix)
	}
	b, err := m.AppendPayload(e.appendIPv6(b, proto), c)
	if err != nil {
		return b[:start], err
	}
	setLength(b[start:])
	if m.Encapsulation == ICMPv6 {
		setICMPChecksum(b[start:])
	}
	return b, nil
}

// pfcmICMPv6 reads the ICMPv6 message that begins at b[at].
//
//conformance:draft-yang/icmp-checksum
func (p *Packet) pfcmICMPv6(b []byte, at int, c *CodePoints) error {
	if r := checkLength(len(b)-at, PFCMLen); r != Accepted {
		return fail(KindPFCM, r)
	}
	m := b[at : at+PFCMLen]
	p.PFCM = PFCM{
		StreamID: binary.BigEndian.Uint16(m[6:]), QueueID: m[8], Action: Action(m[9]), Time: binary.BigEndian.Uint16(m[10:]),
		Destination: netip.AddrFrom16([16]byte(m[12:28])), Source: netip.AddrFrom16([16]byte(m[28:44])),
	}
	p.read(KindPFCM, b)
	return fail(KindPFCM, first(CheckHopLimit(KindPFCM, p.Envelope.HopLimit),
		unless(transportChecksum(b, at, protoICMPv6) == 0, BadChecksum), unless(m[1] == c.PFCMCode, BadCode), p.PFCM.Check(),
		p.Envelope.checkLink()))
}

// pfcmOption reads the data of an option in the packet b.
//
//conformance:draft-yang/option draft-yang/subtype draft-yang/length
func (p *Packet) pfcmOption(packet, data []byte, form Encapsulation) error {
	if r := checkLength(len(data), pfcmDataLen); r != Accepted {
		return fail(KindPFCM, r)
	}
	m := data[:pfcmDataLen]
	p.PFCM = PFCM{
		Encapsulation: form,
		StreamID:      binary.BigEndian.Uint16(m[2:]), QueueID: m[4], Action: Action(m[5]), Time: binary.BigEndian.Uint16(m[6:]),
		Destination: netip.AddrFrom16([16]byte(m[10:26])), Source: netip.AddrFrom16([16]byte(m[26:42])),
	}
	p.read(KindPFCM, packet)
	return fail(KindPFCM, first(CheckHopLimit(KindPFCM, p.Envelope.HopLimit), unless(m[0] == 0, BadSubtype), p.PFCM.Check(),
		p.Envelope.checkLink()))
}
