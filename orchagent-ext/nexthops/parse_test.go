// SPDX-License-Identifier: Apache-2.0

package nexthops

import (
	"net/netip"
	"testing"
)

// Whatever octets come, the parsers return or refuse.
func FuzzParse(f *testing.F) {
	f.Add([]byte{10, 48, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0, 8, 0, 30, 0, 100, 0, 0, 0, 12, 0, 9, 0, 8, 0, 1, 4, 3, 0, 0, 0})
	f.Add([]byte{12, 0, 2, 0, 1, 0, 0, 0, 2, 1, 0, 0, 6, 0, 3, 0, 1, 0, 0, 0})
	f.Add([]byte{20, 0, 13, 128, 6, 0, 1, 0, 5, 0, 0, 0, 8, 0, 3, 0, 7, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := parseRoute(b); err == nil {
			r.holds(netip.IPv6Loopback())
			for _, m := range r.members {
				if m.Weight < 1 || m.Weight > 256 {
					t.Errorf("weight %d", m.Weight)
				}
			}
		}
		if o, err := parseObject(b); err == nil {
			for _, m := range o.group {
				if m.weight < 1 || m.weight > 65536 {
					t.Errorf("weight %d", m.weight)
				}
			}
		}
		if index, id, err := parseBucket(b); err == nil && (index < 0 || id == 0) {
			t.Errorf("bucket %d of next hop %d", index, id)
		}
	})
}
