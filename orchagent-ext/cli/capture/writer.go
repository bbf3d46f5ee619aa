// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bufio"
	"time"

	"sluice/orchagent-ext/cli/capture/link"
	"sluice/orchagent-ext/cli/capture/savefile"
	"sluice/orchagent-ext/cli/output"
)

// Writer writes a capture file, whole or not at all.
type Writer struct {
	file *output.File
	out  *bufio.Writer
	err  error                    // of a record beside the packets
	live map[liveInterface]uint32 // of CreateLive: the numbers of devices
	room []byte                   // for the record that is written
	// section: a file that has nothing gets a section header
	section, begun bool
}

// Create creates a pcap file of Ethernet frames with nanosecond timestamps. Its errors
// are those of [output.Create].
func Create(to output.Target) (*Writer, error) {
	return create(to, func(w *Writer) error {
		return w.write(savefile.AppendPcapHeader(nil, uint16(link.Ethernet)))
	})
}

// CreateLike creates a copy of r for frames that come from r: with the octets that r's file
// has, in its byte order, and with all of its records beside the packets, as far as r
// reads them. No frame was read from r yet.
func CreateLike(to output.Target, r *Reader) (*Writer, error) {
	return create(to, func(w *Writer) error {
		w.section = r.file.Kind() == savefile.Pcapng
		r.file.CopyTo(func(record []byte) {
			if err := w.write(record); w.err == nil {
				w.err = err
			}
		})
		return w.err
	})
}

// create creates the output and writes the file's header by begin; an error of that
// removes the file.
func create(to output.Target, begin func(*Writer) error) (*Writer, error) {
	file, err := output.Create(to)
	if err != nil {
		return nil, err
	}
	w := &Writer{file: file, out: bufio.NewWriterSize(file, 1<<16)}
	if err := begin(w); err != nil {
		w.Abort()
		return nil, file.Wrap(err)
	}
	return w, nil
}

// write writes records.
func (w *Writer) write(b []byte) error {
	w.begun = w.begun || len(b) > 0
	_, err := w.out.Write(b)
	return err
}

// WriteFrame writes a frame that came from the reader given to CreateLike, as its file has
// it with the Data that it has now, or a live one.
func (w *Writer) WriteFrame(f *Frame) error {
	if w.live != nil {
		return w.file.Wrap(w.writeLive(f))
	}
	return w.file.Wrap(w.write(f.record))
}

// Write writes an Ethernet frame with the given time; the zero time is written as 1970, since
// each packet of a pcap file has one.
func (w *Writer) Write(at time.Time, frame []byte) error {
	if at.IsZero() {
		at = time.Unix(0, 0)
	}
	w.room = savefile.AppendPcapPacket(w.room[:0], at, frame)
	return w.file.Wrap(w.write(w.room))
}

// Close finishes the file and gives it its name.
func (w *Writer) Close() error {
	err := w.err
	if err == nil && w.section && !w.begun { // an empty pcapng file is still one
		err = w.write(savefile.AppendSection(nil))
	}
	if flushErr := w.out.Flush(); err == nil {
		err = flushErr
	}
	if err != nil {
		w.Abort()
		return w.file.Wrap(err)
	}
	return w.file.Close()
}

// Abort removes the unfinished file. After a Close that succeeded it has no
// effect.
func (w *Writer) Abort() { w.file.Abort() }
