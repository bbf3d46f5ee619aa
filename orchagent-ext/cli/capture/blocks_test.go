// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"sluice/orchagent-ext/cli/capture/link"
)

// blockLen is how much is read of a file at once.
const blockLen = 1 << 19

// pcapOf is a pcap file of frames of many lengths, longer than several blocks.
func pcapOf(order binary.ByteOrder, magic uint32) []byte {
	b := make([]byte, 24)
	order.PutUint32(b, magic)
	order.PutUint16(b[4:], 2)
	order.PutUint16(b[6:], 4)
	order.PutUint32(b[16:], 65535)
	order.PutUint32(b[20:], 1)
	for n := uint32(0); len(b) < 3*blockLen; n++ {
		header, data := make([]byte, recordLen), bytes.Repeat([]byte{byte(n)}, int(n*n%9001))
		order.PutUint32(header, 1700000000+n)
		order.PutUint32(header[4:], n*997%1_000_000)
		order.PutUint32(header[8:], uint32(len(data)))
		order.PutUint32(header[12:], uint32(len(data))+n%3)
		b = append(append(b, header...), data...)
	}
	return b
}

// slow gives an octet or a few at a time, as a pipe can.
type slow struct {
	r io.Reader
	n int
}

func (s *slow) Read(b []byte) (int, error) {
	s.n = s.n*5%4093 + 1
	return s.r.Read(b[:min(len(b), s.n)])
}

// TestFramesAreTheSameInBlocks: of every kind of pcap file, from a file and a pipe, each
// frame is the one that gopacket reads, and it stays while the next one is said to leave it.
func TestFramesAreTheSameInBlocks(t *testing.T) {
	for name, file := range map[string][]byte{
		"little endian, us": pcapOf(binary.LittleEndian, 0xa1b2c3d4), "big endian, us": pcapOf(binary.BigEndian, 0xa1b2c3d4),
		"little endian, ns": pcapOf(binary.LittleEndian, 0xa1b23c4d), "big endian, ns": pcapOf(binary.BigEndian, 0xa1b23c4d),
	} {
		path := filepath.Join(t.TempDir(), "in.pcap")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{path, "-"} {
			reference, err := pcapgo.NewReader(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			r, err := Open(t.Context(), from, &slow{r: bytes.NewReader(file), n: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var held, copies [][]byte // frames since the last one that did not leave those before it
			stayed := 0
			for {
				if r.Stays() {
					stayed++
				} else {
					held, copies = nil, nil
				}
				f, err := r.Next()
				data, info, wantErr := reference.ReadPacketData()
				if !errors.Is(err, wantErr) {
					t.Fatalf("%s, %s: %v, want %v", name, from, err, wantErr)
				}
				if errors.Is(err, io.EOF) {
					break
				}
				if !bytes.Equal(f.Data, data) || f.Length != info.Length || !f.Time.Equal(info.Timestamp) || f.Link != link.Type(reference.LinkType()) {
					t.Fatalf("%s, %s: frame %d is of %d octets at %v, want %v", name, from, f.Number, f.Length, f.Time, info)
				}
				held, copies = append(held, f.Data), append(copies, data)
				if !bytes.Equal(held[0], copies[0]) || !bytes.Equal(held[len(held)/2], copies[len(held)/2]) {
					t.Fatalf("%s, %s: frame %d has taken the place of one before", name, from, f.Number)
				}
			}
			if from == path && stayed < r.frame.Number*9/10 {
				t.Errorf("%s: %d of %d frames left those before", name, stayed, r.frame.Number)
			}
		}
	}
}

// TestFileThatEndsInAPacket: also behind the first block it is an error.
func TestFileThatEndsInAPacket(t *testing.T) {
	file := pcapOf(binary.LittleEndian, 0xa1b2c3d4)
	r, err := Open(t.Context(), "-", bytes.NewReader(file[:len(file)-1]))
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}
