// SPDX-License-Identifier: Apache-2.0

package lift

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"sluice/orchagent-ext/wire/roce"
)

// Lifter carries RoCEv2 packets from IPv4 over into IPv6. An address a.b.c.d
// becomes Prefix + a.b.c.d, the way of RFC 6052 section 2.2 for a prefix of 96
// bits.
type Lifter struct {
	Prefix netip.Prefix // 96 bits
	buf    []byte
}

// ethernetLen is the length of an untagged Ethernet header.
const ethernetLen = 14

// ErrNotLifted is the error for a RoCEv2 packet that has no IPv6 form: it is IPv6 already,
// in a tunnel, or cut.
var ErrNotLifted = errors.New("not a whole RoCEv2 packet directly over IPv4")

// NewLifter returns a Lifter; the prefix must be an IPv6 one of 96 bits.
func NewLifter(prefix netip.Prefix) (*Lifter, error) {
	if !prefix.Addr().Is6() || prefix.Bits() != 96 || prefix != prefix.Masked() {
		return nil, fmt.Errorf("prefix %s: an IPv6 prefix of exactly 96 bits is needed", prefix)
	}
	return &Lifter{Prefix: prefix}, nil
}

// Lift returns the IPv6 packet in an Ethernet frame. MAC addresses, VLAN tags,
// TOS, TTL, UDP source port, BTH and all behind it stay; the flow label is 0,
// ICRC and UDP checksum are computed again. The frame is reused by the next call.
func (l *Lifter) Lift(p *roce.Packet) ([]byte, error) {
	if !p.Is4() || p.Tunnelled() || !p.Complete() {
		return nil, ErrNotLifted
	}
	b := appendLink(l.buf[:0], p)
	ip := len(b)
	b = roce.IPv6Header{
		TrafficClass: p.TrafficClass(), NextHeader: 17, HopLimit: p.HopLimit(),
		Src: l.lift(p.Src()), Dst: l.lift(p.Dst()),
	}.Append(b)
	b = roce.UDPHeader{SrcPort: p.SrcPort(), DstPort: roce.UDPPort}.Append(b)
	body := p.BTHBytes()
	b = append(b, body[:len(body)-roce.ICRCLen]...)
	b, err := roce.Finish(b, ip)
	l.buf = b
	return b, err
}

// appendLink appends an Ethernet header for IPv6 with the addresses and VLAN tags of the
// packet's own, as far as it has them. Other layers between Ethernet and IP are left out.
func appendLink(b []byte, p *roce.Packet) []byte {
	const vlanLen, tpid = 4, 0x8100
	link, vlans := p.LinkHeader(), p.VLANs()
	if len(link) == ethernetLen+vlanLen*len(vlans) {
		return binary.BigEndian.AppendUint16(append(b, link[:len(link)-2]...), roce.EtherTypeIPv6)
	}
	var addresses [ethernetLen - 2]byte
	copy(addresses[:], link)
	b = append(b, addresses[:]...)
	for _, id := range vlans {
		b = binary.BigEndian.AppendUint16(b, tpid)
		b = binary.BigEndian.AppendUint16(b, id)
	}
	return binary.BigEndian.AppendUint16(b, roce.EtherTypeIPv6)
}

// lift returns the IPv6 address of an IPv4 one: the prefix's 96 bits and the address (RFC
// 6052 section 2.2).
func (l *Lifter) lift(v4 netip.Addr) [16]byte {
	v6 := l.Prefix.Addr().As16()
	copy(v6[12:], v4.AsSlice())
	return v6
}
