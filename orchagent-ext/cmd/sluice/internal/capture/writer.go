package capture

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// Writer writes a capture file. The file appears under its name when Close
// succeeds, and not at all when Abort is called, so that no half-written
// capture is taken for a whole one.
type Writer struct {
	name   string
	final  string   // the name that the file gets at the end; "": it has it already
	file   *os.File // nil: standard output
	buffer *bufio.Writer
	pcap   *pcapgo.Writer
	ng     *pcapgo.NgWriter
	like   *Reader // pcapng: where the interfaces come from
	ids    map[ngInterface]int
}

// ngInterface names an interface of a pcapng file, which numbers them anew in
// each section.
type ngInterface struct{ section, index int }

// Create creates a pcap file of Ethernet frames with nanosecond timestamps;
// "-" is stdout.
func Create(name string, stdout io.Writer) (*Writer, error) {
	w, err := create(name, stdout)
	if err != nil {
		return nil, err
	}
	w.pcap = pcapgo.NewWriterNanos(w.buffer)
	if err := w.pcap.WriteFileHeader(maxSnaplen, layers.LinkTypeEthernet); err != nil {
		w.Abort()
		return nil, w.wrap(err)
	}
	return w, nil
}

// CreateLike creates a file of the same format, link types and timestamp
// resolution as r, for frames that come from r.
func CreateLike(name string, stdout io.Writer, r *Reader) (*Writer, error) {
	w, err := create(name, stdout)
	if err != nil {
		return nil, err
	}
	if r.ng != nil {
		w.like, w.ids = r, map[ngInterface]int{}
		return w, nil
	}
	w.pcap = pcapgo.NewWriter(w.buffer)
	if r.pcap.Resolution() == gopacket.TimestampResolutionNanosecond {
		w.pcap = pcapgo.NewWriterNanos(w.buffer)
	}
	if err := w.pcap.WriteFileHeader(r.pcap.Snaplen(), r.pcap.LinkType()); err != nil {
		w.Abort()
		return nil, w.wrap(err)
	}
	return w, nil
}

func create(name string, stdout io.Writer) (*Writer, error) {
	w := &Writer{name: name, final: name}
	if name == "-" {
		w.buffer = bufio.NewWriterSize(stdout, 1<<16)
		return w, nil
	}
	var err error
	if info, statErr := os.Stat(name); statErr == nil && !info.Mode().IsRegular() {
		w.final = "" // a device or pipe is written to, never replaced
		w.file, err = os.OpenFile(name, os.O_WRONLY, 0)
	} else {
		w.file, err = os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	}
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", name, err)
	}
	w.buffer = bufio.NewWriterSize(w.file, 1<<16)
	return w, nil
}

// WriteFrame writes a frame that came from the reader given to CreateLike, with
// its own timestamp and options.
func (w *Writer) WriteFrame(f *Frame) error {
	if w.like == nil {
		return w.wrap(w.pcap.WritePacket(f.Info, f.Data))
	}
	info := f.Info
	var err error
	if info.InterfaceIndex, err = w.id(f); err != nil {
		return w.wrap(err)
	}
	return w.wrap(w.ng.WritePacketWithOptions(info, f.Data, f.options))
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
		w.ng, err = pcapgo.NewNgWriterInterface(w.buffer, description, pcapgo.DefaultNgWriterOptions)
	} else {
		id, err = w.ng.AddInterface(description)
	}
	w.ids[key] = id
	return id, err
}

// Write writes an Ethernet frame with the given time.
func (w *Writer) Write(at time.Time, frame []byte) error {
	return w.wrap(w.pcap.WritePacket(gopacket.CaptureInfo{Timestamp: at, CaptureLength: len(frame), Length: len(frame)}, frame))
}

// Close finishes the file and gives it its name.
func (w *Writer) Close() error {
	err := w.flush()
	if err == nil && w.file != nil && w.final != "" {
		err = w.file.Chmod(0o644)
	}
	if err == nil && w.file != nil {
		err = w.file.Close()
	}
	if err == nil && w.file != nil && w.final != "" {
		err = os.Rename(w.file.Name(), w.final)
	}
	if err != nil {
		w.Abort()
	}
	return w.wrap(err)
}

func (w *Writer) flush() error {
	if w.ng == nil && w.like != nil { // an empty pcapng file is still one
		var err error
		if w.ng, err = pcapgo.NewNgWriter(w.buffer, layers.LinkTypeEthernet); err != nil {
			return err
		}
	}
	if w.ng != nil {
		if err := w.ng.Flush(); err != nil {
			return err
		}
	}
	return w.buffer.Flush()
}

// Abort drops what was written. Behind a Close that succeeded it does nothing.
func (w *Writer) Abort() {
	if w.file == nil {
		return
	}
	_ = w.file.Close()
	if w.final != "" {
		_ = os.Remove(w.file.Name())
	}
}

func (w *Writer) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write %s: %w", w.name, err)
}
