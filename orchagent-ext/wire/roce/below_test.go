// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

// below is a frame with layers between Ethernet and IP.
type below struct {
	etherType uint16 // the first
	frame     []byte
	vlans     []uint16
}

// belowFrames are frames with the IP packet of a captured frame behind layers that no switch
// sends to its CPU.
func belowFrames(inner []byte) map[string]below {
	ip := inner[ipAt:]
	of := func(etherType uint16, vlans []uint16, parts ...[]byte) below {
		return below{etherType, join(append([][]byte{ether(etherType)}, parts...)...), vlans}
	}
	length := func(b []byte) uint16 { return uint16(len(b)) }
	llc := func(b []byte) []byte { return join([]byte{0xaa, 0xaa, 3, 0, 0, 0, 8, 0}, b) }
	return map[string]below{
		"three VLAN tags":    of(0x8100, []uint16{1, 2, 3}, []byte{0xe0, 1, 0x81, 0, 0, 2, 0x91, 0, 0, 3, 8, 0}, ip),
		"sixteen VLAN tags":  of(0x8100, slices.Repeat([]uint16{7}, 16), slices.Repeat([]byte{0, 7, 0x81, 0}, 15), []byte{0, 7, 8, 0}, ip),
		"Cisco metadata":     of(0x8909, nil, []byte{1, 1, 0, 1, 0, 100, 8, 0}, ip),
		"Cisco, two options": of(0x8909, nil, []byte{1, 2, 0, 1, 0, 100, 0, 1, 0, 101, 8, 0}, ip),
		"Arista, 64 bits":    of(0xd28b, nil, []byte{0, 1, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 5, 8, 0}, ip),
		"Arista, 48 bits":    of(0xd28b, nil, []byte{0, 1, 1, 0x20, 0, 0, 0, 0, 0, 5, 8, 0}, ip),
		"VLAN, Arista, VLAN": of(0x8100, []uint16{5, 6}, []byte{0, 5, 0xd2, 0x8b, 0, 1, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 5, 0x81, 0, 0, 6, 8, 0}, ip),
		"VN-Tag":             of(0x8926, nil, []byte{0, 1, 0, 2, 8, 0}, ip),
		"VN-Tag, VLAN":       of(0x8926, []uint16{9}, []byte{0, 1, 0, 2, 0x81, 0, 0, 9, 8, 0}, ip),
		"IEEE 802.1BR":       of(0x893f, nil, []byte{0, 1, 0, 2, 0, 0, 8, 0}, ip),
		"HSR":                of(0x892f, nil, []byte{0, 90, 0, 1, 8, 0}, ip),
		"IEEE 802.1CB":       of(0xf1c1, nil, []byte{0, 0, 0, 1, 8, 0}, ip),
		"PBB":                of(0x88a8, []uint16{20, 30}, []byte{0, 20, 0x88, 0xe7, 0, 0, 1, 2}, ether(0x8100), []byte{0, 30, 8, 0}, ip),
		"PPPoE":              of(0x8864, nil, []byte{0x11, 0, 0, 1}, binary.BigEndian.AppendUint16(nil, length(ip)+2), []byte{0, 0x21}, ip),
		"PPPoE, compressed":  of(0x8864, nil, []byte{0x11, 0, 0, 1}, binary.BigEndian.AppendUint16(nil, length(ip)+1), []byte{0x21}, ip),
		"PPP":                of(0x880b, nil, []byte{0xff, 3, 0, 0x21}, ip),
		"SNAP":               of(length(llc(ip)), nil, llc(ip)),
		"SNAP, padded":       of(length(llc(ip)), nil, llc(ip), make([]byte, 9)),
		"SNAP, jumbo":        of(0x8870, nil, llc(ip)),
		"LLC with IP":        of(length(ip)+3, nil, []byte{6, 6, 3}, ip),
	}
}

