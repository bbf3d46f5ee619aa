// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"net/netip"
	"time"

	"sluice/orchagent-ext/flows/flow"
)

// Policy is the part of the operator's configuration that is for the switch.
type Policy struct {
	Label *Label   // nil: labels are off
	Ports []string // that RoCEv2 packets are labelled on as they come in, by their SONiC names

	// ManageHash allows to set the switch's ECMP hash fields.
	ManageHash bool
	// NoPorts: ECMP leaves out the ports where it hashes labels.
	NoPorts bool

	CPU CPU // bounds packets to it

	Export *Export // nil: no packets are sampled for export

	Placement *Placement // nil: labels are not chosen

	// SingleFlows: flow control is to watch or hold single flows. It makes its own settings
	// on the switch.
	SingleFlows bool

	// Watch: one of so many packets comes to the CPU where [Sampled] is the method, unless Export
	// has a lower number. 0: that method is off.
	Watch uint32

	// Shown: one of so many packets that [Compute] labels comes to the CPU where no others do, so
	// that flows are known, of which SLUICE_FLOW has the heaviest. 0: none comes.
	Shown uint32

	// Depths has the queues whose depth is read by [Sampled].
	Depths Depths

	// SlowsHosts: there are hosts that may be slowed, so that [Source] holds their flows.
	SlowsHosts bool

	// FlowCapacity is how many flows may have an entry.
	FlowCapacity uint32
}

// Rated returns the policy with a rate of export where it leaves that to the switch: every
// packet, or one of as many as the switch demands.
func (p Policy) Rated(f Features) Policy {
	if p.Export != nil && p.Export.Rate == 0 {
		x := *p.Export
		x.Rate = max(f.MinSampling, 1)
		p.Export = &x
	}
	return p
}

// Watched returns the policy with as many samples as the method [Sampled] needs, where it is chosen.
func (p Policy) Watched(c Choices, f Features) Policy {
	if c.Method(NeedThreshold) == Sampled && p.Export != nil {
		x := *p.Export
		x.Rate = min(x.Rate, max(p.Watch, f.MinSampling))
		p.Export = &x
	}
	return p
}

// shows reports whether the entries of [Compute] sample for the sake of flows that are shown: no
// other object is needed.
func (p Policy) shows(c Choices) bool {
	return p.Shown != 0 && p.Label != nil && p.Export == nil &&
		c.Method(NeedFlowLabel) == Compute && c.Method(NeedPlacement) != Entries && c.Method(NeedExport) == Sample
}

// chance returns how many packets there are to one that comes to the CPU by chance; 0: none comes,
// or those that come are of no known share.
func (p Policy) chance(c Choices, f Features) uint32 {
	first := f.First && c.Method(NeedHold) != Source
	switch {
	case p.Export != nil && p.Export.Rate > 1 && p.Export.First && first:
		return 0
	case p.Export != nil:
		return p.Export.Rate
	case c.Method(NeedPlacement) == Redirect:
		return max(p.Placement.Sampling, f.MinSampling)
	case c.Method(NeedPlacement) == Entries && !first:
		return p.Placement.Sampling
	case p.shows(c):
		return max(p.Shown, f.MinSampling)
	}
	return 0
}

// Label has the formula of flow labels, and the packets that get one.
type Label struct {
	Algorithm flow.Algorithm
	ZeroOnly  bool // leave labels that are other than 0
	Outer     bool // write the outermost header of IPv6 tunnels, too; [Compute] alone can
	// the source queue pair of connections counts as 0; [Compute] cannot do otherwise
	ZeroSrcQP bool
}

// CPU is a token bucket for packets to the CPU.
type CPU struct {
	Rate  uint32 // packets a second; 0: no bound
	Burst uint32 // packets
}

// Export has the packets that the CPU gets for the export of flows.
type Export struct {
	// one of so many RoCEv2 packets; 0: as many as the switch gives, see [Policy.Rated]
	Rate  uint32
	Ports []string // that they come in by

	// Packets by which source queue pairs are learned, where the switch matches BTH opcodes:
	CM      bool   // all messages of RDMA-CM, by copies
	Answers uint32 // one of so many acknowledgements; 0: as all packets

	// First: samples need not be by chance, and the CPU may get all packets while these are few.
	First bool
}

// Placement has the settings that chosen labels need besides entries of flows.
type Placement struct {
	Seed uint32 // of ECMP's hash, where the switch is the Linux kernel; 0: as it is
	// by [Entries] and [Redirect], one of so many packets comes to the CPU, unless Export says how many
	Sampling uint32

	// Ports are those that flows to be redirected come in by, of the default VRF. Where flows are
	// exported, the driver sai has their entries on the ports of Export.
	Ports []string

	// VRFs are likewise the ports of each other VRF. The driver sai leaves their flows by hash: its
	// router interfaces are those of the default VRF.
	VRFs map[string][]string
}

// Depths are queues whose depth is read.
type Depths struct {
	Queues   []string      // PORT:NUMBER
	Interval time.Duration // between two readings
}

// Classes are the maps by which the packets of a port wait in queues.
type Classes struct {
	Class [64]uint8 // the traffic class of packets that come in, by DSCP
	Queue [16]uint8 // the number of the egress queue, by traffic class
}

// NextHop is where packets are redirected to.
type NextHop struct {
	Address netip.Addr // IPv4 or IPv6 of the neighbor
	Port    string     // SONiC's name
}

// Redirection sends the RoCEv2 packets of a 5-tuple to a next hop.
type Redirection struct {
	Src, Dst netip.Addr // of one family
	SrcPort  uint16     // UDP
	// of the ports that they come in by; "": the default one, and with the driver sai always
	VRF string
	To  NextHop
}

// FlowEntry is a flow with the label that its entry gives it: by the method [Rewrite] of
// flow labels, or [Entries] of placement.
type FlowEntry struct {
	Src, Dst netip.Addr // IPv6
	DestQP   uint32     // 24 bits
	Label    uint32     // 20 bits, other than 0
	SrcPort  uint16     // UDP, as seen last; 0: unknown. It is not matched
}

// Port is a port as CONFIG_DB's PORT has it.
type Port struct {
	Name  string
	Lanes []uint32 // of the ASIC; none: the library's port of the netdev of that name

	Channel string // the PortChannel that it is a member of; "": of none
}
