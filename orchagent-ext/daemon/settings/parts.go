// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"maps"
	"slices"

	"sluice/orchagent-ext/daemon/routes"
	"sluice/orchagent-ext/daemon/statistics"
	"sluice/orchagent-ext/daemon/streamids"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/host/etcd"
)

// statistics returns the rows of PORT, by name.
func (r *resolved) statistics() []statistics.Port {
	ports := make([]statistics.Port, 0, len(r.SwitchPorts))
	for _, name := range slices.Sorted(maps.Keys(r.SwitchPorts)) {
		p := statistics.Port{Name: name, Role: r.roleOf(name), AdminUp: r.SwitchPorts[name].AdminUp}
		if row := r.ports[name]; row != nil {
			p.Configured = true
			if t := r.Thresholds[value(row.Threshold)]; t != nil {
				p.Threshold, p.Queues = true, t.Queues
			}
		}
		ports = append(ports, p)
	}
	return ports
}

// routes returns the settings of the rows of next hops.
func (r *resolved) routes() routes.Settings {
	if r.disabled() || r.Global.PublishNextHops != config.Enabled {
		return routes.Settings{}
	}
	links := map[string]routes.Link{}
	for name := range r.links {
		links[name] = routes.Link{Neighbor: r.neighborOf(name), Role: r.roleOf(name)}
	}
	return routes.Settings{Publish: true, Links: links}
}

// links yields the names of ports and PortChannels, some twice.
func (r *resolved) links(yield func(name string) bool) {
	for name := range r.SwitchPorts {
		if !yield(name) {
			return
		}
	}
	for name := range r.PortChannels {
		if !yield(name) {
			return
		}
	}
}

// streams returns the settings of the scope of Stream IDs.
func (r *resolved) streams() streamids.Settings {
	switch c := r.Global; {
	case r.disabled():
		return streamids.Settings{}
	case c.StreamIdScope == config.ScopeHash:
		return streamids.Settings{Scope: c.StreamIdScope, Seed: value(c.StreamIdSeed)}
	case c.Classification == config.Classify5Tuple:
		return streamids.Settings{FiveTuple: true}
	case c.StreamIdScope == config.ScopeLocal:
		return streamids.Settings{Scope: c.StreamIdScope}
	default:
		return streamids.Settings{Scope: c.StreamIdScope, Seed: value(c.StreamIdSeed), Etcd: etcdOf(c)}
	}
}

// etcdOf returns the connection to etcd, but for [etcd.Access], so that two of these can be compared.
func etcdOf(c *config.Global) etcd.Config {
	return etcd.Config{
		Endpoints: c.EtcdEndpoints,
		CAFile:    value(c.EtcdCaFile), CertFile: value(c.EtcdCertFile), KeyFile: value(c.EtcdKeyFile),
		User: value(c.EtcdUser), PasswordFile: value(c.EtcdPasswordFile),
		Domain: value(c.StreamIdDomain),
	}
}
