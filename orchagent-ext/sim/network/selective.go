// SPDX-License-Identifier: Apache-2.0

package network

// keeper has the packets of one queue pair that came before an earlier one, as bits by PSN.
type keeper [kept / 64]uint64

// keep notes a packet, and reports whether it is the first with its PSN.
func (k *keeper) keep(psn uint32) bool {
	w, bit := &k[psn/64%(kept/64)], uint64(1)<<(psn%64)
	fresh := *w&bit == 0
	*w |= bit
	return fresh
}

// advance moves the expected PSN past the packets that are there, and reports whether one of
// them, or the last one in order, ends a message.
func (k *keeper) advance(q *QP) (last bool) {
	k[(q.expect-1)/64%(kept/64)] &^= 1 << ((q.expect - 1) % 64)
	for {
		w, bit := &k[q.expect/64%(kept/64)], uint64(1)<<(q.expect%64)
		if *w&bit == 0 {
			return last
		}
		*w &^= bit
		last = last || q.lastOf(q.expect)
		q.expect++
	}
}
