// SPDX-License-Identifier: Apache-2.0

package savefile

import (
	"bytes"
	"fmt"
	"time"
)

// Magic numbers of pcap files: times in us or ns (draft-ietf-opsawg-pcap section 4), and the
// format of a kernel patch, in which each packet has an interface, a protocol and a type, too.
const (
	magicMicroseconds = 0xa1b2c3d4
	magicNanoseconds  = 0xa1b23c4d
	magicModified     = 0xa1b2cd34
)

// Lengths in octets.
const (
	fileHeader     = 24
	packetHeader   = 16
	modifiedHeader = packetHeader + 8
)

// linkMask is the part of a file's link type that is one: above are the length of the FCS, and
// bits that are reserved.
const linkMask = 0xffff

// outgoing is the type of packets that were sent, in a modified pcap file (linux/if_packet.h).
const outgoing = 4

// pcap reads a pcap file.
type pcap struct {
	*Reader
	numbers
	tick   int64 // ns; unit of times after the second
	header int   // length of that of a packet
	end    int   // of the next packet's record, which is in memory; 0: unknown
	minor  uint16
	link   uint16
}

// open reads the file's header.
func (p *pcap) open() error {
	b, err := p.need(fileHeader)
	if len(b) >= 4 {
		p.big = b[0] == 0xa1
		p.tick, p.header = 1000, packetHeader
		switch p.u32(b) {
		case magicMicroseconds:
		case magicNanoseconds:
			p.tick = 1
		case magicModified:
			p.header = modifiedHeader
		default:
			return unknown(b)
		}
	}
	if err != nil {
		return fmt.Errorf("file header: %w", err)
	}
	major, minor := p.u16(b[4:]), p.u16(b[6:])
	if major != 2 {
		return fmt.Errorf("pcap of version %d.%d: 2 is read", major, minor)
	}
	p.minor = minor
	p.link = uint16(p.u32(b[20:]) & linkMask)
	p.begin = bytes.Clone(b[:fileHeader])
	p.take(fileHeader)
	return nil
}

// Formats of captures, and compressions, that are named instead of read, by their first octets.
var others = []struct{ begin, name string }{
	{"snoop\x00\x00\x00", "a snoop file: convert it, as with editcap -F pcapng"},
	{"GMBU", "a file of Microsoft Network Monitor: convert it, as with editcap -F pcapng"},
	{"RTSS", "a file of Microsoft Network Monitor: convert it, as with editcap -F pcapng"},
	{"TRSNIFF data    \x1a", "a file of Sniffer: convert it, as with editcap -F pcapng"},
	{"XCP\x00", "a file of NetXray: convert it, as with editcap -F pcapng"},
	{"\x1c\x00\x01\xac", "a file of an IXIA tester (pcap with magic 0x1c0001ac): convert it, as with editcap -F pcapng"},
	{"\xac\x01\x00\x1c", "a file of an IXIA tester (pcap with magic 0x1c0001ac): convert it, as with editcap -F pcapng"},
	{"\x1c\x00\x01\xab", "a file of an IXIA tester (pcap with magic 0x1c0001ab): convert it, as with editcap -F pcapng"},
	{"\xab\x01\x00\x1c", "a file of an IXIA tester (pcap with magic 0x1c0001ab): convert it, as with editcap -F pcapng"},
	{"\xfd7zXZ\x00", "compressed with xz: unpack it, as with xz -dc FILE | sluice …"},
	{"BZh", "compressed with bzip2: unpack it, as with bzip2 -dc FILE | sluice …"},
	{"\x1f\x9d", "compressed with compress: unpack it, as with zcat FILE | sluice …"},
	{"PK\x03\x04", "a zip archive: unpack it"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it"},
}

// unknown returns the error for a file that begins with b.
func unknown(b []byte) error {
	for _, o := range others {
		if bytes.HasPrefix(b, []byte(o.begin)) {
			return fmt.Errorf("it is %s", o.name)
		}
	}
	return fmt.Errorf("it begins with the octets % x", b[:min(len(b), 4)])
}

// lengths returns those of a packet's header: captured, and on the wire. Before version 2.3
// the latter comes first, and in 2.3 sometimes (libpcap's savefile.c).
func (p *pcap) lengths(header []byte) (captured, length uint32) {
	captured, length = p.u32(header[8:]), p.u32(header[12:])
	if p.minor < 3 || p.minor == 3 && captured > length {
		return length, captured
	}
	return captured, length
}

func (p *pcap) whole() bool {
	b := p.have()
	if p.end > 0 || len(b) < p.header {
		return p.end > 0
	}
	if captured, _ := p.lengths(b); captured <= MaxPacket && len(b) >= p.header+int(captured) {
		p.end = p.header + int(captured)
	}
	return p.end > 0
}

func (p *pcap) next(to *Packet) error {
	if !p.whole() {
		if err := p.wait(); err != nil {
			return err
		}
	}
	b := p.have()[:p.end:p.end]
	_, length := p.lengths(b)
	to.Data, to.Record, to.Link = b[p.header:], b, p.link
	to.Length = max(len(to.Data), int(length))
	to.Time = time.Unix(int64(p.u32(b)), int64(p.u32(b[4:]))*p.tick).UTC()
	if p.header == modifiedHeader {
		to.Index, to.Out = int(p.u32(b[packetHeader:])), b[modifiedHeader-2] == outgoing
	}
	p.take(p.end)
	p.end = 0
	return nil
}

// wait reads until the next packet is in memory.
func (p *pcap) wait() error {
	b, err := p.need(p.header)
	if err != nil {
		return err
	}
	captured, _ := p.lengths(b)
	if captured > MaxPacket {
		return fmt.Errorf("at octet %d: captured length %d exceeds snap length %d, the longest that is read", p.offset(), captured, MaxPacket)
	}
	p.end = p.header + int(captured)
	if _, err = p.need(p.end); err != nil {
		p.end = 0
	}
	return err
}
