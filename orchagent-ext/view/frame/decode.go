// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"maps"
	"sort"
	"strconv"
	"time"

	"sluice/yang/rows"
)

// A Decoder returns the frames of a block, one after the other. Each shares its unchanged rows with
// the one before.
type Decoder struct {
	head   Head
	raw    []byte  // of the frames that follow
	times  []int64 // of all frames, ns since 1970
	done   int     // frames
	shared bool    // a frame was returned: its rows are the caller's, too
	texts  []string
	before *Frame
	work   int
	weight weight
}

// NewDecoder returns the decoder of a block, whose checksum it verifies. The error is [ErrDamaged].
func NewDecoder(block []byte) (*Decoder, error) {
	h, err := ParseHead(block)
	if err != nil {
		return nil, err
	}
	packed := block[HeadSize:]
	if len(packed) < int(h.Packed) {
		return nil, damaged("it has %d octets of %d", len(packed), h.Packed)
	}
	packed = packed[:h.Packed]
	if crc32.Checksum(packed, castagnoli) != h.check {
		return nil, damaged("its checksum is wrong")
	}
	raw, err := unpacker().DecodeAll(packed, nil)
	if err != nil {
		return nil, damaged("%v", err)
	}
	if len(raw) != int(h.Raw) {
		return nil, damaged("it has %d octets, not %d", len(raw), h.Raw)
	}
	d := &Decoder{head: h, raw: raw}
	return d, d.readTimes()
}

// readTimes reads the times of all frames.
func (d *Decoder) readTimes() error {
	d.times = make([]int64, d.head.Frames)
	last := d.head.First
	for i := range d.times {
		past, err := d.number(1<<63 - 1)
		if err != nil {
			return err
		}
		d.times[i] = last + int64(past)
		if d.times[i] < last || (past == 0) != (i == 0) {
			return damaged("the times of its frames are out of order")
		}
		last = d.times[i]
	}
	if last != d.head.Last {
		return damaged("the times of its frames do not end with that of its head")
	}
	return nil
}

// time returns the time of a frame.
func (d *Decoder) time(i int) time.Time { return time.Unix(0, d.times[i]).UTC() }

// Peek returns the time of the next frame; false: at the end.
func (d *Decoder) Peek() (at time.Time, ok bool) {
	if d.done == len(d.times) {
		return time.Time{}, false
	}
	return d.time(d.done), true
}

// Seek passes frames by, until the last two up to t are next.
func (d *Decoder) Seek(t time.Time) error {
	last := sort.Search(len(d.times), func(i int) bool { return d.time(i).After(t) })
	for d.done < last-2 {
		if _, err := d.next(); err != nil {
			return err
		}
	}
	return nil
}

// Next returns the next frame. The error is [io.EOF] behind the last one, else [ErrDamaged].
func (d *Decoder) Next() (*Frame, error) {
	f, err := d.next()
	d.shared = true
	return f, err
}

// next is Next. Rows that only the decoder has become those of the next frame.
func (d *Decoder) next() (*Frame, error) {
	if d.done == len(d.times) {
		if len(d.raw) > 0 {
			return nil, damaged("%d octets are behind its last frame", len(d.raw))
		}
		return nil, io.EOF
	}
	at := d.times[d.done]
	n, err := d.number(mostSwitches)
	if err != nil {
		return nil, err
	}
	if n > uint64(len(d.raw)) { // each has octets
		return nil, damaged("it has %d switches in %d octets", n, len(d.raw))
	}
	d.weight = weight{}
	f := &Frame{At: time.Unix(0, at).UTC(), Switches: make([]Switch, n)}
	for i := range f.Switches {
		if err := d.readSwitch(&f.Switches[i], at); err != nil {
			return nil, err
		}
	}
	d.before = f
	d.done++
	return f, nil
}

// number reads a number that is at most so large.
func (d *Decoder) number(most uint64) (uint64, error) {
	n, size := binary.Uvarint(d.raw)
	if size <= 0 || n > most {
		return 0, damaged("a number is wrong, %d octets before its end", len(d.raw))
	}
	d.raw = d.raw[size:]
	return n, nil
}

// text reads a text.
func (d *Decoder) text() (string, error) {
	place, err := d.number(uint64(len(d.texts)))
	if err != nil {
		return "", err
	}
	return d.textAt(place)
}

// textAt returns the text of a number, which follows where that is 0.
func (d *Decoder) textAt(place uint64) (string, error) {
	if place > uint64(len(d.texts)) {
		return "", damaged("it has no text %d", place)
	}
	if place > 0 {
		return d.texts[place-1], nil
	}
	n, err := d.number(uint64(len(d.raw)))
	if err != nil {
		return "", err
	}
	if n > uint64(len(d.raw)) {
		return "", damaged("a text is cut")
	}
	s := string(d.raw[:n])
	d.raw = d.raw[n:]
	d.texts = append(d.texts, s)
	return s, nil
}

// readSwitch reads one switch of a frame at a time.
func (d *Decoder) readSwitch(s *Switch, at int64) error {
	most := uint64(0)
	if d.before != nil {
		most = uint64(len(d.before.Switches))
	}
	place, err := d.number(most)
	if err != nil {
		return err
	}
	var old *Switch
	if place > 0 {
		old = &d.before.Switches[place-1]
		s.Name, s.Address = old.Name, old.Address
	} else if s.Name, err = d.text(); err == nil {
		s.Address, err = d.text()
	}
	if err != nil {
		return err
	}
	known, err := d.number(1)
	if err != nil {
		return err
	}
	if known == 1 {
		ahead, err := d.number(1<<64 - 1)
		if err != nil {
			return err
		}
		s.At = time.Unix(0, at+unzigzag(ahead)).UTC()
	}
	if s.Missing, err = d.text(); err != nil {
		return err
	}
	if old == nil {
		s.Rows, err = d.rows()
	} else {
		s.Rows, err = d.changes(old.Rows)
	}
	return err
}

