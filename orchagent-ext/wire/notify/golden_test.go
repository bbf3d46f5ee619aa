// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata")

// TestGoldenCapturesAreReproduced makes the golden captures and their descriptions, and compares
// them octet by octet with those in testdata.
//
//conformance:draft-yang/option draft-xz/icmp draft-xz/addresses draft-zz/port draft-xz/udp draft-zz/icrc
func TestGoldenCapturesAreReproduced(t *testing.T) {
	want := map[string]bool{"README.md": true}
	for _, s := range samples() {
		want[s.name+".pcap"], want[s.name+".yaml"] = true, true
		frame := frameOf(t, s)
		compareFile(t, s.name+".pcap", captureOf(t, frame))
		compareFile(t, s.name+".yaml", describe(t, s, frame))
	}
	if *update {
		return
	}
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !want[filepath.Base(f)] {
			t.Errorf("%s belongs to no sample", f)
		}
		delete(want, filepath.Base(f))
	}
	for name := range want {
		t.Errorf("testdata/%s is missing", name)
	}
}

// TestGoldenRead reads the captures from disk: parsing gives the message that
// they were made of.
func TestGoldenRead(t *testing.T) {
	for _, s := range samples() {
		f, err := os.Open(capturePath(s))
		if err != nil {
			t.Fatal(err)
		}
		r, err := pcapgo.NewReader(f)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		frame, _, err := r.ReadPacketData()
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		_ = f.Close()
		var p Packet
		if err := p.Parse(frame, DefaultCodePoints()); err != nil {
			t.Errorf("%s: %v", s.name, err)
			continue
		}
		m, _ := asRead(s.message, s.envelope)
		if diff := cmp.Diff(m, p.Message(), compareAddr); diff != "" {
			t.Errorf("%s: %s", s.name, diff)
		}
	}
}

func capturePath(s sample) string { return filepath.Join("testdata", s.name+".pcap") }

func compareFile(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -run TestGoldenCapturesAreReproduced -update writes it)", err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s: not what is built now (go test -run TestGoldenCapturesAreReproduced -update rewrites it):\n%s", path, cmp.Diff(want, got))
	}
}

// captureOf is a pcap file of one Ethernet frame.
func captureOf(t *testing.T, frame []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pcapgo.NewWriter(&b)
	if err := w.WriteFileHeader(65535, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	info := gopacket.CaptureInfo{Timestamp: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), CaptureLength: len(frame), Length: len(frame)}
	if err := w.WritePacket(info, frame); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// describe is the YAML beside a capture: what the packet says, field by field,
// and its octets.
func describe(t *testing.T, s sample, frame []byte) []byte {
	t.Helper()
	var p Packet
	if err := p.Parse(frame, DefaultCodePoints()); err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", s.says)
	for _, f := range p.Fields() {
		switch v := f.Value.(type) {
		case uint8, uint16, uint32, int:
			fmt.Fprintf(&b, "%s: %d\n", f.Name, v)
		case []int, []uint16:
			fmt.Fprintf(&b, "%s: %s\n", f.Name, strings.ReplaceAll(fmt.Sprint(v), " ", ", "))
		default:
			fmt.Fprintf(&b, "%s: %q\n", f.Name, fmt.Sprint(v))
		}
	}
	fmt.Fprintf(&b, "frame: %q\n", hexText(frame))
	return b.Bytes()
}
