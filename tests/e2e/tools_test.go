// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"sluice/orchagent-ext/testbed/fabric"
)

// python is the interpreter that the distribution's scapy package serves.
const python = "/usr/bin/python3"

// judge reads a capture with scapy and prints for each packet which message it is and
// which checksum is wrong, by scapy's own sums.
const judge = `
import json, struct, sys, zlib
from scapy.compat import raw
from scapy.layers.inet import UDP
from scapy.layers.inet6 import in6_chksum, IPv6
from scapy.contrib.roce import BTH
from scapy.utils import rdpcap

for frame in rdpcap(sys.argv[1]):
    ip = frame[IPv6]
    body = raw(ip)[40:40 + ip.plen]
    said = {"wrong": []}
    if ip.nh == 58:
        want, have = in6_chksum(58, ip, body[:2] + b"\0\0" + body[4:]), int.from_bytes(body[2:4], "big")
        said["kind"] = {(200, 0): "pfcm", (201, 0): "ppfc/icmp"}.get((body[0], body[1]), "ICMPv6 %d/%d" % (body[0], body[1]))
    elif ip.nh == 17:
        want, have = in6_chksum(17, ip, body[:6] + b"\0\0" + body[8:]) or 0xffff, ip[UDP].chksum
        said["kind"] = "ppfc/udp" if ip[UDP].dport == 1021 else "UDP %d" % ip[UDP].dport
    else:
        raise SystemExit("next header %d" % ip.nh)
    if want != have:
        said["wrong"].append("checksum: %04x is there, scapy computes %04x" % (have, want))
    if BTH in frame:
        q = ip.copy()
        q.tc, q.fl, q.hlim, q[UDP].chksum = 0xff, 0xfffff, 0xff, 0xffff
        q[BTH].fecn, q[BTH].becn, q[BTH].resv6 = 1, 1, 0x3f
        icrc = struct.pack("<I", zlib.crc32(b"\xff" * 8 + raw(q)[:-4]))
        if body[-4:] != icrc:
            said["wrong"].append("ICRC: %s is there, scapy computes %s" % (body[-4:].hex(), icrc.hex()))
        said["kind"] = {0xc5: "rate-advice", 0x81: "cnp"}.get(frame[BTH].opcode, "opcode %#x" % frame[BTH].opcode)
        said["qp"] = frame[BTH].dqpn
        if said["kind"] == "rate-advice":
            rate, version, destination, source = struct.unpack("!IIII", body[20:36])
            if rate == 0 or (version, destination) != (1, said["qp"]):
                said["wrong"].append("rate %d, version %d, destination %#x" % (rate, version, destination))
    print(json.dumps(said))
`

// readByTools has tshark and scapy read every frame: no checksum and no ICRC may be wrong.
// It returns how many there are of each message.
func readByTools(t *testing.T, frames []fabric.Frame) map[string]int {
	t.Helper()
	file := filepath.Join(t.TempDir(), "live.pcap")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := pcapgo.NewWriter(f)
	err = w.WriteFileHeader(1<<16, layers.LinkTypeEthernet)
	for _, frame := range frames {
		if err == nil {
			err = w.WritePacket(gopacket.CaptureInfo{Timestamp: frame.Time, CaptureLength: len(frame.Data), Length: len(frame.Data)}, frame.Data)
		}
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	tsharkReads(t, file, len(frames))
	seen := map[string]int{}
	decoder := json.NewDecoder(strings.NewReader(tool(t, python, "-c", judge, file)))
	for n := 1; decoder.More(); n++ {
		var said struct {
			Kind  string
			QP    uint32
			Wrong []string
		}
		if err := decoder.Decode(&said); err != nil {
			t.Fatal(err)
		}
		if seen[said.Kind]++; len(said.Wrong) > 0 {
			t.Errorf("scapy: frame %d, %s: %q", n, said.Kind, said.Wrong)
		}
		if (said.Kind == "rate-advice" || said.Kind == "cnp") && said.QP != ownQP {
			t.Errorf("scapy: frame %d, %s, is for queue pair %#x", n, said.Kind, said.QP)
		}
	}
	return seen
}

// tsharkReads fails unless tshark finds a good checksum in each frame and no malformed one.
func tsharkReads(t *testing.T, file string, frames int) {
	t.Helper()
	out := tool(t, "tshark", "-n", "-r", file, "-o", "udp.check_checksum:TRUE", "-T", "fields", "-E", "separator=;", "-E", "occurrence=f",
		"-e", "_ws.malformed", "-e", "icmpv6.checksum.status", "-e", "udp.checksum.status", "-e", "infiniband.bth.opcode")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != frames {
		t.Errorf("tshark reads %d of %d frames", len(lines), frames)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, ";1;;") && !strings.HasPrefix(line, ";;1;") {
			t.Errorf("tshark: frame %d: malformed, ICMPv6 checksum, UDP checksum, opcode are %q", i+1, line)
		}
	}
}

// tool runs a program and returns what it prints.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: %v", name, err)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, &stderr)
	}
	return string(out)
}
