// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"slices"
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

// Packets that are unusual and nevertheless RoCEv2.
func TestAcceptsUnusualPackets(t *testing.T) {
	ack := datagram(roce.RCAck, 8)
	options := []byte{destOptions, 0, 1, 4, 0, 0, 0, 0}
	lastOptions := []byte{udp, 0, 1, 4, 0, 0, 0, 0}
	tagged := roce.Ethernet{Tags: [2]roce.VLANTag{{TPID: 0x9100}, {TPID: 0x9100}}, EtherType: roce.EtherTypeIPv6}.Append(nil)
	for name, frame := range map[string][]byte{
		"QinQ of the old kind":    append(tagged, packet6(udp, ack)...),
		"eight extension headers": frame6(destOptions, extend(ack, append(slices.Repeat([][]byte{options}, 7), lastOptions)...)),
		"don't fragment":          with16(frame4(nil, udp, ack), ipAt+6, 0x4000),
		"transport version 15":    with(frame6(udp, ack), ipAt+40+9, 0x0f),
		"two tunnels":             frame6(ipv6InIP, packet6(ipv6InIP, packet6(udp, ack))),
		"tunnel with a trailer":   frame6(ipv6InIP, append(packet6(udp, ack), 1, 2, 3)),
	} {
		var p roce.Packet
		if err := p.Parse(frame, len(frame)); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if a, ok := p.AETH(); !ok || !p.Complete() || len(p.Payload()) != 0 || a != (roce.AETH{}) {
			t.Errorf("%s: AETH %+v, %v, complete %v, payload %x", name, a, ok, p.Complete(), p.Payload())
		}
	}
}

// Behind the BTH of an opcode without a layout everything is payload.
func TestUnknownOpcodes(t *testing.T) {
	for i := range 256 {
		o := roce.Opcode(i)
		if o.Known() {
			continue
		}
		var p roce.Packet
		if err := p.ParseIP(packet6(udp, datagram(o, 36)), 0); err != nil {
			t.Errorf("%v: %v", o, err)
			continue
		}
		if p.Opcode() != o || len(p.Payload()) != 32 || decodeExtended(&p) != (extended{}) {
			t.Errorf("%v: %v, payload of %d octets, %+v", o, p.Opcode(), len(p.Payload()), decodeExtended(&p))
		}
	}
}

// IP may carry more than the UDP datagram: the ICRC ends with the datagram.
func TestUDPShorterThanIP(t *testing.T) {
	for name, frame := range map[string][]byte{
		"IPv4": frame4(nil, udp, append(datagram(roce.RCSendOnly, 20), 9, 9, 9, 9)),
		"IPv6": frame6(udp, append(datagram(roce.RCSendOnly, 20), 9, 9, 9, 9)),
	} {
		var p roce.Packet
		if err := p.Parse(frame, len(frame)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(p.Payload()) != 16 || len(p.BTHBytes()) != 32 || p.Len() != len(frame)-ipAt || !p.Complete() {
			t.Errorf("%s: payload %d octets, from the BTH on %d, IP packet %d", name, len(p.Payload()), len(p.BTHBytes()), p.Len())
		}
		_, want, _ := p.ICRC()
		udpAt := len(frame) - 4 - 40
		if is := plainICRC(frame[ipAt:udpAt], frame[udpAt:len(frame)-8]); want != is {
			t.Errorf("%s: ICRC %08x, octet by octet %08x", name, want, is)
		}
	}
}

// Only a segment routing header with segments left names the destination.
func TestRoutingHeaders(t *testing.T) {
	for _, c := range []struct {
		name                string
		kind, left, entries byte
		fromList            bool
	}{
		{"SRH with no segment left", 4, 0, 1, false},
		{"SRH with its last segment left", 4, 1, 2, true},
		{"SRH whose first segment is in the IPv6 header only", 4, 2, 2, true},
		{"SRH without a list", 4, 0, 0, false},
		{"type 0", 0, 1, 1, false},
		{"type 2", 2, 1, 1, false},
	} {
		header := make([]byte, 8+16*c.entries)
		copy(header, []byte{udp, 2 * c.entries, c.kind, c.left, max(c.entries, 1) - 1})
		frame := frame6(routing, extend(datagram(roce.RCAck, 8), header))
		var p roce.Packet
		if err := p.Parse(frame, len(frame)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if p.Dst().IsUnspecified() != c.fromList { // the list is all zeros
			t.Errorf("%s: destination %v", c.name, p.Dst())
		}
	}
}

// The tunnel's packet may be fragmented, too: the lengths inside are then those
// of the whole.
func TestFragmentedTunnel(t *testing.T) {
	whole := datagram(roce.RCSendOnly, 100)
	first := []byte{0, 0, 0, 1, 0, 0, 0, 9} // more fragments follow
	for name, frame := range map[string][]byte{
		"IPv6": frame6(fragment, extend(packet6(udp, whole)[:80], with(first, 0, ipv6InIP))),
		"IPv4": frame6(fragment, extend(frame4(nil, udp, whole)[ipAt:][:80], with(first, 0, ipInIP))),
	} {
		var p roce.Packet
		if err := p.Parse(frame, len(frame)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !p.Fragment() || p.Complete() || p.Len() != len(frame)-ipAt || len(p.Payload()) != len(p.BTHBytes())-roce.BTHLen {
			t.Errorf("%s: fragment %v, complete %v, length %d, payload %d octets", name, p.Fragment(), p.Complete(), p.Len(), len(p.Payload()))
		}
	}
}
