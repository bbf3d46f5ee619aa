// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/ipfixtest"
)

// TestGoflow2DecodesRecords: its decoder, over every transport that needs no certificate.
//
//conformance:draft-lin/dest-qp
func TestGoflow2DecodesRecords(t *testing.T) {
	s := newTool(t)
	for _, args := range [][]string{{"udp"}, {"tcp"}, {"udp", "--health"}, {"tcp", "--health"}} {
		transport := args[0]
		for _, capture := range s.captures {
			c := ipfixtest.Listen(t, transport, "127.0.0.1:0", nil)
			s.run(t, append([]string{"export", capture, "--collector", c.Addr, "--transport"}, args...)...)
			var flows []flowRecord
			for _, r := range c.WaitRecords(t, len(s.flows[capture])) {
				f := fromNames(t, func(name string) (string, bool) {
					v, ok := r[name]
					return fmt.Sprint(v), ok
				})
				f.Start, f.End = int64(r["flowStartMilliseconds"].(uint64)), int64(r["flowEndMilliseconds"].(uint64))
				flows = append(flows, f)
			}
			same(t, s.flows[capture], flows)
			c.Look(func(d []*ipfixtest.Decoder) {
				if len(d) != 1 || len(d[0].Gaps) > 0 || d[0].Unknown > 0 {
					t.Errorf("%d sessions, gaps %v, %d sets without template", len(d), d[0].Gaps, d[0].Unknown)
				}
			})
		}
	}
}

// exportAll exports every capture, from an observation domain on, each as one of its own: to
// a collector one domain of one address is one series of sequence numbers.
func (s *tool) exportAll(t *testing.T, domain int, collector string, more ...string) {
	t.Helper()
	for i, capture := range s.captures {
		s.run(t, append([]string{"export", capture, "--collector", collector, "--domain", strconv.Itoa(domain + i)}, more...)...)
	}
}

