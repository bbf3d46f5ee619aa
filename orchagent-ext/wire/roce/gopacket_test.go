// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"pgregory.net/rapid"

	"sluice/orchagent-ext/wire/roce"
)

// An independent decoder finds the same headers before the BTH, and the same
// lengths and checksums, in what Append and Finish made.
func TestGopacketAgrees(t *testing.T) {
	for _, sh := range shapes {
		if sh.first || slices.Contains(sh.extensions, fragment) {
			continue // it does not look behind a fragment header, not even that of a whole packet
		}
		t.Run(sh.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := packets(rapid.SampledFrom(specs).Draw(t, "opcode"), sh).Draw(t, "packet")
				if d := diff(m.outside(t), foundByGopacket(t, m.frame)); d != "" {
					t.Errorf("put in (-), found by gopacket (+):\n%s", d)
				}
			})
		})
	}
}

// outside is what a decoder that does not know RoCEv2 can tell of a packet.
type outside struct {
	Tags                   int
	Src, Dst               netip.Addr // the destination is the one in the IP header
	PathSrc, PathDst       netip.Addr // these and the next three are the outermost IP header's
	TrafficClass, HopLimit uint8
	FlowLabel              uint32
	SrcPort, DstPort       uint16
	UDPLength              int
	UDPPayload             []byte
	Checksums              bool
}

func (m made) outside(t rapid.TB) outside {
	w := m.want
	dst := m.frame[m.ip+24 : m.ip+40]
	if w.Is4 {
		dst = m.frame[m.ip+16 : m.ip+20]
	}
	addr, ok := netip.AddrFromSlice(dst)
	if !ok {
		t.Fatalf("no address: %x", dst)
	}
	return outside{
		Tags: (len(w.Link) - 14) / 4, Src: w.Src, Dst: addr, PathSrc: w.PathSrc, PathDst: w.PathDst, TrafficClass: w.TrafficClass, HopLimit: w.HopLimit,
		FlowLabel: w.FlowLabel, SrcPort: w.SrcPort, DstPort: roce.UDPPort, UDPLength: len(m.frame) - m.udp,
		UDPPayload: m.frame[m.udp+8:], Checksums: true,
	}
}

func foundByGopacket(t rapid.TB, frame []byte) outside {
	o := outside{Checksums: true}
	var network gopacket.NetworkLayer
	packet := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
	for _, l := range packet.Layers() {
		switch l := l.(type) {
		case *layers.Dot1Q:
			o.Tags++
		case *layers.IPv4:
			network = l
			o.Src, o.Dst = address(t, l.SrcIP), address(t, l.DstIP)
			o.path(l.TOS, l.TTL, 0)
			_, result := l.VerifyChecksum()
			o.Checksums = o.Checksums && result.Valid
		case *layers.IPv6:
			network = l
			o.Src, o.Dst = address(t, l.SrcIP), address(t, l.DstIP)
			o.path(l.TrafficClass, l.HopLimit, l.FlowLabel)
		case *layers.UDP:
			o.SrcPort, o.DstPort = uint16(l.SrcPort), uint16(l.DstPort)
			o.UDPLength, o.UDPPayload = int(l.Length), l.Payload
			if err := l.SetNetworkLayerForChecksum(network); err != nil {
				t.Fatal(err)
			}
			err, result := l.VerifyChecksum()
			o.Checksums = o.Checksums && err == nil && result.Valid && l.Checksum != 0
			return o
		}
	}
	t.Fatalf("gopacket found no UDP: %v\n%x", packet.ErrorLayer(), frame)
	return o
}

// path takes the IP header that was just found for the outermost one, if it is.
func (o *outside) path(trafficClass, hopLimit uint8, label uint32) {
	if !o.PathSrc.IsValid() {
		o.PathSrc, o.PathDst, o.TrafficClass, o.HopLimit, o.FlowLabel = o.Src, o.Dst, trafficClass, hopLimit, label
	}
}

func address(t rapid.TB, ip []byte) netip.Addr {
	a, ok := netip.AddrFromSlice(ip)
	if !ok {
		t.Fatalf("no address: %x", ip)
	}
	return a
}
