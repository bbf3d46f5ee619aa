// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"fmt"
	"maps"
	"slices"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/config"
	"sluice/orchagent-ext/flow"
	"sluice/yang/model"
)

// hashField is how SONiC's SWITCH_HASH names the flow label.
const hashField = "IPV6_FLOW_LABEL"

// Policy is what the configuration asks of the switch: nothing, while the kill
// switch is set.
func Policy(s *config.Snapshot) asic.Policy {
	p := asic.Policy{
		FlowCapacity: *s.Global.FlowCapacity, ManageHash: *s.FlowLabel.ManageSwitchHash,
		CPU: asic.CPU{Rate: *s.Global.CpuRate, Burst: *s.Global.CpuBurst},
	}
	if disabled(s) {
		return p
	}
	p.SingleFlows = controls(s)
	if learns(s) {
		p.Export = learnFrom(s)
	}
	if exports(s) {
		// Acknowledgements are sampled as all packets are: collectors are told one rate.
		p.Export = &asic.Export{Rate: *s.IPFIX.SamplingRate, CM: learns(s), Ports: slices.Sorted(maps.Keys(s.Resolve()))}
	}
	if s.FlowLabel.AdminState != config.Enabled {
		return p
	}
	p.Placement = placementPolicy(s)
	p.Label = &asic.Label{
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

func disabled(s *config.Snapshot) bool { return s.Global.AdminState == config.Disabled }

// outlives says whether objects on the switch outlive the daemon.
func outlives(s *config.Snapshot) bool { return s.Global.WarmRestart == config.Enabled }

// Ports are the rows of PORT.
func Ports(s *config.Snapshot) []asic.Port {
	channels := map[string]string{}
	for name, members := range s.PortChannels {
		for _, member := range members {
			channels[member] = name
		}
	}
	ports := make([]asic.Port, 0, len(s.SwitchPorts))
	for _, name := range slices.Sorted(maps.Keys(s.SwitchPorts)) {
		ports = append(ports, asic.Port{Name: name, Lanes: s.SwitchPorts[name].Lanes, Channel: channels[name]})
	}
	return ports
}

// sluicePorts are the ports that SLUICE_PORT names.
func sluicePorts(s *config.Snapshot) map[string]bool {
	ports := map[string]bool{}
	for name := range s.Resolve() {
		ports[name] = true
	}
	return ports
}

// warnings are what the operator should know of a configuration in force.
func warnings(s *config.Snapshot, p asic.Policy, o asic.Outcome) []string {
	w := slices.Concat(o.Problems, o.Left)
	if s.IPFIX.AdminState == config.Enabled && !exports(s) {
		w = append(w, "SLUICE_IPFIX|global is enabled, and SLUICE_IPFIX_COLLECTOR has no collector")
	}
	if p.Export != nil && len(p.Export.Ports) == 0 {
		w = append(w, "SLUICE_IPFIX|global is enabled, and nothing is exported: SLUICE_PORT has no row of a port of the switch")
	}
	if p.Label == nil {
		return w
	}
	rows := DriverOf(s) == Orchagent // whose hash is of all ports
	if len(p.Ports) == 0 && !rows {
		w = append(w, "flow labels are enabled, and no port is to be labelled: SLUICE_PORT has no edge port and none with flow_label=enabled")
	}
	label := o.Choices[asic.NeedFlowLabel]
	if label.Method == asic.None {
		w = append(w, "the switch has no method for flow labels: "+label.Reason)
	}
	if label.State == asic.Unproven && len(p.Ports) > 0 {
		w = append(w, fmt.Sprintf("the method %s for flow labels: %s", label.Method, label.Reason))
	}
	if p.Label.Outer && label.Method != asic.Compute && label.Method != asic.None {
		w = append(w, fmt.Sprintf("tunnels=outer of SLUICE_FLOW_LABEL|global has no effect: the method %s cannot label tunnels, compute can", label.Method))
	}
	if label.Method == asic.Rewrite && !p.Label.ZeroSrcQP && channels(s, p.Ports) {
		w = append(w, "a host behind a PortChannel may have two leaves, of which only one sees its RDMA-CM: each gives a connection a label of its own. Set rc_source_qp=zero in SLUICE|global where hosts are dual-homed")
	}
	labels := label.Method == asic.Compute || label.Method == asic.Rewrite || rows && label.Method == asic.None
	if labels && !p.ManageHash && !slices.Contains(s.ECMPHash, hashField) {
		w = append(w, "ECMP does not hash the flow label: add IPV6_FLOW_LABEL to ecmp_hash of SWITCH_HASH|GLOBAL, or set manage_switch_hash=true in SLUICE_FLOW_LABEL|global")
	}
	return w
}

// channels says whether one of the ports is a member of a PortChannel.
func channels(s *config.Snapshot, ports []string) bool {
	for _, members := range s.PortChannels {
		if slices.ContainsFunc(members, func(name string) bool { return slices.Contains(ports, name) }) {
			return true
		}
	}
	return false
}

// ipv4 says what becomes of RoCEv2 over IPv4, which has no flow label.
func ipv4(r asic.Method) string {
	if r == asic.Hash || r == asic.UDFHash {
		return "spread by the hash of the destination queue pair"
	}
	return "not spread: IPv4 has no flow label"
}
