// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"time"

	"sluice/orchagent-ext/daemon/placement"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/flows/flow"
	table "sluice/orchagent-ext/spread/placement"
	"sluice/orchagent-ext/spread/placer"
	"sluice/orchagent-ext/spread/redirect"
	"sluice/orchagent-ext/switch/engine"
)

// goalShare is how far below the threshold flows stop moving, in parts of its excess above 1.
const goalShare = 0.4

// rateTime is the time constant of the average of rates, which are measured over rateWindow
// at least: a load that changed is known within a second.
const (
	rateTime   = time.Second
	rateWindow = 300 * time.Millisecond
)

// placement returns the settings of placement.
func (r *resolved) placement() placement.Settings {
	var s placement.Settings
	if r.Placement.Scope == config.PlacementFabric {
		s.Fabric = placement.Fabric{Leaf: leafName(r.Hostname), Etcd: etcdOf(r.Global)}
	}
	if !r.places() {
		return s
	}
	s.On, s.Seed, s.Labels, s.Rules = true, r.hashSeed(), r.labels(), rulesOf(r.Placement, r.switchPorts(), r.VRFs)
	s.Learned, s.Linux = r.Placement.Model == config.ModelLearned, r.Placement.Model == config.ModelLinux
	s.Links = map[string]placement.Link{}
	for name := range r.links {
		s.Links[name] = placement.Link{Ports: r.portsOf(name), Spine: r.neighborOf(name).Name}
	}
	return s
}

// labels returns the settings of placement by labels, but for those that depend on the switch.
// Where those differ that cannot be tuned, all flows are adopted again, with their labels.
func (r *resolved) labels() placer.Config {
	p := r.Placement
	threshold := 1 + float64(*p.ThresholdPercent)/100
	c := placer.Config{
		Algorithm: flow.DraftLiteral,
		Table: table.Config{
			Capacity: int(*r.Global.FlowCapacity), IdleNS: int64(*p.IdleUs) * 1000, MaxMoves: int(*p.MaxMoves), Threshold: threshold,
			Goal: 1 + (threshold-1)*goalShare, RateNS: int64(rateTime), WindowNS: int64(rateWindow),
		},
	}
	if p.Scope == config.PlacementFabric {
		c.Leaf = leafName(r.Hostname)
	}
	if r.FlowLabel.Algorithm == config.AlgorithmCRC32 {
		c.Algorithm = flow.CRC32
	}
	switch p.Moves {
	case config.MovesAny:
		c.Table.Moves = table.MovesAny
	case config.MovesNever:
		c.Table.Moves = table.MovesNever
	}
	return c
}

// rulesOf returns the settings of placement by rules to next hops.
func rulesOf(p *config.Placement, ports []engine.Port, vrfs map[string]string) placement.Rules {
	s := placement.Rules{On: true, Config: redirect.Config{PerLink: int(*p.MaxEntriesPerLink)}, Reserve: int(*p.AclReserve), Channels: map[string]string{}, VRFs: vrfs}
	switch p.Moves {
	case config.MovesAny:
		s.Config.Moves = redirect.MovesAny
	case config.MovesNever:
		s.Config.Moves = redirect.MovesNever
	}
	for _, p := range ports {
		if p.Channel != "" {
			s.Channels[p.Name] = p.Channel
		}
	}
	return s
}
