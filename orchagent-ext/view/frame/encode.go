// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"sluice/yang/rows"
)

// An Encoder packs frames into blocks. A block begins with a whole frame; those that follow have
// the rows and fields that changed, by switch. So each block is read alone.
// The zero value is ready.
type Encoder struct {
	raw    []byte // of frames, behind their times
	times  []byte
	texts  map[string]uint64 // of the block, by their number, from 1
	first  int64
	last   int64
	frames int
	work   int
	before *Frame
}

// ErrOrder is of a frame whose time is at most that of the one before it in its block.
var ErrOrder = errors.New("the frame is not after that before it")

// errLarge is of a frame beyond the bounds of a block.
var errLarge = errors.New("the frame is too large")

// Frames is how many frames the open block has.
func (e *Encoder) Frames() int { return e.frames }

// Size is the length of the open block before it is compressed, octets.
func (e *Encoder) Size() int { return len(e.times) + len(e.raw) }

// Span is the time from the first frame of the open block to its last one.
func (e *Encoder) Span() time.Duration { return time.Duration(e.last - e.first) }

// Full reports whether the open block should end: it has much, or as many frames as it may.
func (e *Encoder) Full() bool {
	const enough = 16 << 20 // octets
	return len(e.raw) >= enough || e.frames >= mostFrames || e.work >= mostWork-mostRows-mostFields
}

// Add adds a frame to the open block. It returns the frame with rows sorted, and unchanged ones shared
// with the frame before. After an error the block is as it was.
func (e *Encoder) Add(f *Frame) (*Frame, error) {
	at := f.At.UnixNano()
	if !time.Unix(0, at).Equal(f.At) {
		return nil, fmt.Errorf("the time of the frame, %v, is out of range", f.At)
	}
	if e.frames == 0 {
		*e = Encoder{raw: e.raw[:0], times: e.times[:0], texts: map[string]uint64{}, first: at, last: at}
	} else if at <= e.last {
		return nil, ErrOrder
	}
	if len(f.Switches) > mostSwitches {
		return nil, fmt.Errorf("%w: it has %d switches, and may have %d", errLarge, len(f.Switches), mostSwitches)
	}
	w := weight{}
	for i := range f.Switches {
		w.add(f.Switches[i].Rows)
	}
	if w.rows > mostRows || w.fields > mostFields || e.work+w.rows+w.fields > mostWork {
		return nil, fmt.Errorf("%w: it has %d rows with %d fields", errLarge, w.rows, w.fields)
	}
	length, known := len(e.raw), len(e.texts)
	out := &Frame{At: f.At, Switches: make([]Switch, len(f.Switches))}
	e.number(uint64(len(f.Switches)))
	for i := range f.Switches {
		s := f.Switches[i]
		s.Rows = Sorted(s.Rows)
		s.Rows = e.add(&s, i, at)
		out.Switches[i] = s
	}
	if e.Size() > mostRaw-binary.MaxVarintLen64 {
		e.raw = e.raw[:length]
		maps.DeleteFunc(e.texts, func(_ string, n uint64) bool { return n > uint64(known) })
		return nil, fmt.Errorf("%w: it has more than %d octets", errLarge, mostRaw)
	}
	e.work += w.rows + w.fields
	e.times = binary.AppendUvarint(e.times, uint64(at-e.last))
	e.last, e.before = at, out
	e.frames++
	return out, nil
}

// weight counts the rows and fields of a frame.
type weight struct{ rows, fields int }

// add adds rows.
func (w *weight) add(all []rows.Row) {
	w.rows += len(all)
	for i := range all {
		w.fields += len(all[i].Fields)
	}
}

// order compares rows by table and key.
func order(a, b rows.Row) int {
	return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Key, b.Key))
}

// Sorted returns rows by table and key, each once: of two with one name, the later one.
func Sorted(all []rows.Row) []rows.Row {
	ascends := true
	for i := 1; i < len(all) && ascends; i++ {
		ascends = order(all[i-1], all[i]) < 0
	}
	if ascends {
		return all
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, order)
	slices.Reverse(all) // compact keeps the first one
	all = slices.CompactFunc(all, func(a, b rows.Row) bool { return order(a, b) == 0 })
	slices.Reverse(all)
	return all
}

// add adds the switch at place i of a frame, and returns its rows.
func (e *Encoder) add(s *Switch, i int, at int64) []rows.Row {
	var old *Switch
	if e.frames > 0 && i < len(e.before.Switches) {
		old = &e.before.Switches[i]
	}
	whole := old == nil || old.Name != s.Name || old.Address != s.Address
	if whole {
		e.number(0)
		e.text(s.Name)
		e.text(s.Address)
	} else {
		e.number(uint64(i) + 1)
	}
	if s.At.IsZero() {
		e.number(0)
	} else {
		e.number(1)
		e.number(zigzag(s.At.UnixNano() - at))
	}
	e.text(s.Missing)
	if whole {
		e.number(uint64(len(s.Rows)))
		for j := range s.Rows {
			r := &s.Rows[j]
			e.text(r.Table)
			e.text(r.Key)
			e.number(uint64(len(r.Fields)))
			e.fields(r.Fields)
		}
		return s.Rows
	}
	return e.changes(old.Rows, s.Rows)
}

// What follows a number in the list of changes: its two lowest bits. The others are how many rows, or
// fields.
const (
	opKeep   = iota // rows that are as before; of 0: the end
	opDrop          // rows that are gone
	opChange        // a row with fields that changed
	opInsert        // a row with its fields
)

// op writes one change.
func (e *Encoder) op(op, n int) { e.number(uint64(n)<<2 | uint64(op)) }

