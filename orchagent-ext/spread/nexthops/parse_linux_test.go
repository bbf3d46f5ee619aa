// SPDX-License-Identifier: Apache-2.0

package nexthops

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Whatever octets come, the parsers return or refuse.
func FuzzParse(f *testing.F) {
	f.Add([]byte{10, 48, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0, 8, 0, 30, 0, 100, 0, 0, 0, 12, 0, 9, 0, 8, 0, 1, 4, 3, 0, 0, 0})
	f.Add([]byte{12, 0, 2, 0, 1, 0, 0, 0, 2, 1, 0, 0, 6, 0, 3, 0, 1, 0, 0, 0})
	f.Add([]byte{20, 0, 13, 128, 6, 0, 1, 0, 5, 0, 0, 0, 8, 0, 3, 0, 7, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := parseRoute(b); err == nil {
			r.prefix(unix.AF_INET6)
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

// Weights above 256 of next-hop objects have a second octet (Linux 6.12), which Debian 12's
// iproute2 cannot set.
func TestParseObjectReadsWeightsOf16Bits(t *testing.T) {
	o, err := parseObject([]byte{20, 0, 2, 0, 7, 0, 0, 0, 0xff, 0x12, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 6, 0, 3, 0, 0, 0, 0, 0})
	if err != nil || len(o.group) != 2 || o.group[0] != (groupMember{7, 0x1300}) || o.group[1] != (groupMember{9, 1}) || o.resilient {
		t.Errorf("%+v, %v", o, err)
	}
}
