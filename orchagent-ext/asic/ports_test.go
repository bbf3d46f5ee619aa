// SPDX-License-Identifier: Apache-2.0

package asic

import "testing"

// TestMissingPortSaysWhatIsMissing: a row of PORT without a port is explained by what the
// operator can see.
func TestMissingPortSaysWhatIsMissing(t *testing.T) {
	for _, tt := range []struct {
		port   Port
		netdev bool
		want   string
	}{
		{Port{Name: "eth1"}, false, "there is no network device eth1, and PORT|eth1 has no lanes"},
		{Port{Name: "eth1"}, true, "the SAI library has no port for the network device eth1, and PORT|eth1 has no lanes"},
		{Port{Name: "Ethernet4", Lanes: []uint32{4, 5}}, false, "no port of the switch has the lanes 4,5 of PORT|Ethernet4, and there is no network device Ethernet4"},
		{Port{Name: "Ethernet4", Lanes: []uint32{4, 5}}, true, "no port of the switch has the lanes 4,5 of PORT|Ethernet4"},
	} {
		if got := whyMissing(tt.port, tt.netdev); got != tt.want {
			t.Errorf("%+v, netdev %v: %q, want %q", tt.port, tt.netdev, got, tt.want)
		}
	}
}
