// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/binary"
	"net/netip"

	"sluice/orchagent-ext/wire/roce"
)

// Transport is the protocol that carries a [PPFC]. Its zero value is ICMP.
type Transport uint8

// The transports of draft-xz sections 4.1 and 4.2. The address family decides between
// ICMP and ICMPv6.
const (
	OverICMP Transport = iota
	OverUDP
)

// transportNames are the names in CONFIG_DB and flags.
var transportNames = []string{"icmp", "udp"}

// String returns the name of the transport. t is one of the two; another value panics.
func (t Transport) String() string { return transportNames[t] }

// MarshalText returns the name. It implements [encoding.TextMarshaler], and its error is
// always nil.
func (t Transport) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a name. Another text is an error that lists the names, and sets t
// to OverICMP.
func (t *Transport) UnmarshalText(text []byte) error {
	i, err := unmarshalName(text, transportNames)
	*t = Transport(i)
	return err
}

// PT is the action type of a [PPFC], 2 bits (draft-xz section 4.1).
//
// Decision: the draft gives the names only. Stop lasts for the pause duration,
// 0 of it resumes; alarm is for logs and telemetry; hold keeps whatever is in
// force for the pause duration, or freezes the flow at its rate.
//
//conformance:draft-xz/pt
type PT uint8

// The action types.
const (
	Stop PT = iota
	Resume
	Alarm
	Hold
)

// ptNames are the names of action types, by their 2 bits.
var ptNames = []string{"stop", "resume", "alarm", "hold"}

// String returns the name of the action type. Bits above the lower 2 are ignored.
func (t PT) String() string { return ptNames[t&3] }

// MarshalText returns the name. It implements [encoding.TextMarshaler], and its error is
// always nil.
func (t PT) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a name. Another text is an error that lists the names, and sets t
// to Stop.
func (t *PT) UnmarshalText(text []byte) error {
	i, err := unmarshalName(text, ptNames)
	*t = PT(i)
	return err
}

// PPFC is the Precise Priority-based Flow Control notification (draft-xz
// section 4). It asks the ingress gateway to stop or resume a flow. All its
// addresses are of the family of the packet that carries it.
//
//conformance:draft-xz/priority draft-xz/router-id draft-xz/port
type PPFC struct {
	Transport      Transport
	Flags          uint8 // 6 meaningless bits: sent as 0, ignored
	PT             PT
	Priority       uint8  // the flow's DSCP, or its queue, as sender and receiver agreed
	CongestionPort uint16 // ICMP form only: low 16 bits of the interface index
	CongestionQID  uint16 // UDP form only: the queue's number
	PauseDuration  uint16 // µs

	Source, Destination netip.Addr // of the congested flow

	// RouterID is the congested node. The UDP form lacks it: there the packet's source
	// address is read instead.
	//
	// Decision: draft-xz section 4.1 leaves its relation to the packet open. It must be the
	// packet's source address, since lists of senders have these.
	RouterID netip.Addr

	Flow FlowIdentifier
}

// Lengths in octets, without addresses and flow identifier.
const (
	ppfcICMPLen = 12 // type to pause duration
	ppfcUDPLen  = 8  // flags to pause duration, behind the UDP header
)

// Kind returns KindPPFC. It implements [Message].
func (PPFC) Kind() Kind { return KindPPFC }

// Check implements [Message]. It returns [FamilyMix] for addresses of two families
// (RouterID counts over ICMP only), [UnknownFlowLength] for a form that does not exist,
// or [BadQueuePair].
func (m PPFC) Check() Reason { return m.check() }

func (m *PPFC) check() Reason {
	v6 := !m.Source.Is4()
	switch {
	case !inFamily(m.Source, v6), !inFamily(m.Destination, v6),
		m.Transport == OverICMP && !inFamily(m.RouterID, v6):
		return FamilyMix
	}
	return m.Flow.check()
}

// AppendPayload appends the ICMP message, its checksum 0, or the payload of the
// UDP datagram.
//
//conformance:draft-xz/icmp draft-xz/udp-fields
func (m PPFC) AppendPayload(b []byte, c CodePoints) ([]byte, error) {
	if r := m.Check(); r != Accepted {
		return b, fail(KindPPFC, r)
	}
	where := m.CongestionQID
	if m.Transport == OverICMP {
		where = m.CongestionPort
		if m.Source.Is4() {
			b = append(b, c.PPFCTypeV4, c.PPFCCodeV4, 0, 0)
		} else {
			b = append(b, c.PPFCTypeV6, c.PPFCCodeV6, 0, 0)
		}
	}
	b = append(b, m.Flags<<2|uint8(m.PT&3), m.Priority, byte(where>>8), byte(where), 0, 0, byte(m.PauseDuration>>8), byte(m.PauseDuration))
	b = appendAddr(appendAddr(b, m.Source), m.Destination)
	if m.Transport == OverICMP {
		b = appendAddr(b, m.RouterID)
	}
	return m.Flow.append(b), nil
}

