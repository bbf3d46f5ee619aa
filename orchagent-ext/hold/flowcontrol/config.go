// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"net/netip"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/hold/advisor"
	"sluice/orchagent-ext/hold/detector"
	"sluice/orchagent-ext/hold/gateway"
	"sluice/orchagent-ext/hold/holder"
	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/hold/source"
	"sluice/orchagent-ext/hold/upstream"
	"sluice/orchagent-ext/wire/notify"
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
type Rate = kernel.Rate

// The settings of the machines, and the state of the ports, as [Config] has them.
type (
	// Port is that of package kernel.
	Port = kernel.Port
	// Queue is that of package kernel.
	Queue = kernel.Queue
	// PPFC is that of package gateway.
	PPFC = gateway.PPFC
	// Gateway is that of package gateway.
	Gateway = gateway.Gateway
	// Ingress is that of package gateway.
	Ingress = gateway.Serving
	// Client is that of package gateway.
	Client = gateway.Client
	// Advice is that of package advisor.
	Advice = advisor.Settings
	// Source is that of package source.
	Source = source.Settings
)

// The messages of a gateway to its clients.
const (
	ClientNone       = gateway.ClientNone
	ClientRateAdvice = gateway.ClientRateAdvice
	ClientCNP        = gateway.ClientCNP
)

// Config has the operator's settings and the state of the ports. It is immutable once it
// was passed to [Task.Configure].
type Config struct {
	Generate  bool // PFCM is sent when a flow passes a threshold
	Obey      bool // received PFCM is obeyed
	Translate bool // a pause becomes PFC on border ports

	Encapsulation notify.Encapsulation // of sent messages; every form is received
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

	Router4, Router6 netip.Addr // router ids of this node; the zero value: there is none
	PPFC             *PPFC      // nil: gateways are not notified
	Advice           *Advice    // nil: senders are not advised
	Ingress          *Ingress   // nil: PPFC is not obeyed
	Source           *Source    // nil: the switch holds flows

	Ports  []Port
	Queues map[sai.ObjectID]Queue // that have a threshold
}

// Sends reports whether something is sent about flows that fill queues.
func (c *Config) Sends() bool {
	return c.Generate || c.PPFC != nil || c.Advice != nil || c.Translate && c.Obey
}

// settings is a configuration with its ports.
type settings struct {
	Config
	ports    *kernel.Ports
	upstream upstream.Settings
}

// newSettings returns a configuration with all memory that it needs: the thread allocates nothing.
func newSettings(c *Config) *settings {
	s := &settings{Config: *c, ports: kernel.NewPorts(c.Ports)}
	s.upstream = upstream.NewSettings(upstream.Settings{Obey: c.Obey, Mark: c.Mark, Receive: c.Receive}, s.ports, c.ReceiveBySource)
	return s
}

// format returns the form of messages.
func (s *settings) format() kernel.Format {
	return kernel.Format{Encapsulation: s.Encapsulation, Codes: s.Codes, Router4: s.Router4, Router6: s.Router6}
}

// detector returns the settings of the queues.
func (s *settings) detector() detector.Settings {
	return detector.Settings{Queues: s.Queues, Seed: s.Seed, Sends: s.Sends(), PFCM: s.Generate, Gateways: s.PPFC != nil, Advice: s.Advice != nil}
}

// holder returns the settings of holds, which e carries out.
func (s *settings) holder(e holder.Enforcer) holder.Settings {
	h := holder.Settings{Enforcer: e, PFCM: s.Obey, PPFC: s.Ingress != nil, HoldPair: s.HoldPair, PFCMLimit: s.HoldLimit}
	if s.Ingress != nil {
		h.PPFCLimit = s.Ingress.HoldLimit
	}
	return h
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
