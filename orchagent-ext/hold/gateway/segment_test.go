// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/netip"
	"testing"
)

// TestShiftedCarrierIsRecognized: the next address of a carrier of compressed segments, and
// others that an endpoint or the end of a tunnel may put there.
func TestShiftedCarrierIsRecognized(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		want     bool
	}{
		{"fc00:b:1:2::", "fc00:b:2::", true},
		{"fc00:b:1:2:3:4:5:6", "fc00:b:2:3:4:5:6:0", true},
		{"fc00:0:0:b:1:2:3:4", "fc00:0:0:b:2:3:4:0", true},
		{"fc00:b:1:0:2:0:3:0", "fc00:b:2:0:3::", true}, // segments of 32 bits
		{"fc00:b:1:2::", "fc00:b:1:2::", false},
		{"fc00:b:1:2::", "fc00:b:3::", false},
		{"fc00:b:1:2::", "2001:db8:0:2::b", false},
		{"fc00:b:1::", "192.0.2.1", false},
	} {
		if got := isShifted(netip.MustParseAddr(tt.from), netip.MustParseAddr(tt.to)); got != tt.want {
			t.Errorf("%s to %s: %t", tt.from, tt.to, got)
		}
	}
}
