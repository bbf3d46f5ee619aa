// SPDX-License-Identifier: Apache-2.0

package flow

import "fmt"

// Algorithm is the hash behind a flow label.
type Algorithm uint8

// The algorithms. Decision: the draft's text describes a hash that differs from
// the CRC-32 that it is named after, and its example result comes from neither.
// Both are implemented; the text is the default.
const (
	DraftLiteral Algorithm = iota // draft-hu, "Hash by CRC32 Algorithm", as its steps read
	CRC32                         // the CRC-32 of IEEE 802.3
)

// algorithmNames are the names in CONFIG_DB and flags.
var algorithmNames = [...]string{"draft-literal", "crc32"}

// String returns the value of the leaf algorithm in CONFIG_DB. a is one of the two;
// another value panics.
func (a Algorithm) String() string { return algorithmNames[a] }

// MarshalText returns the algorithm's name. It implements [encoding.TextMarshaler], and
// its error is always nil.
func (a Algorithm) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText sets the algorithm by its name. Another text is an error that lists the
// names, and a stays as it is.
func (a *Algorithm) UnmarshalText(text []byte) error {
	for i, name := range algorithmNames {
		if string(text) == name {
			*a = Algorithm(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not one of draft-literal, crc32", text)
}

// Hash returns the 32-bit hash over the 10 octets SrcQP, DestQP (24 bits each),
// low 16 bits of the source and of the destination address (draft-hu,
// "Construction of the Hash Input"). An unknown SrcQP counts as 0.
//
//conformance:draft-hu/entropy draft-hu/input draft-hu/crc-init draft-hu/crc-result
func (a Algorithm) Hash(srcQP, destQP uint32, src, dst [16]byte) uint32 {
	input := [10]byte{
		byte(srcQP >> 16), byte(srcQP >> 8), byte(srcQP), byte(destQP >> 16), byte(destQP >> 8), byte(destQP),
		src[14], src[15], dst[14], dst[15],
	}
	table, invert := &literalTable, uint32(0)
	if a == CRC32 {
		table, invert = &ieeeTable, 0xffffffff
	}
	crc := uint32(0xffffffff)
	for _, b := range input {
		crc = table[byte(crc)^b] ^ crc>>8
	}
	return crc ^ invert
}

// Label returns the flow label, the low 20 bits of the hash. A label of 0 would
// mean "unlabelled" (RFC 6437), so it becomes 1.
//
//conformance:draft-hu/low-20
func (a Algorithm) Label(srcQP, destQP uint32, src, dst [16]byte) uint32 {
	return max(a.Hash(srcQP, destQP, src, dst)&0xfffff, 1)
}

// The draft shifts right and yet takes the polynomial as it is written for a
// left shift; IEEE 802.3 reflects it.
var (
	literalTable = rightShiftTable(0x04c11db7)
	ieeeTable    = rightShiftTable(0xedb88320)
)

// rightShiftTable returns the result of 8 steps of the bit loop for each low
// octet.
//
//conformance:draft-hu/crc-loop
func rightShiftTable(polynomial uint32) (t [256]uint32) {
	for i := range t {
		crc := uint32(i)
		for range 8 {
			crc = crc>>1 ^ polynomial*(crc&1)
		}
		t[i] = crc
	}
	return t
}
