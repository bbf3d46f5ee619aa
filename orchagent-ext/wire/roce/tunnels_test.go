// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"sluice/orchagent-ext/wire/roce"
)

var (
	outerSrc = [16]byte{0: 0xfc, 15: 1}
	outerDst = [16]byte{0: 0xfc, 15: 2}
)

// through parses an Ethernet frame and looks into tunnels.
func through(p *roce.Packet, frame []byte, wireLen int) error {
	return p.ParseFrom(roce.LookThrough, frame, 0, roce.EtherTypeEthernet, wireLen)
}

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

// ether is an Ethernet header.
func ether(etherType uint16) []byte {
	return binary.BigEndian.AppendUint16([]byte{2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa}, etherType)
}

// in4 is an IPv4 packet with a payload of a protocol, marked CE; in6 one of IPv6, not marked.
func in4(proto byte, payload []byte) []byte {
	h := []byte{0x45, 3, 0, 0, 0, 0, 0, 0, 64, proto, 0, 0, 10, 9, 8, 7, 10, 9, 8, 6}
	binary.BigEndian.PutUint16(h[2:], uint16(20+len(payload)))
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(h[i:]))
	}
	binary.BigEndian.PutUint16(h[10:], ^uint16(sum+sum>>16))
	return join(h, payload)
}

func in6(next byte, payload []byte) []byte {
	b := roce.IPv6Header{NextHeader: next, HopLimit: 64, Src: outerSrc, Dst: outerDst, FlowLabel: 0xabcde}.Append(nil)
	binary.BigEndian.PutUint16(b[4:], uint16(len(payload)))
	return join(b, payload)
}

func inUDP(port uint16, payload []byte) []byte {
	h := binary.BigEndian.AppendUint16([]byte{0xc0, 1}, port)
	h = binary.BigEndian.AppendUint16(h, uint16(8+len(payload)))
	return join(h, []byte{0, 0}, payload)
}

// A tunnel is a frame whose innermost packet is RoCEv2, and its path.
type tunnel struct {
	frame []byte
	src   string // of the path
	ce    bool   // the path is marked
	label uint32
	cut   bool // the packet inside is cut
}

const v4Path, v6Path = "10.9.8.7", "fc00::1"

// tunnelFrames are frames with a captured frame of RoCEv2 over IPv4 inside.
func tunnelFrames(inner []byte) map[string]tunnel {
	ip, src := inner[ipAt:], "192.168.70.4"
	vxlan, geneve := []byte{8, 0, 0, 0, 0, 0, 7, 0}, []byte{1, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 2, 3, 0}
	erspan2 := join([]byte{0x10, 0, 0x88, 0xbe, 0, 0, 0, 1}, []byte{0x10, 1, 0, 5, 0, 0, 0, 2})
	erspan3 := func(o byte, rest ...byte) []byte {
		return join([]byte{0x10, 0, 0x22, 0xeb, 0, 0, 0, 1}, []byte{0x20, 1, 0, 5, 0, 0, 0, 2, 0, 0, 0, o}, rest)
	}
	return map[string]tunnel{
		"VXLAN over IPv4":           {join(ether(0x0800), in4(17, inUDP(4789, join(vxlan, inner)))), v4Path, true, 0, false},
		"VXLAN over IPv6":           {join(ether(0x86dd), in6(17, inUDP(4789, join(vxlan, inner)))), v6Path, false, 0xabcde, false},
		"Geneve with an option":     {join(ether(0x0800), in4(17, inUDP(6081, join(geneve, inner)))), v4Path, true, 0, false},
		"GRE with IP":               {join(ether(0x0800), in4(47, join([]byte{0, 0, 8, 0}, ip))), v4Path, true, 0, false},
		"GRE with key, a frame":     {join(ether(0x86dd), in6(47, join([]byte{0x20, 0, 0x65, 0x58, 0, 0, 0, 9}, inner))), v6Path, false, 0xabcde, false},
		"ERSPAN type I":             {join(ether(0x0800), in4(47, join([]byte{0, 0, 0x88, 0xbe}, inner))), src, false, 0, false},
		"ERSPAN type II":            {join(ether(0x0800), in4(47, join(erspan2, inner))), src, false, 0, false},
		"ERSPAN type II, cut":       {join(ether(0x0800), in4(47, join(erspan2, inner[:len(inner)-4]))), src, false, 0, true},
		"ERSPAN type III":           {join(ether(0x0800), in4(47, join(erspan3(0), inner))), src, false, 0, false},
		"ERSPAN III with subheader": {join(ether(0x0800), in4(47, join(erspan3(1, make([]byte, 8)...), inner))), src, false, 0, false},
		"NVIDIA":                    {join(ether(0x0800), in4(47, join([]byte{0, 0, 0x89, 0x49}, make([]byte, 22), inner))), src, false, 0, false},
		"VXLAN-GPE, Ethernet":       {join(ether(0x0800), in4(17, inUDP(4790, join([]byte{12, 0, 0, 3, 0, 0, 7, 0}, inner)))), v4Path, true, 0, false},
		"VXLAN-GPE, IPv4":           {join(ether(0x86dd), in6(17, inUDP(4790, join([]byte{12, 0, 0, 1, 0, 0, 7, 0}, ip)))), v6Path, false, 0xabcde, false},
		"VXLAN-GPE, MPLS":           {join(ether(0x0800), in4(17, inUDP(4790, join([]byte{12, 0, 0, 5, 0, 0, 7, 0, 0, 1, 1, 64}, ip)))), v4Path, true, 0, false},
		"VXLAN-GPE without P":       {join(ether(0x0800), in4(17, inUDP(4790, join([]byte{8, 0, 0, 0, 0, 0, 7, 0}, inner)))), v4Path, true, 0, false},
		"MPLS, two labels":          {join(ether(0x8847), []byte{0, 1, 0, 64, 0, 2, 1, 64}, ip), src, false, 0, false},
		"MPLS, Ethernet":            {join(ether(0x8847), []byte{0, 1, 1, 64}, make([]byte, 4), inner), src, false, 0, false},
		"MPLS over UDP":             {join(ether(0x0800), in4(17, inUDP(6635, join([]byte{0, 1, 1, 64}, ip)))), v4Path, true, 0, false},
		"IP in IP":                  {join(ether(0x0800), in4(4, ip)), v4Path, true, 0, false},
		"IPv6 in IPv4, VLAN":        {join(ether(0x8100), []byte{0, 5, 8, 0}, in4(41, in6(4, ip))), v4Path, true, 0, false},
		"SRv6, IPv4":                {join(ether(0x86dd), in6(43, join([]byte{4, 2, 4, 0, 0, 0, 0, 0}, outerDst[:], ip))), v6Path, false, 0xabcde, false},
		"SRv6, Ethernet":            {join(ether(0x86dd), in6(43, join([]byte{143, 2, 4, 0, 0, 0, 0, 0}, outerDst[:], inner))), v6Path, false, 0xabcde, false},
		"VXLAN in ERSPAN":           {join(ether(0x0800), in4(47, join(erspan2, ether(0x86dd), in6(17, inUDP(4789, join(vxlan, inner)))))), v6Path, false, 0xabcde, false},
	}
}

