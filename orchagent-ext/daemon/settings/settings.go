// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"sluice/orchagent-ext/daemon/control"
	"sluice/orchagent-ext/daemon/packetpath"
	"sluice/orchagent-ext/daemon/placement"
	"sluice/orchagent-ext/daemon/routes"
	"sluice/orchagent-ext/daemon/statistics"
	"sluice/orchagent-ext/daemon/streamids"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/switch/engine"
)

// Settings are those of all parts by one snapshot. They are immutable, with all that they point to.
type Settings struct {
	Disabled bool          // the kill switch is on: SLUICE|global admin_state is disabled
	Outlives bool          // objects on the switch outlive the daemon; else they end with it
	Driver   Driver        // that programs the switch
	Ports    []engine.Port // rows of PORT by name, each with its lanes and its PortChannel
	Policy   engine.Policy // that the switch follows; without features while the kill switch is on

	Statistics []statistics.Port
	Path       packetpath.Settings
	Control    control.Settings
	Streams    streamids.Settings
	Placement  placement.Settings
	Routes     routes.Settings

	rows *resolved // for Warnings
}

// Of returns the settings of a configuration.
func Of(s *config.Snapshot) *Settings {
	r := &resolved{s, s.Resolve()}
	return &Settings{
		Disabled: r.disabled(), Outlives: s.Global.WarmRestart == config.Enabled,
		Driver: driverOf(r.Global), Ports: r.switchPorts(), Policy: r.policy(),
		Statistics: r.statistics(), Path: r.path(), Control: r.control(), Streams: r.streams(), Placement: r.placement(), Routes: r.routes(),
		rows: r,
	}
}

// resolved is a snapshot with the row that holds for each port of the switch.
type resolved struct {
	*config.Snapshot
	ports map[string]*config.Port
}

// value returns the value of an optional leaf; the zero value where its row lacks it. A
// leaf with a default always has a value in a snapshot.
func value[T any](leaf *T) (v T) {
	if leaf != nil {
		v = *leaf
	}
	return v
}
