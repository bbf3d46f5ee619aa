// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"maps"
	"slices"

	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/switch/engine"
)

// switchPorts returns the rows of PORT, sorted by name, each with its lanes and the
// PortChannel that it is a member of.
func (r *resolved) switchPorts() []engine.Port {
	channels := map[string]string{}
	for name, members := range r.PortChannels {
		for _, member := range members {
			channels[member] = name
		}
	}
	ports := make([]engine.Port, 0, len(r.SwitchPorts))
	for _, name := range slices.Sorted(maps.Keys(r.SwitchPorts)) {
		ports = append(ports, engine.Port{Name: name, Lanes: r.SwitchPorts[name].Lanes, Channel: channels[name]})
	}
	return ports
}

// portsOf returns the port of a netdev, or the members of a PortChannel. It is nil for a name
// that is neither. The slice is the snapshot's: for reading only.
func (r *resolved) portsOf(link string) []string {
	if _, port := r.SwitchPorts[link]; port {
		return []string{link}
	}
	return r.PortChannels[link]
}

// neighborOf returns the switch or host behind a netdev. Of a PortChannel the first member
// with a row in DEVICE_NEIGHBOR decides; the zero value where all lack one.
func (r *resolved) neighborOf(link string) config.Neighbor {
	for _, port := range r.portsOf(link) {
		if n := r.Neighbors[port]; n.Name != "" {
			return n
		}
	}
	return config.Neighbor{}
}

// roleOf returns the role of a port or PortChannel, as the model has it; "": it lacks a row.
func (r *resolved) roleOf(link string) string {
	row := r.Ports[link]
	for _, port := range r.portsOf(link) {
		if row == nil {
			row = r.ports[port]
		}
	}
	if row == nil {
		return ""
	}
	return row.Role.String()
}

// inChannel reports whether one of the ports is a member of a PortChannel.
func inChannel(channels map[string][]string, ports []string) bool {
	for _, members := range channels {
		if slices.ContainsFunc(members, func(name string) bool { return slices.Contains(ports, name) }) {
			return true
		}
	}
	return false
}
