// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tsharkFields are what tshark 4.0 is asked for. It knows none of the three
// drafts: it judges the headers around, the checksums, the BTH and PFC.
var tsharkFields = []string{
	"_ws.malformed",
	"ip.checksum.status", "icmp.checksum.status", "icmpv6.checksum.status", "udp.checksum.status", // 1 good, 0 bad
	"ip.ttl", "ipv6.hlim", "ip.len", "ipv6.plen", "icmp.type", "icmpv6.type", "udp.dstport",
	"ip.dsfield.dscp", "ipv6.tclass.dscp",
	"ipv6.hopopts.nxt", "ipv6.hopopts.len_oct", "ipv6.dstopts.nxt", "ipv6.dstopts.len_oct", "ipv6.opt.type", "ipv6.opt.length",
	"infiniband.bth.opcode", "infiniband.bth.p_key", "infiniband.bth.destqp", "infiniband.bth.psn", "infiniband.bth.padcnt", "infiniband.reserved",
	"macc.opcode", "macc.cbfc.enbv", "macc.cbfc.pause_time.c3",
	"frame.len",
}

//conformance:draft-yang/icmp-checksum draft-xz/udp draft-zz/port
func TestTsharkReadsGolden(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not installed: ", err)
	}
	t.Parallel()
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			if diff := cmp.Diff(tsharkFinds(s), tshark(t, capturePath(s))); diff != "" {
				t.Errorf("expected (-), tshark (+):\n%s", diff)
			}
		})
	}
}

// tsharkFinds is what tshark has to find in the sample.
func tsharkFinds(s sample) map[string]string {
	f := map[string]string{"frame.len": "60"}
	plen := 0 // octets behind the IP header
	switch m := s.message.(type) {
	case *PFCM:
		plen = 48
		switch m.Encapsulation {
		case ICMPv6:
			plen = 44
			f["icmpv6.type"], f["icmpv6.checksum.status"] = "200", "1"
		case HopByHop:
			f["ipv6.hopopts.nxt"], f["ipv6.hopopts.len_oct"] = "59", "48"
		case DestinationOptions:
			f["ipv6.dstopts.nxt"], f["ipv6.dstopts.len_oct"] = "59", "48"
		}
		if m.Encapsulation != ICMPv6 {
			f["ipv6.opt.type"], f["ipv6.opt.length"] = "0x01,0x1e", "0,42"
		}
	case *PPFC:
		flow := 8 * int(m.Flow.Form)
		switch v6 := m.Source.Is6(); {
		case m.Transport == OverUDP:
			plen = 24 + flow
			if v6 {
				plen = 48 + flow
			}
			f["udp.dstport"], f["udp.checksum.status"] = "1021", "1"
		case v6:
			plen = 60 + flow
			f["icmpv6.type"], f["icmpv6.checksum.status"] = "201", "1"
		default:
			plen = 24 + flow
			f["icmp.type"], f["icmp.checksum.status"] = "253", "1"
		}
	case *RateAdvice, *CNP:
		plen = 40
		f["udp.dstport"], f["udp.checksum.status"] = "4791", "1"
		f["infiniband.bth.opcode"], f["infiniband.reserved"] = "197", "00"
		if m.Kind() == KindCNP {
			f["infiniband.bth.opcode"], f["infiniband.reserved"] = "129", "40" // BECN
		}
		f["infiniband.bth.p_key"], f["infiniband.bth.destqp"] = "65535", "0x000111"
		f["infiniband.bth.psn"], f["infiniband.bth.padcnt"] = "0", "0"
	case *PFC:
		f["macc.opcode"], f["macc.cbfc.enbv"] = "0x0101", fmt.Sprintf("0x%04x", m.Enable)
		f["macc.cbfc.pause_time.c3"] = fmt.Sprint(m.Quanta[3])
		return f
	}
	hop := fmt.Sprint(s.envelope.HopLimit)
	if s.envelope.Src.Is6() {
		f["ipv6.hlim"], f["ipv6.tclass.dscp"], f["ipv6.plen"] = hop, "48", fmt.Sprint(plen)
		f["frame.len"] = fmt.Sprint(max(60, 14+40+plen))
	} else {
		f["ip.ttl"], f["ip.dsfield.dscp"], f["ip.len"] = hop, "48", fmt.Sprint(20+plen)
		f["ip.checksum.status"] = "1"
		f["frame.len"] = fmt.Sprint(max(60, 14+20+plen))
	}
	return f
}

// tshark dissects a capture of one frame: the fields that it found.
func tshark(t *testing.T, file string) map[string]string {
	t.Helper()
	args := []string{
		"-n", "-r", file, "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
		"-T", "fields", "-E", "separator=;", "-E", "occurrence=a",
	}
	for _, f := range tsharkFields {
		args = append(args, "-e", f)
	}
	var stderr bytes.Buffer
	cmd := exec.Command("tshark", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark %s: %v\n%s", file, err, &stderr)
	}
	found := map[string]string{}
	for i, v := range strings.Split(strings.TrimSuffix(string(out), "\n"), ";") {
		if name := tsharkFields[i]; v != "" {
			if name == "infiniband.reserved" {
				v, _, _ = strings.Cut(v, ",") // the first is octet 4 of the BTH
			}
			found[name] = v
		}
	}
	return found
}