// TestNfacctdReadsElements: pmacct, with the map of docs: all eight elements by name.
//
//conformance:draft-lin/other
func TestNfacctdReadsElements(t *testing.T) {
	need(t, "nfacctd")
	s := newTool(t)
	dir, port := t.TempDir(), freePort(t)
	primitives, err := filepath.Abs(root + "/docs/ipfix/pmacct-primitives.map")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.json")
	config := filepath.Join(dir, "nfacctd.conf")
	if err := os.WriteFile(config, []byte(strings.Join([]string{
		"daemonize: false", "nfacctd_ip: 127.0.0.1", "nfacctd_port: " + port, "nfacctd_disable_checks: false",
		"aggregate_primitives: " + primitives, "plugins: print",
		"aggregate: export_proto_sysid, src_host, dst_host, src_port, dst_port, rdmaOpCode, rdmaPartitionKey, rdmaDestinationQP, rdmaSourceQP, rdmaPacketSequenceNumber, rdmaBTHFlags1, rdmaBTHFlags2, rdmaBTHFlags3",
		"print_output: json", "print_output_file: " + out, "print_output_file_append: true", "print_refresh_time: 1", "",
	}, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	said := daemon(t, "nfacctd", "-f", config)
	wait(t, "nfacctd to listen", func() bool { return strings.Contains(said(), "waiting for NetFlow/IPFIX data") })
	// nfacctd 1.7.7 miscounts the records of variable length in a second message with such
	// options: all elements' descriptions fit into the first one here.
	s.exportAll(t, 1, "127.0.0.1:"+port, "--path-mtu", "9000")
	s.exportAll(t, 101, "127.0.0.1:"+port, "--path-mtu", "9000", "--health")
	want := without(s.twice(), func(r *flowRecord) {
		r.FlowLabel, r.Start, r.End = 0, 0, 0
		if r.SrcQP == noQP {
			r.SrcQP = 0 // as nfacctd shows what a record does not have
		}
	})
	var flows []flowRecord
	wait(t, "nfacctd to write what it heard", func() bool {
		flows = readNfacctd(t, out)
		return len(flows) >= len(want)
	})
	same(t, want, flows)
	if log := said(); strings.Contains(log, "expecting") || strings.Contains(log, "discarded") {
		t.Errorf("nfacctd missed something:\n%s", log)
	}
}

func readNfacctd(t *testing.T, name string) (flows []flowRecord) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		return nil // not yet
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		values := map[string]any{}
		if err := json.Unmarshal(lines.Bytes(), &values); err != nil {
			return nil // it is being written
		}
		names := map[string]string{
			"sourceTransportPort": "port_src", "destinationTransportPort": "port_dst", "packetDeltaCount": "packets", "octetDeltaCount": "bytes",
			"sourceIPv4Address": "ip_src", "destinationIPv4Address": "ip_dst",
		}
		flows = append(flows, fromNames(t, func(name string) (string, bool) {
			if other, ok := names[name]; ok {
				name = other
			}
			v, ok := values[strings.ToLower(name)] // as nfacctd writes every name
			return fmt.Sprint(v), ok
		}))
	}
	return flows
}

// TestNfcapdCountsSequences: nfdump knows the standard elements, and watches the sequence
// numbers.
func TestNfcapdCountsSequences(t *testing.T) {
	need(t, "nfcapd")
	need(t, "nfdump")
	s := newTool(t)
	dir, port := t.TempDir(), freePort(t)
	said := daemon(t, "nfcapd", "-w", dir, "-p", port, "-b", "127.0.0.1", "-t", "2")
	wait(t, "nfcapd to listen", func() bool { return strings.Contains(said(), "Startup nfcapd") })
	s.exportAll(t, 1, "127.0.0.1:"+port)
	want := without(s.twice(), func(r *flowRecord) {
		*r = flowRecord{Src: r.Src, Dst: r.Dst, SrcPort: r.SrcPort, DstPort: r.DstPort, Packets: r.Packets, Octets: r.Octets, Start: r.Start, End: r.End}
	})
	var flows []flowRecord
	wait(t, "nfcapd to close its file", func() bool {
		flows = readNfdump(t, dir)
		return len(flows) >= len(want)/2
	})
	if log := said(); !strings.Contains(log, "Sequence Errors: 0, Bad Packets: 0") || strings.Count(log, "Sequence Errors: ") != strings.Count(log, "Sequence Errors: 0, Bad Packets: 0") {
		t.Errorf("nfcapd counts errors:\n%s", log)
	}
	// With health it reads all records, too. It does not count those of options, and takes
	// their numbers for lost: what comes behind them is a sequence error to it.
	s.exportAll(t, 101, "127.0.0.1:"+port, "--health")
	wait(t, "nfcapd to close its next file", func() bool {
		flows = readNfdump(t, dir)
		return len(flows) >= len(want)
	})
	same(t, want, flows)
	if log := said(); strings.Count(log, "Bad Packets: ") != strings.Count(log, "Bad Packets: 0") {
		t.Errorf("nfcapd counts errors:\n%s", log)
	}
}

func readNfdump(t *testing.T, dir string) (flows []flowRecord) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "nfcapd.[0-9]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var all []struct {
			First, Last string
			InPackets   uint64 `json:"in_packets"`
			InBytes     uint64 `json:"in_bytes"`
			SrcPort     uint64 `json:"src_port"`
			DstPort     uint64 `json:"dst_port"`
			Src4        string `json:"src4_addr"`
			Dst4        string `json:"dst4_addr"`
			Src6        string `json:"src6_addr"`
			Dst6        string `json:"dst6_addr"`
		}
		out := output(t, "nfdump", "-r", file, "-o", "json")
		if json.Unmarshal([]byte(out), &all) != nil {
			continue // a file without flows
		}
		for _, f := range all {
			r := flowRecord{SrcPort: f.SrcPort, DstPort: f.DstPort, Packets: f.InPackets, Octets: f.InBytes}
			for _, a := range []struct {
				text string
				to   *netip.Addr
			}{{f.Src4 + f.Src6, &r.Src}, {f.Dst4 + f.Dst6, &r.Dst}} {
				if *a.to, err = netip.ParseAddr(a.text); err != nil {
					t.Fatal(err)
				}
			}
			for _, at := range []struct {
				text string
				to   *int64
			}{{f.First, &r.Start}, {f.Last, &r.End}} {
				v, err := time.Parse("2006-01-02T15:04:05.000", at.text)
				if err != nil {
					t.Fatal(err)
				}
				*at.to = v.UnixMilli()
			}
			flows = append(flows, r)
		}
	}
	return flows
}
