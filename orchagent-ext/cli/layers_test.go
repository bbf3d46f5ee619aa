// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/tests/capturegen"
)

// packetText is what a record of decode says of a packet.
func packetText(r map[string]any) string {
	text := fmt.Sprintf("%v>%v %v QP %v PSN %v", r["src"], r["dst"], r["opcode_name"], r["dst_qp"], r["psn"])
	if s, ok := r["session"].(map[string]any); ok {
		text += fmt.Sprintf(" (%v>%v)", s["src"], s["dst"])
	}
	if r["vlan"] != nil {
		text += fmt.Sprintf(" VLAN %v", r["vlan"])
	}
	if r["icrc_ok"] == nil {
		text += " cut"
	} else if r["icrc_ok"] != true {
		text += " bad"
	}
	return text
}

// TestCapturesWithOddLayers: each handed capture has the values that tshark finds in it.
func TestCapturesWithOddLayers(t *testing.T) {
	const write4, ack4 = "10.0.0.1>10.0.0.2 RC_RDMA_WRITE_ONLY QP 17 PSN 1", "10.0.0.2>10.0.0.1 RC_ACKNOWLEDGE QP 18 PSN 1"
	const write6 = "2001:db8::1>2001:db8::2 RC_RDMA_WRITE_ONLY QP 17 PSN 1"
	for name, want := range map[string][]string{
		"03-sll-vlan.pcap":             {write4 + " VLAN [100]", ack4 + " VLAN [100]"},
		"03-sll2-vlan.pcap":            {write4 + " VLAN [100]", ack4 + " VLAN [100]"},
		"04-spectrum-mirror-8949.pcap": {write4, write6, ack4},
		"09-cut64.pcap": {
			write4 + " cut", "10.0.0.1>10.0.0.2 RC_RDMA_WRITE_ONLY QP 17 PSN 2 cut", "10.0.0.1>10.0.0.2 RC_RDMA_WRITE_ONLY QP 17 PSN 3 cut",
			"10.0.0.2>10.0.0.1 RC_ACKNOWLEDGE QP 18 PSN 5",
		},
		"12-gre-teb-mirror-cut.pcap": {
			"1.1.1.1>2.2.2.2 RC_RDMA_WRITE_ONLY QP 17 PSN 1 (10.0.0.1>10.0.0.2) cut", "1.1.1.1>2.2.2.2 RC_RDMA_WRITE_ONLY QP 17 PSN 2 (10.0.0.1>10.0.0.2) cut",
			"1.1.1.1>2.2.2.2 RC_RDMA_WRITE_ONLY QP 17 PSN 3 (10.0.0.1>10.0.0.2) cut", "1.1.1.1>2.2.2.2 RC_RDMA_WRITE_ONLY QP 17 PSN 4 (2001:db8::1>2001:db8::2) cut",
			"1.1.1.1>2.2.2.2 RC_ACKNOWLEDGE QP 18 PSN 5 (10.0.0.2>10.0.0.1)",
		},
		"13-arista-d28b.pcap": {write4, write6, ack4},
		"13-cisco-8909.pcap":  {write4, write6, ack4},
		"13-three-tags.pcap":  {write4 + " VLAN [1 2 3]", write6 + " VLAN [1 2 3]", ack4 + " VLAN [1 2 3]"},
		"14-erf.pcap":         {write4},
		"14-null.pcap":        {write4},
	} {
		var got []string
		for _, r := range records(t, captures+name) {
			got = append(got, packetText(r))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if _, errs := good(t, "decode", captures+name); strings.Contains(errs, "malformed") || strings.Contains(errs, "→") {
			t.Errorf("%s: %s", name, errs)
		}
		if out, _ := good(t, "doctor", captures+name); strings.Contains(out, "no RoCEv2") || !strings.Contains(out, "queue pairs: ") {
			t.Errorf("%s: %s", name, out)
		}
	}
	if _, errs := good(t, "decode", captures+"09-cut64.pcap"); !strings.Contains(errs, "5 packets: 4 RoCEv2, 0 other, 1 cut (BTH: 1)\n") {
		t.Errorf("09-cut64.pcap: %s", errs)
	}
}

// TestMessagesOfRDMACMHaveNames: and those that refuse have their reason.
func TestMessagesOfRDMACMHaveNames(t *testing.T) {
	var got []string
	for _, r := range records(t, captures+"11-cm-rej.pcap") {
		if cm, ok := r["cm"].(map[string]any); ok {
			got = append(got, strings.TrimSuffix(fmt.Sprintf("%v %v", cm["message"], cm["reason"]), " <nil>"))
		}
	}
	want := []string{
		"REQ", "MRA", "REJ consumer reject", "REQ", "REP", "RTU", "LAP", "APR path loaded", "SIDR_REQ", "SIDR_REP valid queue pair", "DREQ", "DREP", "REQ", "REQ", "REP",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if out, _ := good(t, "decode", captures+"11-cm-rej.pcap"); !strings.Contains(out, "UD_SEND_ONLY CM REJ: consumer reject  ") {
		t.Error(out)
	}
	rows, err := capturegen.Tshark(t, captures+"11-cm-rej.pcap", "infiniband.cm.rej.reason")
	if err != nil || len(rows) != 18 || rows[2][0] != "0x001c" {
		t.Errorf("tshark: %v, REJ has reason %v", err, rows)
	}
}

// write writes a capture of frames with a link type.
func writeFrames(t *testing.T, link uint32, frames ...[]byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.pcap")
	if err := os.WriteFile(name, capturegen.Frames(link, frames...), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestVerdictOfNothingHasItsReasons: decode, observe, balance and doctor name what a capture had
// in place of RoCEv2, and the next step.
func TestVerdictOfNothingHasItsReasons(t *testing.T) {
	macs := []byte{2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa}
	ether := func(etherType uint16, payload ...byte) []byte {
		return slices.Concat(macs, []byte{byte(etherType >> 8), byte(etherType)}, payload, make([]byte, 46))
	}
	udp := func(port uint16) []byte {
		return ether(0x0800, slices.Concat([]byte{0x45, 0, 0, 60, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0xc0, 0, byte(port >> 8), byte(port), 0, 40, 0, 0}, make([]byte, 32))...)
	}
	for name, tt := range map[string]struct {
		link      uint32
		frames    [][]byte
		has, todo string
	}{
		"InfiniBand":   {247, [][]byte{make([]byte, 60)}, "link type 247 (InfiniBand): 1", "Sluice is for RoCEv2"},
		"USB":          {189, [][]byte{make([]byte, 60), make([]byte, 60)}, "link type 189 (USB): 2", "tcpdump -y EN10MB"},
		"unknown":      {333, [][]byte{make([]byte, 60)}, "link type 333: 1", "tcpdump -y EN10MB"},
		"RoCEv1":       {1, [][]byte{ether(0x8915), ether(0x0806)}, "RoCEv1 (EtherType 0x8915): 1", "set the adapters to RoCEv2"},
		"MACsec":       {1, [][]byte{ether(0x88e5)}, "MACsec (EtherType 0x88e5): 1", "in the clear"},
		"a vendor":     {1, [][]byte{ether(0x8999), ether(0x8999)}, "EtherType 0x8999: 2", "EtherType 0x8999 hides the packets"},
		"IPFIX":        {1, [][]byte{udp(4739), udp(53)}, "UDP port 4739 (IPFIX): 1", "records of flows, without packets"},
		"sFlow 4":      {1, [][]byte{udp(6343)}, "UDP port 6343 (sFlow): 1", "read version 5"},
		"others":       {1, [][]byte{udp(53), ether(0x0806)}, "ARP: 1; UDP port 53 (DNS): 1", "capture where both directions pass"},
		"no packet":    {1, nil, "0 packets: 0 RoCEv2", "the file has no packets"},
		"a BTH is cut": {1, [][]byte{udp(4791)[:14+20+8+4]}, "1 cut (BTH: 1)", "tcpdump -s 192"},
	} {
		file := writeFrames(t, tt.link, tt.frames...)
		for _, args := range [][]string{{"decode", file}, {"decode", "--flows", file}, {"decode", "--flows", "--health", file}, {"observe", file}, {"balance", file}, {"doctor", file}} {
			out, errs, _ := sluice(nil, args...)
			if text := out + errs; !strings.Contains(text, tt.has) || !strings.Contains(text, tt.todo) || !strings.Contains(text, "→ ") {
				t.Errorf("%s: %s: %s", name, args[0], text)
			}
		}
	}
}
