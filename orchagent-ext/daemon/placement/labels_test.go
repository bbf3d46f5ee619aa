// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"slices"
	"testing"

	"sluice/tests/configtest"

	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/spread/placement"
	"sluice/orchagent-ext/spread/placer"
	"sluice/yang/rows"
)

// The row becomes what placement works by, and what the switch is asked for.
func TestPlacementSettings(t *testing.T) {
	labels := []string{"SLUICE_FLOW_LABEL", "global", "admin_state=enabled"}
	off := configtest.Snapshot(t, configtest.Port0, configtest.Edge0, labels)
	if policy.Places(off) || policy.Of(off).Placement != nil {
		t.Error("without a row labels are chosen")
	}
	s := configtest.Snapshot(t, configtest.Port0, configtest.Edge0, labels, []string{"SLUICE_PLACEMENT", "global", "admin_state=enabled", "moves=any", "idle_us=20000", "threshold_percent=10", "max_moves=7", "sampling_rate=32", "hash_seed=99"})
	if p := policy.Of(s).Placement; p == nil || p.Seed != 99 || p.Sampling != 32 {
		t.Errorf("%+v", p)
	}
	c := labelSettings(s, true, 1024)
	if c.Table.Moves != placement.MovesAny || c.Table.IdleNS != 20e6 || c.Table.MaxMoves != 7 || c.Table.Threshold != 1.1 || c.Table.Capacity != 1024 || !c.Kernel {
		t.Errorf("%+v", c)
	}
	if labelSettings(s, false, 1024).Kernel {
		t.Error("a switch that is not the kernel has the kernel's model")
	}
	killed := configtest.Snapshot(t, configtest.Port0, configtest.Edge0, labels, []string{"SLUICE_PLACEMENT", "global", "admin_state=enabled"}, []string{"SLUICE", "global", "admin_state=disabled"})
	if policy.Places(killed) || policy.Of(killed).Placement != nil {
		t.Error("the kill switch does not end placement")
	}
}

// The seed of a switch is its own, is the same after each start, and is never 0; model
// learned sets none.
func TestHashSeed(t *testing.T) {
	row := func(words ...string) []string {
		return append([]string{"SLUICE_PLACEMENT", "global", "admin_state=enabled"}, words...)
	}
	one := policy.HashSeed(configtest.Snapshot(t, row(), []string{"SLUICE", "global", "router_id=192.0.2.1"}))
	other := policy.HashSeed(configtest.Snapshot(t, row(), []string{"SLUICE", "global", "router_id=192.0.2.2"}))
	if one == 0 || other == 0 || one == other || one != policy.HashSeed(configtest.Snapshot(t, row(), []string{"SLUICE", "global", "router_id=192.0.2.1"})) {
		t.Errorf("seeds %d and %d", one, other)
	}
	if got := policy.HashSeed(configtest.Snapshot(t, row("model=learned"))); got != 0 {
		t.Errorf("model learned sets seed %d", got)
	}
}

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
