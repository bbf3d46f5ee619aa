// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"net/netip"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestIpfixDump: once with nothing but the type records of the file (RFC 5610),
// once with the elements file of docs.
//
//conformance:draft-lin/pkey
func TestIpfixDump(t *testing.T) {
	need(t, "ipfixDump")
	s := newTool(t)
	for _, option := range []string{"--rfc5610", "--element-file=" + root + "/docs/ipfix/elements.xml"} {
		for _, capture := range s.captures {
			file := filepath.Join(t.TempDir(), "flows.ipfix")
			s.run(t, "export", capture, "--file", file)
			out := output(t, "ipfixDump", option, "--data", "--in", file)
			var flows []flowRecord
			for _, block := range strings.Split(out, "--- data record")[1:] {
				if r, ok := parseDump(t, block); ok {
					flows = append(flows, r)
				}
			}
			same(t, s.flows[capture], flows)
			if t.Failed() {
				t.Fatalf("%s of %s:\n%s", option, capture, out)
			}
		}
	}
}

var dumpLine = regexp.MustCompile(`^\s*\([0-9/]+\)\s+(\w+) : (.*)$`)

// parseDump reads a record as ipfixDump prints it; ok is false for options.
func parseDump(t *testing.T, block string) (r flowRecord, ok bool) {
	t.Helper()
	values := map[string]string{}
	for _, line := range strings.Split(block, "\n") {
		if m := dumpLine.FindStringSubmatch(line); m != nil {
			values[m[1]] = m[2]
		}
	}
	if _, ok := values["octetDeltaCount"]; !ok {
		return r, false
	}
	ms := func(name string) int64 {
		at, err := time.Parse("2006-01-02 15:04:05.000", values[name])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return at.UnixMilli()
	}
	r = fromNames(t, func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	})
	r.Start, r.End = ms("flowStartMilliseconds"), ms("flowEndMilliseconds")
	return r, true
}

// fromNames reads a record whose values are found by the names of the elements,
// but for its times.
func fromNames(t *testing.T, value func(name string) (string, bool)) flowRecord {
	t.Helper()
	number := func(name string) uint64 {
		v, ok := value(name)
		if !ok {
			t.Fatalf("no %s", name)
		}
		n, err := strconv.ParseUint(v, 0, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return n
	}
	r := flowRecord{
		SrcPort: number("sourceTransportPort"), DstPort: number("destinationTransportPort"),
		OpCode: number("rdmaOpCode"), PKey: number("rdmaPartitionKey"), DestQP: number("rdmaDestinationQP"), SrcQP: noQP,
		PSN: number("rdmaPacketSequenceNumber"), Flags1: number("rdmaBTHFlags1"), Flags2: number("rdmaBTHFlags2"), Flags3: number("rdmaBTHFlags3"),
		Packets: number("packetDeltaCount"), Octets: number("octetDeltaCount"),
	}
	if _, ok := value("rdmaSourceQP"); ok {
		r.SrcQP = number("rdmaSourceQP")
	}
	family := "IPv4"
	if _, ok := value("sourceIPv6Address"); ok {
		family, r.FlowLabel = "IPv6", number("flowLabelIPv6")
	}
	for name, to := range map[string]*netip.Addr{"source": &r.Src, "destination": &r.Dst} {
		v, _ := value(name + family + "Address")
		a, err := netip.ParseAddr(v)
		if err != nil {
			t.Fatal(err)
		}
		*to = a
	}
	return r
}

// tsharkNames is what tshark calls the elements that it knows; those of an
// enterprise it shows by number, as octets.
var tsharkNames = map[string]string{
	"SrcAddr": "source", "DstAddr": "destination", "ipv6FlowLabel": "flowLabelIPv6",
	"SrcPort": "sourceTransportPort", "DstPort": "destinationTransportPort", "Octets": "octetDeltaCount", "Packets": "packetDeltaCount",
	"Type 1": "rdmaOpCode", "Type 2": "rdmaPartitionKey", "Type 3": "rdmaDestinationQP", "Type 4": "rdmaSourceQP",
	"Type 5": "rdmaPacketSequenceNumber", "Type 6": "rdmaBTHFlags1", "Type 7": "rdmaBTHFlags2", "Type 8": "rdmaBTHFlags3",
	"StartTime": "start", "EndTime": "end",
}

//conformance:draft-lin/opcode draft-lin/psn
func TestTsharkReadsFiles(t *testing.T) {
	need(t, "tshark")
	s := newTool(t)
	for _, capture := range s.captures {
		file := filepath.Join(t.TempDir(), "flows.ipfix")
		s.run(t, "export", capture, "--file", file)
		out := output(t, "tshark", "-r", file, "-V")
		if strings.Contains(out, "Malformed") || strings.Contains(out, "Expert Info") {
			t.Errorf("tshark objects to %s", capture)
		}
		var flows []flowRecord
		for _, block := range regexp.MustCompile(`(?m)^ *Flow \d+.*$`).Split(out, -1)[1:] {
			if strings.Contains(block, "SrcAddr") {
				flows = append(flows, parseTshark(t, block))
			}
		}
		same(t, s.flows[capture], flows)
		if t.Failed() {
			t.Fatalf("of %s:\n%s", capture, out)
		}
	}
}

var tsharkLine = regexp.MustCompile(`^\s*(?:Enterprise Private entry: \(.*\) )?([\w ]+): (?:Value \(hex bytes\): )?(.*)$`)

func parseTshark(t *testing.T, block string) flowRecord {
	t.Helper()
	values := map[string]string{}
	for _, line := range strings.Split(block, "\n") {
		m := tsharkLine.FindStringSubmatch(line)
		if m == nil || tsharkNames[m[1]] == "" {
			continue
		}
		v := m[2]
		switch {
		case strings.HasPrefix(m[1], "Type"):
			v = "0x" + strings.ReplaceAll(v, " ", "")
		case strings.HasSuffix(m[1], "Port"):
			v, _, _ = strings.Cut(v, " ")
		}
		values[tsharkNames[m[1]]] = v
	}
	family := "IPv4"
	if strings.Contains(values["source"], ":") {
		family = "IPv6"
	}
	r := fromNames(t, func(name string) (string, bool) {
		v, ok := values[name]
		if strings.HasSuffix(name, family+"Address") {
			v, ok = values[strings.TrimSuffix(name, family+"Address")]
		}
		return v, ok
	})
	for name, to := range map[string]*int64{"start": &r.Start, "end": &r.End} {
		at, err := time.Parse("Jan _2, 2006 15:04:05.999999999 MST", values[name])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		*to = at.UnixMilli()
	}
	return r
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(cmd.Environ(), "TZ=UTC", "LC_ALL=C.UTF-8")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	return string(out)
}
