// SPDX-License-Identifier: Apache-2.0

package savefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// MaxPacket is the longest packet that is read, octets; tcpdump and Wireshark allow as much.
const MaxPacket = 262144

// Packet is one packet of a file. Its slices are valid until the next one is read; see
// [Reader.Whole].
type Packet struct {
	// Number is that of the record from 1, as Wireshark counts: custom blocks and entries of a
	// journal have one, too
	Number int
	Data   []byte // as far as it was captured
	// Record has the octets of the file, in which Data is: a change of Data is one of Record
	Record []byte
	Length int // on the wire, octets; at least that of Data
	// Time is within 1677 to 2262; the zero value: the packet has none
	Time time.Time
	Link uint16     // LINKTYPE_ number
	Face *Interface // of pcapng; nil: unknown
	// Index is the number of Face in its section, or the interface of a modified pcap file
	Index int
	// Out: it was sent by the capturing machine; else it came in, or that is unknown
	Out bool
	// Dropped packets before this one, by the capture
	Dropped uint64
}

// Interface is one that packets of a section were captured on.
type Interface struct {
	Name    string // as the file has it: any octets
	Link    uint16 // LINKTYPE_ number
	snaplen uint32
	clock   clock
}

// Left counts the parts of a file that were left out.
type Left struct {
	// Sections of a version that is not read, and their packets
	Sections, Packets int
	// Records that contradict themselves
	Records int
	// First is the place and the fault of the first of these; "": there is none
	First string
}

// format reads the records of one kind of file.
type format interface {
	// next reads the next packet; io.EOF at the end.
	next(*Packet) error
	// whole reports whether the next record is a packet that is in memory.
	whole() bool
}

// Reader reads the packets of one file.
type Reader struct {
	window
	format
	packet Packet
	left   Left
	number int // of records that Wireshark numbers
	// begin has the first octets of a copy
	begin  []byte
	beside func(record []byte)
	kind   Kind
}

// Kind is the format of a file.
type Kind uint8

// The formats.
const (
	Pcap Kind = iota
	Pcapng
)

// NewReader returns a reader of r. Its error is about a file in another format, which it names
// where that is known.
func NewReader(r io.Reader) (*Reader, error) { return newReader(r, windowLen) }

// newReader is NewReader with a buffer of a length in octets.
func newReader(r io.Reader, length int) (*Reader, error) {
	f := &Reader{window: window{r: r, buf: make([]byte, length)}, beside: func([]byte) {}}
	b, err := f.need(4)
	if errors.Is(err, io.EOF) {
		return nil, errors.New("it has no file header")
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if len(b) >= 4 && binary.BigEndian.Uint32(b) == sectionBlock {
		f.kind, f.format = Pcapng, &pcapng{Reader: f}
		return f, f.openPcapng()
	}
	p := &pcap{Reader: f}
	f.format = p
	return f, p.open()
}

// Kind returns the format.
func (r *Reader) Kind() Kind { return r.kind }

// Next returns the next packet, which the call after it reuses; io.EOF after the last one,
// and io.ErrUnexpectedEOF where the file ends inside a record.
func (r *Reader) Next() (*Packet, error) {
	if err := r.next(&r.packet); err != nil {
		return nil, err
	}
	r.number++
	r.packet.Number = r.number
	return &r.packet, nil
}

// Whole reports whether the next packet is in memory, so that those before it stay valid.
func (r *Reader) Whole() bool { return r.whole() }

// Left returns the parts that were left out so far.
func (r *Reader) Left() Left { return r.left }

// CopyTo passes the records beside packets to to, for a copy of the file: at once those before
// the first packet, the others as they are read.
func (r *Reader) CopyTo(to func(record []byte)) {
	to(r.begin)
	r.begin, r.beside = nil, to
}

// leave counts a record that contradicts itself, at an octet of the file.
func (r *Reader) leave(at int64, format string, args ...any) {
	r.left.Records++
	r.reason(at, format, args...)
}

// reason keeps the first reason for which something was left out.
func (r *Reader) reason(at int64, format string, args ...any) {
	if r.left.First == "" {
		r.left.First = fmt.Sprintf("at octet %d: ", at) + fmt.Sprintf(format, args...)
	}
}
