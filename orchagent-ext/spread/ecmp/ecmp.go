// SPDX-License-Identifier: Apache-2.0

package ecmp

import (
	"fmt"
	"net/netip"
)

// A Tuple has the fields of one packet that a switch can hash. Both addresses are of one
// family; the tuple counts as IPv4 if both are IPv4.
type Tuple struct {
	Src, Dst         netip.Addr
	Proto            uint8 // IP protocol, 17 for RoCEv2
	SrcPort, DstPort uint16
	FlowLabel        uint32 // low 20 bits; ignored for IPv4
}

// A Hash chooses among equal-cost paths. The set is closed: [Linux], [CRC32] and
// [CRC16].
type Hash interface {
	// Path returns the path of t among n, from 0 to n-1, and 0 when n is less than 2. It
	// hashes the 5-tuple, and with withLabel the IPv6 flow label, too. It is free of
	// allocations.
	Path(t Tuple, withLabel bool, n int) int
	// String returns the name that Parse takes.
	String() string

	closed()
}

// Parse returns the hash of that name: "linux" (with [DefaultSeed]), "crc32" or "crc16".
// The error for another name lists these.
func Parse(name string) (Hash, error) {
	for _, h := range []Hash{Linux{Seed: DefaultSeed}, CRC32{}, CRC16{}} {
		if h.String() == name {
			return h, nil
		}
	}
	return nil, fmt.Errorf("unknown hash %q: want linux, crc32 or crc16", name)
}

// is4 reports whether t is hashed as IPv4.
func (t *Tuple) is4() bool { return t.Src.Is4() && t.Dst.Is4() }
