// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bufio"
	"compress/gzip"
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

	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// blockLen is how much is read at once: the longest frame that is read, and more.
const blockLen = 1 << 19

// maxSnaplen is the longest frame that is read, whatever the file's header
// says; tcpdump and Wireshark allow as much.
const maxSnaplen = 262144

// First octets of files: the block type of pcapng's section header, which is the same in
// both byte orders, and gzip's magic number (RFC 1952 section 2.3.1).
const (
	magicPcapng = 0x0a0d0d0a
	magicGzip   = 0x1f8b
)

// Frame is one packet of a capture file. Data is valid until the next frame is
// read.
type Frame struct {
	Number int // from 1, as Wireshark counts
	// Data has the frame's octets as far as the capture has them, and is valid until the
	// next one.
	Data []byte
	// Info has time, lengths and interface of the frame.
	Info gopacket.CaptureInfo
	// Time: that of Info, or the nearest time that fits ns since 1970 (1677 to 2262)
	Time time.Time
	// Link is the type of the first header.
	Link    layers.LinkType
	In, Out string // of a live frame: the port that it came in or left by
	options pcapgo.NgPacketOptions
	section int // of a pcapng file
	ng      *pcapgo.NgReader
}

// Link types without a name in gopacket.
const (
	linkTypeRawBSD    layers.LinkType = 12
	linkTypeRawOpen   layers.LinkType = 14
	linkTypeLinuxSLL2 layers.LinkType = 276

	sllLen  = 16
	sll2Len = 20
)

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

// Parse parses the frame into p, by the frame's link type. Link types other
// than Ethernet, Linux cooked and raw IP count as not RoCEv2.
func (f *Frame) Parse(p *roce.Packet) error {
	if f.Link == layers.LinkTypeEthernet {
		return p.Parse(f.Data, f.Info.Length)
	}
	header, ok := f.header()
	if !ok {
		return p.NotParsed()
	}
	return p.ParseIP(f.Data[header:], f.Info.Length-header)
}

// ParseThrough is Parse that looks into tunnels; see [roce.Packet.ParseThrough].
func (f *Frame) ParseThrough(p *roce.Packet) error {
	if f.Link == layers.LinkTypeEthernet {
		return p.ParseThrough(f.Data, f.Info.Length)
	}
	header, ok := f.header()
	if !ok {
		return p.NotParsed()
	}
	return p.ParseIPThrough(f.Data[header:], f.Info.Length-header)
}

// ParseNotification is Parse for the notifications.
func (f *Frame) ParseNotification(p *notify.Packet, c notify.CodePoints) error {
	if f.Link == layers.LinkTypeEthernet {
		return p.Parse(f.Data, c)
	}
	header, ok := f.header()
	if !ok {
		return notify.ErrNotNotification
	}
	return p.ParseIP(f.Data[header:], c)
}

// header is the length of the headers before the IP header; ok is false without an IP
// header.
func (f *Frame) header() (length int, ok bool) {
	switch f.Link {
	case layers.LinkTypeRaw, linkTypeRawBSD, linkTypeRawOpen, layers.LinkTypeIPv4, layers.LinkTypeIPv6:
		return 0, true
	case layers.LinkTypeLinuxSLL:
		return sllLen, len(f.Data) >= sllLen && isIP(f.Data[sllLen-2:])
	case linkTypeLinuxSLL2:
		return sll2Len, len(f.Data) >= sll2Len && isIP(f.Data)
	}
	return 0, false
}

// isIP reports whether the 2 octets are the EtherType of IPv4 or IPv6.
func isIP(etherType []byte) bool {
	t := binary.BigEndian.Uint16(etherType)
	return t == roce.EtherTypeIPv4 || t == roce.EtherTypeIPv6
}

// Reader reads the frames of one capture file in order.
type Reader struct {
	name string
	file io.Closer
	size int64 // of a file by its name, octets; 0: unknown
	// length is that of the data before it is unpacked, octets; 0: unknown
	length int64
	packed bool // compressed
	count  *counter
	room   bounds
	pcap   *pcapgo.Reader
	ng     *pcapgo.NgReader
	frame  Frame
	plain  *bufio.Reader // the content, which pcap reads, too
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

// start recognizes gzip, pcap and pcapng by the first octets and prepares the reading.
// Compressed data is unpacked on the way.
func (r *Reader) start() error {
	buffered := bufio.NewReaderSize(r.count, 1<<16)
	if magic, err := buffered.Peek(2); err == nil && binary.BigEndian.Uint16(magic) == magicGzip {
		plain, err := gzip.NewReader(buffered)
		if err != nil {
			return err
		}
		r.packed, buffered = true, bufio.NewReaderSize(plain, 1<<16)
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

// Limits of a file's records beside its packets: descriptions of interfaces, names and
// keys, which are all kept. A real file has few of them; a small compressed one could
// hold enough to exhaust the memory.
const (
	maxOverhead = 1 << 10 // octets a packet, with its header and options
	maxBeside   = 16 << 20
)

// errNoPackets is the error of a file that would fill the memory with descriptions.
var errNoPackets = fmt.Errorf("more than %d MiB of it are no packets", maxBeside>>20)

// bounds is the file's content, as long as enough of it is packets.
type bounds struct {
	r    io.Reader
	left int64 // octets that may be read until the next packet is there
}

// Read implements [io.Reader] within the bound that is left.
func (b *bounds) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errNoPackets
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	return n, err
}

// counter counts the octets that were read through it.
type counter struct {
	ctx   context.Context
	r     io.Reader
	waits bool // reading may wait for somebody to write: it is no file
	n     int64
	room  []byte      // that an abandoned Read may still fill
	done  chan result // of the Read that is under way
	last  time.Time   // when reading ends, once ctx has

	before func() // called before each Read; nil: nothing is
}

// result is the result of a Read in a goroutine of its own.
type result struct {
	n   int
	err error
}

// grace is how long reading goes on after the end of the context: Ctrl-C ends "tcpdump |
// sluice" as a whole, and the packets that tcpdump still writes then are wanted.
const grace = time.Second

// errStopped ends a reading after the grace period of an interrupt.
var errStopped = errors.New("stopped")

// Read implements [io.Reader] and counts octets for the progress. On a pipe it reads in a
// goroutine, since an interrupt cannot end a system call that waits.
func (c *counter) Read(b []byte) (int, error) {
	if !c.last.IsZero() && !time.Now().Before(c.last) {
		return 0, errStopped
	}
	if c.before != nil {
		c.before()
	}
	if !c.waits {
		n, err := c.r.Read(b)
		c.n += int64(n)
		return n, err
	}
	if len(c.room) < len(b) {
		c.room = make([]byte, len(b))
	}
	go func() {
		n, err := c.r.Read(c.room[:len(b)])
		c.done <- result{n, err}
	}()
	var got result
	select {
	case got = <-c.done:
	case <-c.ctx.Done():
		if c.last.IsZero() {
			c.last = time.Now().Add(grace)
		}
		select {
		case got = <-c.done:
		case <-time.After(time.Until(c.last)):
			return 0, errStopped
		}
	}
	c.n += int64(got.n)
	return copy(b, c.room[:got.n]), got.err
}
