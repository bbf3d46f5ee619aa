// SPDX-License-Identifier: Apache-2.0

package savefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"sluice/tests/capturegen"
)

// FuzzReader reads any file: packets are within their records, a copy has the same packets,
// and the same holds whether the file comes at once or octet by octet.
func FuzzReader(f *testing.F) {
	names, _ := filepath.Glob("../../../../tests/captures/*.pcap*")
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil || len(b) > 1<<13 {
			continue
		}
		f.Add(b)
	}
	var ng capturegen.Pcapng
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		ng.Section(order, 1, 0).Interface(1, 0, capturegen.Option{Code: capturegen.Resolution, Value: []byte{0xff}})
		ng.Enhanced(0, 1, []byte("data"), 9, capturegen.Option{Code: capturegen.PacketFlags, Value: ng.U32(2)}).Simple([]byte("data"), 4).Obsolete(0, 1, 2, []byte("d"), 1)
		f.Add(capturegen.Pcap{Order: order, Magic: capturegen.Modified, Packets: []capturegen.Packet{{Data: []byte("data")}}}.Bytes())
	}
	f.Add(ng.Section(binary.LittleEndian, 1, 7).Simple(nil, 0).Section(binary.BigEndian, 1, 2).Bytes())
	f.Fuzz(func(t *testing.T, file []byte) {
		var out []byte
		all, left, err := packets(t, bytes.NewReader(file), &out)
		slow, slowLeft, slowErr := packets(t, oneByOne{bytes.NewReader(file)}, nil)
		if len(all) != len(slow) || left != slowLeft || (err == nil) != (slowErr == nil) {
			t.Fatalf("%d packets, %+v, %v; octet by octet %d, %+v, %v", len(all), left, err, len(slow), slowLeft, slowErr)
		}
		if err != nil || len(out) == 0 {
			return
		}
		again, leftOfCopy, err := packets(t, bytes.NewReader(out), nil)
		if err != nil || leftOfCopy != (Left{}) || len(again) != len(all) {
			t.Fatalf("%d packets, of the copy %d, %+v, %v", len(all), len(again), leftOfCopy, err)
		}
		for i := range all {
			if !bytes.Equal(all[i].Data, again[i].Data) || !all[i].Time.Equal(again[i].Time) || all[i].Out != again[i].Out || all[i].Length != again[i].Length {
				t.Fatalf("packet %d: %+v, of the copy %+v", i, all[i], again[i])
			}
		}
	})
}

// oneByOne reads an octet at a time.
type oneByOne struct{ r io.Reader }

func (o oneByOne) Read(b []byte) (int, error) { return o.r.Read(b[:min(len(b), 1)]) }

// packets reads a file, and copies it to out; nil: it does not. err is nil at the end of a file.
func packets(t *testing.T, from io.Reader, out *[]byte) (all []Packet, left Left, err error) {
	r, err := newReader(from, 64) // records are longer than the buffer, and across its end
	if err != nil {
		return nil, Left{}, err
	}
	if out != nil {
		r.CopyTo(func(record []byte) { *out = append(*out, record...) })
	}
	for {
		whole := r.Whole()
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, r.Left(), nil
		}
		if err != nil {
			if whole {
				t.Fatalf("a packet that is whole: %v", err)
			}
			return all, r.Left(), err
		}
		if len(p.Data) > p.Length || len(p.Data) > len(p.Record) || !bytes.Contains(p.Record, p.Data) {
			t.Fatalf("%+v", p)
		}
		copied := *p
		copied.Data, copied.Record = bytes.Clone(p.Data), bytes.Clone(p.Record)
		if out != nil {
			*out = append(*out, p.Record...)
		}
		all = append(all, copied)
	}
}
