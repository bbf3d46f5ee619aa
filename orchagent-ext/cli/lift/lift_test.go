// SPDX-License-Identifier: Apache-2.0

package lift

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
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

// TestLiftLeavesOtherLayersOut: of PPPoE and LLC, whose headers have lengths and protocols of
// their own, addresses and VLANs stay.
func TestLiftLeavesOtherLayersOut(t *testing.T) {
	plain := roce.Ethernet{Dst: roce.MAC{2, 0, 0, 0, 0, 1}, Src: roce.MAC{2, 0, 0, 0, 0, 2}, EtherType: roce.EtherTypeIPv4}.Append(nil)
	b := roce.IPv4Header{TTL: 64, Protocol: 17, Src: [4]byte{10, 0, 0, 1}, Dst: [4]byte{10, 0, 0, 2}}.Append(nil)
	b = roce.UDPHeader{SrcPort: 49152, DstPort: roce.UDPPort}.Append(b)
	b = roce.BTH{Opcode: roce.RCSendOnly, DestQP: 7, PSN: 9}.Append(b)
	ip, err := roce.Finish(b, 0)
	if err != nil {
		t.Fatal(err)
	}
	macs := plain[:12]
	tagged := []byte{0x81, 0, 0, 5}
	for name, frame := range map[string][]byte{
		"PPPoE": slices.Concat(macs, tagged, []byte{0x88, 0x64, 0x11, 0, 0, 1, 0, byte(len(ip) + 2), 0, 0x21}, ip),
		"SNAP":  slices.Concat(macs, tagged, []byte{0, byte(len(ip) + 8), 0xaa, 0xaa, 3, 0, 0, 0, 8, 0}, ip),
	} {
		var p roce.Packet
		if err := p.ParseFrom(roce.LookLink, frame, 0, roce.EtherTypeEthernet, len(frame)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		l, err := NewLifter(netip.MustParsePrefix("2001:db8::/96"))
		if err != nil {
			t.Fatal(err)
		}
		lifted, err := l.Lift(&p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := p.Parse(lifted, len(lifted)); err != nil || p.DestQP() != 7 || !slices.Equal(p.VLANs(), []uint16{5}) || !slices.Equal(lifted[:12], macs) {
			t.Errorf("%s: %v, %x", name, err, lifted)
		}
	}
}
