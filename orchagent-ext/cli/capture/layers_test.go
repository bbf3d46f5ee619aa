// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/orchagent-ext/cli/capture/link"
	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/capturegen"
)

// matrixCase is one packet of the matrix, and the right values.
type matrixCase struct {
	name   string
	frame  []byte
	length int
	psn    uint32
	six    bool
	vlans  []uint16 // of the path
	inside []uint16 // all of them, which tshark lists
	cut    bool
	own    string // why tshark does not judge it; "": it does
}

// matrixCases returns the cases of a link type.
func matrixCases(t *testing.T, l matrixLink) (all []matrixCase) {
	for _, carrier := range matrixCarriers() {
		for _, tags := range matrixTagKinds() {
			// The frame inside a carrier is independent of the link type.
			if some := []string{"none", "QinQ", "PPPoE", "SNAP"}; l.link != link.Ethernet && carrier.wrap != nil && !slices.Contains(some, tags.name) {
				continue
			}
			for _, ip := range matrixIPs() {
				for _, cut := range matrixCuts {
					if c, ok := matrixOf(t, l, carrier, tags, ip, cut, uint32(len(all)+1)); ok {
						all = append(all, c)
					}
				}
			}
		}
	}
	return all
}

// matrixOf makes one case; ok is false where the parts do not go together.
func matrixOf(t *testing.T, l matrixLink, carrier matrixCarrier, tags matrixTags, ip matrixIP, cut matrixCut, psn uint32) (c matrixCase, ok bool) {
	c = matrixCase{name: strings.Join([]string{l.name, carrier.name, tags.name, ip.name, cut.name}, " / "), psn: psn, six: ip.etherType == roce.EtherTypeIPv6, vlans: tags.vlans, inside: tags.vlans}
	packet, bth := ip.make(t, roce.BTH{Opcode: roce.RCWriteOnly, PKey: 0xffff, DestQP: 0x11, PSN: psn, AckReq: true})
	if cut.offload {
		if ip.etherType == roce.EtherTypeIPv4 {
			copy(packet[2:], []byte{0, 0})
		} else {
			copy(packet[4:], []byte{0, 0})
			c.own = "IPv6 with payload length 0"
		}
		if carrier.wrap != nil {
			return c, false
		}
	}
	after := len(packet) - bth // octets after the BTH
	keep := func(b []byte, left int) []byte { return b[:len(b)-max(0, after-left)] }
	etherType, below := tags.wrap(ip.etherType, packet)
	if carrier.wrap == nil {
		if c.frame = l.wrap(etherType, below); c.frame == nil {
			return c, false
		}
	} else {
		frame := ethernetFrame(etherType, below)
		if cut.before >= 0 {
			frame = keep(frame, cut.before)
		}
		inner := carrier.wrap(frame)
		outer := uint16(roce.EtherTypeIPv4)
		if inner[0]>>4 == 6 {
			outer = roce.EtherTypeIPv6
		}
		if c.frame = l.wrap(outer, inner); c.frame == nil {
			return c, false
		}
		if !carrier.copied {
			c.vlans = nil
		}
	}
	switch {
	case l.link == link.MPLS:
		c.own = "link type MPLS"
	case carrier.unread:
		c.own = carrier.name
	case (l.link == link.CiscoHDLC || l.name == "HDLC of Cisco in PPP") && carrier.wrap == nil && tags.name != "none":
		c.own = "Cisco HDLC with a tag"
	case (l.link == link.NFLOG || l.link == link.IPNET) && cut.captured >= 0:
		c.own = l.name + ", captured in part"
	}
	c.length, c.cut = len(c.frame), cut.before >= 0 || cut.captured >= 0
	if cut.before >= 0 && carrier.wrap == nil {
		return c, false // no mirror cuts it
	}
	if cut.captured >= 0 {
		if carrier.name == "sFlow" {
			c.own = "sFlow, captured in part"
		}
		trailer := 0
		if carrier.name == "sFlow" {
			trailer += -len(ethernetFrame(etherType, below)) & 3
		}
		c.frame = c.frame[:len(c.frame)-trailer-(after-cut.captured)]
	}
	return c, true
}

