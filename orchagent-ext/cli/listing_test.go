// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/tests/capturegen"
)

// sends returns a pcap file of SEND ONLY packets, each for a queue pair with a PSN.
func sends(t *testing.T, all ...[2]uint32) capturegen.Pcap {
	t.Helper()
	const bth = 14 + 20 + 8 // offset
	var file capturegen.Pcap
	like := frames(t, captures+"rc-send-ipv4.pcap")[14]
	for i, one := range all {
		b := slices.Clone(like)
		b[bth] = 0x04
		binary.BigEndian.PutUint32(b[bth+4:], one[0])
		binary.BigEndian.PutUint32(b[bth+8:], one[1])
		file.Packets = append(file.Packets, capturegen.Packet{Seconds: 1, Fraction: uint32(i), Data: b})
	}
	return file
}

// saved writes a file, and returns its name.
func saved(t *testing.T, p capturegen.Pcap) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.pcap")
	if err := os.WriteFile(name, p.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestPacketsInMemoryAreListedAsTheyCame: connections in turn, each with its own gaps, around a
// notification that is no RoCEv2.
func TestPacketsInMemoryAreListedAsTheyCame(t *testing.T) {
	file := sends(t, [2]uint32{0x11, 10}, [2]uint32{0x12, 100}, [2]uint32{0x11, 13}, [2]uint32{0x12, 101}, [2]uint32{0x11, 14}, [2]uint32{0x12, 105}, [2]uint32{0x11, 14})
	pfcm := slices.IndexFunc(records(t, captures+"hold-two-hops.pcapng"), func(r map[string]any) bool { return r["opcode"] == nil })
	number := records(t, captures+"hold-two-hops.pcapng")[pfcm]["frame"].(float64)
	file.Packets = slices.Insert(file.Packets, 4, capturegen.Packet{Seconds: 1, Fraction: 3, Data: frames(t, captures+"hold-two-hops.pcapng")[int(number)-1]})
	want := []struct {
		qp      any
		event   any
		missing any
	}{{17.0, nil, nil}, {18.0, nil, nil}, {17.0, "gap", 2.0}, {18.0, nil, nil}, {nil, nil, nil}, {17.0, nil, nil}, {18.0, "gap", 3.0}, {17.0, "retransmit", nil}}
	got := records(t, saved(t, file))
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d", len(got), len(want))
	}
	for i, w := range want {
		if r := got[i]; r["frame"] != float64(i+1) || r["dst_qp"] != w.qp || r["event"] != w.event || r["missing"] != w.missing {
			t.Errorf("line %d: frame %v of %v, %v %v; want %+v", i+1, r["frame"], r["dst_qp"], r["event"], r["missing"], w)
		}
	}
}

// TestCountEndsTheReading: the summary counts no packet behind the last that is shown.
func TestCountEndsTheReading(t *testing.T) {
	file := saved(t, sends(t, [2]uint32{0x11, 1}, [2]uint32{0x11, 2}, [2]uint32{0x11, 3}, [2]uint32{0x11, 4}, [2]uint32{0x11, 5}))
	out, errs := good(t, "observe", "--json", "--count", "3", file)
	if strings.Count(out, "\n") != 3 || !strings.HasPrefix(errs, "3 packets: 3 RoCEv2, 0 other") {
		t.Errorf("%d lines, %s", strings.Count(out, "\n"), errs)
	}
}

// interrupting is an output that calls a function when it is written.
type interrupting struct {
	printed
	interrupt func()
}

func (w *interrupting) Write(b []byte) (int, error) {
	w.interrupt()
	return w.printed.Write(b)
}

// TestPacketsBeforeAnInterruptAreListed: those included that waited for others.
func TestPacketsBeforeAnInterruptAreListed(t *testing.T) {
	all := make([][2]uint32, 2*progressSteps)
	for i := range all {
		all[i] = [2]uint32{0x11, uint32(i)}
	}
	ctx, interrupt := context.WithCancel(t.Context())
	out, errs := interrupting{interrupt: interrupt}, printed{}
	if code := run(ctx, []string{"decode", "--json", saved(t, sends(t, all...))}, os.Stdin, &out, &errs); code == 0 {
		t.Errorf("exit code 0: %s", errs.String())
	}
	if n := strings.Count(out.String(), "\n"); n != progressSteps-1 {
		t.Errorf("%d lines, want %d: %s", n, progressSteps-1, errs.String())
	}
}
