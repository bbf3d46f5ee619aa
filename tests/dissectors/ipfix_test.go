// SPDX-License-Identifier: Apache-2.0

package dissectors

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/testbed/ipfixtest"
	"sluice/tests/programs"
)

// elements are those of RoCEv2, of flows and of health.
var elements = slices.Concat(ipfix.RDMA, ipfix.HealthElements)

// exported exports the captures into files, flows with health and single packets, and returns
// them with the RoCEv2 elements of each record, as a decoder reads them that is not
// Sluice's own (goflow2's).
func exported(t *testing.T) (files []string, records [][]map[string]string) {
	t.Helper()
	dir, program := t.TempDir(), tool(t)
	captures, err := filepath.Glob(root + "/tests/captures/*.pcap")
	if err != nil || len(captures) < 3 {
		t.Fatalf("%d captures: %v", len(captures), err)
	}
	carried, err := filepath.Glob(root + "/orchagent-ext/flows/flow/testdata/*.pcap") // tunnels have elements of their own
	if err != nil || len(carried) < 5 {
		t.Fatalf("%d golden packets: %v", len(carried), err)
	}
	captures = slices.DeleteFunc(append(captures, carried...), func(capture string) bool {
		return filepath.Base(capture) == "12-gre-teb-mirror-cut.pcap" // packets in GRE, of which export has no records
	})
	for _, capture := range captures {
		modes := []string{"packet", "flow"}
		if slices.Contains(carried, capture) {
			modes = modes[:1] // one packet each
		}
		for _, mode := range modes {
			file := filepath.Join(dir, filepath.Base(capture)+mode+".ipfix")
			args := []string{"export", capture, "--mode", mode, "--file", file}
			if mode == "flow" {
				args = append(args, "--health")
			}
			if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			files, records = append(files, file), append(records, decoded(t, file))
		}
	}
	return files, records
}

// tool builds the program sluice.
func tool(t *testing.T) string {
	t.Helper()
	folder, err := programs.Build("./orchagent-ext/cmd/sluice")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, "sluice")
}

func decoded(t *testing.T, file string) (all []map[string]string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := ipfixtest.NewDecoder()
	for len(data) > 0 {
		n := binary.BigEndian.Uint16(data[2:])
		if err := d.Feed(data[:n]); err != nil {
			t.Fatal(err)
		}
		data = data[n:]
	}
	for _, r := range slices.Concat(d.Records, d.Options) { // health comes last in a file
		one := map[string]string{}
		for _, e := range elements {
			if v, ok := r[e.Name]; ok {
				one[e.Name] = fmt.Sprint(v)
			}
		}
		if len(one) > 0 {
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s has no records", file)
	}
	return all
}

// firstExporter is the UDP port that the messages of the first file come from.
const firstExporter = 10_000

// datagrams returns a capture of the messages of all files, each file from a UDP port of its own, so that
// each has its own templates: to start tshark takes longer than to read all of them.
func datagrams(t *testing.T, files []string) string {
	t.Helper()
	var frames [][]byte
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for len(data) > 0 {
			n := binary.BigEndian.Uint16(data[2:])
			ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: net.IPv4(192, 0, 2, 1), DstIP: net.IPv4(192, 0, 2, 2)}
			udp := &layers.UDP{SrcPort: layers.UDPPort(firstExporter + i), DstPort: 4739}
			if err := udp.SetNetworkLayerForChecksum(ip); err != nil {
				t.Fatal(err)
			}
			b := gopacket.NewSerializeBuffer()
			if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
				&layers.Ethernet{SrcMAC: make(net.HardwareAddr, 6), DstMAC: make(net.HardwareAddr, 6), EthernetType: layers.EthernetTypeIPv4},
				ip, udp, gopacket.Payload(data[:n])); err != nil {
				t.Fatal(err)
			}
			frames, data = append(frames, b.Bytes()), data[n:]
		}
	}
	capture := filepath.Join(t.TempDir(), "sent.pcap")
	writeCapture(t, capture, frames)
	return capture
}

func TestWiresharkReadsEveryElement(t *testing.T) {
	need(t, "tshark", "--version")
	files, records := exported(t)
	args := []string{"-n", "-X", lua, "-r", datagrams(t, files), "-d", "udp.port==4739,cflow", "-T", "fields", "-E", "occurrence=a", "-E", "separator=;", "-e", "udp.srcport"}
	for _, e := range elements {
		args = append(args, "-e", "sluice_ipfix."+e.Name)
	}
	out, err := exec.Command("tshark", args...).Output()
	if err != nil {
		t.Fatalf("tshark does not know every element of package ipfix: %v", err)
	}
	// A line a message: the port of its file, and the values of each element, of all records that have it.
	read := make([][][]string, len(files))
	for i := range read {
		read[i] = make([][]string, len(elements))
	}
	for line := range strings.Lines(string(out)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), ";")
		port, err := strconv.Atoi(cells[0])
		if err != nil || port < firstExporter || port >= firstExporter+len(files) || len(cells) != 1+len(elements) {
			t.Fatalf("tshark prints %q: %v", line, err)
		}
		got := read[port-firstExporter]
		for e, cell := range cells[1:] {
			if cell != "" {
				got[e] = append(got[e], strings.Split(cell, ",")...)
			}
		}
	}
	for i, file := range files {
		got := read[i]
		want := make([][]string, len(elements))
		for _, r := range records[i] {
			for e, element := range elements {
				if v, ok := r[element.Name]; ok {
					want[e] = append(want[e], v)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: exported (-), tshark (+):\n%s", filepath.Base(file), diff)
		}
	}
}

func TestScapyReadsEveryElement(t *testing.T) {
	need(t, python, "-c", "import scapy")
	files, records := exported(t)
	read := scapyReads(t, files)
	for i, file := range files {
		got := objects(t, read[i])
		if len(got) == 0 {
			t.Fatalf("%s: scapy reads no record", file)
		}
		if diff := cmp.Diff(records[i], got); diff != "" {
			t.Errorf("%s: exported (-), scapy (+):\n%s", filepath.Base(file), diff)
		}
	}
	all := slices.Concat(records...)
	if len(all) < 100 {
		t.Errorf("only %d records", len(all))
	}
}
