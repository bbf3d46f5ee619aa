// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"encoding/binary"
	"fmt"
)

// OtherKind is the kind of a packet other than RoCEv2, by the first layer that
// differs. The zero value is OtherLink, thus read it only after [ErrNotRoCE].
type OtherKind uint8

// The kinds of other packets.
const (
	OtherLink      OtherKind = iota // its link-layer header is not read
	OtherEtherType                  // neither IP, nor a tunnel that was looked into
	OtherProtocol                   // neither UDP, nor such a tunnel
	OtherPort                       // another UDP destination port
	OtherFragment                   // a fragment other than the first
	OtherTunnel                     // the contents of a tunnel are unknown
	OtherPPP                        // PPP with a protocol other than IP
	OtherLLC                        // IEEE 802.2 LLC with a service other than IP and SNAP
	OtherSamples                    // a datagram of sFlow without sampled packets
)

// Other is the layer, and its value, by which a packet is other than RoCEv2. Value is 0
// for the kinds OtherFragment, OtherTunnel and OtherSamples: so that a counter per value
// stays bounded.
type Other struct {
	Kind OtherKind
	// Value: link type of a capture, EtherType, IP protocol, UDP port, PPP protocol, or LLC's
	// destination service
	Value uint16
}

var (
	// Names of the protocols that other packets carry, for counters and output.
	etherTypeNames = map[uint16]string{
		0x0806: "ARP", 0x88cc: "LLDP", 0x8808: "MAC control", 0x8809: "LACP", 0x88f7: "PTP",
		0x88e5: "MACsec (EtherType 0x88e5)", 0x8915: "RoCEv1 (EtherType 0x8915)", 0x894f: "NSH (EtherType 0x894f)",
		0x22f3: "TRILL (EtherType 0x22f3)", 0x8906: "FCoE (EtherType 0x8906)", 0x888e: "EAPOL", 0x8902: "CFM",
		0x8863: "PPPoE discovery", 0x8864: "PPPoE (EtherType 0x8864)", 0x88e7: "PBB (EtherType 0x88e7)", 0x8926: "VN-Tag (EtherType 0x8926)",
		0x8909: "Cisco metadata (EtherType 0x8909)", 0xd28b: "Arista timestamps (EtherType 0xd28b)", 0x9000: "loopback test",
		etherTypeMPLS: "MPLS (EtherType 0x8847)", etherTypeVLAN: "VLAN tags", etherTypeQinQ: "VLAN tags", etherTypeOldQ: "VLAN tags",
	}
	protocolNames = map[uint16]string{1: "ICMP", 2: "IGMP", 6: "TCP", protoGRE: "GRE", 50: "ESP", 58: "ICMPv6", 89: "OSPF", 103: "PIM", 112: "VRRP", 132: "SCTP"}
	serviceNames  = map[uint16]string{0x42: "STP", 0xfe: "IS-IS", sapSNAP: "SNAP of another organization"}
	portNames     = map[uint16]string{
		53: "DNS", 67: "DHCP", 68: "DHCP", 123: "NTP", 161: "SNMP", 319: "PTP", 320: "PTP", 514: "syslog", 546: "DHCPv6", 547: "DHCPv6",
		2055: "NetFlow", 3784: "BFD", 4739: "IPFIX", portVXLAN: "VXLAN", portVXLANGPE: "VXLAN-GPE", portVXLANLinux: "VXLAN",
		5353: "mDNS", portGeneve: "Geneve", 6343: "sFlow", portMPLS: "MPLS", 9995: "NetFlow",
	}
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
	case OtherPPP:
		return fmt.Sprintf("PPP protocol %#04x", o.Value)
	case OtherLLC:
		if name := serviceNames[o.Value]; name != "" {
			return name
		}
		return fmt.Sprintf("LLC service %#02x", o.Value)
	case OtherSamples:
		return "sFlow without packets"
	}
	return fmt.Sprintf("link type %d", o.Value)
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

// NotParsed takes a packet that the caller cannot parse, and returns [ErrNotRoCE] with the
// reason.
func (p *Packet) NotParsed(kind OtherKind, value uint16) error {
	p.found = found{link: noLink, outer: noLink}
	return p.not(kind, value)
}

// Datagram returns the payload of UDP, as far as it is in the buffer, after a Parse that
// returned [ErrNotRoCE] with [OtherPort] as reason.
func (p *Packet) Datagram() []byte {
	end := p.end
	if length := int(binary.BigEndian.Uint16(p.b[p.udp+4:])); length >= udpLen {
		end = min(end, p.udp+length)
	}
	return p.b[p.udp+udpLen : max(p.udp+udpLen, min(end, len(p.b)))]
}
