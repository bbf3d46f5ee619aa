// SPDX-License-Identifier: Apache-2.0

package ecmp

import (
	"encoding/binary"
	"hash/crc32"
)

// CRC32 is the CRC-32 of IEEE 802.3 over source, destination, protocol, source
// port and destination port, all in network byte order, and with the label 3
// more octets, the label right-aligned in them; the path is that modulo n.
type CRC32 struct{}

// CRC16 is the CRC-16-CCITT (polynomial 0x1021, register 0xFFFF at the start, most
// significant bit first) over the octets that CRC32 takes; the path is that
// modulo n.
type CRC16 struct{}

// String implements [Hash].
func (CRC32) String() string { return "crc32" }

// String implements [Hash].
func (CRC16) String() string { return "crc16" }

// closed keeps the set of hashes to this package.
func (CRC32) closed() {}

// closed keeps the set of hashes to this package.
func (CRC16) closed() {}

// Path implements [Hash]. For n a power of 2 the path is the low bits of the CRC.
func (CRC32) Path(t Tuple, withLabel bool, n int) int {
	if n < 2 {
		return 0
	}
	var buf [fieldsLen]byte
	return int(uint64(ieee(appendFields(buf[:0], &t, withLabel))) % uint64(n))
}

// Path implements [Hash]. The shares of two paths differ by at most one of the 65536
// values of the CRC.
func (CRC16) Path(t Tuple, withLabel bool, n int) int {
	if n < 2 {
		return 0
	}
	var buf [fieldsLen]byte
	return int(crc16(appendFields(buf[:0], &t, withLabel))) % n
}

// fieldsLen is the most that appendFields appends: two IPv6 addresses, protocol,
// ports and label.
const fieldsLen = 16 + 16 + 1 + 2 + 2 + 3

// appendFields appends the fields of a tuple in the order of the wire; the label only
// over IPv6.
func appendFields(b []byte, t *Tuple, withLabel bool) []byte {
	if t.is4() {
		src, dst := t.Src.As4(), t.Dst.As4()
		b = append(append(b, src[:]...), dst[:]...)
		withLabel = false
	} else {
		src, dst := t.Src.As16(), t.Dst.As16()
		b = append(append(b, src[:]...), dst[:]...)
	}
	b = append(b, t.Proto)
	b = binary.BigEndian.AppendUint16(b, t.SrcPort)
	b = binary.BigEndian.AppendUint16(b, t.DstPort)
	if withLabel {
		b = append(b, byte(t.FlowLabel>>16&0x0f), byte(t.FlowLabel>>8), byte(t.FlowLabel))
	}
	return b
}

// ieee is crc32.ChecksumIEEE, whose dispatch by CPU would move the octets to the
// heap.
func ieee(b []byte) uint32 {
	crc := ^uint32(0)
	for _, octet := range b {
		crc = crc32.IEEETable[byte(crc)^octet] ^ crc>>8
	}
	return ^crc
}

// crc16 divides an octet at a time: the polynomial x^16+x^12+x^5+1 is sparse
// enough that shifts take the table's place. The three steps after the octet are the
// table of 256 entries written as shifts by 4, 12 and 5.
func crc16(b []byte) uint16 {
	crc := uint16(0xffff)
	for _, octet := range b {
		crc = crc<<8 | crc>>8
		crc ^= uint16(octet)
		crc ^= crc & 0xff >> 4
		crc ^= crc << 12
		crc ^= crc & 0xff << 5
	}
	return crc
}
