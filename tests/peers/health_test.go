// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/export/ipfix"
)

// fares is how one direction of a connection fares, by the names of the elements. Those that
// cannot be told are not there.
type fares map[string]uint64

// faulty is a capture with losses, duplicates, swaps, marks and NAKs.
func (s *tool) faulty(t *testing.T) string {
	t.Helper()
	const (
		headerLen, recordLen   = 24, 16
		classAt, opcodeAt      = 14 + 1, 14 + 40 + 8
		syndromeAt             = opcodeAt + 12
		acknowledge, setup     = 0x11, 0x64
		rnr, ce                = 0x20, 0x30
		lose, repeat, swap     = 10, 17, 23
		mark, refuse, captured = 7, 5, 2000
	)
	name := filepath.Join(t.TempDir(), "faulty.pcap")
	s.run(t, "gen", name, "--cm", "--qps", "4", "--packets", strconv.Itoa(captured))
	all, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	out, rest := slices.Clone(all[:headerLen]), all[headerLen:]
	var held []byte
	data, answers := 0, 0
	for len(rest) > 0 {
		one := rest[:recordLen+binary.LittleEndian.Uint32(rest[8:])]
		rest = rest[len(one):]
		frame := one[recordLen:]
		switch frame[opcodeAt] {
		case acknowledge:
			if answers++; answers%refuse == 0 {
				frame[syndromeAt] = rnr
			}
			fallthrough
		case setup:
			out = append(out, one...)
			continue
		}
		data++
		if data%mark == 0 {
			frame[classAt] |= ce
		}
		switch {
		case data%lose == 0:
			continue
		case data%swap == 0:
			held = one
			continue
		}
		out = append(out, one...)
		if data%repeat == 0 {
			out = append(out, one...)
		}
		out, held = append(out, held...), nil
	}
	if err := os.WriteFile(name, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// health is what decode --health says of a capture, by direction.
func (s *tool) health(t *testing.T, capture string) map[string]fares {
	t.Helper()
	type answers struct {
		Acks, CNPs uint64
		NAKs       map[string]uint64
	}
	all := map[string]fares{}
	for line := range bytes.Lines(s.run(t, "decode", "--flows", "--health", "--json", capture)) {
		var r struct {
			Src, Dst                                         netip.Addr
			DstQP                                            uint64  `json:"dst_qp"`
			SrcQP                                            *uint64 `json:"src_qp"`
			First, Last                                      time.Time
			Packets, Bytes, CE, Payload, Gaps, Missing, Lost uint64
			Reordered, Recovered, Duplicates, Stalls         uint64
			Retransmitted                                    uint64                      `json:"retransmitted_bytes"`
			Stalled                                          float64                     `json:"stalled_us"`
			Messages                                         struct{ Count uint64 }      `json:"message_bytes"`
			RTT                                              *struct{ P50, P99 float64 } `json:"rtt_us"`
			Sent                                             answers
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		ns := func(us float64) uint64 { return uint64(us*1000 + 0.5) }
		f := fares{
			"flowStartMilliseconds": uint64(r.First.UnixMilli()), "flowEndMilliseconds": uint64(r.Last.UnixMilli()),
			"packetTotalCount": r.Packets, "octetTotalCount": r.Bytes, "cePacketTotalCount": r.CE,
			"rdmaAcknowledgeTotalCount": r.Sent.Acks, "rdmaNotificationTotalCount": r.Sent.CNPs,
			"rdmaReceiverNotReadyTotalCount": r.Sent.NAKs["rnr"], "rdmaSequenceErrorTotalCount": r.Sent.NAKs["sequence"], "rdmaAccessErrorTotalCount": r.Sent.NAKs["access"],
			"rdmaOtherErrorTotalCount":   r.Sent.NAKs["invalid"] + r.Sent.NAKs["operation"] + r.Sent.NAKs["invalid-rd"] + r.Sent.NAKs["reserved"],
			"rdmaPayloadOctetTotalCount": r.Payload, "rdmaGapTotalCount": r.Gaps, "rdmaMissingPacketTotalCount": r.Missing, "rdmaLostPacketCount": r.Lost,
			"rdmaReorderedPacketCount": r.Reordered, "rdmaRecoveredPacketTotalCount": r.Recovered, "rdmaDuplicatePacketTotalCount": r.Duplicates,
			"rdmaRetransmittedOctetTotalCount": r.Retransmitted, "rdmaMessageTotalCount": r.Messages.Count,
			"rdmaStallTotalCount": r.Stalls, "rdmaStallTotalNanoseconds": ns(r.Stalled),
		}
		if r.SrcQP != nil {
			f["rdmaSourceQP"] = *r.SrcQP
		}
		if r.RTT != nil {
			f["rdmaRoundTripMedianNanoseconds"], f["rdmaRoundTripP99Nanoseconds"] = ns(r.RTT.P50), ns(r.RTT.P99)
		}
		all[direction(r.Src, r.Dst, r.DstQP)] = f
	}
	return all
}

func direction(src, dst netip.Addr, qp uint64) string {
	return fmt.Sprintf("%s %s %d", src.Unmap(), dst.Unmap(), qp)
}

// TestHealthIsWhatDecodeSays: ipfixDump, by the types in the file, and tshark, by the numbers
// of the elements, read what decode --health says of the same capture.
func TestHealthIsWhatDecodeSays(t *testing.T) {
	need(t, "ipfixDump")
	need(t, "tshark")
	s := newTool(t)
	faults := s.faulty(t)
	total := fares{}
	for _, f := range s.health(t, faults) {
		for name, n := range f {
			total[name] += n
		}
	}
	for _, name := range []string{
		"cePacketTotalCount", "rdmaReceiverNotReadyTotalCount", "rdmaGapTotalCount", "rdmaLostPacketCount", "rdmaReorderedPacketCount", "rdmaDuplicatePacketTotalCount",
		"rdmaRoundTripMedianNanoseconds",
	} {
		if total[name] == 0 {
			t.Errorf("the capture with faults has no %s", name)
		}
	}
	for _, capture := range append(s.captures, faults) {
		file := filepath.Join(t.TempDir(), "health.ipfix")
		s.run(t, "export", capture, "--health", "--file", file)
		want := s.health(t, capture)
		if len(want) == 0 {
			t.Errorf("%s has no connections", capture)
		}
		for program, read := range map[string]func(*testing.T, string) map[string]fares{"ipfixDump": dumpedHealth, "tshark": tsharkHealth} {
			if diff := gocmp.Diff(want, read(t, file)); diff != "" {
				t.Errorf("%s: - sluice decode, + %s:\n%s", filepath.Base(capture), program, diff)
			}
		}
	}
}

var dumpedLine = regexp.MustCompile(`^\s*\([0-9/]+\)(?: \(S\))?\s*(\w+) : (.*)$`)

func dumpedHealth(t *testing.T, file string) map[string]fares {
	t.Helper()
	all := map[string]fares{}
	for _, block := range strings.Split(output(t, "ipfixDump", "--rfc5610", "--data", "--in", file), "--- data record")[1:] {
		values := map[string]string{}
		for line := range strings.Lines(block) {
			if m := dumpedLine.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
				values[m[1]] = m[2]
			}
		}
		for name, v := range values {
			if at, err := time.Parse("2006-01-02 15:04:05.000", v); err == nil {
				values[name] = strconv.FormatInt(at.UnixMilli(), 10)
			}
		}
		add(t, all, values)
	}
	return all
}

// tsharkTotals is what tshark calls IANA's elements of health records.
var tsharkTotals = map[string]string{
	"Permanent Packets": "packetTotalCount", "Permanent Octets": "octetTotalCount",
	"StartTime": "flowStartMilliseconds", "EndTime": "flowEndMilliseconds",
}

func tsharkHealth(t *testing.T, file string) map[string]fares {
	t.Helper()
	out := output(t, "tshark", "-r", file, "-V")
	if strings.Contains(out, "Malformed") || strings.Contains(out, "Expert Info") {
		t.Errorf("tshark objects to %s", file)
	}
	names := map[string]string{}
	for _, e := range slices.Concat(ipfix.RDMA, ipfix.HealthElements) {
		_, id, _ := ipfix.DefaultRegistry.ID(e)
		names[fmt.Sprintf("Type %d", id)] = e.Name
	}
	maps.Copy(names, tsharkTotals)
	all := map[string]fares{}
	for _, block := range regexp.MustCompile(`(?m)^ *Flow \d+.*$`).Split(out, -1)[1:] {
		values := map[string]string{}
		for line := range strings.Lines(block) {
			m := tsharkLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
			if m == nil || names[m[1]] == "" {
				continue
			}
			name, v := names[m[1]], m[2]
			switch {
			case strings.HasSuffix(name, "Address"):
				octets := strings.ReplaceAll(v, " ", "")
				for i := len(octets) - 4; i > 0; i -= 4 {
					octets = octets[:i] + ":" + octets[i:]
				}
				v = octets
			case strings.HasPrefix(m[1], "Type"):
				v = "0x" + strings.ReplaceAll(v, " ", "")
			case strings.HasSuffix(m[1], "Time"):
				at, err := time.Parse("Jan _2, 2006 15:04:05.999999999 MST", v)
				if err != nil {
					t.Fatal(err)
				}
				v = strconv.FormatInt(at.UnixMilli(), 10)
			}
			values[name] = v
		}
		add(t, all, values)
	}
	return all
}

// add adds a record of health; others are left out.
func add(t *testing.T, all map[string]fares, values map[string]string) {
	t.Helper()
	if values["packetTotalCount"] == "" {
		return
	}
	f := fares{}
	for name, v := range values {
		if strings.HasSuffix(name, "Address") {
			continue
		}
		n, err := strconv.ParseUint(v, 0, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f[name] = n
	}
	key := direction(netip.MustParseAddr(values["rdmaSourceAddress"]), netip.MustParseAddr(values["rdmaDestinationAddress"]), f["rdmaDestinationQP"])
	delete(f, "rdmaDestinationQP")
	if all[key] != nil {
		t.Errorf("two records of %s", key)
	}
	all[key] = f
}
