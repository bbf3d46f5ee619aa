// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"net/netip"
	"slices"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	sai "sluice/sai-shim"
)

// Switch has the calls of the switch that flow control needs. A [sai.Library] with the
// extension of version [sai.ExtensionFlows] has it.
type Switch interface {
	ReadFlowEvents(dst []sai.FlowEvent) (n int, lost uint64)
	GetFlow(queue sai.ObjectID, flow uint64) (sai.FlowState, error)
	SetHold(port sai.ObjectID, m sai.HoldMatch, d time.Duration, rate uint64) error
	GetHold(port sai.ObjectID, m sai.HoldMatch) (sai.HoldState, error)
}

// Library is a switch with the calls that set it up for flow control.
type Library interface {
	Switch

	// WatchFlows lets the switch raise events; fd can be read from while some wait.
	WatchFlows() (fd int, err error)
	// SetQueueMarks sets the marks of each single flow in a queue, in octets; 0 and 0 end
	// the watch.
	SetQueueMarks(queue sai.ObjectID, high, low uint32) error
	// SetFlowKey sets the fields that packets of one flow share.
	SetFlowKey(key sai.FlowKey) error
	// SetStreamSeed sets the seed of Stream IDs.
	SetStreamSeed(seed uint32) error
	// FlowStats reads the switch's counters.
	FlowStats() (sai.FlowStats, error)
}

// Rate bounds messages; the zero value is unlimited.
type Rate = clock.Rate

// Config has the operator's settings and the state of the ports. It is immutable once it
// was passed to [Task.Configure].
type Config struct {
	Generate  bool // PFCM is sent when a flow passes a threshold
	Obey      bool // received PFCM is obeyed
	Translate bool // a pause becomes PFC on border ports

	Encapsulation notify.Encapsulation // of what is sent; every form is received
	Codes         notify.CodePoints
	Seed          uint32 // of Stream IDs
	// a Stream ID that no flow has holds every flow of the message's source and destination
	HoldPair bool

	// a hold by PFCM without resume is released after it, and its key ignored as long; 0: never
	HoldLimit                time.Duration
	Receive, ReceiveBySource Rate
	Send                     Rate   // of PFCM
	SendClient               Rate   // of Rate Advice and CNP together
	Mark                     uint32 // that IPsec sets on received messages; 0: none is demanded

	Router4, Router6 netip.Addr // our router ids; the zero value: there is none
	PPFC             *PPFC      // nil: gateways are not told
	Advice           *Advice    // nil: senders are not told
	Ingress          *Ingress   // nil: PPFC is not obeyed
	Source           *Source    // nil: the switch holds flows

	Ports  []Port
	Queues map[sai.ObjectID]Queue // that have a threshold
}

// Port is a port of the switch, or a PortChannel with its members.
type Port struct {
	Name    string
	Members []sai.ObjectID // the switch's ports: one, or those of the PortChannel
	Index   uint32         // interface index of the netdev that has the addresses
	MAC     roce.MAC
	Self    netip.Addr // our link-local address there

	// link-local address of the node at the other end; the zero value: not known
	Neighbor netip.Addr
	// further ones of that node, by which it may send, too; zero values: unused
	Also   [3]netip.Addr
	Speed  uint32 // Mbit/s, of a member; 0: not known
	Notify bool   // PFCM may be sent there: not to hosts, unless the operator says so
	Border bool   // the other end knows PFC only
	Edge   bool   // hosts are at the other end
}

// Queue is an egress queue in which single flows are monitored.
type Queue struct {
	Port      sai.ObjectID
	Name      string // of the port
	Number    uint8
	Threshold congestion.Threshold
}

// Sends reports whether something is sent about flows that fill queues.
func (c *Config) Sends() bool {
	return c.Generate || c.PPFC != nil || c.Advice != nil || c.Translate && c.Obey
}

// settings is a configuration with its indexes.
type settings struct {
	Config
	members map[sai.ObjectID]*port
	indexes map[uint32]*port
}

// port is a Port with its state in the core.
type port struct {
	Port
	bucket bucket // of what its neighbor sends
}

// usualSpeed is the speed in Mbit/s of a port where it is not known.
const usualSpeed = 100_000

// line returns the port's speed in bit/s, by [usualSpeed] where it is not known: for what has to act
// before a flow is measured.
func (p *port) line() uint64 {
	if p.Speed == 0 {
		return usualSpeed * 1e6
	}
	return uint64(p.Speed) * 1e6
}

// reachable reports whether both ends of the link have an address there that is known.
func (p *port) reachable() bool { return p.Neighbor.IsValid() && p.Self.IsValid() }

// from reports whether an address is the neighbor's.
func (p *port) from(a netip.Addr) bool {
	return p.Neighbor.IsValid() && (a == p.Neighbor || a.IsValid() && slices.Contains(p.Also[:], a))
}

// newSettings returns a configuration with its indexes of ports.
func newSettings(c *Config) *settings {
	s := &settings{Config: *c, members: map[sai.ObjectID]*port{}, indexes: map[uint32]*port{}}
	for _, p := range c.Ports {
		one := &port{Port: p, bucket: bucket{rate: c.ReceiveBySource}}
		for _, id := range p.Members {
			s.members[id] = one
		}
		if p.Index != 0 {
			s.indexes[p.Index] = one
		}
	}
	return s
}

// Messages returns the filter of received messages for a configuration.
func (c *Config) Messages() *packetio.MessageConfig {
	m := &packetio.MessageConfig{Codes: c.Codes, PFCMMark: c.Mark, PFCMRate: c.ReceiveBySource}
	if c.Ingress != nil {
		m.PPFCMark, m.PPFCPeers = c.Ingress.Mark, c.Ingress.Peers
		m.PPFCTo = [2]netip.Addr{c.Router4, c.Router6}
		m.PPFCRate, m.PPFCRateBySource = c.Ingress.Receive, c.Ingress.ReceiveBySource
	}
	for _, p := range c.Ports {
		for _, a := range append([]netip.Addr{p.Neighbor}, p.Also[:]...) {
			if p.Index != 0 && a.IsValid() {
				m.Senders = append(m.Senders, packetio.MessageSender{Port: p.Index, Addr: a})
			}
		}
	}
	return m
}

// bucket limits messages to its rate.
type bucket struct {
	rate Rate
	clock.Bucket
}

// take reports whether a message passes now (ns).
//
//conformance:draft-yang/copp
func (b *bucket) take(now int64) bool { return b.Take(b.rate, 1, now) == 1 }
