// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/binary"
	"slices"
	"testing"
)

// authenticated puts an authentication header (RFC 4302) before what follows a frame's IPv6 header,
// as in transport mode; tunnel puts a whole copy of the packet behind it. No key has made its
// integrity check value.
func authenticated(frame []byte, tunnel bool) []byte {
	const ethernet, ipv6, nextAt, lengthAt = 14, 40, 14 + 6, 14 + 4
	inner := frame[ethernet+ipv6:]
	next := frame[nextAt]
	if tunnel {
		inner, next = frame[ethernet:], 41 // IPv6 in IPv6 (RFC 2473)
	}
	ah := make([]byte, 24) // 12 octets of check value
	ah[0], ah[1], ah[7], ah[11] = next, 24/4-2, 1, 1
	b := slices.Concat(frame[:ethernet+ipv6], ah, inner)
	b[nextAt] = 51
	binary.BigEndian.PutUint16(b[lengthAt:], uint16(len(b)-ethernet-ipv6))
	return b
}

// TestAuthenticationHeaderIsCountedAsUnverified: a PFCM behind an authentication header that the
// kernel has no key of is obeyed as one without, and counted as not verified. In tunnel mode only
// the packet that the kernel takes out of it is a message: what it cannot verify holds nothing. With
// require_mark neither holds anything.
//
//conformance:draft-yang/ipsec
func TestAuthenticationHeaderIsCountedAsUnverified(t *testing.T) {
	l := holding(t, nil)
	up := l.Uplinks[0]
	l.inOrder(l.send(l.train(5)), 5)
	s := l.sender(up.Peer())
	asked := uint64(0)
	l.until("one is obeyed", func() bool { // a busy switch drops those that it reads late
		l.put(s, authenticated(l.pfcm(up, nil), true), authenticated(l.pfcm(up, nil), false))
		asked++
		l.awaitNotified("pfcm", "received", asked)
		return l.notified("pfcm", "unverified") > 0
	})
	if n := l.notifiedAll("pfcm"); l.notified("pfcm", "received") != asked || l.notified("pfcm", "held") != 1 {
		t.Errorf("one of two is a message: %s", n)
	}
	l.neighbors("require_mark", "81")
	l.until("the mark is demanded", func() bool {
		l.put(s, l.pfcm(up, nil))
		return l.notified("pfcm", "dropped_unmarked") > 0
	})
	before, unmarked := l.notified("pfcm", "refreshed"), l.notified("pfcm", "dropped_unmarked")
	l.put(s, authenticated(l.pfcm(up, nil), true), authenticated(l.pfcm(up, nil), false))
	l.awaitNotified("pfcm", "dropped_unmarked", unmarked+1)
	if n := l.notifiedAll("pfcm"); l.notified("pfcm", "refreshed") != before || l.notified("pfcm", "unverified") != 1 {
		t.Errorf("without IPsec's mark: %s", n)
	}
}
