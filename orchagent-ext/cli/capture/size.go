// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"io"
	"os"
)

// leastPacket is the length of the shortest RoCEv2 packet in a capture, in octets: a BTH in
// UDP in IPv4 without a link layer, with the header of its record.
const leastPacket = recordLen + 20 + 8 + 12

// sizeOf returns the length of the data that a reader has, in octets; 0 where it is not
// known before the end.
func sizeOf(r io.Reader) int64 {
	switch r := r.(type) {
	case *os.File:
		if info, err := r.Stat(); err == nil && info.Mode().IsRegular() {
			return info.Size()
		}
	case interface{ Size() int64 }: // of package bytes and strings
		return r.Size()
	}
	return 0
}

// MostPackets returns a number of RoCEv2 packets that the capture cannot exceed; 0 where
// none is known: of a pipe, and of compressed data.
func (r *Reader) MostPackets() int {
	if r.length == 0 || r.packed {
		return 0
	}
	return int(r.length/leastPacket) + 1
}