// first is a frame of the capture that is RoCEv2, and what it says.
func firstRoCE(t testing.TB) (frame []byte, p *roce.Packet) {
	t.Helper()
	p = new(roce.Packet)
	for _, frame := range readCapture(t, "rc-send-ipv4.pcap") {
		if p.Parse(frame, len(frame)) == nil {
			return frame, p
		}
	}
	t.Fatal("none")
	return nil, nil
}

// TestTunnelsAreSeenThrough: the session is that of the innermost packet, whose ICRC is
// right; the path that of the outermost header, of a copy by ERSPAN its own. Without being
// asked for it is a packet of another protocol.
func TestTunnelsAreSeenThrough(t *testing.T) {
	inner, want := firstRoCE(t)
	for name, tunnel := range tunnelFrames(inner) {
		var p roce.Packet
		if err := through(&p, tunnel.frame, len(tunnel.frame)); err != nil {
			t.Errorf("%s: %v (%v)", name, err, p.Other())
			continue
		}
		if p.DestQP() != want.DestQP() || p.PSN() != want.PSN() || p.Src() != want.Src() || p.Dst() != want.Dst() {
			t.Errorf("%s: %v > %v to %#x, PSN %d", name, p.Src(), p.Dst(), p.DestQP(), p.PSN())
		}
		if got, calculated, ok := p.ICRC(); ok == tunnel.cut || ok && got != calculated {
			t.Errorf("%s: ICRC %x, want %x, can be judged: %v", name, got, calculated, ok)
		}
		if p.PathSrc().String() != tunnel.src || p.FlowLabel() != tunnel.label || (p.TrafficClass()&3 == 3) != tunnel.ce {
			t.Errorf("%s: path from %v, label %#x, traffic class %#x", name, p.PathSrc(), p.FlowLabel(), p.TrafficClass())
		}
		if p.Tunnelled() != (tunnel.src != "192.168.70.4") {
			t.Errorf("%s: tunnelled %v", name, p.Tunnelled())
		}
		if vlans := p.VLANs(); (len(vlans) == 1 && vlans[0] == 5) != strings.Contains(name, "VLAN") {
			t.Errorf("%s: VLANs %v", name, vlans)
		}
		direct := strings.HasPrefix(name, "SRv6, IPv4") // which Parse sees through
		if err := p.Parse(tunnel.frame, len(tunnel.frame)); (err == nil) != direct || err != nil && !errors.Is(err, roce.ErrNotRoCE) {
			t.Errorf("%s: Parse: %v", name, err)
		}
		if n := testing.AllocsPerRun(10, func() { _ = through(&p, tunnel.frame, len(tunnel.frame)) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		for n := range tunnel.frame { // whatever is cut off is an error, or the capture cut it
			if err := through(&p, tunnel.frame[:n:n], len(tunnel.frame)); err == nil && p.Complete() {
				t.Errorf("%s: complete with %d of %d octets", name, n, len(tunnel.frame))
			}
		}
	}
}

// TestTunnelsAsTshark: tshark finds the same queue pair and PSN in each.
func TestTunnelsAsTshark(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not installed: make deps")
	}
	inner, want := firstRoCE(t)
	file := filepath.Join(t.TempDir(), "tunnels.pcap")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := pcapgo.NewWriter(f)
	if err := w.WriteFileHeader(65536, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name, tunnel := range tunnelFrames(inner) {
		if name == "ERSPAN type I" || name == "SRv6, Ethernet" || name == "NVIDIA" || name == "VXLAN-GPE without P" || tunnel.cut {
			continue // which tshark 4.0 does not decode, or calls malformed
		}
		names = append(names, name)
		info := gopacket.CaptureInfo{Timestamp: time.Unix(1, 0), CaptureLength: len(tunnel.frame), Length: len(tunnel.frame)}
		if err := w.WritePacket(info, tunnel.frame); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("tshark", "-r", file, "--disable-protocol", "tftp", "-d", "udp.port==6635,mpls", "-T", "fields", "-e", "infiniband.bth.destqp", "-e", "infiniband.bth.psn").Output()
	if err != nil {
		t.Fatal(err)
	}
	says := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(says) != len(names) {
		t.Fatalf("tshark says %d lines of %d packets", len(says), len(names))
	}
	for i, name := range names {
		if want := fmt.Sprintf("0x%06x\t%d", want.DestQP(), want.PSN()); says[i] != want {
			t.Errorf("%s: tshark says %q, want %q", name, says[i], want)
		}
	}
}

// TestEndlessTunnelsEnd: what is nested too deep is refused, and counted as that.
func TestEndlessTunnelsEnd(t *testing.T) {
	inner, _ := firstRoCE(t)
	for name, wrap := range map[string]func([]byte) []byte{
		"VXLAN": func(b []byte) []byte {
			return join(ether(0x0800), in4(17, inUDP(4789, join([]byte{8, 0, 0, 0, 0, 0, 7, 0}, b))))
		},
		"ERSPAN": func(b []byte) []byte { return join(ether(0x0800), in4(47, join([]byte{0, 0, 0x88, 0xbe}, b))) },
		"MPLS":   func(b []byte) []byte { return join(ether(0x8847), []byte{0, 1, 1, 64}, make([]byte, 4), b) },
	} {
		frame := inner
		for range 20 {
			frame = wrap(frame)
		}
		var p roce.Packet
		var e *roce.Error
		if err := through(&p, frame, len(frame)); !errors.As(err, &e) || e.Problem != roce.TooMany {
			t.Errorf("%s: %v", name, err)
		}
	}
	labels := join(ether(0x8847), slices.Repeat([]byte{0, 1, 0, 64}, 100))
	var p roce.Packet
	var e *roce.Error
	if err := through(&p, labels, len(labels)); !errors.As(err, &e) || e.Header != roce.HeaderMPLS || e.Problem != roce.TooMany {
		t.Errorf("100 labels: %v", err)
	}
}

// TestOtherPacketsHaveAReason: what is not RoCEv2 says why.
func TestOtherPacketsHaveAReason(t *testing.T) {
	for want, frame := range map[string][]byte{
		"ARP":                       join(ether(0x0806), make([]byte, 28)),
		"EtherType 0x1234":          join(ether(0x1234), make([]byte, 28)),
		"LLC service 0x00":          join(ether(0x0026), make([]byte, 38)),
		"TCP":                       join(ether(0x0800), in4(6, make([]byte, 20))),
		"ICMPv6":                    join(ether(0x86dd), in6(58, make([]byte, 20))),
		"IP protocol 99":            join(ether(0x86dd), in6(99, make([]byte, 20))),
		"UDP port 53 (DNS)":         join(ether(0x0800), in4(17, inUDP(53, nil))),
		"UDP port 4420":             join(ether(0x0800), in4(17, inUDP(4420, nil))),
		"later fragments":           join(ether(0x86dd), in6(44, []byte{17, 0, 0, 8, 0, 0, 0, 1})),
		"tunnels of something else": join(ether(0x0800), in4(47, []byte{0, 1, 0x88, 0x0b})),
		"VLAN tags":                 join(ether(0x8100), slices.Repeat([]byte{0, 1, 0x81, 0}, 20)),
	} {
		var p roce.Packet
		if err := through(&p, frame, len(frame)); !errors.Is(err, roce.ErrNotRoCE) || p.Other().String() != want {
			t.Errorf("%v: %q, want %q", err, p.Other(), want)
		}
	}
}
