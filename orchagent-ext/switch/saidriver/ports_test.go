// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"testing"

	"sluice/orchagent-ext/switch/engine"
)

// TestMissingPortSaysWhatIsMissing: a row of PORT without a port is explained by what the
// operator can see.
func TestMissingPortSaysWhatIsMissing(t *testing.T) {
	for _, tt := range []struct {
		port   engine.Port
		netdev bool
		want   string
	}{
		{engine.Port{Name: "eth1"}, false, "there is no network device eth1, and PORT|eth1 has no lanes"},
		{engine.Port{Name: "eth1"}, true, "the SAI library has no port for the network device eth1, and PORT|eth1 has no lanes"},
		{engine.Port{Name: "Ethernet4", Lanes: []uint32{4, 5}}, false, "no port of the switch has the lanes 4,5 of PORT|Ethernet4, and there is no network device Ethernet4"},
		{engine.Port{Name: "Ethernet4", Lanes: []uint32{4, 5}}, true, "no port of the switch has the lanes 4,5 of PORT|Ethernet4"},
	} {
		if got := whyMissing(tt.port, tt.netdev); got != tt.want {
			t.Errorf("%+v, netdev %v: %q, want %q", tt.port, tt.netdev, got, tt.want)
		}
	}
}
