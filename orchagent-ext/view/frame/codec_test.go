// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/yang/rows"
)

// begin is the time of the first frame of tests.
var begin = time.Date(2026, 11, 27, 14, 0, 0, 0, time.UTC)

// series makes frames at random that change as a fabric does, and sometimes as none would.
type series struct {
	*rand.Rand
	at       time.Time
	switches []Switch
}

func newSeries(seed uint64) *series {
	return &series{Rand: rand.New(rand.NewPCG(seed, 7)), at: begin}
}

// values are those that are hard to write as numbers, and others.
var values = []string{"", "0", "1", "00", "01", "-1", "+1", " 1", "1.5", "9999999999999999999", "10000000000000000000", "18446744073709551615", "1152921504606846975", "1152921504606846976", "up", "\x00\xff", "ü", "2026-11-27T14:00:00Z"}

func (s *series) value() string {
	if s.IntN(3) > 0 {
		return fmt.Sprint(s.Uint64() >> s.IntN(64))
	}
	return values[s.IntN(len(values))]
}

func (s *series) fields() map[string]string {
	n := s.IntN(6)
	if n == 0 {
		return nil
	}
	all := map[string]string{}
	for range n {
		all[fmt.Sprint("field", s.IntN(8))] = s.value()
	}
	return all
}

func (s *series) row() rows.Row {
	return rows.Row{Table: fmt.Sprint("SLUICE_", s.IntN(3)), Key: fmt.Sprint("Ethernet", s.IntN(12)), Fields: s.fields()}
}

// next returns the next frame.
func (s *series) next() *Frame {
	s.at = s.at.Add(time.Duration(1 + s.Int64N(int64(2*time.Second))))
	if s.IntN(4) == 0 || s.switches == nil {
		n := s.IntN(4)
		for len(s.switches) < n {
			s.switches = append(s.switches, Switch{Name: fmt.Sprint("leaf", s.IntN(5)), Address: fmt.Sprint("10.0.0.", s.IntN(3))})
		}
		s.switches = s.switches[:n]
	}
	f := &Frame{At: s.at, Switches: slices.Clone(s.switches)}
	for i := range f.Switches {
		is := &f.Switches[i]
		if is.At = s.at.Add(time.Duration(s.Int64N(2000) - 1000)); s.IntN(5) == 0 {
			is.At = time.Time{}
		}
		if is.Missing = ""; s.IntN(6) == 0 {
			is.Missing, is.Rows = "deadline exceeded", nil
		}
		all := slices.Clone(is.Rows)
		for range s.IntN(6) {
			r := s.row()
			switch at := slices.IndexFunc(all, func(o rows.Row) bool { return order(o, r) == 0 }); {
			case at < 0:
				all = append(all, r)
			case s.IntN(2) == 0:
				all = slices.Delete(all, at, at+1)
			default:
				all[at] = r
			}
		}
		is.Rows = Sorted(all)
	}
	s.switches = f.Switches
	return f
}

// all reads the frames of a block.
func all(d *Decoder) (frames []*Frame, err error) {
	for {
		f, err := d.Next()
		if errors.Is(err, io.EOF) {
			return frames, nil
		}
		if err != nil {
			return frames, err
		}
		frames = append(frames, f)
	}
}

// equal is what cmp finds, in less time.
func equal(a, b *Frame) bool {
	return a != nil && b != nil && a.At.Equal(b.At) && slices.EqualFunc(a.Switches, b.Switches, func(a, b Switch) bool {
		return a.Name == b.Name && a.Address == b.Address && a.At.Equal(b.At) && a.Missing == b.Missing && slices.EqualFunc(a.Rows, b.Rows, func(a, b rows.Row) bool {
			return a.Table == b.Table && a.Key == b.Key && maps.Equal(a.Fields, b.Fields)
		})
	})
}

// same compares frames; rows without fields are the same whatever has none of them.
func same(t *testing.T, want, got []*Frame) {
	t.Helper()
	if slices.EqualFunc(want, got, equal) {
		return
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatal(diff)
	}
}

func TestBlockReturnsTheFramesThatWereAdded(t *testing.T) {
	for seed := range uint64(300) {
		s := newSeries(seed)
		var e Encoder
		for range 1 + s.IntN(3) { // the encoder is used again
			var want []*Frame
			for range 1 + s.IntN(20) {
				f := s.next()
				added, err := e.Add(f)
				if err != nil {
					t.Fatal(err)
				}
				same(t, []*Frame{f}, []*Frame{added})
				want = append(want, f)
			}
			if s.IntN(2) == 0 { // the open block can be read, too
				got, err := all(e.Open())
				if err != nil {
					t.Fatal(err)
				}
				same(t, want, got)
			}
			block := e.Block()
			h, err := ParseHead(block)
			if err != nil {
				t.Fatal(err)
			}
			if int(h.Frames) != len(want) || h.First != want[0].At.UnixNano() || h.Last != want[len(want)-1].At.UnixNano() || h.Size() != int64(len(block)) {
				t.Fatalf("%+v of %d frames in %d octets", h, len(want), len(block))
			}
			d, err := NewDecoder(block)
			if err != nil {
				t.Fatal(err)
			}
			got, err := all(d)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			same(t, want, got)
		}
	}
}

