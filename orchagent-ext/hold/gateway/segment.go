// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/netip"

	"sluice/orchagent-ext/hold/kernel"
)

// hosts returns the addresses by which a PPFC names a flow: those of its session; those of the
// packet as it arrives where it lacks a session, or where this node shifted its destination.
func hosts(f *kernel.Flow) (src, dst netip.Addr) {
	s := &f.Session
	if s.Protocol == 0 || s.Src == f.Src && s.Dst == f.Leaves.Dst && isShifted(f.Dst, f.Leaves.Dst) {
		return f.Src, f.Dst
	}
	return s.Src, s.Dst
}

// maxSegment is the length of the longest compressed segment, in octets.
const maxSegment = 4

// isShifted reports whether an endpoint makes the second address of the first by the flavor
// NEXT-C-SID (RFC 9800 section 4.1): it takes the segment behind the block away, and moves
// up the rest. Such a packet comes without a routing header, which would have its final destination.
func isShifted(carrier, shifted netip.Addr) bool {
	if carrier == shifted || !carrier.Is6() || !shifted.Is6() {
		return false
	}
	from, to := carrier.As16(), shifted.As16()
	for n := 1; n <= maxSegment; n++ {
		var next [16]byte
		for block := 1; block <= len(from)-n; block++ {
			copy(next[:], from[:block])
			copy(next[block:], from[block+n:])
			clear(next[len(next)-n:])
			if next == to {
				return true
			}
		}
	}
	return false
}
