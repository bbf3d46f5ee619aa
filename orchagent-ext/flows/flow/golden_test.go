// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"bytes"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"sluice/orchagent-ext/wire/roce"
)

var update = flag.Bool("update", false, "write the golden files of testdata")

// Addresses of the documentation ranges (RFC 3849, RFC 5737). Tunnels go from leafA to
// sidB; segment is a segment on the way.
var (
	goldenA, goldenB = netip.MustParseAddr("2001:db8:a::11"), netip.MustParseAddr("2001:db8:b::22")
	leafA, sidB      = netip.MustParseAddr("2001:db8:1::1"), netip.MustParseAddr("2001:db8:f:2::")
	segment          = netip.MustParseAddr("2001:db8:f:1::")
	goldenA4         = [4]byte{192, 0, 2, 11}
	goldenB4         = [4]byte{198, 51, 100, 22}
)

const (
	nextIPv4, nextUDP, nextIPv6, nextRouting = 4, 17, 41, 43

	hostLabel, tunnelLabel = 0x0abcd, 0x54321
	ect0, ce               = 2, 3 // ECN
)

// A goldenPacket is one RoCEv2 packet as a fabric carries it.
type goldenPacket struct {
	name, says string
	frame      []byte
	tshark     string // what tshark finds: fields of goldenFields with | between them
}

// goldenFields are what tshark is asked for, all occurrences of each.
var goldenFields = []string{"ipv6.src", "ipv6.dst", "ipv6.flow", "ipv6.tclass.ecn", "ipv6.routing.segleft", "ip.src", "udp.srcport",
	"udp.checksum.status", "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn"}

func goldenPackets(t *testing.T) []goldenPacket {
	host := roce.IPv6Header{TrafficClass: ect0, FlowLabel: hostLabel, NextHeader: nextUDP, HopLimit: 63, Src: goldenA.As16(), Dst: goldenB.As16()}
	plain := sendOnly(t, host, nil)
	bySegments := host
	bySegments.NextHeader, bySegments.Dst = nextRouting, segment.As16()
	over4 := sendOnly4(t)
	const roceFields = "|49153|1|4|0x000222|1193046"
	return []goldenPacket{
		{"rocev2-ipv6", "RoCEv2 over IPv6", ethernet(plain),
			"2001:db8:a::11|2001:db8:b::22|0x00abcd|2||" + roceFields},
		{"rocev2-srv6-srh", "RoCEv2 over IPv6 with a segment routing header, one segment left", ethernet(sendOnly(t, bySegments, srh(nextUDP, 1, goldenB, segment))),
			"2001:db8:a::11|2001:db8:f:1::|0x00abcd|2|1|" + roceFields},
		{"rocev2-srv6-encap", "IPv6 in IPv6 with a segment routing header; congestion experienced on the path", ethernet(tunnel(plain, segment, nextRouting, srh(nextIPv6, 1, sidB, segment))),
			"2001:db8:1::1,2001:db8:a::11|2001:db8:f:1::,2001:db8:b::22|0x054321,0x00abcd|3,2|1|" + roceFields},
		{"rocev2-srv6-reduced", "IPv6 in IPv6 without a segment routing header (H.Encaps.Red, one segment)", ethernet(tunnel(plain, sidB, nextIPv6, nil)),
			"2001:db8:1::1,2001:db8:a::11|2001:db8:f:2::,2001:db8:b::22|0x054321,0x00abcd|3,2||" + roceFields},
		{"rocev2-srv6-ipv4", "IPv4 in IPv6", ethernet(tunnel(over4, sidB, nextIPv4, nil)),
			"2001:db8:1::1|2001:db8:f:2::|0x054321|3||192.0.2.11" + roceFields},
	}
}

// sendOnly is an RC SEND ONLY of 64 octets behind an IPv6 header and extension headers.
func sendOnly(t *testing.T, h roce.IPv6Header, extensions []byte) []byte {
	t.Helper()
	return finish(t, append(h.Append(nil), extensions...))
}

func sendOnly4(t *testing.T) []byte {
	t.Helper()
	return finish(t, roce.IPv4Header{TOS: ect0, Fragment: 0x4000, TTL: 63, Protocol: nextUDP, Src: goldenA4, Dst: goldenB4}.Append(nil))
}

