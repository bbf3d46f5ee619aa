// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// HeadSize is the length of a block's head, octets.
const HeadSize = 48

// mark begins each block: its kind and the version of the format.
const mark = "SLB1"

// Bounds of a block, for writers and readers: a file may come from anywhere.
const (
	mostRaw      = 64 << 20             // octets before they are compressed
	mostPacked   = mostRaw + mostRaw/64 // of octets that do not compress
	mostFrames   = 4096                 // of a block
	mostSwitches = 16384                // of a frame
	mostRows     = 1 << 20
	mostFields   = 8 << 20
	mostWork     = 256 << 20 // rows and fields that a reader of a block passes by, of all its frames
)

// ErrDamaged is of octets other than an encoder writes.
var ErrDamaged = errors.New("the block is damaged")

// damaged returns ErrDamaged with the fault.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// Head is the head of a block, by which a frame is found.
type Head struct {
	First, Last int64  // times of its frames, ns since 1970
	Frames      uint32 // 1 or more
	Packed      uint32 // octets that follow the head
	Raw         uint32 // octets of them before they were compressed
	check       uint32 // CRC-32C of the octets that follow
}

// Size is the length of the block, octets.
func (h Head) Size() int64 { return HeadSize + int64(h.Packed) }

// Span returns the times of the first and of the last frame.
func (h Head) Span() (first, last time.Time) {
	return time.Unix(0, h.First).UTC(), time.Unix(0, h.Last).UTC()
}

// castagnoli is the polynomial of CRC-32C.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Layout of a head, little endian: places of its fields, octets.
const (
	atHeadCheck = 4 // CRC-32C of all that follows it in the head
	atCheck     = 8
	atPacked    = 12
	atRaw       = 16
	atFrames    = 20
	atFirst     = 24
	atLast      = 32
	atReserved  = 40 // zeros
)

// append appends the head.
func (h *Head) append(b []byte) []byte {
	at := len(b)
	b = append(b, make([]byte, HeadSize)...)
	head := b[at:]
	copy(head, mark)
	le := binary.LittleEndian
	le.PutUint32(head[atCheck:], h.check)
	le.PutUint32(head[atPacked:], h.Packed)
	le.PutUint32(head[atRaw:], h.Raw)
	le.PutUint32(head[atFrames:], h.Frames)
	le.PutUint64(head[atFirst:], uint64(h.First))
	le.PutUint64(head[atLast:], uint64(h.Last))
	le.PutUint32(head[atHeadCheck:], crc32.Checksum(head[atCheck:], castagnoli))
	return b
}

// ParseHead returns the head at the begin of a block. The error is [ErrDamaged].
func ParseHead(b []byte) (Head, error) {
	if len(b) < HeadSize {
		return Head{}, damaged("%d octets are no head", len(b))
	}
	le := binary.LittleEndian
	b = b[:HeadSize]
	h := Head{
		First: int64(le.Uint64(b[atFirst:])), Last: int64(le.Uint64(b[atLast:])), Frames: le.Uint32(b[atFrames:]),
		Packed: le.Uint32(b[atPacked:]), Raw: le.Uint32(b[atRaw:]), check: le.Uint32(b[atCheck:]),
	}
	switch {
	case string(b[:len(mark)]) != mark:
		return Head{}, damaged("it does not begin with %s", mark)
	case crc32.Checksum(b[atCheck:], castagnoli) != le.Uint32(b[atHeadCheck:]):
		return Head{}, damaged("the checksum of its head is wrong")
	case le.Uint64(b[atReserved:]) != 0:
		return Head{}, damaged("its head has reserved octets")
	case h.Frames == 0 || h.Frames > mostFrames || h.Packed > mostPacked || h.Raw > mostRaw || h.Last < h.First:
		return Head{}, damaged("its head has %d frames in %d octets", h.Frames, h.Raw)
	}
	return h, nil
}
