// SPDX-License-Identifier: Apache-2.0

package lift

import (
	"bytes"
	"errors"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"sluice/orchagent-ext/wire/roce"
)

func TestLifterMapsIPv4(t *testing.T) {
	lifter, err := NewLifter(netip.MustParsePrefix("2001:db8:64::/96"))
	if err != nil {
		t.Fatal(err)
	}
	eth := roce.Ethernet{Tags: [2]roce.VLANTag{{TPID: 0x8100, TCI: 5}}, EtherType: roce.EtherTypeIPv4}
	b := eth.Append(nil)
	ip := len(b)
	b = roce.IPv4Header{TOS: 0x6a, TTL: 61, Protocol: 17, Src: [4]byte{192, 0, 2, 1}, Dst: [4]byte{198, 51, 100, 2}}.Append(b)
	b = roce.UDPHeader{SrcPort: 77, DstPort: roce.UDPPort}.Append(b)
	b = roce.BTH{Opcode: roce.RCSendOnly, DestQP: 9, Pad: 1}.Append(b)
	b, err = roce.Finish(append(b, 1, 2, 3, 0), ip)
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, 0xee, 0xee) // Ethernet padding stays behind
	var p, lifted roce.Packet
	if err := p.Parse(b, len(b)); err != nil {
		t.Fatal(err)
	}
	frame, err := lifter.Lift(&p)
	if err != nil {
		t.Fatal(err)
	}
	if err := lifted.Parse(frame, len(frame)); err != nil {
		t.Fatal(err)
	}
	if got, want, ok := lifted.ICRC(); !ok || got != want {
		t.Errorf("ICRC %08x, want %08x", got, want)
	}
	decoded := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
	udp := decoded.Layer(layers.LayerTypeUDP).(*layers.UDP)
	if err := udp.SetNetworkLayerForChecksum(decoded.NetworkLayer()); err != nil {
		t.Fatal(err)
	}
	if _, result := udp.VerifyChecksum(); !result.Valid {
		t.Errorf("UDP checksum %04x, want %04x", result.Actual, result.Correct)
	}
	if lifted.Src() != netip.MustParseAddr("2001:db8:64::192.0.2.1") || lifted.Dst() != netip.MustParseAddr("2001:db8:64::198.51.100.2") ||
		lifted.TrafficClass() != 0x6a || lifted.HopLimit() != 61 || lifted.SrcPort() != 77 || lifted.FlowLabel() != 0 ||
		lifted.BTH() != p.BTH() || !bytes.Equal(lifted.Payload(), p.Payload()) || !bytes.Equal(frame[:16], b[:16]) {
		t.Errorf("lifted packet differs: %+v", lifted.BTH())
	}
	if _, err := lifter.Lift(&lifted); !errors.Is(err, ErrNotLifted) {
		t.Errorf("an IPv6 packet: %v", err)
	}
	if err := p.Parse(b[:len(b)-10], len(b)); err != nil {
		t.Fatal(err)
	}
	if _, err := lifter.Lift(&p); !errors.Is(err, ErrNotLifted) {
		t.Errorf("a cut packet: %v", err)
	}
}

func TestNewLifterRefuses(t *testing.T) {
	for _, s := range []string{"2001:db8::/64", "10.0.0.0/8", "2001:db8::1/96"} {
		if _, err := NewLifter(netip.MustParsePrefix(s)); err == nil {
			t.Errorf("%s accepted", s)
		}
	}
}