func finish(t *testing.T, b []byte) []byte {
	t.Helper()
	b = roce.UDPHeader{SrcPort: 49153, DstPort: roce.UDPPort}.Append(b)
	b = roce.BTH{Opcode: roce.RCSendOnly, PKey: 0xffff, DestQP: 0x222, AckReq: true, PSN: 0x123456}.Append(b)
	b, err := roce.Finish(append(b, make([]byte, 64)...), 0)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// srh is a segment routing header (RFC 8754) with its list, the last segment first.
func srh(next, left uint8, list ...netip.Addr) []byte {
	b := []byte{next, byte(2 * len(list)), 4, left, byte(len(list) - 1), 0, 0, 0}
	for _, segment := range list {
		b = append(b, segment.AsSlice()...)
	}
	return b
}

func tunnel(packet []byte, dst netip.Addr, next uint8, extensions []byte) []byte {
	b := roce.IPv6Header{TrafficClass: ce, FlowLabel: tunnelLabel, PayloadLength: uint16(len(extensions) + len(packet)),
		NextHeader: next, HopLimit: 61, Src: leafA.As16(), Dst: dst.As16()}.Append(nil)
	return append(append(b, extensions...), packet...)
}

func ethernet(packet []byte) []byte {
	mac := func(last byte) roce.MAC { return roce.MAC{0, 0, 0x5e, 0, 0x53, last} }
	return append(roce.Ethernet{Dst: mac(2), Src: mac(1), EtherType: roce.EtherTypeIPv6}.Append(nil), packet...)
}

// TestGoldenPathsAndSessions: the files of testdata are what is built, and say what
// is parsed.
func TestGoldenPathsAndSessions(t *testing.T) {
	want := map[string]bool{"README.md": true}
	for _, g := range goldenPackets(t) {
		var pcap bytes.Buffer
		w := pcapgo.NewWriter(&pcap)
		if err := w.WriteFileHeader(65535, layers.LinkTypeEthernet); err != nil {
			t.Fatal(err)
		}
		info := gopacket.CaptureInfo{Timestamp: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), CaptureLength: len(g.frame), Length: len(g.frame)}
		if err := w.WritePacket(info, g.frame); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{g.name + ".pcap": pcap.Bytes(), g.name + ".yaml": describe(t, g)} {
			want[name] = true
			path := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(path, text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%s (%v) is not what is built now; go test -run Golden -update writes it:\n%s", path, err, cmp.Diff(string(got), string(text)))
			}
		}
	}
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !f.IsDir() && !want[f.Name()] {
			t.Errorf("testdata/%s belongs to no packet", f.Name())
		}
	}
}

// describe says which path and which session a packet names.
func describe(t *testing.T, g goldenPacket) []byte {
	t.Helper()
	p := parse(t, g.frame)
	if _, _, ok := p.ICRC(); !ok {
		t.Errorf("%s: wrong ICRC", g.name)
	}
	k := KeyOf(p)
	id := HashStreamID(0, p.PathSrc16(), p.PathDst16(), p.FlowLabel())
	if neighbor := neighborsStreamID(0, g.frame); id != neighbor {
		t.Errorf("%s: Stream ID %#x, and a neighbor computes %#x", g.name, id, neighbor)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", g.says)
	fmt.Fprintf(&b, "path_src: %q\npath_dst: %q\nflow_label: 0x%05x\ntraffic_class: %d\nhop_limit: %d\noctets: %d\nstream_id: %d # scope hash, seed 0\n",
		p.PathSrc(), p.PathDst(), p.FlowLabel(), p.TrafficClass(), p.HopLimit(), p.Len(), id)
	fmt.Fprintf(&b, "session_src: %q\nsession_dst: %q\nsport: %d\nopcode: %q\npkey: 0x%04x\ndst_qp: %#06x\npsn: %d\nack_req: %t\n",
		p.Src(), p.Dst(), p.SrcPort(), p.Opcode(), p.PKey(), p.DestQP(), p.PSN(), p.AckReq())
	fmt.Fprintf(&b, "label_draft_literal: 0x%05x # source queue pair 0\nlabel_crc32: 0x%05x\n", k.Label(DraftLiteral, 0), k.Label(CRC32, 0))
	fmt.Fprintf(&b, "frame: \"%x\"\n", g.frame)
	return b.Bytes()
}

func TestTsharkReadsGoldenPaths(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not installed: ", err)
	}
	for _, g := range goldenPackets(t) {
		args := []string{"-n", "-r", filepath.Join("testdata", g.name+".pcap"), "-o", "udp.check_checksum:TRUE", "-T", "fields", "-E", "separator=|"}
		for _, f := range goldenFields {
			args = append(args, "-e", f)
		}
		out, err := exec.Command("tshark", args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(string(out)); got != g.tshark {
			t.Errorf("%s: tshark reads\n%s, want\n%s", g.name, got, g.tshark)
		}
	}
}
