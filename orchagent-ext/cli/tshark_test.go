// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

// tshark reads fields of every packet of a capture, a row a packet.
func tshark(t *testing.T, file string, fields ...string) [][]string {
	t.Helper()
	path, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed: make deps")
	}
	// rc-send-ipv4.pcap has the UDP source port of TFTP.
	args := []string{"-r", file, "--disable-protocol", "tftp", "-o", "udp.check_checksum:TRUE", "-T", "fields"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	out, err := exec.Command(path, args...).Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	var rows [][]string
	for _, line := range strings.Split(strings.TrimRight(string(out), "\n"), "\n") {
		rows = append(rows, strings.Split(line, "\t"))
	}
	return rows
}

// TestLiftedPacketsAreRight lets tshark judge what lift6 and relabel write: UDP
// checksums, and that the labels are where IPv6 has them.
func TestLiftedPacketsAreRight(t *testing.T) {
	dir := t.TempDir()
	for file, want := range map[string]int{"rc-send-ipv4.pcap": 105, "cm-rc-write-read-ipv4.pcap": 12, "cnp-uc-icrc-vectors-ipv4.pcap": 2} {
		in, out := filepath.Join(dir, "6-"+file), filepath.Join(dir, "labelled-"+file)
		good(t, "lift6", captures+file, in)
		good(t, "relabel", in, out)
		for _, name := range []string{in, out} {
			rows := tshark(t, name, "udp.checksum.status", "ipv6.flow")
			packets := frames(t, name)
			if len(rows) != want || len(packets) != want {
				t.Fatalf("%s: %d packets, tshark sees %d, want %d", name, len(packets), len(rows), want)
			}
			for i, row := range rows {
				var p roce.Packet
				if err := p.Parse(packets[i], len(packets[i])); err != nil {
					t.Fatal(err)
				}
				const statusGood = "1"
				if row[0] != statusGood || row[1] != fmt.Sprintf("0x%06x", p.FlowLabel()) && row[1] != fmt.Sprintf("0x%05x", p.FlowLabel()) {
					t.Errorf("%s: packet %d: checksum status %s, flow label %s, want %#05x", name, i+1, row[0], row[1], p.FlowLabel())
				}
				if got, want, ok := p.ICRC(); !ok || got != want {
					t.Errorf("%s: packet %d: ICRC %08x, want %08x", name, i+1, got, want)
				}
				if (p.FlowLabel() != 0) != (name == out) {
					t.Errorf("%s: packet %d: flow label %#x", name, i+1, p.FlowLabel())
				}
			}
		}
	}
}

func TestGeneratedPacketsAreRight(t *testing.T) {
	file := filepath.Join(t.TempDir(), "g.pcap")
	for _, options := range []string{"--cm", "--service ud", "--sport per-qp --start-psn random"} {
		good(t, append([]string{"gen", file, "--force", "--packets", "200", "--qps", "7"}, strings.Fields(options)...)...)
		for i, row := range tshark(t, file, "udp.checksum.status", "infiniband.bth.destqp", "_ws.malformed") {
			if row[0] != "1" || row[1] == "" || row[2] != "" {
				t.Errorf("%s: packet %d: %q", options, i+1, row)
			}
		}
	}
}
