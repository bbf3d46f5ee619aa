// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// secret is the random key of the hashes, so that a sender cannot make flows that
// collide.
type secret [8]uint64

// newSecret returns a key from the process's random source.
func newSecret() (s secret) {
	for i := range s {
		s[i] = rand.Uint64()
	}
	return s
}

// mix multiplies to 128 bits and folds them.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// addresses hashes two addresses.
func (s *secret) addresses(src, dst *[16]byte) uint64 {
	le := binary.LittleEndian
	return mix(le.Uint64(src[:8])^s[0], le.Uint64(src[8:])^s[1]) ^ mix(le.Uint64(dst[:8])^s[2], le.Uint64(dst[8:])^s[3])
}

// key returns the hash of a key. Its products are independent, so that the
// processor computes them side by side. Each field is read in the width in which
// it was written: a load that spans several recent stores waits until all of them
// are in the cache (store forwarding fails).
func (s *secret) key(k *Key) uint32 {
	numbers := uint64(k.FlowLabel)<<32 | uint64(k.DestQP)
	ports := uint64(k.SrcQP)<<32 | uint64(k.SrcPort)<<16 | uint64(k.PKey)
	sum := s.addresses(&k.Src, &k.Dst) ^ mix(numbers^s[4], ports^s[5])
	if k.InnerDst != [16]byte{} || k.Tunnelled() {
		sum = mix(sum^s[7], s.addresses(&k.InnerSrc, &k.InnerDst)^s[5])
	}
	return uint32(mix(sum^s[6], s[7]))
}

// endpoint returns the hash of one direction of a connection.
func (s *secret) endpoint(e *endpoint) uint32 {
	return uint32(mix(s.addresses(&e.src, &e.dst)^mix(uint64(e.destQP)^s[4], s[5])^s[6], s[7]))
}
