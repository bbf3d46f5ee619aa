// SPDX-License-Identifier: Apache-2.0

package framefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"sluice/orchagent-ext/view/frame"
	"sluice/yang/text"
)

// begin is how each file begins: the format with its version.
const begin = "sluice record 1\n"

// ErrFormat is of a file other than a record.
var ErrFormat = errors.New("is no record of sluice")

// place is a block of a file.
type place struct {
	frame.Head
	at int64 // octets from the begin of the file
}

// index are the blocks of a file.
type index []place

// errCut is of a file that ends within a block.
var errCut = errors.New("it is cut")

// scan returns the blocks of a file of that length, where they end, and why that is before its end: the rest is
// cut, or [frame.ErrDamaged]; nil: it is its end.
func scan(f io.ReaderAt, length int64) (all index, end int64, rest, err error) {
	first := make([]byte, min(length, int64(len(begin))))
	if _, err := f.ReadAt(first, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, nil, err
	}
	if string(first) != begin[:len(first)] {
		return nil, 0, nil, ErrFormat
	}
	if len(first) < len(begin) {
		return nil, 0, fmt.Errorf("%w in its first line", errCut), nil
	}
	end = int64(len(begin))
	head := make([]byte, frame.HeadSize)
	for end < length {
		n, err := f.ReadAt(head, end)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, nil, err
		}
		h, err := frame.ParseHead(head[:n])
		switch {
		case n < frame.HeadSize || err == nil && end+h.Size() > length:
			return all, end, fmt.Errorf("%w: its last %d octets are no whole block", errCut, length-end), nil
		case err != nil:
			return all, end, fmt.Errorf("%w at octet %d: what follows is left out", err, end), nil
		}
		all = append(all, place{h, end})
		end += h.Size()
	}
	return all, end, nil, nil
}

// pause is the time between two blocks, at most, that belong together.
const pause = time.Minute

// sorted returns blocks, which are in the order in which they were written, by time. Where a clock was set back
// some overlap: those that were written later hide the others, in the pauses between them, too.
func (all index) sorted() index {
	out := make(index, 0, len(all))
	for i, b := range all {
		from := b.First
		if i > 0 && all[i-1].Last < from && from-all[i-1].Last <= int64(pause) {
			from = all[i-1].Last + 1
		}
		first := sort.Search(len(out), func(i int) bool { return out[i].Last >= from })
		end := sort.Search(len(out), func(i int) bool { return out[i].First > b.Last })
		out = slices.Replace(out, first, end, b)
	}
	return out
}

// frames is how many frames the blocks have.
func (all index) frames() (n int) {
	for _, b := range all {
		n += int(b.Frames)
	}
	return n
}

// File is a record that is read. It implements [frame.Source], and is used by several goroutines.
type File struct {
	file *os.File
	note string

	mu     sync.Mutex
	blocks blocks
	reader frame.Reader
}

// blocks are those of a file by time; they implement [frame.Blocks].
type blocks struct {
	index
	from io.ReaderAt
}

// Len implements [frame.Blocks].
func (b blocks) Len() int { return len(b.index) }

// Head implements [frame.Blocks].
func (b blocks) Head(i int) frame.Head { return b.index[i].Head }

// Block implements [frame.Blocks].
func (b blocks) Block(i int) ([]byte, error) {
	octets := make([]byte, b.index[i].Size())
	_, err := b.from.ReadAt(octets, b.index[i].at)
	if errors.Is(err, io.EOF) {
		err = errors.New("it is shorter than it was")
	}
	return octets, err
}

// Open opens a record, and finds its blocks. It has those that are whole.
func Open(name string) (*File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	all, note, err := opened(f)
	if err != nil {
		_ = f.Close() // the error is that of reading
		return nil, fmt.Errorf("%s: %w", text.Printable(name), err)
	}
	return &File{file: f, note: note, blocks: blocks{all, f}}, nil
}

// opened returns the blocks of an open file, by time, and a note about the rest of it.
func opened(f *os.File) (index, string, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, "", err
	case !info.Mode().IsRegular():
		return nil, "", ErrFormat
	}
	all, _, rest, err := scan(f, info.Size())
	if err != nil {
		return nil, "", err
	}
	var notes []string
	if rest != nil {
		notes = append(notes, rest.Error())
	}
	shown := all.sorted()
	if hidden := all.frames() - shown.frames(); hidden > 0 {
		notes = append(notes, fmt.Sprintf("its clock was set back: of times that it has twice, %d earlier frames are left out", hidden))
	}
	return shown, strings.Join(notes, "; "), nil
}

// Note is why a part of the file is left out, one line; "": all of it is read.
func (f *File) Note() string { return f.note }

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Span implements [frame.Source].
func (f *File) Span() (first, last time.Time, ok bool) {
	n := len(f.blocks.index)
	if n == 0 {
		return first, last, false
	}
	first, _ = f.blocks.index[0].Span()
	_, last = f.blocks.index[n-1].Span()
	return first, last, true
}

// Frames is how many frames the file has.
func (f *File) Frames() int { return f.blocks.frames() }

// At implements [frame.Source].
func (f *File) At(_ context.Context, t time.Time) (is, before *frame.Frame, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if is, before, err = f.reader.At(f.blocks, t); err != nil {
		err = fmt.Errorf("%s: %w", text.Printable(f.file.Name()), err)
	}
	return is, before, err
}
