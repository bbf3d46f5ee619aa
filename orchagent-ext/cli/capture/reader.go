// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// blockLen is how much is read at once: the longest frame that is read, and more.
const blockLen = 1 << 19

// maxSnaplen is the longest frame that is read, whatever the file's header
// says; tcpdump and Wireshark allow as much.
const maxSnaplen = 262144

// magicPcapng is the first word of a pcapng file: the block type of its section header, which
// is the same in both byte orders.
const magicPcapng = 0x0a0d0d0a

// Times of a packet: pcapng can have others, which programs do not expect: they do not
// fit time.Time's UnixNano.
var earliest, latest = time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64)

// bounded returns t within the times that fit int64 nanoseconds since 1970.
func bounded(t time.Time) time.Time {
	switch {
	case t.Before(earliest):
		return earliest
	case t.After(latest):
		return latest
	}
	return t
}

// Reader reads the frames of one capture file in order.
type Reader struct {
	name string
	file io.Closer
	size int64 // of a file by its name, octets; 0: unknown
	// length is that of the data before it is unpacked, octets; 0: unknown
	length   int64
	packed   bool   // compressed
	unpacked func() // ends the unpacking; nil: there is none
	count    *counter
	room     bounds
	pcap     *pcapgo.Reader
	ng       *pcapgo.NgReader
	frame    Frame
	plain    *bufio.Reader // the content, which pcap reads, too
	// ahead: of a pcap file: octets that plain has read ahead, from the next packet on
	ahead []byte
	taken int // octets before ahead that plain returns again

	order   binary.ByteOrder // of a pcap file
	tick    uint32           // ns; unit of its times behind the second
	snaplen uint32           // as its header says
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
		r.file, r.count.r = f, f
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

// start recognizes gzip, Zstandard, pcap and pcapng by the first octets and prepares the reading.
// Compressed data is unpacked on the way.
func (r *Reader) start() error {
	buffered := bufio.NewReaderSize(r.count, 1<<16)
	buffered, err := r.unpack(buffered)
	if err != nil {
		return err
	}
	r.room.r = buffered
	buffered = bufio.NewReaderSize(&r.room, blockLen)
	r.plain = buffered
	magic, err := buffered.Peek(4)
	if errors.Is(err, io.EOF) {
		return errors.New("it has no file header")
	}
	if err != nil {
		return err
	}
	if binary.BigEndian.Uint32(magic) == magicPcapng {
		r.ng, err = pcapgo.NewNgReader(buffered, pcapgo.NgReaderOptions{
			WantMixedLinkType:  true,
			SkipUnknownVersion: true,
			SectionEndCallback: func([]pcapgo.NgInterface, pcapgo.NgSectionInfo) { r.frame.section++ },
		})
		r.frame.ng = r.ng
		return err
	}
	r.order = binary.LittleEndian
	if magic[0] == 0xa1 { // the most significant octet first
		r.order = binary.BigEndian
	}
	if r.pcap, err = pcapgo.NewReader(buffered); err == nil {
		r.snaplen = r.pcap.Snaplen()
		r.pcap.SetSnaplen(maxSnaplen)
		r.tick = 1000
		if r.pcap.Resolution() == gopacket.TimestampResolutionNanosecond {
			r.tick = 1
		}
	}
	return err
}

// recordLen is the length of the header of a packet in a pcap file.
const recordLen = 16 // header of a packet in a pcap file

// whole returns the length of the next packet of a pcap file where all of it was read
// ahead and its lengths make sense.
func (r *Reader) whole() (header []byte, length int, ok bool) {
	if r.pcap == nil || len(r.ahead) < recordLen {
		return nil, 0, false
	}
	header = r.ahead[:recordLen]
	captured := r.order.Uint32(header[8:])
	ok = captured <= maxSnaplen && captured <= r.order.Uint32(header[12:]) && len(r.ahead) >= recordLen+int(captured)
	return header, int(captured), ok
}

// slow reads the next frame of a pcap file by way of plain, which may read more of the file.
func (r *Reader) slow() (data []byte, info gopacket.CaptureInfo, err error) {
	_, _ = r.plain.Discard(r.taken) // which it has
	data, info, err = r.pcap.ZeroCopyReadPacketData()
	r.ahead, _ = r.plain.Peek(r.plain.Buffered())
	r.taken = 0
	return data, info, err
}

// Stays reports whether the data of the frames before stay valid when the next one is read.
func (r *Reader) Stays() bool {
	_, _, ok := r.whole()
	return ok
}

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

// Next returns the next frame, or io.EOF after the last one. The frame is
// reused by the next call. A file that ends inside a packet is a [CutError].
func (r *Reader) Next() (*Frame, error) {
	var err error
	f := &r.frame
	if header, length, ok := r.whole(); ok {
		f.Info.Timestamp = time.Unix(int64(r.order.Uint32(header)), int64(r.order.Uint32(header[4:])*r.tick)).UTC()
		f.Info.CaptureLength, f.Info.Length, f.Link = length, int(r.order.Uint32(header[12:])), r.pcap.LinkType()
		f.Data = r.ahead[recordLen : recordLen+length]
		r.ahead = r.ahead[recordLen+length:]
		r.taken += recordLen + length
	} else if r.ng != nil {
		f.Data, f.Info, f.options, err = r.ng.ZeroCopyReadPacketDataWithOptions()
		if err == nil {
			f.Link, _ = f.Info.AncillaryData[0].(layers.LinkType)
		}
	} else {
		f.Data, f.Info, err = r.slow()
		f.Link = r.pcap.LinkType()
		// a header without its packet
		if errors.Is(err, io.EOF) && f.Info.CaptureLength > 0 {
			err = io.ErrUnexpectedEOF
		}
	}
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, &CutError{r.String(), f.Number}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: after packet %d: %w", r, f.Number, err)
	}
	f.Number++
	r.room.left += int64(len(f.Data)) + maxOverhead
	f.Time = bounded(f.Info.Timestamp)
	return f, nil
}

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
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// String names the file in messages.
func (r *Reader) String() string {
	if r.name == "-" {
		return "standard input"
	}
	return r.name
}
