// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// First octets of compressed files, in their order: gzip (RFC 1952 section 2.3.1), Zstandard
// (RFC 8878 section 3.1.1), LZ4 (version 1.6 of its frame format, and the format before).
const (
	magicGzip      = 0x1f8b
	magicZstd      = 0x28b52ffd
	magicLZ4       = 0x04224d18
	magicLZ4Legacy = 0x02214c18
)

// zstdWindow is the most memory that a file of Zstandard may ask for, octets: that of its
// command zstd without --long (RFC 8878 section 3.1.1.1.2 recommends 8 MB at least).
const zstdWindow = 128 << 20

// unpack returns the data of a file that may be compressed.
func (r *Reader) unpack(data *bufio.Reader) (*bufio.Reader, error) {
	magic, err := data.Peek(4)
	if err != nil { // shorter than any capture: start reports that
		return data, nil
	}
	var plain io.Reader
	switch {
	case binary.BigEndian.Uint16(magic) == magicGzip:
		plain, err = gzip.NewReader(data)
	case binary.BigEndian.Uint32(magic) == magicZstd:
		var z *zstd.Decoder
		if z, err = zstd.NewReader(data, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow)); err == nil {
			plain, r.unpacked = z, z.Close
		}
	case binary.BigEndian.Uint32(magic) == magicLZ4 || binary.BigEndian.Uint32(magic) == magicLZ4Legacy:
		plain = lz4.NewReader(data)
	default:
		return data, nil
	}
	r.packed = true
	return bufio.NewReaderSize(plain, 1<<16), err
}

// recordLen is the length of the shortest header of a packet's record.
const recordLen = 16

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
