// SPDX-License-Identifier: Apache-2.0

package dissectors

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/pcapgo"

	"sluice/orchagent-ext/wire/notify"
)

const (
	root   = "../.."
	folder = root + "/docs/dissectors"
	lua    = "lua_script:" + folder + "/sluice.lua"
	python = "/usr/bin/python3" // that the distribution's scapy is for
)

// need skips a test whose program is not installed.
func need(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Skipf("%s %s: %v: %s", program, args, err, out)
	}
}

// A golden packet, and what package notify decodes of its body, by the names of
// `sluice decode --json`.
type golden struct {
	name, file string
	frame      []byte
	kind       notify.Kind
	says       map[string]string // body, without the envelope
}

// envelope are the fields that do not belong to the message itself.
var envelope = []string{"message", "eth_dst", "eth_src", "dscp", "ecn", "flow_label", "hop_limit", "src", "dst", "sport"}

func goldens(t *testing.T) (all []golden) {
	t.Helper()
	files, err := filepath.Glob(root + "/orchagent-ext/wire/notify/testdata/*.pcap")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d golden packets: %v", len(files), err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := pcapgo.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		frame, _, err := r.ReadPacketData()
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		var p notify.Packet
		if err := p.Parse(frame, notify.DefaultCodePoints()); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		g := golden{strings.TrimSuffix(filepath.Base(file), ".pcap"), file, frame, p.Kind, map[string]string{}}
		for _, field := range p.Fields() {
			if !slices.Contains(envelope, field.Name) {
				g.says[field.Name] = fmt.Sprint(field.Value)
			}
		}
		all = append(all, g)
	}
	return all
}

// protocols are the Lua protocols by kind of message; the others, which Wireshark
// knows by itself, have none.
var protocols = map[notify.Kind]string{notify.KindPFCM: "pfcm", notify.KindPPFC: "ppfc", notify.KindRateAdvice: "rate_advice"}

func TestWiresharkReadsGoldenPacketsAsNotifyDoes(t *testing.T) {
	need(t, "tshark", "--version")
	seen := map[string]int{}
	all := goldens(t)
	read := dissected(t, all)
	for i, g := range all {
		seen[protocols[g.kind]]++
		if diff := cmp.Diff(wanted(g), read[i]); diff != "" {
			t.Errorf("%s: notify (-), tshark (+):\n%s", g.name, diff)
		}
	}
	if seen["pfcm"] < 5 || seen["ppfc"] < 12 || seen["rate_advice"] < 2 || seen[""] < 4 {
		t.Errorf("golden packets %v", seen)
	}
}

// wanted is what the Lua protocols have to say of a golden packet.
func wanted(g golden) map[string]string {
	want := map[string]string{}
	protocol, ok := protocols[g.kind]
	if !ok {
		return want
	}
	for name, value := range g.says {
		if name == "router_id" && g.says["transport"] == "udp" {
			continue // the IP header's source is it, and the message has none
		}
		if a, err := netip.ParseAddr(value); err == nil && a.Is4() {
			name += "_v4"
		}
		if name == "pkey" {
			value = "0xffff"
		}
		want[protocol+"."+name] = value
	}
	return want
}

// dissected returns all fields of the Lua protocols that tshark finds in each packet, of one capture
// with all of them: to start tshark takes longer than to read it.
func dissected(t *testing.T, all []golden) []map[string]string {
	t.Helper()
	frames := make([][]byte, len(all))
	for i, g := range all {
		frames[i] = g.frame
	}
	file := filepath.Join(t.TempDir(), "all.pcap")
	writeCapture(t, file, frames)
	out, err := exec.Command("tshark", "-n", "-X", lua, "-r", file, "-T", "json",
		"-J", "pfcm ppfc rate_advice sluice_ipfix").Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	var packets []struct {
		Source struct {
			Layers map[string]any `json:"layers"`
		} `json:"_source"`
	}
	if err := json.Unmarshal(out, &packets); err != nil || len(packets) != len(all) {
		t.Fatalf("%v: %s", err, out)
	}
	read := make([]map[string]string, len(all))
	for i := range read {
		read[i] = map[string]string{}
		for _, protocol := range protocols {
			fields, _ := packets[i].Source.Layers[protocol].(map[string]any)
			for name, value := range fields {
				read[i][name] = fmt.Sprint(value)
			}
		}
	}
	return read
}

// readFiles prints what the script prints of each file, and an empty line after it: to start scapy
// takes as long as to read a hundred files.
const readFiles = `
import sys
from sluice_scapy import main

for name in sys.argv[1:]:
    main([name])
    print()
`

// scapyReads returns what sluice_scapy.py prints of each file.
func scapyReads(t *testing.T, files []string) []string {
	t.Helper()
	cmd := exec.Command(python, append([]string{"-c", readFiles}, files...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+folder, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("scapy: %v: %s", err, out)
	}
	texts := make([]string, 1, len(files)+1)
	for line := range strings.Lines(string(out)) {
		if line == "\n" {
			texts = append(texts, "")
		} else {
			texts[len(texts)-1] += line
		}
	}
	if len(texts) != len(files)+1 || texts[len(files)] != "" {
		t.Fatalf("scapy prints of %d files, not %d:\n%s", len(texts)-1, len(files), out)
	}
	return texts[:len(files)]
}

func TestScapyReadsGoldenPacketsAsNotifyDoes(t *testing.T) {
	need(t, python, "-c", "import scapy")
	all := goldens(t)
	files := make([]string, len(all))
	for i, g := range all {
		files[i] = g.file
	}
	for i, text := range scapyReads(t, files) {
		g, got := all[i], map[string]string{}
		want := g.says
		if _, ok := protocols[g.kind]; !ok {
			want = map[string]string{}
		}
		if text != "" {
			messages := objects(t, text)
			if len(messages) != 1 {
				t.Fatalf("%s: scapy reads %d messages", g.name, len(messages))
			}
			got = messages[0]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: notify (-), scapy (+):\n%s", g.name, diff)
		}
	}
}

// rebuild builds each packet again from its fields, with lengths and checksums left to
// scapy, and prints the names of those that come out different. The ICRC over IPv6 is
// one that scapy 2.5 cannot compute, so it stays.
const rebuild = `
import sys
from scapy.layers.l2 import Ether
from sluice_scapy import *

for name in sys.argv[1:]:
    frame = bytes(rdpcap(name)[0])
    packet = Ether(frame)
    if not message_fields(packet):
        continue
    for layer, fields in ((IPv6, ['plen']), (IP, ['len', 'chksum']), (UDP, ['len', 'chksum']), (PFCM, ['cksum']), (PPFCv6, ['cksum']), (PPFCv4, ['cksum'])):
        if layer in packet:
            for field in fields:
                packet[layer].delfieldval(field)
    if BTH in packet and IP in packet:
        packet[BTH].delfieldval('icrc')
    again = bytes(packet.copy())
    if again != frame:
        print(name, again.hex(), frame.hex())
`

func TestScapyBuildsTheGoldenPackets(t *testing.T) {
	need(t, python, "-c", "import scapy")
	args := []string{"-c", rebuild}
	for _, g := range goldens(t) {
		args = append(args, g.file)
	}
	cmd := exec.Command(python, args...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+folder, "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: scapy builds other octets than the golden packets have:\n%s", err, out)
	}
}