// rows reads all rows of a switch.
func (d *Decoder) rows() ([]rows.Row, error) {
	n, err := d.number(mostRows)
	if err != nil || n == 0 {
		return nil, err
	}
	if n > uint64(len(d.raw)) {
		return nil, damaged("it has %d rows in %d octets", n, len(d.raw))
	}
	all := make([]rows.Row, 0, n)
	for range n {
		r, err := d.row(unknown)
		if err != nil {
			return nil, err
		}
		if all, err = d.append(all, r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// append appends a row, which must be behind the last one.
func (d *Decoder) append(all []rows.Row, r rows.Row) ([]rows.Row, error) {
	if n := len(all); n > 0 && order(all[n-1], r) >= 0 {
		return nil, damaged("its rows are out of order")
	}
	return append(all, r), d.count(1, len(r.Fields))
}

// count counts rows and their fields against the bounds of a frame and of a block.
func (d *Decoder) count(rows, fields int) error {
	d.weight.rows += rows
	d.weight.fields += fields
	d.work += rows + fields
	if d.weight.rows > mostRows || d.weight.fields > mostFields || d.work > mostWork {
		return damaged("it has too many rows, or fields")
	}
	return nil
}

// unknown is a number of fields that follows the key of their row.
const unknown = -1

// row reads a row with so many fields.
func (d *Decoder) row(fields int) (r rows.Row, err error) {
	if r.Table, err = d.text(); err != nil {
		return r, err
	}
	if r.Key, err = d.text(); err != nil {
		return r, err
	}
	if fields == unknown {
		n, err := d.number(mostFields)
		if err != nil {
			return r, err
		}
		fields = int(n)
	}
	if fields > len(d.raw) {
		return r, damaged("a row has %d fields in %d octets", fields, len(d.raw))
	}
	if fields > 0 {
		r.Fields = make(map[string]string, fields)
	}
	return r, d.fields(r.Fields, fields)
}

// fields reads fields of a row, and sets them.
func (d *Decoder) fields(into map[string]string, n int) error {
	for range n {
		name, err := d.text()
		if err != nil {
			return err
		}
		old, was := into[name]
		value, has, err := d.value(old)
		switch {
		case err != nil:
			return err
		case has:
			into[name] = value
		case was:
			delete(into, name)
		default:
			return damaged("a field that is not there is gone")
		}
	}
	return nil
}

// value reads a value; has: the field is there.
func (d *Decoder) value(old string) (value string, has bool, err error) {
	n, err := d.number(1<<64 - 1)
	if err != nil {
		return "", false, err
	}
	kind, n := n&3, n>>2
	switch {
	case kind == valueGone && n == 0:
		return "", false, nil
	case kind == valueDelta:
		was, is := decimal(old)
		now := was + uint64(unzigzag(n))
		value = strconv.FormatUint(now, 10)
		if !is || len(value) > mostDigits {
			return "", false, damaged("a number has none before it")
		}
		return value, true, nil
	case kind == valueNumber:
		return strconv.FormatUint(n, 10), true, nil
	case kind == valueText:
		value, err = d.textAt(n)
		return value, true, err
	}
	return "", false, damaged("a value is wrong")
}

// changes reads how rows differ from those before.
func (d *Decoder) changes(old []rows.Row) ([]rows.Row, error) {
	var all []rows.Row
	rest := old
	for {
		v, err := d.number(1<<64 - 1)
		if err != nil {
			return nil, err
		}
		op, n := v&3, v>>2
		if op == opKeep && n == 0 {
			break
		}
		if op == opChange || op == opInsert {
			if n > mostFields {
				return nil, damaged("a row has %d fields", n)
			}
		} else if n == 0 || n > uint64(len(rest)) {
			return nil, damaged("it has not so many rows")
		}
		switch op {
		case opKeep:
			if len(all) > 0 && order(all[len(all)-1], rest[0]) >= 0 {
				return nil, damaged("its rows are out of order")
			}
			fields := 0
			for i := range rest[:n] {
				fields += len(rest[i].Fields)
			}
			if err := d.count(int(n), fields); err != nil {
				return nil, err
			}
			if n == uint64(len(old)) && len(all) == 0 {
				all = old[:n:n] // shared; what is appended makes a copy
			} else {
				all = append(all, rest[:n]...)
			}
			rest = rest[n:]
		case opDrop:
			rest = rest[n:]
		case opChange:
			if len(rest) == 0 {
				return nil, damaged("it has not so many rows")
			}
			r := rest[0]
			rest = rest[1:]
			if d.shared {
				r.Fields = maps.Clone(r.Fields)
			}
			if r.Fields == nil {
				r.Fields = make(map[string]string)
			}
			if err := d.fields(r.Fields, int(n)); err != nil {
				return nil, err
			}
			if len(r.Fields) == 0 {
				r.Fields = nil
			}
			if all, err = d.append(all, r); err != nil {
				return nil, err
			}
		case opInsert:
			r, err := d.row(int(n))
			if err != nil {
				return nil, err
			}
			if all, err = d.append(all, r); err != nil {
				return nil, err
			}
		}
	}
	if len(rest) > 0 {
		return nil, damaged("%d rows are left over", len(rest))
	}
	return all, nil
}
