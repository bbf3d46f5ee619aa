// SPDX-License-Identifier: Apache-2.0

package settings

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

// policy returns the policy for the switch. It is empty while the kill switch is
// set.
func (r *resolved) policy() engine.Policy {
	p := engine.Policy{
		FlowCapacity: *r.Global.FlowCapacity, ManageHash: *r.FlowLabel.ManageSwitchHash, NoPorts: !*r.FlowLabel.HashPorts,
		CPU: engine.CPU{Rate: *r.Global.CpuRate, Burst: *r.Global.CpuBurst},
	}
	if r.disabled() {
		return p
	}
	p.SingleFlows, p.SlowsHosts = r.controls(), len(r.RateAdviceHosts) > 0
	p.Depths.Queues, _ = r.watchedQueues()
	if p.Watch = r.samples(); r.learns() || p.Watch != 0 {
		p.Export = &engine.Export{Rate: learnSampling, CM: true, Answers: learnAnswers, First: p.Watch == 0, Ports: slices.Sorted(maps.Keys(r.ports))}
	}
	if r.samplesFlows() {
		// Acknowledgements are sampled as all packets are: collectors get one rate.
		p.Export = &engine.Export{Rate: value(r.IPFIX.SamplingRate), CM: r.learns(), Ports: slices.Sorted(maps.Keys(r.ports))}
	}
	p.Placement = r.placementPolicy()
	if r.FlowLabel.AdminState != config.Enabled {
		if p.Export == nil && p.Placement == nil && r.controls() && driverOf(r.Global) == SAI {
			p.Export = &engine.Export{Rate: learnSampling, Ports: slices.Sorted(maps.Keys(r.ports))} // to show flows
		}
		return p
	}
	p.Label = &engine.Label{
		Algorithm: flow.DraftLiteral,
		ZeroOnly:  r.FlowLabel.Rewrite == config.RewriteZeroOnly,
		ZeroSrcQP: r.Global.RcSourceQp == config.RCSourceQPZero,
		Outer:     r.FlowLabel.Tunnels == model.SonicSluice_SonicSluice_SLUICE_FLOW_LABEL_Global_Tunnels_outer,
	}
	p.Shown = learnSampling
	if r.FlowLabel.Algorithm == config.AlgorithmCRC32 {
		p.Label.Algorithm = flow.CRC32
	}
	for name, row := range r.ports {
		if config.Labels(row) {
			p.Ports = append(p.Ports, name)
		}
	}
	slices.Sort(p.Ports)
	return p
}

// Warnings returns warnings to the operator about the configuration, by the outcome of the last
// reconciliation of the switch.
func (s *Settings) Warnings(o *engine.Outcome) []string {
	r, p := s.rows, s.Policy
	w := slices.Concat(o.Problems, o.Left)
	if value(r.Global.EtcdAllowPlaintext) {
		w = append(w, "SLUICE|global etcd_allow_plaintext is ignored: sluiced --etcd-allow-plaintext, or SLUICE_ETCD_ALLOW_PLAINTEXT=true in its environment, allows it")
	}
	if r.IPFIX.AdminState == config.Enabled && !r.exports() {
		w = append(w, "SLUICE_IPFIX|global is enabled, and SLUICE_IPFIX_COLLECTOR has no collector: flows are shown, and none is exported")
	}
	if r.samplesFlows() && p.Export != nil && len(p.Export.Ports) == 0 {
		w = append(w, "SLUICE_IPFIX|global is enabled, and nothing is exported: SLUICE_PORT has no row of a port of the switch")
	}
	if p.Label == nil {
		return w
	}
	rows := driverOf(r.Global) == Orchagent // whose hash is of all ports
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
	if label.Method == engine.Rewrite && !p.Label.ZeroSrcQP && inChannel(r.PortChannels, p.Ports) {
		w = append(w, "a host behind a PortChannel may have two leaves, of which only one sees its RDMA-CM: each gives a connection a label of its own. Set rc_source_qp=zero in SLUICE|global where hosts are dual-homed")
	}
	labels := label.Method == engine.Compute || label.Method == engine.Rewrite || rows && label.Method == engine.None
	if labels && !p.ManageHash && !slices.Contains(r.ECMPHash, hashField) {
		w = append(w, "ECMP does not hash the flow label: add IPV6_FLOW_LABEL to ecmp_hash of SWITCH_HASH|GLOBAL, or set manage_switch_hash=true in SLUICE_FLOW_LABEL|global")
	}
	return w
}

// learnSampling is how many packets there are to one that the CPU gets to learn queue
// pairs by, and flows to be shown, where none is exported, and learnAnswers of acknowledgements; messages of
// RDMA-CM come besides, all of them.
const (
	learnSampling = 256
	learnAnswers  = 16
)

// placementPolicy returns the part of placement; nil where it is off.
func (r *resolved) placementPolicy() *engine.Placement {
	if !r.places() {
		return nil
	}
	p := &engine.Placement{Seed: r.hashSeed(), Sampling: *r.Placement.SamplingRate, VRFs: map[string][]string{}}
	all := r.ports
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch vrf := r.VRFs[name]; {
		case !config.Labels(all[name]) || vrf == config.SeveralVRFs:
		case vrf == "":
			p.Ports = append(p.Ports, name)
		default:
			p.VRFs[vrf] = append(p.VRFs[vrf], name)
		}
	}
	return p
}
