// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"slices"
	"testing"

	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/spread/placer"
	"sluice/yang/rows"
)

// Where labels of some next hops are not chosen, placement is degraded, not active, and the
// reason names them; the method alone says nothing of it.
func TestPlacementIsDegradedWithAGroup(t *testing.T) {
	good, bad := placer.Report{Name: "Ethernet0,Ethernet4"}, placer.Report{Name: "Ethernet8,Ethernet12", Reason: "the seed is another"}
	for name, tt := range map[string]struct {
		groups []placer.Report
		err    error
		state  string
		lacks  []string
	}{
		"no flow yet": {nil, nil, "active", nil},
		"all chosen":  {[]placer.Report{good, good}, nil, "active", nil},
		"one not":     {[]placer.Report{good, bad}, nil, "degraded", []string{"next hops Ethernet8,Ethernet12: the seed is another"}},
		"not read":    {[]placer.Report{bad}, errors.New("netlink is away\nmore"), "degraded", []string{"next hops cannot be read: netlink is away", "next hops Ethernet8,Ethernet12: the seed is another"}},
	} {
		state, lacks := labelState(tt.groups, tt.err)
		if state != tt.state || !slices.Equal(lacks, tt.lacks) {
			t.Errorf("%s: %s, %q", name, state, lacks)
		}
		var row telemetry.State
		if err := rows.Set(&row, "placement", state); err != nil {
			t.Errorf("%s: STATE_DB does not take it: %v", name, err)
		}
	}
}
