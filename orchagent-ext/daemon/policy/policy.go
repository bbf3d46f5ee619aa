// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"maps"
	"slices"

	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/model"
)

// hashField is how SONiC's SWITCH_HASH names the flow label.
const hashField = "IPV6_FLOW_LABEL"

// Of returns the policy of a configuration for the switch. It is empty while the kill switch is
// set.
func Of(s *config.Snapshot) engine.Policy {
	p := engine.Policy{
		FlowCapacity: *s.Global.FlowCapacity, ManageHash: *s.FlowLabel.ManageSwitchHash, NoPorts: !*s.FlowLabel.HashPorts,
		CPU: engine.CPU{Rate: *s.Global.CpuRate, Burst: *s.Global.CpuBurst},
	}
	if Disabled(s) {
		return p
	}
	p.SingleFlows, p.SlowsHosts = Controls(s), len(s.RateAdviceHosts) > 0
	p.Depths.Queues, _ = WatchedQueues(s)
	if p.Watch = Watches(s); Learns(s) || p.Watch != 0 {
		p.Export = learnFrom(s)
	}
	if Exports(s) {
		// Acknowledgements are sampled as all packets are: collectors get one rate.
		p.Export = &engine.Export{Rate: Value(s.IPFIX.SamplingRate), CM: Learns(s), Ports: slices.Sorted(maps.Keys(s.Resolve()))}
	}
	p.Placement = placementPolicy(s)
	if s.FlowLabel.AdminState != config.Enabled {
		return p
	}
	p.Label = &engine.Label{
		Algorithm: flow.DraftLiteral,
		ZeroOnly:  s.FlowLabel.Rewrite == config.RewriteZeroOnly,
		ZeroSrcQP: s.Global.RcSourceQp == config.RCSourceQPZero,
		Outer:     s.FlowLabel.Tunnels == model.SonicSluice_SonicSluice_SLUICE_FLOW_LABEL_Global_Tunnels_outer,
	}
	if s.FlowLabel.Algorithm == config.AlgorithmCRC32 {
		p.Label.Algorithm = flow.CRC32
	}
	for name, row := range s.Resolve() {
		if config.Labels(row) {
			p.Ports = append(p.Ports, name)
		}
	}
	slices.Sort(p.Ports)
	return p
}

// Warnings returns warnings to the operator about a configuration in force.
func Warnings(s *config.Snapshot, p engine.Policy, o engine.Outcome) []string {
	w := slices.Concat(o.Problems, o.Left)
	if Value(s.Global.EtcdAllowPlaintext) {
		w = append(w, "SLUICE|global etcd_allow_plaintext is ignored: sluiced --etcd-allow-plaintext, or SLUICE_ETCD_ALLOW_PLAINTEXT=true in its environment, allows it")
	}
	if s.IPFIX.AdminState == config.Enabled && !Exports(s) {
		w = append(w, "SLUICE_IPFIX|global is enabled, and SLUICE_IPFIX_COLLECTOR has no collector")
	}
	if Exports(s) && p.Export != nil && len(p.Export.Ports) == 0 {
		w = append(w, "SLUICE_IPFIX|global is enabled, and nothing is exported: SLUICE_PORT has no row of a port of the switch")
	}
	if p.Label == nil {
		return w
	}
	rows := DriverOf(s) == Orchagent // whose hash is of all ports
	if len(p.Ports) == 0 && !rows {
		w = append(w, "flow labels are enabled, and no port is to be labelled: SLUICE_PORT has no edge port and none with flow_label=enabled")
	}
	label := o.Choices[engine.NeedFlowLabel]
	if label.Method == engine.None {
		w = append(w, "the switch has no method for flow labels: "+label.Reason)
	}
	if label.State == engine.Unproven && len(p.Ports) > 0 {
		w = append(w, fmt.Sprintf("the method %s for flow labels: %s", label.Method, label.Reason))
	}
	if p.Label.Outer && label.Method != engine.Compute && label.Method != engine.None {
		w = append(w, fmt.Sprintf("tunnels=outer of SLUICE_FLOW_LABEL|global has no effect: the method %s cannot label tunnels, compute can", label.Method))
	}
	if label.Method == engine.Rewrite && !p.Label.ZeroSrcQP && channels(s, p.Ports) {
		w = append(w, "a host behind a PortChannel may have two leaves, of which only one sees its RDMA-CM: each gives a connection a label of its own. Set rc_source_qp=zero in SLUICE|global where hosts are dual-homed")
	}
	labels := label.Method == engine.Compute || label.Method == engine.Rewrite || rows && label.Method == engine.None
	if labels && !p.ManageHash && !slices.Contains(s.ECMPHash, hashField) {
		w = append(w, "ECMP does not hash the flow label: add IPV6_FLOW_LABEL to ecmp_hash of SWITCH_HASH|GLOBAL, or set manage_switch_hash=true in SLUICE_FLOW_LABEL|global")
	}
	return w
}

// IPv4 returns how RoCEv2 over IPv4 is treated, which lacks a flow label.
func IPv4(r engine.Method) string {
	if r == engine.Hash || r == engine.UDFHash {
		return "spread by the hash of the destination queue pair"
	}
	return "not spread: IPv4 has no flow label"
}

// learnSampling is how many packets there are to one that the CPU gets to learn queue
// pairs by, where none is exported, and learnAnswers of acknowledgements; messages of
// RDMA-CM come besides, all of them.
const (
	LearnSampling = 256
	LearnAnswers  = 16
)

// learnFrom returns the packets that the switch is to send to the CPU for that. Estimates of flows in queues
// go by samples that are by chance.
func learnFrom(s *config.Snapshot) *engine.Export {
	return &engine.Export{Rate: LearnSampling, CM: true, Answers: LearnAnswers, First: Watches(s) == 0, Ports: slices.Sorted(maps.Keys(s.Resolve()))}
}

// placementPolicy returns the part of placement; nil where it is off.
func placementPolicy(s *config.Snapshot) *engine.Placement {
	if !Places(s) {
		return nil
	}
	p := &engine.Placement{Seed: HashSeed(s), Sampling: *s.Placement.SamplingRate, VRFs: map[string][]string{}}
	all := s.Resolve()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch vrf := s.VRFs[name]; {
		case !config.Labels(all[name]) || vrf == config.SeveralVRFs:
		case vrf == "":
			p.Ports = append(p.Ports, name)
		default:
			p.VRFs[vrf] = append(p.VRFs[vrf], name)
		}
	}
	return p
}
