// SPDX-License-Identifier: Apache-2.0

package savefile

import (
	"encoding/binary"
	"time"
)

// Everything that is written here is little endian, with times in ns.
var le = binary.LittleEndian

// nanoseconds is if_tsresol for 10^-9 s.
const nanoseconds = 9

// AppendPcapHeader appends the header of a pcap file with times in ns.
func AppendPcapHeader(b []byte, link uint16) []byte {
	b = le.AppendUint32(b, magicNanoseconds)
	b = le.AppendUint16(le.AppendUint16(b, 2), 4) // version
	b = append(b, make([]byte, 8)...)             // time zone and accuracy, which are 0
	return le.AppendUint32(le.AppendUint32(b, MaxPacket), uint32(link))
}

// AppendPcapPacket appends a packet that was captured whole. A pcap file has times of 1970 to
// 2106.
func AppendPcapPacket(b []byte, at time.Time, data []byte) []byte {
	b = le.AppendUint32(le.AppendUint32(b, uint32(at.Unix())), uint32(at.Nanosecond()))
	b = le.AppendUint32(le.AppendUint32(b, uint32(len(data))), uint32(len(data)))
	return append(b, data...)
}

// AppendSection appends the section header of a pcapng file.
func AppendSection(b []byte) []byte {
	return block(b, sectionBlock, func(b []byte) []byte {
		b = le.AppendUint16(le.AppendUint16(le.AppendUint32(b, byteOrder), 1), 0)
		return le.AppendUint64(b, 1<<64-1) // the section's length is unknown
	})
}

// AppendInterface appends the description of an interface with times in ns.
func AppendInterface(b []byte, name string, link uint16) []byte {
	return block(b, interfaceBlock, func(b []byte) []byte {
		b = le.AppendUint32(le.AppendUint32(b, uint32(link)), MaxPacket)
		b = option(b, interfaceName, []byte(name))
		b = option(b, resolution, []byte{nanoseconds})
		return le.AppendUint32(b, endOfOptions)
	})
}

// AppendPacket appends a packet of an interface, by its number, with its direction. length is
// that on the wire, octets.
func AppendPacket(b []byte, face uint32, at time.Time, data []byte, length int, out bool) []byte {
	return block(b, enhancedBlock, func(b []byte) []byte {
		ns := uint64(at.UnixNano())
		b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, face), uint32(ns>>32)), uint32(ns))
		b = le.AppendUint32(le.AppendUint32(b, uint32(len(data))), uint32(length))
		b = pad(append(b, data...), len(data))
		flags := uint32(1) // inbound
		if out {
			flags = 2
		}
		b = option(b, packetFlags, le.AppendUint32(nil, flags))
		return le.AppendUint32(b, endOfOptions)
	})
}

// block appends a block whose body is appended by body.
func block(b []byte, kind uint32, body func([]byte) []byte) []byte {
	begin := len(b)
	b = body(le.AppendUint32(le.AppendUint32(b, kind), 0))
	length := uint32(len(b) - begin + 4)
	le.PutUint32(b[begin+4:], length)
	return le.AppendUint32(b, length)
}

// option appends an option.
func option(b []byte, code uint16, value []byte) []byte {
	b = le.AppendUint16(le.AppendUint16(b, code), uint16(len(value)))
	return pad(append(b, value...), len(value))
}

// pad fills octets of a length up to a multiple of 4.
func pad(b []byte, length int) []byte { return append(b, make([]byte, -length&3)...) }