// TestLayersBelowIP: behind each the same packet is found, with the identifiers of its VLANs
// and a right ICRC; with any octet cut off it is cut, or not complete. The packet path of a
// switch reads VLAN tags alone.
func TestLayersBelowIP(t *testing.T) {
	inner, want := firstRoCE(t)
	for name, below := range belowFrames(inner) {
		var p roce.Packet
		if err := p.ParseFrom(roce.LookLink, below.frame, 0, roce.EtherTypeEthernet, len(below.frame)); err != nil {
			t.Errorf("%s: %v (%v)", name, err, p.Other())
			continue
		}
		if p.DestQP() != want.DestQP() || p.PSN() != want.PSN() || p.PathSrc() != want.PathSrc() || p.Len() != want.Len() {
			t.Errorf("%s: %v to %#x, PSN %d, %d octets", name, p.PathSrc(), p.DestQP(), p.PSN(), p.Len())
		}
		if got, calculated, ok := p.ICRC(); !ok || got != calculated {
			t.Errorf("%s: ICRC %x, want %x, can be judged: %v", name, got, calculated, ok)
		}
		if !slices.Equal(p.VLANs(), below.vlans) {
			t.Errorf("%s: VLANs %v, want %v", name, p.VLANs(), below.vlans)
		}
		if n := testing.AllocsPerRun(10, func() { _ = p.ParseFrom(roce.LookLink, below.frame, 0, roce.EtherTypeEthernet, len(below.frame)) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		if err := p.Parse(below.frame, len(below.frame)); err == nil {
			t.Errorf("%s: Parse finds RoCEv2, and the switch two VLAN tags at most", name)
		}
		for n := range below.frame {
			err := p.ParseFrom(roce.LookLink, below.frame[:n:n], 0, roce.EtherTypeEthernet, len(below.frame))
			var e *roce.Error
			if err == nil && p.Complete() && name != "SNAP, padded" || err != nil && (!errors.As(err, &e) || e.Problem != roce.Cut) {
				t.Errorf("%s: %v with %d of %d octets", name, err, n, len(below.frame))
			}
		}
	}
}

// TestOthersBelowIP: of what is not read the reason has number and name.
func TestOthersBelowIP(t *testing.T) {
	for want, frame := range map[string][]byte{
		"PPP protocol 0xc021":          join(ether(0x8864), []byte{0x11, 0, 0, 1, 0, 4, 0xc0, 0x21, 1, 1}),
		"PPPoE (EtherType 0x8864)":     join(ether(0x8864), []byte{0x11, 9, 0, 1, 0, 4, 0, 0x21, 1, 1}),
		"STP":                          join(ether(0x0026), []byte{0x42, 0x42, 3}, make([]byte, 40)),
		"SNAP of another organization": join(ether(0x0026), []byte{0xaa, 0xaa, 3, 0, 0, 0xc, 0x20, 0}, make([]byte, 40)),
		"RoCEv1 (EtherType 0x8915)":    join(ether(0x8915), make([]byte, 40)),
		"MACsec (EtherType 0x88e5)":    join(ether(0x8100), []byte{0, 1, 0x88, 0xe5}, make([]byte, 40)),
		"EtherType 0x8999":             join(ether(0x8926), []byte{0, 1, 0, 2, 0x89, 0x99}, make([]byte, 40)),
		"GRE":                          join(ether(0x0800), in4(47, join([]byte{0, 0, 8, 0}, make([]byte, 40)))),
		"UDP port 4789 (VXLAN)":        join(ether(0x0800), in4(17, inUDP(4789, make([]byte, 40)))),
		"UDP port 6343 (sFlow)":        join(ether(0x0800), in4(17, inUDP(6343, make([]byte, 40)))),
		"MPLS (EtherType 0x8847)":      join(ether(0x8847), make([]byte, 40)),
	} {
		var p roce.Packet
		if err := p.ParseFrom(roce.LookCopies, frame, 0, roce.EtherTypeEthernet, len(frame)); !errors.Is(err, roce.ErrNotRoCE) || p.Other().String() != want {
			t.Errorf("%v: %q, want %q", err, p.Other(), want)
		}
	}
}
