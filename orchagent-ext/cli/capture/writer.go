// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"sluice/orchagent-ext/cli/output"
)

// Writer writes a capture file, whole or not at all.
type Writer struct {
	file *output.File
	pcap *pcapgo.Writer
	ng   *pcapgo.NgWriter
	like *Reader // pcapng: where the interfaces come from
	ids  map[ngInterface]int
	live map[liveInterface]int // of CreateLive: the numbers of devices
}

// ngInterface names an interface of a pcapng file, which numbers them from 0 in
// each section.
type ngInterface struct{ section, index int }

// Create creates a pcap file of Ethernet frames with nanosecond timestamps. Its errors
// are those of [output.Create].
func Create(to output.Target) (*Writer, error) {
	return create(to, func(w *Writer) error {
		w.pcap = pcapgo.NewWriterNanos(w.file)
		return w.pcap.WriteFileHeader(maxSnaplen, layers.LinkTypeEthernet)
	})
}

// CreateLike creates a file of the same format, link types and timestamp
// resolution as r, for frames that come from r.
func CreateLike(to output.Target, r *Reader) (*Writer, error) {
	return create(to, func(w *Writer) error {
		if r.ng != nil {
			w.like, w.ids = r, map[ngInterface]int{}
			return nil
		}
		w.pcap = pcapgo.NewWriter(w.file)
		if r.pcap.Resolution() == gopacket.TimestampResolutionNanosecond {
			w.pcap = pcapgo.NewWriterNanos(w.file)
		}
		return w.pcap.WriteFileHeader(r.snaplen, r.pcap.LinkType())
	})
}

// create creates the output and writes the file's header by begin; an error of that
// removes the file.
func create(to output.Target, begin func(*Writer) error) (*Writer, error) {
	file, err := output.Create(to)
	if err != nil {
		return nil, err
	}
	w := &Writer{file: file}
	if err := begin(w); err != nil {
		w.Abort()
		return nil, file.Wrap(err)
	}
	return w, nil
}

// WriteFrame writes a frame that came from the reader given to CreateLike, with
// its own timestamp and options, or a live one.
func (w *Writer) WriteFrame(f *Frame) error {
	if w.live != nil {
		return w.file.Wrap(w.writeLive(f))
	}
	if w.like == nil {
		return w.file.Wrap(w.pcap.WritePacket(f.Info, f.Data))
	}
	info := f.Info
	var err error
	if info.InterfaceIndex, err = w.id(f); err != nil {
		return w.file.Wrap(err)
	}
	return w.file.Wrap(w.ng.WritePacketWithOptions(info, f.Data, f.options))
}

// id returns the number of the frame's interface in the new file, where it is
// described with the first frame that came from it.
func (w *Writer) id(f *Frame) (int, error) {
	key := ngInterface{f.section, f.Info.InterfaceIndex}
	if id, ok := w.ids[key]; ok {
		return id, nil
	}
	description, err := w.like.ng.Interface(f.Info.InterfaceIndex)
	if err != nil {
		return 0, err
	}
	id := 0
	if w.ng == nil {
		w.ng, err = pcapgo.NewNgWriterInterface(w.file, description, pcapgo.DefaultNgWriterOptions)
	} else {
		id, err = w.ng.AddInterface(description)
	}
	w.ids[key] = id
	return id, err
}

// Write writes an Ethernet frame with the given time.
func (w *Writer) Write(at time.Time, frame []byte) error {
	return w.file.Wrap(w.pcap.WritePacket(gopacket.CaptureInfo{Timestamp: at, CaptureLength: len(frame), Length: len(frame)}, frame))
}

// Close finishes the file and gives it its name.
func (w *Writer) Close() error {
	if err := w.flush(); err != nil {
		w.Abort()
		return w.file.Wrap(err)
	}
	return w.file.Close()
}

// flush writes the buffers. A pcapng file without packets gets its section header and
// interface here.
func (w *Writer) flush() error {
	if w.pcap != nil {
		return nil
	}
	if w.ng == nil { // an empty pcapng file is still one
		var err error
		if w.ng, err = pcapgo.NewNgWriter(w.file, layers.LinkTypeEthernet); err != nil {
			return err
		}
	}
	return w.ng.Flush()
}

// Abort removes the unfinished file. After a Close that succeeded it has no
// effect.
func (w *Writer) Abort() { w.file.Abort() }
