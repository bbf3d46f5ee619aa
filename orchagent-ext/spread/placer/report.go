// SPDX-License-Identifier: Apache-2.0

package placer

import "sluice/orchagent-ext/spread/placement"

// A Report is the state of a group.
type Report struct {
	Name    string
	Reason  string // reason against chosen labels, or ""
	Members []Member
	placement.Report
	// members and weights are as SONiC has programmed them; else as the kernel lists them
	Ordered  bool
	Lacks    error  // reason against it on another switch than the kernel, or nil
	Rerouted uint64 // flows that had another path when the group changed
	// number of the plan for the fabric whose quotas are in force; 0: none is
	Plan    uint64
	Ignored uint64 // quotas of plans, for unknown leaves or spines
}

// A Member is a next hop of a group.
type Member struct {
	Name      string
	Weight    float64 // 0: it is down
	Predicted float64 // octets/s
	Hash      float64 // octets/s, if the flows had the labels of the hash
	Measured  float64 // octets/s that its port sends; negative: unknown
	Flows     int
}

// noPaths is the reason for hash labels on a switch other than the Linux kernel that has
// yet to report the paths of packets.
const noPaths = "no sampled packet has told the port that it leaves by, so the path of no flow is known. Flows keep the labels of the hash until the switch tells it"

// Reports returns the state of all groups, by name.
func (p *Placer) Reports() []Report {
	all := make([]Report, 0, len(p.groups.byName))
	for g := range p.groups.sorted {
		r := Report{Name: g.name, Reason: g.reason, Report: g.table.Report(), Ordered: g.ordered, Lacks: g.lacks, Rerouted: g.rerouted, Ignored: g.plan.ignored}
		if g.plan.inForce {
			r.Plan = g.plan.number
		}
		if r.Reason == "" && r.Degraded {
			r.Reason = "paths are not as predicted: ports send less than was predicted for them, so another hash, or another route, is in force"
		}
		if r.Reason == "" && !p.cfg.Kernel && r.Flows > 0 && r.Unknown == r.Flows {
			r.Reason = noPaths
		}
		for i, m := range g.members[:min(len(g.members), mostMembers)] {
			one := Member{Name: g.names[i], Predicted: r.Load[i], Hash: r.Hash[i], Flows: r.On[i], Measured: -1}
			if !m.Dead && !m.Unresolved {
				one.Weight = float64(m.Weight)
			}
			if g.rates != nil {
				one.Measured = g.rates[i]
			}
			r.Members = append(r.Members, one)
		}
		all = append(all, r)
	}
	return all
}

// NoPort returns the number of flows that cannot be placed since their source port is
// unknown.
func (p *Placer) NoPort() (n int) {
	for f := range p.flows {
		if f.SrcPort == 0 {
			n++
		}
	}
	return n
}
