// SPDX-License-Identifier: Apache-2.0

package placement

import "net/netip"

// labelMask has the bits of a flow label (RFC 6437 section 2).
const labelMask = 0xfffff // 20 bits

// use is a label in use between two hosts.
type use struct {
	src, dst netip.Addr
	label    uint32
}

// labels are those in use, with the number of their flows: 1 or more.
type labels map[use]uint32

// take counts one flow more, and returns how many have the label now.
func (l labels) take(u use) uint32 {
	l[u]++
	return l[u]
}

// release counts one flow less.
func (l labels) release(u use) {
	if n := l[u]; n > 1 {
		l[u] = n - 1
	} else {
		delete(l, u)
	}
}

// next is the label after one in the order of the search: it meets each of the 2^20 once.
func next(label uint32) uint32 { return (label*1664525 + 1013904223) & labelMask }
