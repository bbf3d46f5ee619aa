// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"encoding/binary"
	"math/rand/v2"
)

const (
	protoUDP  = 17
	rocePort  = 4791
	icrcLen   = 4
	bthLen    = 12
	udpLen    = 8
	ipv6Len   = 40
	ethLen    = 14
	minLength = ethLen + 1 // of a test run
)

// roceFrame is an unlabelled RC SEND_ONLY over IPv6.
func roceFrame(src, dst [16]byte, sport uint16, qp uint32) []byte {
	b := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd}
	return appendIPv6(b, 0, src, dst, protoUDP, appendUDP(nil, sport, rocePort, appendBTH(nil, 4, qp, make([]byte, 16))))
}

func appendIPv6(b []byte, label uint32, src, dst [16]byte, next byte, payload []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, 6<<28|label)
	b = binary.BigEndian.AppendUint16(b, uint16(len(payload)))
	b = append(b, next, 64)
	return append(append(append(b, src[:]...), dst[:]...), payload...)
}

func appendIPv4(b []byte, src, dst [4]byte, options []byte, fragment uint16, payload []byte) []byte {
	head := []byte{byte(0x45 + len(options)/4), 0, 0, 0, 0, 0, byte(fragment >> 8), byte(fragment), 64, protoUDP, 0, 0}
	head = append(append(append(head, src[:]...), dst[:]...), options...)
	binary.BigEndian.PutUint16(head[2:], uint16(len(head)+len(payload)))
	binary.BigEndian.PutUint16(head[10:], ^onesSum(head))
	return append(append(b, head...), payload...)
}

func onesSum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}

func appendUDP(b []byte, sport, dport uint16, payload []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, sport)
	b = binary.BigEndian.AppendUint16(b, dport)
	b = binary.BigEndian.AppendUint16(b, uint16(udpLen+len(payload)))
	return append(append(b, 0, 0), payload...)
}

// appendBTH appends a BTH, what follows it, and an ICRC that is not checked here.
func appendBTH(b []byte, opcode byte, qp uint32, rest []byte) []byte {
	b = append(b, opcode, byte(-len(rest)&3)<<4, 0xff, 0xff, 0, byte(qp>>16), byte(qp>>8), byte(qp), 0, 0, 0, 1)
	b = append(append(b, rest...), make([]byte, -len(rest)&3)...)
	return append(b, 0xde, 0xad, 0xbe, 0xef)
}

// anyFrame makes frames of all kinds: RoCEv2 and others, whole, cut and garbled.
func anyFrame(r *rand.Rand) []byte {
	b := octets(r, 12)
	for range pick(r, 0, 0, 0, 0, 1, 1, 2, 3) {
		b = append(append(b, pick(r, []byte{0x81, 0}, []byte{0x88, 0xa8}, []byte{0x91, 0})...), octets(r, 2)...)
	}
	switch r.IntN(10) {
	case 0:
		options := make([]byte, pick(r, 0, 0, 4, 12, 40))
		b = appendIPv4(append(b, 8, 0), [4]byte(octets(r, 4)), [4]byte(octets(r, 4)), options, pick[uint16](r, 0, 0, 0x2000, 0x2001, 5), anyUDP(r))
	case 1:
		b = append(append(b, octets(r, 2)...), octets(r, r.IntN(100))...)
	default:
		b = append(b, 0x86, 0xdd)
		b = anyIPv6(r, b, 0)
	}
	return garble(r, b)
}

func anyIPv6(r *rand.Rand, b []byte, depth int) []byte {
	next, payload := byte(protoUDP), anyUDP(r)
	switch r.IntN(20) {
	case 0:
		next, payload = 6, octets(r, 40)
	case 1:
		next, payload = 58, octets(r, 20)
	case 2:
		next, payload = byte(r.IntN(256)), octets(r, r.IntN(60))
	case 3, 5:
		if depth < 3 {
			next, payload = 41, anyIPv6(r, nil, depth+1)
		}
	case 4:
		next, payload = 4, appendIPv4(nil, [4]byte(octets(r, 4)), [4]byte(octets(r, 4)), nil, 0, anyUDP(r))
	}
	for range pick(r, 0, 0, 0, 0, 1, 1, 2, 3, 8, 9) {
		next, payload = anyExtension(r, next, payload)
	}
	label := pick(r, 0, 0, r.Uint32()&0xfffff)
	b = appendIPv6(b, label|r.Uint32()&0xff<<20, [16]byte(octets(r, 16)), [16]byte(octets(r, 16)), next, payload)
	return append(b, make([]byte, pick(r, 0, 0, 0, 6))...) // padding of the frame
}

// anyExtension puts an extension header before the payload.
func anyExtension(r *rand.Rand, next byte, payload []byte) (byte, []byte) {
	options := func() []byte {
		n := pick(r, 0, 0, 1, 2, 4)
		return append([]byte{next, byte(n), 1, byte(4 + 8*n)}, make([]byte, 4+8*n)...)
	}
	var h []byte
	kind := pick[byte](r, 0, 60, 60, 43, 43, 43, 44, 51)
	switch kind {
	case 43:
		segments := r.IntN(4)
		h = []byte{next, byte(2 * segments), pick[byte](r, 4, 4, 4, 0, 2), byte(r.IntN(segments + 2)), byte(max(segments-1, 0)), 0, 0, 0}
		h = append(h, octets(r, 16*segments)...)
	case 44:
		h = []byte{next, 0, 0, pick[byte](r, 0, 0, 0, 1, 8), 1, 2, 3, 4}
	case 51:
		words := 3 + r.IntN(4) // of the check value: 32 bits each
		h = append([]byte{next, byte(words + 1), 0, 0}, octets(r, 8+4*words)...)
	default:
		h = options()
	}
	return kind, append(h, payload...)
}

var opcodes = []byte{
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 23, 28, 29,
	0x20, 0x24, 0x25, 0x26, 0x2b, 0x2c, 0x64, 0x64, 0x64, 0x65, 0x81, 0xa0, 0xa6, 0xad, 0xb1, 0xb3, 0xbd, 0xc0, 0xff,
}

func anyUDP(r *rand.Rand) []byte {
	opcode := pick(r, opcodes...)
	if r.IntN(8) == 0 {
		opcode = byte(r.IntN(256))
	}
	b := appendBTH(nil, opcode, r.Uint32()&0xffffff, octets(r, r.IntN(64)))
	b[4] = byte(r.IntN(256))
	return appendUDP(nil, uint16(r.Uint32()), pick[uint16](r, rocePort, rocePort, rocePort, rocePort, rocePort, uint16(r.Uint32())), b)
}

// garble spoils a frame now and then.
func garble(r *rand.Rand, b []byte) []byte {
	switch r.IntN(8) {
	case 0:
		b = b[:minLength+r.IntN(max(len(b)-minLength, 1))]
	case 1:
		b[12+r.IntN(min(len(b)-12, 90))] ^= 1 << r.IntN(8)
	case 2:
		b[12+r.IntN(min(len(b)-12, 90))] = byte(r.IntN(256))
	}
	// A test run refuses less than a whole IP header after an untagged Ethernet
	// header: shorter ones are tested after tags.
	shortest := minLength
	switch binary.BigEndian.Uint16(b[12:]) {
	case 0x86dd, 0x0800:
		shortest = ethLen + ipv6Len
	}
	for len(b) < shortest {
		b = append(b, 0)
	}
	return b
}

func octets(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }
