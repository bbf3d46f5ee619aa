// SPDX-License-Identifier: Apache-2.0

package ecmp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/dchest/siphash"
)

// DefaultSeed is the seed of the linux hash unless another is given. The kernel's
// own default, 0, selects a random number.
const DefaultSeed = 1

// Linux is the multipath hash of Linux 6.11 and later for forwarded packets, hash
// policy 3, over equal next hops; the package comment names the settings. With the
// label the fields are 0x3f, without it 0x37; IPv4 ignores the label in both.
// [Kernel] and [Group] model the other settings.
type Linux struct {
	Seed uint32 // net.ipv4.fib_multipath_hash_seed, above 0
}

// String implements [Hash].
func (Linux) String() string { return "linux" }

// closed keeps the set of hashes to this package.
func (Linux) closed() {}

// Path implements [Hash]. It is exact for Seed other than 0; see the package comment for
// the settings.
func (l Linux) Path(t Tuple, withLabel bool, n int) int {
	if n < 2 {
		return 0
	}
	k := Kernel{Seed: l.Seed, Policy: PolicyFields, Fields: FiveTuple}
	if withLabel {
		k.Fields |= FieldLabel
	}
	return threshold(k.Hash(&t), n)
}

// The hash policies of the kernel that are modelled.
const (
	PolicyL3     = 0 // addresses, and over IPv6 protocol and flow label
	PolicyL4     = 1 // the 5-tuple
	PolicyFields = 3 // fields of fib_multipath_hash_fields
)

// Bits of fib_multipath_hash_fields, which policy 3 reads. Those above are of inner
// headers: they are without effect for packets outside a tunnel.
const (
	FieldSrc     = 0x01
	FieldDst     = 0x02
	FieldProto   = 0x04
	FieldLabel   = 0x08
	FieldSrcPort = 0x10
	FieldDstPort = 0x20
	FiveTuple    = FieldSrc | FieldDst | FieldProto | FieldSrcPort | FieldDstPort
)

// A Kernel is how Linux 6.11 and later hashes the packets that it forwards: the values
// of its sysctls, net.ipv4.* for IPv4 and net.ipv6.* for IPv6.
type Kernel struct {
	Seed   uint32 // net.ipv4.fib_multipath_hash_seed, of both families
	Policy uint8  // fib_multipath_hash_policy
	Fields uint16 // fib_multipath_hash_fields, of policy 3
}

// Err returns the reason for which the paths of these settings cannot be predicted, or
// nil.
func (k Kernel) Err() error {
	switch {
	case k.Seed == 0:
		return errors.New("net.ipv4.fib_multipath_hash_seed is 0: the kernel hashes with a random number that cannot be read; any other value makes paths known")
	case k.Policy != PolicyL3 && k.Policy != PolicyL4 && k.Policy != PolicyFields:
		return fmt.Errorf("fib_multipath_hash_policy is %d: the model knows 0, 1 and 3", k.Policy)
	}
	return nil
}

// HashesLabel reports whether the flow label of an IPv6 packet has a part in its path.
// Policy 1 leaves it out, and IPv4 has none.
func (k Kernel) HashesLabel() bool {
	return k.Policy == PolicyL3 || k.Policy == PolicyFields && k.Fields&FieldLabel != 0
}

// Hash returns the 31 bits by which the kernel chooses a next hop. The lowest bit of the
// 32 is dropped, as rt6_multipath_hash and fib_multipath_hash do (net/ipv6/route.c,
// net/ipv4/route.c): bounds of members are signed in the kernel. It is meaningful only
// where [Kernel.Err] is nil.
func (k Kernel) Hash(t *Tuple) uint32 {
	h := k.outer(t)
	if k.Policy == PolicyFields {
		// The outer header's hash and the inner one's are mixed, with an inner hash of 0 for
		// packets outside a tunnel.
		h = mix(h, 0)
	}
	return h >> 1
}

// fields returns the fields of the outer header that the policy hashes.
func (k Kernel) fields(v4 bool) uint16 {
	switch {
	case k.Policy == PolicyFields:
		return k.Fields
	case k.Policy == PolicyL4:
		return FiveTuple
	case v4:
		return FieldSrc | FieldDst
	}
	return FieldSrc | FieldDst | FieldProto | FieldLabel
}

// Offsets into the part of the kernel's struct flow_keys that is hashed, from its member
// basic on. Fields that are left out (VLANs, GRE key, ICMP) are 0 here.
const (
	keyProto     = 2
	keyFlowLabel = 4
	keyPorts     = 28
	keyAddrs     = 36

	// The kernel takes sizeof(struct flow_keys) less the part of the address union that the
	// family leaves unused (flow_keys_hash_length in net/core/flow_dissector.c). The
	// structure's size is rounded up to a multiple of 8, so 4 octets of 0 after the
	// addresses are hashed, too.
	keysLen4 = keyAddrs + 4 + 4 + 4
	keysLen6 = keyAddrs + 16 + 16 + 4
)

// outer hashes the header's fields: SipHash-2-4, its low 32 bits. The order of fields is
// that of struct flow_keys (include/net/flow_dissector.h), the sorting that of
// __flow_hash_consistentify (net/core/flow_dissector.c). The key has the seed four times,
// as fib_multipath_hash_construct_key writes it (include/net/ip_fib.h).
func (k Kernel) outer(t *Tuple) uint32 {
	var keys [keysLen6]byte
	size := keysLen6
	fields := k.fields(t.is4())
	if fields&(FiveTuple|FieldLabel) == 0 {
		return 0
	}
	if fields&FieldProto != 0 {
		keys[keyProto] = t.Proto
	}
	if t.is4() {
		size = keysLen4
		var src, dst [4]byte
		if fields&FieldSrc != 0 {
			src = t.Src.As4()
		}
		if fields&FieldDst != 0 {
			dst = t.Dst.As4()
		}
		// Compared as the machine reads the words of the header, octets reversed.
		if binary.LittleEndian.Uint32(dst[:]) < binary.LittleEndian.Uint32(src[:]) {
			src, dst = dst, src
		}
		copy(keys[keyAddrs:], src[:])
		copy(keys[keyAddrs+4:], dst[:])
	} else {
		switch label := t.FlowLabel & 0xfffff; {
		case fields&FieldLabel == 0:
		case k.Policy == PolicyL3: // as it is in the header
			binary.BigEndian.PutUint32(keys[keyFlowLabel:], label)
		default:
			// The flow dissector converts it to the order of the machine (ntohl), and
			// x86-64 and arm64 are little-endian.
			binary.LittleEndian.PutUint32(keys[keyFlowLabel:], label)
		}
		var src, dst [16]byte
		if fields&FieldSrc != 0 {
			src = t.Src.As16()
		}
		if fields&FieldDst != 0 {
			dst = t.Dst.As16()
		}
		if bytes.Compare(dst[:], src[:]) < 0 {
			src, dst = dst, src
		}
		copy(keys[keyAddrs:], src[:])
		copy(keys[keyAddrs+16:], dst[:])
	}
	// Addresses and ports are sorted, each by itself, so that both directions of
	// a connection hash alike. The ports, too, are compared octets reversed.
	var sport, dport uint16
	if fields&FieldSrcPort != 0 {
		sport = t.SrcPort
	}
	if fields&FieldDstPort != 0 {
		dport = t.DstPort
	}
	if bits.ReverseBytes16(dport) < bits.ReverseBytes16(sport) {
		sport, dport = dport, sport
	}
	binary.BigEndian.PutUint16(keys[keyPorts:], sport)
	binary.BigEndian.PutUint16(keys[keyPorts+2:], dport)

	half := uint64(k.Seed)<<32 | uint64(k.Seed)
	h := uint32(siphash.Hash(half, half, keys[:size]))
	if h == 0 {
		return 1 // 0 means "unhashed" in the kernel
	}
	return h
}

// mix is the kernel's jhash_2words with initial value 0: the final step of Bob
// Jenkins' lookup3 (May 2006, public domain) over two words. The source is
// include/linux/jhash.h: JHASH_INITVAL, the length in words shifted by 2, and
// __jhash_final.
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
