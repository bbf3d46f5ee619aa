// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"fmt"
	"net/netip"

	"sluice/orchagent-ext/wire/roce"
)

// Kind names a message. It indexes counters by message: values run from 0 to [NumKinds] -
// 1.
type Kind uint8

// The messages.
const (
	KindNone Kind = iota
	KindPFCM
	KindPPFC
	KindRateAdvice
	KindCNP
	KindPFC
	numKinds

	// NumKinds is how many there are, KindNone included.
	NumKinds = int(numKinds)
)

// kindNames are the names of messages in commands, JSON and rows.
var kindNames = [numKinds]string{"none", "pfcm", "ppfc", "rate-advice", "cnp", "pfc"}

// String returns the name of the message. k is one of the constants; another value
// panics.
func (k Kind) String() string { return kindNames[k] }

// Message is one of [PFCM], [PPFC], [RateAdvice], [CNP] and [PFC], or a pointer
// to one. A call through a pointer allocates nothing.
type Message interface {
	Kind() Kind

	// Check returns the receive rule that the message itself offends, if any. A message that
	// offends one cannot be built.
	Check() Reason

	// AppendPayload appends the message without the fields that depend on the packet around
	// it: the checksum of ICMPv6 is 0, UDP header and ICRC are absent.
	AppendPayload(b []byte, c CodePoints) ([]byte, error)

	// AppendPacket appends the Ethernet payload: the packet from its IP header on, checksums
	// included, or the MAC control frame of PFC.
	AppendPacket(b []byte, e *Envelope, c CodePoints) ([]byte, error)

	// fields appends the values of the message, in the order of the wire.
	fields(f Fields) Fields
}

// Envelope has the headers around a message. Parsing fills it in; [DefaultEnvelope] has
// the values that Sluice sends with, without the addresses.
type Envelope struct {
	SrcMAC, DstMAC roce.MAC   // Ethernet; PFC ignores DstMAC: it has one destination
	Src, Dst       netip.Addr // IP; both of one family, which is that of the message
	TrafficClass   uint8      // DSCP 6 bits, ECN 2 bits; the TOS octet of IPv4
	FlowLabel      uint32     // 20 bits; IPv6 only
	HopLimit       uint8      // TTL of IPv4
	SrcPort        uint16     // UDP
}

const (
	ethernetMinLen = 60 // less the frame check sequence
	etherTypePause = 0x8808
)

// AppendFrame appends the message in a whole Ethernet frame without frame check
// sequence, padded with zeros to 60 octets.
func AppendFrame(b []byte, m Message, e *Envelope, c CodePoints) ([]byte, error) {
	start := len(b)
	h := roce.Ethernet{Dst: e.DstMAC, Src: e.SrcMAC, EtherType: roce.EtherTypeIPv6}
	switch {
	case m.Kind() == KindPFC:
		h.Dst, h.EtherType = PFCAddress, etherTypePause
	case e.Src.Is4():
		h.EtherType = roce.EtherTypeIPv4
	}
	b, err := m.AppendPacket(h.Append(b), e, c)
	if err != nil {
		return b[:start], err
	}
	for len(b) < start+ethernetMinLen {
		b = append(b, 0)
	}
	return b, nil
}

// unmarshalName finds text among the names of a type's values.
func unmarshalName(text []byte, names []string) (uint8, error) {
	for i, n := range names {
		if n == string(text) {
			return uint8(i), nil
		}
	}
	return 0, fmt.Errorf("%q is not one of %q", text, names)
}
