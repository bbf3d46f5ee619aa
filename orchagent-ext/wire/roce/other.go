// SPDX-License-Identifier: Apache-2.0

package roce

import "fmt"

// OtherKind is the kind of a packet other than RoCEv2, by the first layer that
// differs. The zero value is OtherLink, thus read it only after [ErrNotRoCE].
type OtherKind uint8

// The kinds of other packets.
const (
	OtherLink      OtherKind = iota // its link-layer header is not parsed
	OtherEtherType                  // neither IP, nor a tunnel that was looked into
	OtherProtocol                   // neither UDP, nor such a tunnel
	OtherPort                       // another UDP destination port
	OtherFragment                   // a fragment other than the first
	OtherTunnel                     // what a tunnel carries is not known
)

// Other is the layer, and its value, by which a packet is other than RoCEv2. Value is 0
// for the kinds OtherLink, OtherFragment and OtherTunnel, and for a length field of IEEE
// 802.3 in place of an EtherType: so that a counter per value stays bounded.
type Other struct {
	Kind  OtherKind
	Value uint16 // EtherType, IP protocol, UDP port
}

var (
	// Names of the protocols that other packets carry, for counters and output.
	etherTypeNames = map[uint16]string{
		0x0806: "ARP", 0x88cc: "LLDP", 0x8808: "MAC control", 0x8809: "LACP", 0x88e5: "MACsec", 0x88f7: "PTP", 0x8915: "RoCEv1",
		etherTypeMPLS: "MPLS", etherTypeVLAN: "VLAN tags", etherTypeQinQ: "VLAN tags",
	}
	protocolNames = map[uint16]string{1: "ICMP", 2: "IGMP", 6: "TCP", protoGRE: "GRE", 50: "ESP", 58: "ICMPv6", 89: "OSPF", 103: "PIM", 112: "VRRP", 132: "SCTP"}
	portNames     = map[uint16]string{53: "DNS", 67: "DHCP", 68: "DHCP", 123: "NTP", 319: "PTP", 320: "PTP", 546: "DHCPv6", 547: "DHCPv6", 3784: "BFD", 5353: "mDNS", portVXLAN: "VXLAN", portGeneve: "Geneve"}
)

// String is such as "ARP", "TCP" or "UDP port 53 (DNS)". It is for output and counters'
// labels; the names are those that operators use.
func (o Other) String() string {
	switch o.Kind {
	case OtherEtherType:
		if name := etherTypeNames[o.Value]; name != "" {
			return name
		}
		if o.Value < 0x600 { // IEEE 802.3: a length
			return "IEEE 802.3 with LLC"
		}
		return fmt.Sprintf("EtherType %#04x", o.Value)
	case OtherProtocol:
		if name := protocolNames[o.Value]; name != "" {
			return name
		}
		return fmt.Sprintf("IP protocol %d", o.Value)
	case OtherPort:
		if name := portNames[o.Value]; name != "" {
			return fmt.Sprintf("UDP port %d (%s)", o.Value, name)
		}
		return fmt.Sprintf("UDP port %d", o.Value)
	case OtherFragment:
		return "later fragments"
	case OtherTunnel:
		return "tunnels of something else"
	}
	return "another link layer"
}

// Other returns the reason why the packet is other than RoCEv2, after a Parse
// that returned [ErrNotRoCE]. After any other result it is undefined.
func (p *Packet) Other() Other { return p.other }

// not records the reason why the packet is other than RoCEv2, and returns
// [ErrNotRoCE].
func (l *layers) not(kind OtherKind, value uint16) error {
	if kind == OtherTunnel || kind == OtherFragment || kind == OtherEtherType && value < 0x600 {
		value = 0
	}
	l.other = Other{kind, value}
	return ErrNotRoCE
}

// NotParsed takes a packet whose link layer is unknown to the caller: it returns
// [ErrNotRoCE], with [OtherLink] as reason.
func (p *Packet) NotParsed() error { return p.not(OtherLink, 0) }
