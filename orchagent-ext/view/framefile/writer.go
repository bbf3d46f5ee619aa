// SPDX-License-Identifier: Apache-2.0

package framefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/view/frame"
	"sluice/yang/text"
)

const (
	// blockSpan is the time of the frames of one block, which a kill loses at most.
	blockSpan = 10 * time.Second
	// Smallest is the smallest size of a record, octets.
	Smallest = 1 << 20
	// parts are those of the size: the file has two at most, so that one is left for the newer half of
	// it when it is rewritten.
	parts = 3
)

// ErrBusy is of a file that another process writes.
var ErrBusy = errors.New("another process records into it")

// Options are those of a [Writer].
type Options struct {
	Size int64 // octets that the file and the one that replaces it have on the disk, at most
	// Replace starts a new file. Otherwise a record goes on, and another file is refused.
	Replace bool
}

// A Writer adds frames to a file, and removes the oldest to make room.
type Writer struct {
	name string
	size int64 // Options.Size
	file *os.File
	end  int64 // octets of the file
	all  index
	open frame.Encoder

	frames uint64 // added
	first  time.Time
	last   time.Time
}

// Create opens or creates a file. A block that a kill cut off is removed.
func Create(name string, o Options) (*Writer, error) {
	w, err := create(name, o)
	if err != nil {
		return nil, fmt.Errorf("record into %s: %w", text.Printable(name), cause(err))
	}
	return w, nil
}

// cause returns an error less the name of its file.
func cause(err error) error {
	if of := (*fs.PathError)(nil); errors.As(err, &of) {
		return of.Err
	}
	return err
}

// create is Create, with errors less the file's name.
func create(name string, o Options) (*Writer, error) {
	if o.Size < Smallest {
		return nil, fmt.Errorf("%d octets are too few: at least %d are needed", o.Size, Smallest)
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if to, err := filepath.EvalSymlinks(name); err == nil {
		name = to // a link stays one
	}
	w := &Writer{name: name, size: o.Size, file: f}
	if err := w.begin(o.Replace); err != nil {
		_ = f.Close() // the error is that before
		return nil, err
	}
	return w, nil
}

// begin finds the blocks of the file, and makes it ready for more.
func (w *Writer) begin(replace bool) error {
	info, err := w.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is no file")
	}
	if err := unix.Flock(int(w.file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return ErrBusy
	}
	if named, err := os.Stat(w.name); err != nil || !os.SameFile(named, info) {
		return ErrBusy // which replaced it meanwhile
	}
	_ = os.Remove(w.beside()) // of a process that was killed
	if !replace {
		var rest error
		w.all, w.end, rest, err = scan(w.file, info.Size())
		switch {
		case errors.Is(err, ErrFormat):
			return errors.New("the file exists and is no record: --force overwrites it")
		case err != nil:
			return err
		case errors.Is(rest, frame.ErrDamaged): // what is cut a kill left
			return fmt.Errorf("%w: record into another file, or --force overwrites it", rest)
		}
	}
	if w.end == 0 {
		if err := w.file.Truncate(0); err != nil {
			return err
		}
		return w.write([]byte(begin))
	}
	if err := w.file.Truncate(w.end); err != nil {
		return err
	}
	if w.end > w.most() {
		return w.shrink(0)
	}
	return nil
}

// most is how long the file may be.
func (w *Writer) most() int64 { return w.size - w.size/parts }

// beside is the name of the file that replaces this one.
func (w *Writer) beside() string {
	return filepath.Join(filepath.Dir(w.name), "."+filepath.Base(w.name)+".new")
}

// Add adds a frame, and writes the open block where that will have its time before the next one. A frame
// begins a block where its time is not that of the open one: the clock was set, or there was a pause.
func (w *Writer) Add(f *frame.Frame) error {
	past := f.At.Sub(w.last)
	if w.open.Frames() > 0 && (past <= 0 || w.open.Span()+past > blockSpan) {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if _, err := w.open.Add(f); err != nil {
		return w.named(err)
	}
	if w.frames == 0 {
		w.first, past = f.At, 0
	}
	w.last = f.At
	w.frames++
	if w.open.Full() || w.open.Span()+past >= blockSpan || int64(w.open.Size()) > w.size/(2*parts) {
		return w.Flush()
	}
	return nil
}

// named returns an error with the name of the file.
func (w *Writer) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("record into %s: %w", text.Printable(w.name), cause(err))
}

// Flush writes the open block.
func (w *Writer) Flush() error {
	block := w.open.Block()
	if block == nil {
		return nil
	}
	n := int64(len(block))
	if n+int64(len(begin)) > w.size/parts {
		return w.named(fmt.Errorf("a frame of %d octets is too large for --size %d", n, w.size))
	}
	if w.end+n > w.most() {
		if err := w.shrink(n); err != nil {
			return w.named(err)
		}
	}
	h, err := frame.ParseHead(block)
	if err != nil {
		return w.named(err)
	}
	at := w.end
	if err := w.write(block); err != nil {
		return w.named(err)
	}
	w.all = append(w.all, place{h, at})
	return nil
}

// write writes octets to the end of the file, all or none.
func (w *Writer) write(octets []byte) error {
	n, err := w.file.WriteAt(octets, w.end)
	if err != nil {
		if n > 0 {
			err = errors.Join(err, w.file.Truncate(w.end))
		}
		return err
	}
	w.end += int64(n)
	return nil
}

// shrink replaces the file by one with its newest blocks: as many as leave room for so many octets
// in a part of the size.
func (w *Writer) shrink(room int64) error {
	first, length := len(w.all), int64(len(begin))
	for first > 0 && length+w.all[first-1].Size()+room <= w.size/parts {
		first--
		length += w.all[first].Size()
	}
	f, err := os.OpenFile(w.beside(), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := w.copy(f, w.all[first:]); err != nil {
		return errors.Join(err, f.Close(), os.Remove(w.beside()))
	}
	old := w.file
	w.file = f
	return old.Close()
}

// copy copies blocks into a new file, and gives it the name.
func (w *Writer) copy(f *os.File, some index) error {
	info, err := w.file.Stat()
	if err != nil {
		return err
	}
	if err := f.Chmod(info.Mode().Perm()); err != nil {
		return err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	if _, err := f.WriteString(begin); err != nil {
		return err
	}
	end := int64(len(begin))
	kept := make(index, 0, len(some))
	for _, p := range some {
		if _, err := io.CopyN(f, io.NewSectionReader(w.file, p.at, p.Size()), p.Size()); err != nil {
			return err
		}
		kept = append(kept, place{p.Head, end})
		end += p.Size()
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), w.name); err != nil {
		return err
	}
	w.all, w.end = kept, end
	return nil
}

// Added is how many frames were added, and the times of the first and of the last.
func (w *Writer) Added() (frames uint64, first, last time.Time) { return w.frames, w.first, w.last }

// Size is how many octets the file has.
func (w *Writer) Size() int64 { return w.end }

// Close writes the open block, and closes the file.
func (w *Writer) Close() error {
	err := w.Flush()
	if closed := w.file.Close(); err == nil {
		err = w.named(closed)
	}
	return err
}
