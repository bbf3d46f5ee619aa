// SPDX-License-Identifier: Apache-2.0

package dissectors

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket/pcapgo"

	"sluice/orchagent-ext/wire/roce"
)

// carried are the golden packets of SRv6, and where the header of IP begins that has the BTH, and the BTH.
var carried = map[string]struct{ ip, bth int }{
	"rocev2-srv6-encap":   {14 + 40 + 40, 14 + 40 + 40 + 40 + 8},
	"rocev2-srv6-reduced": {14 + 40, 14 + 40 + 40 + 8},
	"rocev2-srv6-ipv4":    {14 + 40, 14 + 40 + 20 + 8},
	"rocev2-srv6-srh":     {14, 14 + 40 + 40 + 8},
}

// base is a base transport header in which each field of draft-lin differs from 0 and from each other: SEND FIRST
// of UC; SE, no M, Pad 2, TVer 0; P_Key; FECN and reserved bits 010101; queue pair; A and reserved bits; PSN.
const base = "\x20\xa0\x81\x23\x95\x65\x43\x21\xd5\xab\xcd\xef"

// baseElements are its elements by draft-lin section 6.1, reserved bits as 0.
var baseElements = map[string]string{"rdmaOpCode": "32", "rdmaPartitionKey": "33059", "rdmaDestinationQP": "6636321",
	"rdmaPacketSequenceNumber": "11259375", "rdmaBTHFlags1": "160", "rdmaBTHFlags2": "128", "rdmaBTHFlags3": "128"}

