// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"encoding/binary"

	"github.com/gopacket/gopacket/layers"

	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// Link types without a name in gopacket.
const (
	linkTypeRawBSD    layers.LinkType = 12
	linkTypeRawOpen   layers.LinkType = 14
	linkTypeLinuxSLL2 layers.LinkType = 276

	sllLen  = 16
	sll2Len = 20
)

// Parse parses the frame into p, by the frame's link type. Link types other
// than Ethernet, Linux cooked and raw IP count as not RoCEv2.
func (f *Frame) Parse(p *roce.Packet) error {
	if f.Link == layers.LinkTypeEthernet {
		return p.Parse(f.Data, f.Info.Length)
	}
	header, ok := f.header()
	if !ok {
		return p.NotParsed()
	}
	return p.ParseIP(f.Data[header:], f.Info.Length-header)
}

// ParseThrough is Parse that looks into tunnels; see [roce.Packet.ParseThrough].
func (f *Frame) ParseThrough(p *roce.Packet) error {
	if f.Link == layers.LinkTypeEthernet {
		return p.ParseThrough(f.Data, f.Info.Length)
	}
	header, ok := f.header()
	if !ok {
		return p.NotParsed()
	}
	return p.ParseIPThrough(f.Data[header:], f.Info.Length-header)
}

// ParseNotification is Parse for the notifications.
func (f *Frame) ParseNotification(p *notify.Packet, c notify.CodePoints) error {
	if f.Link == layers.LinkTypeEthernet {
		return p.Parse(f.Data, c)
	}
	header, ok := f.header()
	if !ok {
		return notify.ErrNotNotification
	}
	return p.ParseIP(f.Data[header:], c)
}

// header is the length of the headers before the IP header; ok is false without an IP
// header.
func (f *Frame) header() (length int, ok bool) {
	switch f.Link {
	case layers.LinkTypeRaw, linkTypeRawBSD, linkTypeRawOpen, layers.LinkTypeIPv4, layers.LinkTypeIPv6:
		return 0, true
	case layers.LinkTypeLinuxSLL:
		return sllLen, len(f.Data) >= sllLen && isIP(f.Data[sllLen-2:])
	case linkTypeLinuxSLL2:
		return sll2Len, len(f.Data) >= sll2Len && isIP(f.Data)
	}
	return 0, false
}

// isIP reports whether the 2 octets are the EtherType of IPv4 or IPv6.
func isIP(etherType []byte) bool {
	t := binary.BigEndian.Uint16(etherType)
	return t == roce.EtherTypeIPv4 || t == roce.EtherTypeIPv6
}