// TestLayerMatrix: each combination of a link type, layers below IP, a copy or a tunnel, IP and a cut
// has the opcode, queue pair, PSN, addresses and VLANs that it was made with, and tshark finds
// the same, but in those that it does not read. All are in one file, so that tshark starts once.
func TestLayerMatrix(t *testing.T) {
	const maxShown = 20
	file := new(capturegen.Pcapng).Section(binary.LittleEndian, 1, 0)
	links := matrixLinks()
	for _, l := range links {
		file.Interface(uint16(l.link), 1<<18)
	}
	var all []matrixCase
	for i, l := range links {
		cases := matrixCases(t, l)
		if len(cases) == 0 {
			t.Fatalf("%s: no case", l.name)
		}
		for _, c := range cases {
			file.Enhanced(uint32(i), 1700000000_000000, c.frame, c.length)
		}
		all = append(all, cases...)
	}
	name := filepath.Join(t.TempDir(), "matrix.pcapng")
	if err := os.WriteFile(name, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	rows, err := capturegen.Tshark(t, name, "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "vlan.id", "ieee8021ad.id")
	read := readMatrix(t, name)
	if err != nil || len(rows) != len(all) || len(read) != len(all) {
		t.Fatalf("tshark: %v; %d packets, and %d by tshark, of %d", err, len(read), len(rows), len(all))
	}
	judged, differences := 0, 0
	own := map[string]int{}
	differ := func(c *matrixCase, who, got, want string) {
		if differences++; differences <= maxShown {
			t.Errorf("%s:\n%s %s\nwant %s", c.name, who, got, want)
		}
	}
	for i := range all {
		c := &all[i]
		if want := c.want(); read[i] != want {
			differ(c, "read", read[i], want)
		}
		if c.own != "" {
			own[c.own]++
		} else if judge, want := tsharkSays(rows[i]), c.byTshark(); judge != want {
			differ(c, "tshark", judge, want)
		} else {
			judged++
		}
	}
	t.Logf("%d cases: %d judged by tshark, the others by their own values (%s); %d differences", len(all), judged, countsOf(own), differences)
}

// countsOf returns the counts as text.
func countsOf(by map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%s: %d", name, by[name]))
	}
	return strings.Join(parts, "; ")
}

// want returns the right values of the case as text.
func (c *matrixCase) want() string { return c.values(c.vlans) + fmt.Sprintf(", cut %v", c.cut) }

// byTshark is want as tshark has it: without the cut, which it has no field for, and with the
// VLANs inside of tunnels.
func (c *matrixCase) byTshark() string { return c.values(c.inside) }

// values returns the values of the case with VLANs as text.
func (c *matrixCase) values(vlans []uint16) string {
	src, dst := netip.AddrFrom4(four4[0]), netip.AddrFrom4(four4[1])
	if c.six {
		src, dst = netip.AddrFrom16(six6[0]), netip.AddrFrom16(six6[1])
	}
	return fmt.Sprintf("opcode 10, QP 0x11, PSN %d, %v > %v, VLANs %v", c.psn, src, dst, vlans)
}

// readMatrix returns what the packets of a file say, read as sluice does.
func readMatrix(t *testing.T, name string) (all []string) {
	r, err := Open(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		f, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		var p roce.Packet
		err = f.Parse(&p, roce.LookThrough)
		if samples, ok := f.Samples(&p, err); ok {
			var sample Frame
			if !samples.Next(&sample) {
				t.Fatalf("packet %d: no sample", f.Number)
			}
			err = sample.Parse(&p, roce.LookThrough)
			if in, out := sample.Ports(); in != "if3" || out != "if12" || sample.Sample.Rate != 1000 || sample.Sample.Drops != 2 {
				t.Fatalf("packet %d: in %s, out %s, %+v", f.Number, in, out, sample.Sample)
			}
		}
		if err != nil {
			all = append(all, fmt.Sprintf("%v (%v)", err, p.Other()))
			continue
		}
		all = append(all, fmt.Sprintf("opcode %d, QP %#x, PSN %d, %v > %v, VLANs %v, cut %v", p.Opcode(), p.DestQP(), p.PSN(), p.Src(), p.Dst(), p.VLANs(), !p.Complete()))
	}
}

// tsharkSays returns a row of tshark as text: of several addresses the innermost.
func tsharkSays(row []string) string {
	last := func(s string) string { return s[strings.LastIndexByte(s, ',')+1:] }
	number := func(s string) uint64 {
		n, _ := strconv.ParseUint(last(s), 0, 32)
		return n
	}
	src, dst := last(row[3]), last(row[4])
	if row[5] != "" && (src == "" || src == "1.1.1.1") {
		src, dst = last(row[5]), last(row[6])
	}
	var vlans []uint16
	for _, ids := range []string{row[8], row[7]} {
		for id := range strings.SplitSeq(ids, ",") {
			if n, err := strconv.ParseUint(id, 0, 16); err == nil {
				vlans = append(vlans, uint16(n))
			}
		}
	}
	return fmt.Sprintf("opcode %d, QP %#x, PSN %d, %v > %v, VLANs %v", number(row[0]), number(row[1]), number(row[2]), src, dst, vlans)
}
