// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"errors"
	"io"
	"sort"
	"time"
)

// Blocks are the blocks of a series, sorted by time: each begins after the one before it ends.
type Blocks interface {
	Len() int
	Head(i int) Head
	// Block returns a block with its head. It stays as it is while it is decoded.
	Block(i int) ([]byte, error)
}

// A Reader finds frames in blocks. It keeps its place, so that a series that is played costs
// each frame once. Blocks may come and go between its calls.
type Reader struct {
	head      Head // of the decoder's block
	decoder   *Decoder
	f, before *Frame
}

// At returns the last frame up to t, and that before it; nil where there is none.
func (r *Reader) At(b Blocks, t time.Time) (f, before *Frame, err error) {
	i := sort.Search(b.Len(), func(i int) bool { first, _ := b.Head(i).Span(); return first.After(t) }) - 1
	if i < 0 {
		return nil, nil, nil
	}
	if r.decoder == nil || r.head != b.Head(i) || r.f != nil && r.f.At.After(t) {
		if err := r.open(b, i); err != nil {
			return nil, nil, err
		}
	}
	if err := r.decoder.Seek(t); err != nil {
		*r = Reader{}
		return nil, nil, err
	}
	for {
		if at, more := r.decoder.Peek(); !more || at.After(t) {
			break
		}
		next, err := r.decoder.Next()
		if err != nil {
			*r = Reader{}
			return nil, nil, err
		}
		r.f, r.before = next, r.f
	}
	if r.before == nil && i > 0 && r.f != nil { // of a place that was sought
		r.before, _ = Last(b, i-1) // it is for rates alone
	}
	return r.f, r.before, nil
}

// open begins a block. The last frame of the block before it stays, where that was read to its end.
func (r *Reader) open(b Blocks, i int) error {
	var before *Frame
	if i > 0 && r.decoder != nil && r.head == b.Head(i-1) && r.f != nil && r.f.At.UnixNano() == r.head.Last {
		before = r.f
	}
	*r = Reader{}
	block, err := b.Block(i)
	if err != nil {
		return err
	}
	d, err := NewDecoder(block)
	if err != nil {
		return err
	}
	*r = Reader{head: b.Head(i), decoder: d, f: before}
	return nil
}

// Last returns the last frame of a block.
func Last(b Blocks, i int) (*Frame, error) {
	block, err := b.Block(i)
	if err != nil {
		return nil, err
	}
	d, err := NewDecoder(block)
	if err != nil {
		return nil, err
	}
	if err := d.Seek(d.time(len(d.times) - 1)); err != nil {
		return nil, err
	}
	var last *Frame
	for {
		f, err := d.Next()
		switch {
		case errors.Is(err, io.EOF):
			return last, nil
		case err != nil:
			return nil, err
		}
		last = f
	}
}
