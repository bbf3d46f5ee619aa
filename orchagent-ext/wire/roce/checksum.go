// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"encoding/binary"
	"math/bits"
)

// Checksum returns the Internet checksum (RFC 1071) over b and a partial sum,
// such as that of [PseudoHeader]; 0 where it begins. Over octets that contain a
// right checksum the result is 0. It is in host byte order: write it with
// binary.BigEndian. An odd last octet counts as if followed by 0 (RFC 1071 section 1).
func Checksum(partial uint32, b []byte) uint16 {
	// A word of 64 bits is congruent to the sum of its four of 16 bits, and a
	// carry out of it counts 1, modulo 2^16 - 1.
	wide, carry := uint64(partial), uint64(0)
	for ; len(b) >= 16; b = b[16:] {
		wide, carry = bits.Add64(wide, binary.BigEndian.Uint64(b), carry)
		wide, carry = bits.Add64(wide, binary.BigEndian.Uint64(b[8:]), carry)
	}
	if len(b) >= 8 {
		wide, carry = bits.Add64(wide, binary.BigEndian.Uint64(b), carry)
		b = b[8:]
	}
	sum := wide>>32 + wide&0xffffffff + carry
	for ; len(b) >= 2; b = b[2:] {
		sum += uint64(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// PseudoHeader returns the partial sum of the pseudo-header (RFC 8200 section
// 8.1, RFC 768): both addresses, each of 16 octets (IPv6) or 4 (IPv4), the
// upper layer's length in octets, and its protocol number. dst is the final
// destination. The sum is folded so far that [Checksum] can add any packet to it.
func PseudoHeader(src, dst []byte, length int, proto uint8) uint32 {
	sum := uint64(length) + uint64(proto)
	for i := 0; i+4 <= len(src) && i+4 <= len(dst); i += 4 {
		sum += uint64(binary.BigEndian.Uint32(src[i:])) + uint64(binary.BigEndian.Uint32(dst[i:]))
	}
	return uint32(sum>>32) + uint32(sum>>16&0xffff) + uint32(sum&0xffff)
}
