// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"sluice/orchagent-ext/cli/capture/link"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/wire/roce"
)

const realCapture = "../../../tests/captures/rc-send-ipv4.pcap"

// record is what of a frame must survive a copy.
type record struct {
	Time   time.Time
	Data   []byte
	Length int
	Link   link.Type
	Record []byte
}

func readAll(t *testing.T, name string) []record {
	t.Helper()
	r, err := Open(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []record
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, record{f.Time, bytes.Clone(f.Data), f.Length, f.Link, bytes.Clone(f.record)})
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	r, err := Open(t.Context(), from, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := CreateLike(output.Target{Name: to}, r)
	if err != nil {
		t.Fatal(err)
	}
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteFrame(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCopyKeepsPcap(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.pcap")
	copyFile(t, realCapture, out)
	want, err := os.ReadFile(realCapture)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("copy of a little-endian microsecond pcap differs from the original")
	}
}

func TestCopyKeepsPcapng(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.pcapng"), filepath.Join(dir, "out.pcapng")
	var file bytes.Buffer
	// Two sections, each with its own interface 0, of different link types.
	for section, link := range []layers.LinkType{layers.LinkTypeEthernet, layers.LinkTypeRaw} {
		w, err := pcapgo.NewNgWriter(&file, link)
		if err != nil {
			t.Fatal(err)
		}
		second, err := w.AddInterface(pcapgo.NgInterface{Name: "unused", LinkType: layers.LinkTypeLinuxSLL})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			info := gopacket.CaptureInfo{Timestamp: time.Unix(1700000000, int64(123456789+i)).UTC(), CaptureLength: 20, Length: 60}
			if i == 2 {
				info.InterfaceIndex = second
			}
			options := pcapgo.NgPacketOptions{Comments: []string{"a comment"}}
			if err := w.WritePacketWithOptions(info, bytes.Repeat([]byte{byte(section)}, 20), options); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(in, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	copyFile(t, in, out)
	want := readAll(t, in)
	if len(want) != 6 {
		t.Fatalf("read %d frames, want 6", len(want))
	}
	if diff := cmp.Diff(want, readAll(t, out)); diff != "" {
		t.Error(diff)
	}
}

func TestGzippedFiles(t *testing.T) {
	dir := t.TempDir()
	pcap, err := os.ReadFile(realCapture)
	if err != nil {
		t.Fatal(err)
	}
	var ng bytes.Buffer
	w, err := pcapgo.NewNgWriter(&ng, layers.LinkTypeEthernet)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range readAll(t, realCapture) {
		info := gopacket.CaptureInfo{Timestamp: r.Time, CaptureLength: len(r.Data), Length: r.Length}
		if err := w.WritePacket(info, r.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"pcap.gz": pcap, "pcapng.gz": ng.Bytes()} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, packed.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := len(readAll(t, file)); got != 123 {
			t.Errorf("%s: %d frames, want 123", name, got)
		}
	}
}

func TestLinkTypes(t *testing.T) {
	frames := readAll(t, realCapture)
	ethernet := frames[14].Data // the first RoCEv2 packet
	ip := ethernet[14:]
	sll := append(make([]byte, 14), append([]byte{0x08, 0x00}, ip...)...)
	sll2 := append([]byte{0x08, 0x00}, append(make([]byte, 18), ip...)...)
	for _, tt := range []struct {
		link link.Type
		data []byte
	}{
		{link.Ethernet, ethernet},
		{link.Raw, ip}, {link.IPv4, ip}, {link.RawBSD, ip},
		{link.SLL, sll}, {link.SLL2, sll2},
	} {
		f := Frame{Data: tt.data, Link: tt.link, Length: len(tt.data)}
		var p roce.Packet
		if err := f.Parse(&p, roce.LookLink); err != nil || p.DestQP() != 0x48 {
			t.Errorf("link type %v: %v", tt.link, err)
		}
		f.Data = f.Data[:3]
		if err := f.Parse(&p, roce.LookLink); err == nil {
			t.Errorf("link type %v: three octets were taken for a packet", tt.link)
		}
	}
	f := Frame{Data: ip, Link: link.InfiniBand}
	if err := f.Parse(new(roce.Packet), roce.LookLink); !errors.Is(err, roce.ErrNotRoCE) {
		t.Errorf("unknown link type: %v", err)
	}
}

func TestBadFiles(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "text": "hello, world, this is no capture", "short": "\xd4\xc3"} {
		if _, err := Open(t.Context(), "-", bytes.NewReader([]byte(content))); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
	whole, err := os.ReadFile(realCapture)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(t.Context(), "-", bytes.NewReader(whole[:len(whole)-5]))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = r.Next()
	}
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error("a file that ends inside a packet ended without an error")
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(output.Target{Name: filepath.Join(dir, "x.pcap")})
	if err != nil {
		t.Fatal(err)
	}
	w.Abort()
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestDeviceIsNotReplaced(t *testing.T) {
	w, err := Create(output.Target{Name: os.DevNull})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(time.Unix(0, 0), make([]byte, 60)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("%v %v", info, err)
	}
}

// TestCompressedBombsAreBounded: a small compressed file must not exhaust the memory.
func TestCompressedBombsAreBounded(t *testing.T) {
	le := binary.LittleEndian
	block := func(kind uint32, body ...byte) []byte {
		b := le.AppendUint32(le.AppendUint32(nil, kind), uint32(12+len(body)))
		return le.AppendUint32(append(b, body...), uint32(12+len(body)))
	}
	section := block(0x0a0d0d0a, append([]byte{0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0}, bytes.Repeat([]byte{0xff}, 8)...)...)
	ethernet := block(1, 1, 0, 0, 0, 0, 0, 0, 0)
	huge := append(le.AppendUint32(le.AppendUint32(nil, 6), 1<<30), make([]byte, 20)...)
	le.PutUint32(huge[20:], 1<<30-32) // captured length
	pcap := append([]byte{0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0}, make([]byte, 16)...)
	le.PutUint32(pcap[32:], 1<<30)
	le.PutUint32(pcap[36:], 1<<30)
	for _, tt := range []struct {
		name         string
		head, repeat []byte
		want         string
	}{
		{"interfaces", section, ethernet, "16 MiB of it are no packets"},
		{"secrets", section, block(10, bytes.Repeat([]byte{1}, 1<<16)...), "16 MiB of it are no packets"},
		{"one packet", append(section, append(ethernet, huge...)...), make([]byte, 1<<16), "16 MiB of it are no packets"},
		{"one packet of pcap", pcap, make([]byte, 1<<16), "exceeds snap length"},
	} {
		var packed bytes.Buffer
		z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = z.Write(tt.head)
		part := bytes.Repeat(tt.repeat, 1+1<<16/len(tt.repeat))
		for n := 0; n < 24<<20; n += len(part) {
			_, _ = z.Write(part)
		}
		_ = z.Close()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := Open(t.Context(), "-", &packed)
		for err == nil {
			_, err = r.Next()
		}
		runtime.ReadMemStats(&after)
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
		if grown := int64(after.Sys) - int64(before.Sys); grown > 1<<30 {
			t.Errorf("%s: memory grew by %d MiB", tt.name, grown>>20)
		}
	}
}

// TestMuchBesidePackets: what belongs to packets does not count.
func TestMuchBesidePackets(t *testing.T) {
	var file bytes.Buffer
	w, err := pcapgo.NewNgWriter(&file, layers.LinkTypeEthernet)
	if err != nil {
		t.Fatal(err)
	}
	const packets = 2 * maxBeside / 132 // octets of a packet with its comment
	info := gopacket.CaptureInfo{Timestamp: time.Unix(1, 0), CaptureLength: 1, Length: 1}
	for range packets {
		if err := w.WritePacketWithOptions(info, []byte{1}, pcapgo.NgPacketOptions{Comments: []string{strings.Repeat("x", 88)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if file.Len() < 2*maxBeside-1<<10 {
		t.Fatalf("the file has only %d octets", file.Len())
	}
	r, err := Open(t.Context(), "-", &file)
	n := 0
	for ; err == nil; n++ {
		_, err = r.Next()
	}
	if n-1 != packets || !errors.Is(err, io.EOF) {
		t.Errorf("%d packets of %d, %v", n-1, packets, err)
	}
}
