// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"pgregory.net/rapid"
)

// bitLoop is the draft's algorithm step by step, and with another polynomial
// IEEE's.
func bitLoop(polynomial uint32, input []byte) uint32 {
	crc := uint32(0xffffffff)
	for _, b := range input {
		crc ^= uint32(b)
		for range 8 {
			lsb := crc & 1
			crc >>= 1
			if lsb == 1 {
				crc ^= polynomial
			}
		}
	}
	return crc
}

func drawAddress(t *rapid.T, name string) [16]byte {
	return [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, name))
}

//conformance:draft-hu/entropy draft-hu/input draft-hu/crc-result draft-hu/low-20
func TestLabelOfTheDraftsInput(t *testing.T) {
	src, dst := [16]byte{15: 1}, [16]byte{15: 2} // 0x123456ABCDEF00010002
	for a, want := range map[Algorithm]struct{ hash, label uint32 }{
		DraftLiteral: {0x0136cb3e, 0x6cb3e},
		CRC32:        {0x8dd783d7, 0x783d7},
	} {
		if got := a.Hash(0x123456, 0xabcdef, src, dst); got != want.hash {
			t.Errorf("%v: hash %#08x, want %#08x", a, got, want.hash)
		}
		if got := a.Label(0x123456, 0xabcdef, src, dst); got != want.label {
			t.Errorf("%v: label %#05x, want %#05x", a, got, want.label)
		}
	}
}

//conformance:draft-hu/entropy draft-hu/crc-init draft-hu/crc-loop
func TestHashIsTheBitLoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		srcQP, destQP := rapid.Uint32Max(1<<24-1).Draw(t, "src qp"), rapid.Uint32Max(1<<24-1).Draw(t, "dest qp")
		src, dst := drawAddress(t, "src"), drawAddress(t, "dst")
		var input []byte
		input = append(input, binary.BigEndian.AppendUint32(nil, srcQP)[1:]...)
		input = append(input, binary.BigEndian.AppendUint32(nil, destQP)[1:]...)
		input = append(append(input, src[14:]...), dst[14:]...)
		literal, ieee := DraftLiteral.Hash(srcQP, destQP, src, dst), CRC32.Hash(srcQP, destQP, src, dst)
		if want := bitLoop(0x04c11db7, input); literal != want {
			t.Errorf("draft-literal %#08x, want %#08x", literal, want)
		}
		if literal>>27 != 0 {
			t.Errorf("draft-literal %#08x: the top 5 bits cannot be set", literal)
		}
		if want := crc32.ChecksumIEEE(input); ieee != want || ieee != ^bitLoop(0xedb88320, input) {
			t.Errorf("crc32 %#08x, want %#08x", ieee, want)
		}
		for _, a := range []Algorithm{DraftLiteral, CRC32} {
			label := a.Label(srcQP, destQP, src, dst)
			if low := a.Hash(srcQP, destQP, src, dst) & 0xfffff; label != low && (low != 0 || label != 1) {
				t.Errorf("%v: label %#x of hash with low bits %#x", a, label, low)
			}
		}
	})
}

// TestLabelIsNeverZero looks for an input whose hash ends in 20 zero bits.
//
//conformance:draft-hu/low-20
func TestLabelIsNeverZero(t *testing.T) {
	for _, a := range []Algorithm{DraftLiteral, CRC32} {
		found := false
		for qp := uint32(0); qp < 1<<24 && !found; qp++ {
			if a.Hash(0, qp, [16]byte{}, [16]byte{})&0xfffff == 0 {
				found = true
				if got := a.Label(0, qp, [16]byte{}, [16]byte{}); got != 1 {
					t.Errorf("%v: label %#x, want 1", a, got)
				}
			}
		}
		if !found {
			t.Errorf("%v: no such input among 2^24", a)
		}
	}
}

func TestAlgorithmText(t *testing.T) {
	for _, a := range []Algorithm{DraftLiteral, CRC32} {
		text, _ := a.MarshalText()
		var back Algorithm
		if err := back.UnmarshalText(text); err != nil || back != a {
			t.Errorf("%s: %v %v", text, back, err)
		}
	}
	a := CRC32
	if err := a.UnmarshalText([]byte("md5")); err == nil || a != CRC32 {
		t.Errorf("md5: %v %v", a, err)
	}
}
