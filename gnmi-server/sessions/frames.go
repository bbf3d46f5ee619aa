// SPDX-License-Identifier: Apache-2.0

package sessions

import "encoding/binary"

// HTTP/2 (RFC 9113): the preface of a client, and the parts of its frames that concern
// RPCs.
const (
	preface     = len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	frameHeader = 9 // octets: length 3, type 1, flags 1, stream 4

	typeData    = 0
	typeHeaders = 1
	typeReset   = 3

	flagEndStream = 1
)

// frame is the header of a frame. Padding counts as its payload.
type frame struct {
	length      int
	kind, flags byte
	stream      uint32
}

// frames finds the frames in the octets that one side of a connection sends, in pieces of
// any size.
type frames struct {
	skip int // octets until the next header
	head []byte
}

// take calls f for each frame whose header ends in the octets.
func (s *frames) take(b []byte, f func(frame)) {
	for len(b) > 0 {
		if n := min(s.skip, len(b)); n > 0 {
			s.skip -= n
			b = b[n:]
			continue
		}
		n := min(frameHeader-len(s.head), len(b))
		s.head = append(s.head, b[:n]...)
		b = b[n:]
		if len(s.head) < frameHeader {
			return
		}
		h := s.head
		s.head = s.head[:0]
		s.skip = int(h[0])<<16 | int(h[1])<<8 | int(h[2])
		f(frame{s.skip, h[3], h[4], binary.BigEndian.Uint32(h[5:]) &^ (1 << 31)})
	}
}