func TestUnchangedRowsAreSharedBetweenFrames(t *testing.T) {
	f := func(at int, bytes string) *Frame {
		return &Frame{At: begin.Add(time.Duration(at)), Switches: []Switch{{Name: "leaf1", Rows: []rows.Row{
			{Table: "PORT", Key: "Ethernet0", Fields: map[string]string{"lanes": "1"}},
			{Table: "SLUICE_PORT_STATS", Key: "Ethernet0", Fields: map[string]string{"tx_bytes": bytes}},
		}}}}
	}
	var e Encoder
	one, err := e.Add(f(0, "1"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := e.Add(f(1, "2"))
	if err != nil {
		t.Fatal(err)
	}
	shared := func(a, b *Frame) {
		a.Switches[0].Rows[0].Fields["lanes"] = "9"
		if b.Switches[0].Rows[0].Fields["lanes"] != "9" || b.Switches[0].Rows[1].Fields["tx_bytes"] != "2" || a.Switches[0].Rows[1].Fields["tx_bytes"] != "1" {
			t.Errorf("%v and %v", a, b)
		}
	}
	shared(one, two)
	got, err := all(e.Open())
	if err != nil {
		t.Fatal(err)
	}
	shared(got[0], got[1])
}

func TestEncoderSortsRowsAndKeepsTheLaterOfTwo(t *testing.T) {
	var e Encoder
	added, err := e.Add(&Frame{At: begin, Switches: []Switch{{Rows: []rows.Row{
		{Table: "B", Key: "1"}, {Table: "A", Key: "2", Fields: map[string]string{"x": "1"}}, {Table: "A", Key: "2", Fields: map[string]string{"x": "2"}}, {Table: "A", Key: "1"},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	want := []rows.Row{{Table: "A", Key: "1"}, {Table: "A", Key: "2", Fields: map[string]string{"x": "2"}}, {Table: "B", Key: "1"}}
	if diff := cmp.Diff(want, added.Switches[0].Rows); diff != "" {
		t.Error(diff)
	}
}

func TestFrameThatIsRefusedLeavesTheBlockAsItWas(t *testing.T) {
	var e Encoder
	good := &Frame{At: begin, Switches: []Switch{{Name: "leaf1", Rows: []rows.Row{{Table: "A", Key: "1", Fields: map[string]string{"x": "1"}}}}}}
	if _, err := e.Add(good); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]*Frame{
		"same time": {At: begin},
		"earlier":   {At: begin.Add(-1)},
		"far away":  {At: time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"switches":  {At: begin.Add(1), Switches: make([]Switch, mostSwitches+1)},
		"rows":      {At: begin.Add(1), Switches: []Switch{{Name: "leaf1", Rows: many(mostRows + 1)}}},
		"octets":    {At: begin.Add(1), Switches: []Switch{{Name: "leaf1", Missing: string(make([]byte, mostRaw))}}},
	} {
		if _, err := e.Add(bad); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
	after := &Frame{At: begin.Add(2), Switches: []Switch{{Name: "leaf1", Missing: "late"}}}
	if _, err := e.Add(after); err != nil {
		t.Fatal(err)
	}
	d, err := NewDecoder(e.Block())
	if err != nil {
		t.Fatal(err)
	}
	got, err := all(d)
	if err != nil {
		t.Fatal(err)
	}
	same(t, []*Frame{good, after}, got)
}

// many returns so many rows.
func many(n int) []rows.Row {
	all := make([]rows.Row, n)
	for i := range all {
		all[i] = rows.Row{Table: "A", Key: fmt.Sprintf("%09d", i)}
	}
	return all
}

// packed returns a block of one frame of octets that are not compressed yet, with right checksums.
func packed(raw []byte) []byte {
	raw = append([]byte{0}, raw...) // its time
	b := packer().EncodeAll(raw, make([]byte, HeadSize))
	h := Head{First: begin.UnixNano(), Last: begin.UnixNano(), Frames: 1, Packed: uint32(len(b) - HeadSize), Raw: uint32(len(raw)), check: crc32.Checksum(b[HeadSize:], castagnoli)}
	h.append(b[:0])
	return b
}

// TestLargestBlockThatDoesNotCompressIsRead: it has more octets than before it was compressed.
func TestLargestBlockThatDoesNotCompressIsRead(t *testing.T) {
	noise := make([]byte, 64<<20-100)
	r := rand.NewChaCha8([32]byte{})
	if _, err := r.Read(noise); err != nil {
		t.Fatal(err)
	}
	var e Encoder
	f := &Frame{At: begin, Switches: []Switch{{Name: "leaf1", Missing: string(noise)}}}
	if _, err := e.Add(f); err != nil {
		t.Fatal(err)
	}
	b := e.Block()
	if len(b) <= 64<<20 {
		t.Fatalf("it has %d octets", len(b))
	}
	d, err := NewDecoder(b)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := d.Next(); err != nil || got.Switches[0].Missing != string(noise) {
		t.Errorf("another frame: %v", err)
	}
}

func TestDamagedBlocksAreRefused(t *testing.T) {
	s := newSeries(3)
	var e Encoder
	for range 8 {
		if _, err := e.Add(s.next()); err != nil {
			t.Fatal(err)
		}
	}
	block := e.Block()
	for i := range block {
		bad := slices.Clone(block)
		bad[i] ^= 0x10
		if _, err := NewDecoder(bad); !errors.Is(err, ErrDamaged) {
			t.Fatalf("octet %d: %v", i, err)
		}
		if _, err := NewDecoder(block[:i]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	number := binary.AppendUvarint
	for name, raw := range map[string][]byte{
		"switches without octets": number(nil, mostSwitches),
		"rows without octets":     append(number(nil, 1), 0, 0, 1, 'a', 1, 0, 0, 0, mostRows>>14),
		"no number":               {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"a switch of before":      number(number(nil, 1), 1),
	} {
		d, err := NewDecoder(packed(raw))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := all(d); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// of octets that unpack to more than the head has
	large := packed(make([]byte, 1<<20))
	binary.LittleEndian.PutUint32(large[atRaw:], 10)
	binary.LittleEndian.PutUint32(large[atHeadCheck:], crc32.Checksum(large[atCheck:HeadSize], castagnoli))
	if _, err := NewDecoder(large); !errors.Is(err, ErrDamaged) {
		t.Errorf("large: %v", err)
	}
}

// FuzzDecode decodes octets that no encoder wrote: it ends, with frames that are in order, or an error.
func FuzzDecode(f *testing.F) {
	for seed := range uint64(10) {
		s := newSeries(seed)
		var e Encoder
		for range 5 {
			if _, err := e.Add(s.next()); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(slices.Clone(e.raw), 5)
		f.Add(slices.Clone(e.raw), 3)
		f.Add(e.Block(), 0)
	}
	f.Fuzz(func(t *testing.T, raw []byte, frames int) {
		if len(raw) > 1<<20 {
			return
		}
		if h, err := ParseHead(raw); err == nil {
			_, _ = h.Span()
			if _, err := NewDecoder(raw); err != nil && !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
		}
		first := begin.UnixNano()
		d := &Decoder{head: Head{First: first, Frames: uint32(frames) % 64}, raw: raw}
		for i := range d.head.Frames {
			d.times = append(d.times, first+int64(i))
		}
		got, err := all(d)
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
		var e Encoder
		for i, f := range got {
			if i > 0 && !f.At.After(got[i-1].At) {
				t.Fatalf("%v is not after %v", f.At, got[i-1].At)
			}
			for _, s := range f.Switches {
				if !slices.IsSortedFunc(s.Rows, order) {
					t.Fatal("its rows are not sorted")
				}
			}
			if _, err := e.Add(f); err != nil {
				t.Fatal(err)
			}
		}
		if len(got) == 0 {
			return
		}
		again, err := all(e.Open())
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, again)
	})
}

// listed are blocks in memory.
type listed [][]byte

func (l listed) Len() int { return len(l) }

func (l listed) Head(i int) Head {
	h, _ := ParseHead(l[i])
	return h
}

func (l listed) Block(i int) ([]byte, error) { return l[i], nil }

func TestReaderFindsTheLastFrameThatIsNotAfterATime(t *testing.T) {
	s := newSeries(11)
	var want []*Frame
	var blocks listed
	for range 6 {
		var e Encoder
		for range 1 + s.IntN(5) {
			f := s.next()
			if _, err := e.Add(f); err != nil {
				t.Fatal(err)
			}
			want = append(want, f)
		}
		blocks = append(blocks, e.Block())
	}
	check := func(r *Reader, at time.Time) {
		t.Helper()
		f, before, err := r.At(blocks, at)
		if err != nil {
			t.Fatal(err)
		}
		i := -1
		for i+1 < len(want) && !want[i+1].At.After(at) {
			i++
		}
		switch {
		case i < 0 && f != nil:
			t.Fatalf("%v before the first", f)
		case i >= 0:
			same(t, want[i:i+1], []*Frame{f})
		}
		switch {
		case i < 1 && before != nil:
			t.Fatalf("%v is before the first", before)
		case i >= 1:
			same(t, want[i-1:i], []*Frame{before})
		}
	}
	first, last := want[0].At, want[len(want)-1].At
	played := &Reader{}
	for at := first.Add(-time.Second); at.Before(last.Add(3 * time.Second)); at = at.Add(200 * time.Millisecond) {
		check(played, at)
	}
	sought := &Reader{}
	for range 300 {
		check(sought, first.Add(time.Duration(s.Int64N(int64(last.Sub(first)+2*time.Second)))-time.Second))
	}
	for _, f := range want {
		check(&Reader{}, f.At)
		check(&Reader{}, f.At.Add(-1))
	}
}