// changes writes how rows differ from those before, and returns them with the unchanged ones shared.
func (e *Encoder) changes(old, now []rows.Row) []rows.Row {
	out := make([]rows.Row, 0, len(now))
	kept, dropped := 0, 0
	flush := func() {
		if kept > 0 {
			e.op(opKeep, kept)
		}
		if dropped > 0 {
			e.op(opDrop, dropped)
		}
		kept, dropped = 0, 0
	}
	var names []string
	for len(old) > 0 || len(now) > 0 {
		way := 0
		switch {
		case len(now) == 0:
			way = -1
		case len(old) == 0:
			way = 1
		default:
			way = order(old[0], now[0])
		}
		switch {
		case way < 0:
			dropped++
			old = old[1:]
		case way > 0:
			flush()
			e.op(opInsert, len(now[0].Fields))
			e.text(now[0].Table)
			e.text(now[0].Key)
			e.fields(now[0].Fields)
			out, now = append(out, now[0]), now[1:]
		default:
			names = changed(names[:0], old[0].Fields, now[0].Fields)
			if len(names) == 0 {
				if dropped > 0 {
					flush()
				}
				kept++
				out = append(out, old[0])
			} else {
				flush()
				e.op(opChange, len(names))
				for _, name := range names {
					e.text(name)
					value, has := now[0].Fields[name]
					e.value(old[0].Fields[name], value, has)
				}
				out = append(out, now[0])
			}
			old, now = old[1:], now[1:]
		}
	}
	flush()
	e.op(opKeep, 0)
	return out
}

// changed appends the names of fields that differ, sorted.
func changed(names []string, old, now map[string]string) []string {
	same := 0
	for name, value := range now {
		was, has := old[name]
		if has {
			same++
		}
		if !has || was != value {
			names = append(names, name)
		}
	}
	if same < len(old) {
		for name := range old {
			if _, has := now[name]; !has {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// fields writes all fields of a row.
func (e *Encoder) fields(all map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		e.text(name)
		e.value("", all[name], true)
	}
}

// The kinds of values: the two lowest bits of the number that begins one.
const (
	valueGone   = iota // the field is gone; the other bits are 0
	valueDelta         // the others: how much it is more than before, by zigzag
	valueNumber        // the others: a decimal number
	valueText          // the others: the number of a text, 0 is a new one that follows
)

// mostNumber bounds numbers that a value has in its upper bits.
const mostNumber = 1 << 60

// value writes a value; has: the field is there. Numbers are written by what they differ.
func (e *Encoder) value(old, now string, has bool) {
	if !has {
		e.number(valueGone)
		return
	}
	n, is := decimal(now)
	if was, before := decimal(old); is && before {
		if d := int64(n - was); d < mostNumber && d > -mostNumber {
			e.number(zigzag(d)<<2 | valueDelta)
			return
		}
	}
	if is && n < mostNumber {
		e.number(n<<2 | valueNumber)
		return
	}
	if place, known := e.texts[now]; known {
		e.number(place<<2 | valueText)
		return
	}
	e.number(valueText)
	e.newText(now)
}

// mostDigits is the length of the longest number that is written as one.
const mostDigits = 19

// decimal returns the number that a text is, as strconv writes it.
func decimal(s string) (uint64, bool) {
	if s == "" || len(s) > mostDigits || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	n := uint64(0)
	for i := range len(s) {
		c := s[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + uint64(c)
	}
	return n, true
}

// zigzag maps small numbers of both signs to small ones.
func zigzag(n int64) uint64 { return uint64(n<<1) ^ uint64(n>>63) }

// unzigzag is its inverse.
func unzigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

// number writes a number.
func (e *Encoder) number(n uint64) { e.raw = binary.AppendUvarint(e.raw, n) }

// text writes a text: the number that it has in the block, or 0 and itself.
func (e *Encoder) text(s string) {
	if place, known := e.texts[s]; known {
		e.number(place)
		return
	}
	e.number(0)
	e.newText(s)
}

// newText writes a text that is new to the block.
func (e *Encoder) newText(s string) {
	e.texts[s] = uint64(len(e.texts)) + 1
	e.number(uint64(len(s)))
	e.raw = append(e.raw, s...)
}

// window is how far back repetitions are found, octets: some frames of a fabric.
const window = 4 << 20

// packer and unpacker compress blocks.
var (
	packer = sync.OnceValue(func() *zstd.Encoder {
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			panic(err) // the options above are wrong
		}
		return w
	})
	unpacker = sync.OnceValue(func() *zstd.Decoder {
		r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(mostRaw))
		if err != nil {
			panic(err)
		}
		return r
	})
)

// Block ends the open block and returns it; nil where it is empty.
func (e *Encoder) Block() []byte {
	if e.frames == 0 {
		return nil
	}
	raw := slices.Concat(e.times, e.raw)
	packed := packer().EncodeAll(raw, make([]byte, HeadSize, HeadSize+len(raw)/8))
	h := Head{
		First: e.first, Last: e.last, Frames: uint32(e.frames), Packed: uint32(len(packed) - HeadSize), Raw: uint32(len(raw)),
		check: crc32.Checksum(packed[HeadSize:], castagnoli),
	}
	h.append(packed[:0])
	*e = Encoder{raw: e.raw[:0], times: e.times[:0]}
	return packed
}

// Open returns a decoder of the open block as it is. It is valid until the next call of the encoder.
func (e *Encoder) Open() *Decoder {
	if e.frames == 0 {
		return &Decoder{}
	}
	d := &Decoder{head: Head{First: e.first, Last: e.last, Frames: uint32(e.frames)}, raw: e.times}
	if err := d.readTimes(); err != nil {
		panic(err) // they are those that Add wrote
	}
	d.raw = e.raw
	return d
}
