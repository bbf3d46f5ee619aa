// SPDX-License-Identifier: Apache-2.0

package capturegen

import (
	"bytes"
	"cmp"
	"encoding/binary"
)

// The magic numbers of pcap files.
const (
	Microseconds = 0xa1b2c3d4
	Nanoseconds  = 0xa1b23c4d
	Modified     = 0xa1b2cd34 // each packet has an interface, a protocol and a type, too
)

// Link types that tests use (https://www.tcpdump.org/linktypes.html).
const (
	Ethernet = 1
	Raw      = 101
	SLL      = 113
	SLL2     = 276
)

// Packet is one packet of a pcap file.
type Packet struct {
	Seconds, Fraction uint32
	Data              []byte
	Captured          uint32 // as the header says; 0: the length of Data
	Length            uint32 // on the wire, octets; 0: Captured
	Extra             []byte // 8 octets after the header, in a file with the magic Modified
}

// Pcap is a pcap file. The zero values of its fields are those that most files have.
type Pcap struct {
	Order   binary.ByteOrder // nil: little endian
	Magic   uint32           // 0: Microseconds
	Major   uint16           // 0: 2
	Minor   uint16           // 0: 4
	Snaplen uint32           // 0: 262144
	Link    uint32           // with the bits of the FCS; 0: Ethernet
	Packets []Packet
}

// Bytes returns the file.
func (p Pcap) Bytes() []byte {
	order := p.Order
	if order == nil {
		order = binary.LittleEndian
	}
	magic := cmp.Or(p.Magic, Microseconds)
	b := make([]byte, 24)
	order.PutUint32(b, magic)
	order.PutUint16(b[4:], cmp.Or(p.Major, 2))
	order.PutUint16(b[6:], cmp.Or(p.Minor, 4))
	order.PutUint32(b[16:], cmp.Or(p.Snaplen, 262144))
	order.PutUint32(b[20:], cmp.Or(p.Link, Ethernet))
	for _, packet := range p.Packets {
		captured := cmp.Or(packet.Captured, uint32(len(packet.Data)))
		h := make([]byte, 16)
		order.PutUint32(h, packet.Seconds)
		order.PutUint32(h[4:], packet.Fraction)
		order.PutUint32(h[8:], captured)
		order.PutUint32(h[12:], cmp.Or(packet.Length, captured))
		b = append(b, h...)
		if magic == Modified {
			b = append(append(b, packet.Extra...), make([]byte, 8-len(packet.Extra))...)
		}
		b = append(b, packet.Data...)
	}
	return b
}

// Frames returns a pcap file of frames, one a millisecond, with a link type.
func Frames(link uint32, frames ...[]byte) []byte {
	p := Pcap{Link: link}
	for i, f := range frames {
		p.Packets = append(p.Packets, Packet{Seconds: 1700000000, Fraction: uint32(i) * 1000, Data: f})
	}
	return p.Bytes()
}

// Flows returns a pcap file of n copies of a RoCEv2 frame over IPv4, one a millisecond, each to
// a destination queue pair of its own, from 0x100 on.
func Flows(frame []byte, n int) []byte {
	const at, bth = 1_700_000_000, 14 + 20 + 8
	var p Pcap
	for i := range uint32(n) {
		f := bytes.Clone(frame)
		binary.BigEndian.PutUint32(f[bth+4:], 0x100+i) // destination queue pair
		binary.BigEndian.PutUint32(f[bth+8:], i)       // PSN
		p.Packets = append(p.Packets, Packet{Seconds: at + i/1000, Fraction: i % 1000 * 1000, Data: f})
	}
	return p.Bytes()
}

// First returns the frame of the first packet of a pcap file in little endian.
func First(file []byte) []byte {
	const fileHeader, packetHeader = 24, 16
	return file[fileHeader+packetHeader:][:binary.LittleEndian.Uint32(file[fileHeader+8:])]
}
