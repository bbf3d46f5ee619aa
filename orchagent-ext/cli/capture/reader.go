// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"sluice/orchagent-ext/cli/capture/link"
	"sluice/orchagent-ext/cli/capture/savefile"
)

// Reader reads the frames of one capture file in order.
type Reader struct {
	name   string
	closer io.Closer
	size   int64 // of a file by its name, octets; 0: unknown
	// length is that of the data before it is unpacked, octets; 0: unknown
	length   int64
	packed   bool   // compressed
	unpacked func() // ends the unpacking, or nil
	count    *counter
	room     bounds
	file     *savefile.Reader
	frame    Frame
	dropped  uint64
}

// Open opens a capture file; "-" is stdin. The content decides the format. Reading fails
// soon after ctx ends, also where it waits for more.
func Open(ctx context.Context, name string, stdin io.Reader) (*Reader, error) {
	r := &Reader{name: name, count: &counter{ctx: ctx, r: stdin, waits: true, done: make(chan result, 1)}, room: bounds{left: maxBeside}}
	if name != "-" {
		f, err := openFile(ctx, name)
		if err != nil {
			return nil, err
		}
		r.closer, r.count.r = f, f
		r.size = sizeOf(f)
		r.count.waits = r.size == 0
	}
	r.length = sizeOf(r.count.r)
	if err := r.start(); err != nil {
		_ = r.Close()
		if errors.Is(err, errStopped) {
			return nil, fmt.Errorf("%s: %w", r, err)
		}
		return nil, fmt.Errorf("%s: not a pcap or pcapng file: %w", r, err)
	}
	return r, nil
}

// openFile opens a file to read. A FIFO is there when somebody writes it: the wait ends
// with ctx, too.
func openFile(ctx context.Context, name string) (*os.File, error) {
	type opened struct {
		file *os.File
		err  error
	}
	done := make(chan opened)
	go func() {
		f, err := os.Open(name)
		select {
		case done <- opened{f, err}:
		case <-ctx.Done():
			_ = f.Close() // nil where it failed, which Close bears
		}
	}()
	select {
	case o := <-done:
		return o.file, o.err
	case <-ctx.Done():
		return nil, fmt.Errorf("open %s: %w", name, errStopped)
	}
}

// start recognizes the format by the first octets and prepares the reading. Compressed data is
// unpacked on the way.
func (r *Reader) start() error {
	content, err := r.unpack(bufio.NewReaderSize(r.count, 1<<16))
	if err != nil {
		return err
	}
	r.room.r = content
	r.file, err = savefile.NewReader(&r.room)
	return err
}

// Stays reports whether the data of the frames before stay valid when the next one is read.
func (r *Reader) Stays() bool { return r.file.Whole() }

// CutError is of a file that ends inside a packet, as a capture that is still being
// written, or a disk that was full. It is an [io.ErrUnexpectedEOF].
type CutError struct {
	// Name is that of the file.
	Name string
	// Packets is how many were read before.
	Packets int
}

// Error names the file and its last whole packet.
func (e *CutError) Error() string {
	return fmt.Sprintf("%s: file cut off after packet %d", e.Name, e.Packets)
}

// Unwrap returns [io.ErrUnexpectedEOF].
func (e *CutError) Unwrap() error { return io.ErrUnexpectedEOF }

// LeftError is of a file that was read to its end, but for a part that is left out.
type LeftError struct {
	// Name is that of the file.
	Name string
	savefile.Left
}

// Error names the part that was left out, with the reason.
func (e *LeftError) Error() string {
	var parts []string
	if e.Sections > 0 {
		parts = append(parts, fmt.Sprintf("%s with %s skipped", count(e.Sections, "section"), count(e.Packets, "packet")))
	}
	if e.Records > 0 {
		parts = append(parts, count(e.Records, "wrong record")+" left out")
	}
	return fmt.Sprintf("%s: not all of it was read: %s; the first %s", e.Name, strings.Join(parts, ", "), e.First)
}

// count returns a number of things as text.
func count(n int, of string) string {
	if n != 1 {
		of += "s"
	}
	return fmt.Sprintf("%d %s", n, of)
}

// Next returns the next frame, or io.EOF after the last one. The frame is
// reused by the next call. A file that ends inside a packet is a [CutError], and one of which
// a part was left out a [LeftError], both after the last packet.
func (r *Reader) Next() (*Frame, error) {
	p, err := r.file.Next()
	if err != nil {
		return nil, r.end(err)
	}
	f := &r.frame
	f.Number = p.Number
	f.Data, f.Time, f.Link, f.record, f.face, f.sent = p.Data, p.Time, link.Type(p.Link), p.Record, p.Face, p.Out
	f.Length, f.Index = p.Length, p.Index
	r.room.left += int64(len(p.Record)) + maxOverhead
	r.dropped += p.Dropped
	return f, nil
}

// end returns the error at the end of the frames, where the file's is err.
func (r *Reader) end(err error) error {
	var left error
	if l := r.file.Left(); l.First != "" {
		left = &LeftError{r.String(), l}
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = &CutError{r.String(), r.frame.Number}
	case !errors.Is(err, io.EOF):
		err = fmt.Errorf("%s: after packet %d: %w", r, r.frame.Number, err)
	case left != nil:
		return left
	default:
		return io.EOF
	}
	if left != nil {
		err = errors.Join(err, left)
	}
	return err
}

// Dropped returns how many packets the capture lost by the file before those that were read,
// since the machine that captured did not keep up.
func (r *Reader) Dropped() uint64 { return r.dropped }

// BeforeWaiting calls f whenever the next frame may have to be waited for: where the
// input is a pipe or stdin, each time before more of it is read.
func (r *Reader) BeforeWaiting(f func()) {
	if r.size == 0 {
		r.count.before = f
	}
}

// Progress is the share of the file that was read, 0 to 1; ok is false where
// the length is not known beforehand.
func (r *Reader) Progress() (share float64, ok bool) {
	return float64(r.count.n) / float64(max(r.size, 1)), r.size > 0
}

// Close closes the file.
func (r *Reader) Close() error {
	if r.unpacked != nil {
		r.unpacked()
	}
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}

// String names the file in messages.
func (r *Reader) String() string {
	if r.name == "-" {
		return "standard input"
	}
	return r.name
}