// TestThreeDecodersReadARecordOfSRv6: of packets that SRv6 carries tshark, scapy, and a decoder of IPFIX written here
// by RFC 7011 read the elements that the innermost BTH has, and the addresses of the session where a tunnel hides
// them.
//
//conformance:draft-lin/opcode draft-lin/pkey draft-lin/dest-qp draft-lin/psn draft-lin/flags1 draft-lin/flags2 draft-lin/flags3
func TestThreeDecodersReadARecordOfSRv6(t *testing.T) {
	need(t, "tshark", "--version")
	need(t, python, "-c", "import scapy")
	dir, program := t.TempDir(), tool(t)
	for name, at := range carried {
		capture, file := filepath.Join(dir, name+".pcap"), filepath.Join(dir, name+".ipfix")
		writeCapture(t, capture, [][]byte{withBase(t, name, at.ip, at.bth)})
		if out, err := exec.Command(program, "export", capture, "--mode", "packet", "--file", file).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		want := with(baseElements)
		switch name { // the addresses of the session; over SRv6 without a tunnel the path has them
		case "rocev2-srv6-encap", "rocev2-srv6-reduced":
			want = with(want, "rdmaSourceAddress", "2001:db8:a::11", "rdmaDestinationAddress", "2001:db8:b::22")
		case "rocev2-srv6-ipv4":
			want = with(want, "rdmaSourceAddress", "::ffff:192.0.2.11", "rdmaDestinationAddress", "::ffff:198.51.100.22")
		case "rocev2-srv6-srh":
			want = with(want, "rdmaSourceAddress", "2001:db8:a::11", "rdmaDestinationAddress", "2001:db8:b::22")
		}
		out, err := exec.Command(python, folder+"/sluice_scapy.py", file).Output()
		if err != nil {
			t.Fatalf("scapy: %v", err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for decoder, got := range map[string][]map[string]string{"by hand": recordsByHand(t, data), "tshark": {tsharkRecord(t, file)}, "scapy": objects(t, string(out))} {
			if len(got) != 1 {
				t.Errorf("%s, %s: %d records", name, decoder, len(got))
				continue
			}
			if diff := cmp.Diff(want, got[0]); diff != "" {
				t.Errorf("%s, %s: wanted (-), read (+):\n%s", name, decoder, diff)
			}
		}
	}
}

// withBase returns a golden packet with another BTH and its right ICRC.
func withBase(t *testing.T, name string, ip, bth int) []byte {
	t.Helper()
	f, err := os.Open(root + "/orchagent-ext/flows/flow/testdata/" + name + ".pcap")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pcapgo.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	frame, _, err := r.ReadPacketData()
	if err != nil {
		t.Fatal(err)
	}
	frame = append([]byte(nil), frame...)
	copy(frame[bth:], base)
	b, err := roce.Finish(frame[:len(frame)-4], ip)
	if err != nil || len(b) != len(frame) {
		t.Fatalf("%s: %d octets of %d: %v", name, len(b), len(frame), err)
	}
	return b
}

// tsharkRecord returns the elements of the one record of an IPFIX file.
func tsharkRecord(t *testing.T, file string) map[string]string {
	t.Helper()
	args := []string{"-n", "-X", lua, "-r", file, "-T", "fields", "-E", "occurrence=a", "-E", "separator=;"}
	for _, e := range elements {
		args = append(args, "-e", "sluice_ipfix."+e.Name)
	}
	out, err := exec.Command("tshark", args...).Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(out)) {
		for i, cell := range strings.Split(strings.TrimSuffix(line, "\n"), ";") {
			if cell != "" {
				got[elements[i].Name] = cell
			}
		}
	}
	return got
}

// byNumber are elements by their number below the enterprise 32473: those of draft-lin in its order, and those of
// docs/ipfix that a record of a packet may have.
var byNumber = map[uint16]string{1: "rdmaOpCode", 2: "rdmaPartitionKey", 3: "rdmaDestinationQP", 4: "rdmaSourceQP", 5: "rdmaPacketSequenceNumber",
	6: "rdmaBTHFlags1", 7: "rdmaBTHFlags2", 8: "rdmaBTHFlags3", 9: "ceOctetDeltaCount", 10: "cePacketDeltaCount", 11: "rdmaSourceQPProvenance",
	12: "rdmaSourceAddress", 13: "rdmaDestinationAddress"}

// octetsOf are the lengths that draft-lin section 6.1 gives its elements.
var octetsOf = map[uint16]uint16{1: 1, 2: 2, 3: 4, 4: 4, 5: 4, 6: 1, 7: 1, 8: 1}

// recordsByHand reads the records of an IPFIX file that have elements of the enterprise 32473 (RFC 7011 sections 3.1
// to 3.4), all of fixed lengths.
func recordsByHand(t *testing.T, data []byte) (all []map[string]string) {
	t.Helper()
	type field struct {
		enterprise uint32
		id, length uint16
	}
	templates := map[uint16][]field{}
	for word := binary.BigEndian.Uint16; len(data) > 0; data = data[word(data[2:]):] {
		message := data[16:word(data[2:])]
		if word(data) != 10 {
			t.Fatalf("version %d", word(data))
		}
		for ; len(message) > 0; message = message[word(message[2:]):] {
			id, set := word(message), message[4:word(message[2:])]
			for id == 2 && len(set) >= 4 {
				template, count := word(set), word(set[2:])
				set = set[4:]
				var fields []field
				for range count {
					f := field{0, word(set), word(set[2:])}
					if set = set[4:]; f.id >= 0x8000 {
						f.id, f.enterprise, set = f.id-0x8000, binary.BigEndian.Uint32(set), set[4:]
						if n, ok := octetsOf[f.id]; ok && f.length != n {
							t.Errorf("%s has %d octets, want %d", byNumber[f.id], f.length, n)
						}
					}
					fields = append(fields, f)
				}
				templates[template] = fields
			}
			if fields, ok := templates[id]; ok {
				one := map[string]string{}
				for _, f := range fields {
					value := set[:f.length]
					set = set[f.length:]
					switch {
					case f.enterprise != 32473:
					case f.length == 16:
						a, _ := netip.AddrFromSlice(value)
						one[byNumber[f.id]] = a.String()
					default:
						n := uint64(0)
						for _, octet := range value {
							n = n<<8 | uint64(octet)
						}
						one[byNumber[f.id]] = fmt.Sprint(n)
					}
				}
				if len(one) > 0 {
					all = append(all, one)
				}
			}
		}
	}
	return all
}
