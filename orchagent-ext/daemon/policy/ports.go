// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"slices"

	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/switch/engine"
)

// Ports are the rows of PORT. They are sorted by name, each with its lanes and the
// PortChannel that it is a member of.
func Ports(s *config.Snapshot) []engine.Port {
	channels := map[string]string{}
	for name, members := range s.PortChannels {
		for _, member := range members {
			channels[member] = name
		}
	}
	ports := make([]engine.Port, 0, len(s.SwitchPorts))
	for _, name := range slices.Sorted(maps.Keys(s.SwitchPorts)) {
		ports = append(ports, engine.Port{Name: name, Lanes: s.SwitchPorts[name].Lanes, Channel: channels[name]})
	}
	return ports
}

// PortsOf are the port of a netdev, or the members of a PortChannel. It is nil for a name
// that is neither. The slice is the snapshot's: for reading only.
func PortsOf(s *config.Snapshot, link string) []string {
	if _, port := s.SwitchPorts[link]; port {
		return []string{link}
	}
	return s.PortChannels[link]
}

// NeighborOf is the switch or host behind a netdev. Of a PortChannel the first member
// with a row in DEVICE_NEIGHBOR decides; the zero value where all lack one.
func NeighborOf(s *config.Snapshot, link string) config.Neighbor {
	for _, port := range PortsOf(s, link) {
		if n := s.Neighbors[port]; n.Name != "" {
			return n
		}
	}
	return config.Neighbor{}
}

// RoleOf returns the role of a port or PortChannel, as the model has it; "": it lacks a row.
// resolved are the rows of ports.
func RoleOf(s *config.Snapshot, resolved map[string]*config.Port, link string) string {
	row := s.Ports[link]
	for _, port := range PortsOf(s, link) {
		if row == nil {
			row = resolved[port]
		}
	}
	if row == nil {
		return ""
	}
	return row.Role.String()
}

// channels reports whether one of the ports is a member of a PortChannel.
func channels(s *config.Snapshot, ports []string) bool {
	for _, members := range s.PortChannels {
		if slices.ContainsFunc(members, func(name string) bool { return slices.Contains(ports, name) }) {
			return true
		}
	}
	return false
}
