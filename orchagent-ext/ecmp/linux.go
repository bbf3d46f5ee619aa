// SPDX-License-Identifier: Apache-2.0

package ecmp

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/dchest/siphash"
)

// DefaultSeed is the seed of the linux hash unless another is given. The kernel's
// own default, 0, selects a random number.
const DefaultSeed = 1

// Linux is the multipath hash of Linux 6.11 and later for forwarded packets, hash
// policy 3; the package comment names the settings. With the label
// the fields are 0x3f, without it 0x37; IPv4 ignores the label in both.
type Linux struct {
	Seed uint32 // net.ipv4.fib_multipath_hash_seed, not 0
}

func (Linux) String() string { return "linux" }
func (Linux) closed()        {}

// Path implements [Hash].
func (l Linux) Path(t Tuple, withLabel bool, n int) int {
	if n < 2 {
		return 0
	}
	// The outer header's hash and the inner one's are mixed, whether or not there
	// is an inner header; its hash is 0 since no field of it is selected. Routes
	// are chosen by 31 bits.
	return threshold(mix(l.outer(&t, withLabel), 0)>>1, n)
}

// Offsets into the part of the kernel's struct flow_keys that is hashed, from its
// member basic on. What is not named (VLANs, GRE key, ICMP) is 0 here.
const (
	keyProto     = 2
	keyFlowLabel = 4
	keyPorts     = 28
	keyAddrs     = 36

	// The kernel takes sizeof(struct flow_keys) less the part of the address union
	// that the family does not use. The structure's size is rounded up to a
	// multiple of 8, so 4 octets of 0 behind the addresses are hashed, too.
	keysLen4 = keyAddrs + 4 + 4 + 4
	keysLen6 = keyAddrs + 16 + 16 + 4
)

// outer hashes the header's fields: SipHash-2-4, its low 32 bits.
func (l Linux) outer(t *Tuple, withLabel bool) uint32 {
	var keys [keysLen6]byte
	size := keysLen6
	keys[keyProto] = t.Proto
	if t.is4() {
		size = keysLen4
		src, dst := t.Src.As4(), t.Dst.As4()
		// Compared as the machine reads the words of the header, octets reversed.
		if binary.LittleEndian.Uint32(dst[:]) < binary.LittleEndian.Uint32(src[:]) {
			src, dst = dst, src
		}
		copy(keys[keyAddrs:], src[:])
		copy(keys[keyAddrs+4:], dst[:])
	} else {
		if withLabel {
			binary.LittleEndian.PutUint32(keys[keyFlowLabel:], t.FlowLabel&0xfffff)
		}
		src, dst := t.Src.As16(), t.Dst.As16()
		if bytes.Compare(dst[:], src[:]) < 0 {
			src, dst = dst, src
		}
		copy(keys[keyAddrs:], src[:])
		copy(keys[keyAddrs+16:], dst[:])
	}
	// Addresses and ports are sorted, each by itself, so that both directions of
	// a connection hash alike. The ports, too, are compared octets reversed.
	sport, dport := t.SrcPort, t.DstPort
	if bits.ReverseBytes16(dport) < bits.ReverseBytes16(sport) {
		sport, dport = dport, sport
	}
	binary.BigEndian.PutUint16(keys[keyPorts:], sport)
	binary.BigEndian.PutUint16(keys[keyPorts+2:], dport)

	half := uint64(l.Seed)<<32 | uint64(l.Seed)
	h := uint32(siphash.Hash(half, half, keys[:size]))
	if h == 0 {
		return 1 // 0 means "not hashed yet" in the kernel
	}
	return h
}

// mix is the kernel's jhash_2words with initial value 0: the final step of Bob
// Jenkins' lookup3 (May 2006, public domain) over two words.
func mix(a, b uint32) uint32 {
	const initial = 0xdeadbeef + 2<<2
	a, b, c := a+initial, b+initial, uint32(initial)
	for _, rot := range [...][3]int{{14, 11, 25}, {16, 4, 14}} {
		c = (c ^ b) - bits.RotateLeft32(b, rot[0])
		a = (a ^ c) - bits.RotateLeft32(c, rot[1])
		b = (b ^ a) - bits.RotateLeft32(a, rot[2])
	}
	return (c ^ b) - bits.RotateLeft32(b, 24)
}

// threshold is hash-threshold (RFC 2992) of a 31-bit hash over n equal paths: path
// i ends before the bound (i+1) × 2^31 ÷ n, rounded to the nearest.
func threshold(hash uint32, n int) int {
	bound := func(i uint64) uint64 { return ((i+1)<<31 + uint64(n)/2) / uint64(n) }
	h := uint64(hash)
	i := h * uint64(n) >> 31 // exact but for the bounds' rounding, at most one off
	switch {
	case h >= bound(i):
		i++
	case i > 0 && h < bound(i-1):
		i--
	}
	return int(i)
}