// AppendPacket appends the packet from its IP header on, with the checksum of
// ICMP or UDP.
//
//conformance:draft-xz/udp
func (m PPFC) AppendPacket(b []byte, e *Envelope, c CodePoints) ([]byte, error) {
	start, v6 := len(b), !m.Source.Is4()
	if !inFamily(e.Src, v6) || !inFamily(e.Dst, v6) {
		return b, fail(KindPPFC, FamilyMix)
	}
	switch {
	case m.Transport == OverUDP:
		b = e.appendUDP(b, v6, c.PPFCPort)
	case v6:
		b = e.appendIPv6(b, protoICMPv6)
	default:
		b = e.appendIPv4(b, protoICMPv4)
	}
	b, err := m.AppendPayload(b, c)
	if err != nil {
		return b[:start], err
	}
	setLength(b[start:])
	if m.Transport == OverUDP {
		setUDP(b[start:])
	} else {
		setICMPChecksum(b[start:])
	}
	return b, nil
}

// ppfcICMP reads the ICMP message that begins at b[at].
//
//conformance:draft-xz/icmp
func (p *Packet) ppfcICMP(b []byte, at int, c *CodePoints) error {
	v6 := b[0]>>4 == 6
	size, code, sum := 4, c.PPFCCodeV4, uint16(0)
	if v6 {
		size, code = 16, c.PPFCCodeV6
	}
	if len(b)-at < ppfcICMPLen+3*size {
		return fail(KindPPFC, Short)
	}
	m := b[at:]
	p.PPFC = PPFC{CongestionPort: binary.BigEndian.Uint16(m[6:]), RouterID: addr(m[ppfcICMPLen+2*size:], v6)}
	if r := p.PPFC.read(m[4:], v6, m[ppfcICMPLen+3*size:]); r != Accepted {
		return fail(KindPPFC, r)
	}
	if v6 {
		sum = transportChecksum(b, at, protoICMPv6)
	} else {
		sum = roce.Checksum(0, m)
	}
	right := p.read(KindPPFC, b) && sum == 0
	return fail(KindPPFC, first(unless(right, BadChecksum), unless(m[1] == code, BadCode), p.PPFC.check(), c.figure2(&p.PPFC),
		unless(p.PPFC.RouterID == p.Envelope.Src, BadSource)))
}

// ppfcUDP reads the payload of the UDP datagram that begins at b[at].
//
// Decision: a UDP checksum of 0 (none) is accepted over IPv4 (RFC 768) and
// refused over IPv6 (RFC 8200 section 8.1).
//
//conformance:draft-xz/udp
func (p *Packet) ppfcUDP(b []byte, at int, c *CodePoints) error {
	v6 := b[0]>>4 == 6
	size := 4
	if v6 {
		size = 16
	}
	m := b[at:]
	if int(binary.BigEndian.Uint16(m[4:])) != len(m) {
		return fail(KindPPFC, BadLength)
	}
	m = m[udpLen:]
	if len(m) < ppfcUDPLen+2*size {
		return fail(KindPPFC, Short)
	}
	p.PPFC = PPFC{Transport: OverUDP, CongestionQID: binary.BigEndian.Uint16(m[2:])}
	if r := p.PPFC.read(m, v6, m[ppfcUDPLen+2*size:]); r != Accepted {
		return fail(KindPPFC, r)
	}
	right := p.read(KindPPFC, b) && udpChecksum(b, at, !v6)
	p.PPFC.RouterID = p.Envelope.Src
	p.Envelope.SrcPort = binary.BigEndian.Uint16(b[at:])
	return fail(KindPPFC, first(unless(right, BadChecksum), p.PPFC.check(), c.figure2(&p.PPFC)))
}

// figure2 returns whether a message with a flow identifier of one word is to be refused.
//
//conformance:draft-xz/flow-id
func (c *CodePoints) figure2(m *PPFC) Reason {
	return unless(m.Flow.Form != OneWord || c.Figure2, OneWordFlow)
}

// read reads the part that both forms share: the flow's part of b from the flags on, and
// the flow identifier.
//
//conformance:draft-xz/addresses draft-xz/flags
func (m *PPFC) read(b []byte, v6 bool, flow []byte) Reason {
	m.Flags, m.PT, m.Priority = b[0]>>2, PT(b[0]&3), b[1]
	m.PauseDuration = binary.BigEndian.Uint16(b[6:])
	m.Source = addr(b[8:], v6)
	size := 4
	if v6 {
		size = 16
	}
	m.Destination = addr(b[8+size:], v6)
	return m.Flow.read(flow)
}
