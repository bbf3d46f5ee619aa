// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/tests/capturegen"
)

// column returns a column of decode's or observe's table, by its name.
func column(t *testing.T, name string, command ...string) (cells []string) {
	t.Helper()
	out, _ := good(t, append(command, "-o", "wide")...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	at := slices.Index(strings.Fields(lines[0]), name)
	for _, line := range lines[1:] {
		cells = append(cells, strings.Fields(line)[at])
	}
	return cells
}

// TestTimesOfCapturesAreRight: by if_tsresol and if_tsoffset, or none where there is none.
func TestTimesOfCapturesAreRight(t *testing.T) {
	for file, want := range map[string]string{
		"01-tsoffset.pcapng":              "0.000000 0.000001 0.000002",
		"05-caplen-over-len.pcap":         "0.000000 0.001000 0.002000 0.003000",
		"06-minor2.pcapng":                "0.000000 0.000001 0.000002 0.000003",
		"06-minor2-second-section.pcapng": "0.000000 0.000001 0.000002 0.000003",
		"07-spb.pcapng":                   "- - -",
		"10-tsresol0.pcapng":              "0.000000 1.000000 2.000000 3.000000",
	} {
		if got := strings.Join(column(t, "TIME", "decode", captures+file), " "); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
	if got := column(t, "TIME", "decode", captures+"16-clock-back.pcap"); len(got) != 16 || got[15] != "-74.985000" {
		t.Errorf("16-clock-back.pcap: %q", got)
	}
}

// TestRoundTripsOfPowersOfTwo: the times of 02-tsresol-2e-29.pcapng count 2^-29 s; each
// acknowledgement comes 100 us after its write.
func TestRoundTripsOfPowersOfTwo(t *testing.T) {
	out, _ := good(t, "decode", "--flows", "--health", "-o", "json", captures+"02-tsresol-2e-29.pcapng")
	for line := range strings.Lines(out) {
		var r healthRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if q := r.RTT; q != nil && (q.P50 < 99 || q.P50 > 101 || q.Max > 101) || q == nil && r.Payload > 0 {
			t.Errorf("round trips: %+v", q)
		}
		if span := r.Last.Sub(r.First); span < 1999*time.Millisecond || span > 2001*time.Millisecond {
			t.Errorf("from %v to %v", r.First, r.Last)
		}
	}
}

// TestClockThatGoesBackMakesNoNegativeTime: flows, health and records span all times.
func TestClockThatGoesBackMakesNoNegativeTime(t *testing.T) {
	file := captures + "16-clock-back.pcap"
	want := 69986 * time.Millisecond
	for _, options := range []string{"--flows", "--flows --health"} {
		out, _ := good(t, append([]string{"decode", "-o", "json", file}, strings.Fields(options)...)...)
		for line := range strings.Lines(out) {
			var r struct{ First, Last time.Time }
			if err := json.Unmarshal([]byte(line), &r); err != nil || r.Last.Sub(r.First) != want {
				t.Errorf("%s: %v to %v, want a span of %v, %v", options, r.First, r.Last, want, err)
			}
		}
	}
	for _, r := range spans(t, 2, file) {
		if time.Duration(r[1]-r[0])*time.Millisecond != want {
			t.Errorf("exported: %d to %d ms, want a span of %v", r[0], r[1], want)
		}
	}
}

// TestPacketsWithoutATimeGetNone: of simple packet blocks.
func TestPacketsWithoutATimeGetNone(t *testing.T) {
	file := captures + "07-spb.pcapng"
	for _, command := range []string{"decode", "decode --flows", "decode --flows --health", "observe"} {
		out, _ := good(t, append(strings.Fields(command), "-o", "json", file)...)
		for _, time := range []string{`"time"`, `"first"`, `"last"`, "1970", "0001-01", "rtt"} {
			if strings.Contains(out, time) || out == "" {
				t.Errorf("%s has %s: %s", command, time, out)
			}
		}
	}
	for _, r := range spans(t, 1, file) {
		if r != [2]uint64{} {
			t.Errorf("exported: %v", r)
		}
	}
	if got := timeOf(flow.NoTime); !got.IsZero() || nanosOf(got) != flow.NoTime {
		t.Errorf("no time is %v", got)
	}
	if _, errs, code := sluice(nil, "lift6", file, filepath.Join(t.TempDir(), "x.pcap")); code != 0 {
		t.Errorf("lift6: %d, %s", code, errs)
	}
}

// spans returns start and end of the n flow records that export makes of a capture, in ms.
func spans(t *testing.T, n int, file string) (times [][2]uint64) {
	t.Helper()
	for _, r := range exported(t, n, file) {
		times = append(times, [2]uint64{r["flowStartMilliseconds"].(uint64), r["flowEndMilliseconds"].(uint64)})
	}
	return times
}

// TestCopiesKeepAllOfAFile: relabel and observe change nothing but labels: byte order, FCS
// length, interfaces with their times, flags, counts of drops, comments.
func TestCopiesKeepAllOfAFile(t *testing.T) {
	all, err := filepath.Glob(captures + "*.pcap*")
	if err != nil || len(all) < 10 {
		t.Fatal(err, all)
	}
	labelled := 0
	for _, file := range all {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "out")
		_, errs := good(t, "relabel", file, out)
		got, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		differ := 0
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				differ++
			}
		}
		var packets int
		_, said, _ := strings.Cut(errs, "labels written: ")
		if _, err := fmt.Sscanf(said, "%d;", &packets); err != nil || strings.Count(errs, "labels written") != 1 {
			t.Fatalf("%s: %v: %s", file, err, errs)
		}
		const labelOctets = 3 // 20 bits
		if len(got) != len(want) || differ > labelOctets*packets || differ > 0 == strings.Contains(errs, "labels written: 0;") {
			t.Errorf("%s: %d octets of %d differ, length %d: %s", file, differ, len(want), len(got), errs)
		}
		labelled += differ
		seen := filepath.Join(t.TempDir(), "seen")
		good(t, "observe", "-w", seen, file)
		if got, err := os.ReadFile(seen); err != nil || !bytes.HasPrefix(got, want[:4]) {
			t.Errorf("observe -w of %s: %v", file, err)
		}
	}
	if labelled == 0 {
		t.Error("no label was written")
	}
	if _, errs := good(t, "decode", captures+"08-big-endian-options.pcapng"); !strings.Contains(errs, "the capture itself dropped 21 more") {
		t.Errorf("%s", errs)
	}
	if got := column(t, "OUT", "observe", captures+"08-big-endian-options.pcapng"); strings.Join(got, " ") != "eth0 eth0 eth0" {
		t.Errorf("08-big-endian-options.pcapng leaves by %q", got)
	}
	for file, want := range map[string]string{"01-tsoffset.pcapng": "1700000000.000000000", "08-big-endian-options.pcapng": ""} {
		out := filepath.Join(t.TempDir(), "out")
		good(t, "relabel", captures+file, out)
		before, err := capturegen.Tshark(t, captures+file, "frame.time_epoch", "frame.packet_flags", "frame.drop_count", "frame.comment", "frame.interface_name")
		if err != nil {
			t.Fatal(err)
		}
		after, err := capturegen.Tshark(t, out, "frame.time_epoch", "frame.packet_flags", "frame.drop_count", "frame.comment", "frame.interface_name")
		if err != nil || !slices.EqualFunc(before, after, slices.Equal) || !strings.HasPrefix(before[0][0], want) {
			t.Errorf("%s: tshark has %q, of the copy %q, %v", file, before, after, err)
		}
	}
}
