// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/netip"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/hold/holder"
	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// Serving has the settings of this node as the ingress gateway of sources.
type Serving struct {
	Serves  []netip.Prefix // of sources
	Peers   []netip.Prefix // who may send PPFC
	Receive kernel.Rate

	// ReceiveBySource bounds the messages of each source address, in the kernel.
	ReceiveBySource kernel.Rate
	Client          Client
	Hosts           []netip.Prefix // clients that may get CNPs
	MinRate         uint32         // Mbit/s, the advice to a stopped client

	// time after which a hold is released unless resumed, and for which its key is ignored; 0: unlimited
	HoldLimit time.Duration
	Mark      uint32 // that IPsec sets on received messages; 0: any
}

// Client is how a gateway passes a PPFC on to the client, the sender of the flow.
type Client uint8

// The messages to clients.
const (
	ClientNone Client = iota
	ClientRateAdvice
	ClientCNP
)

// Holder carries out demands.
type Holder interface {
	Late(now int64, d holder.Demand) bool
	Receive(now int64, d holder.Demand) enforce.Outcome
	CountObeyed(kind notify.Kind)
}

// Advisor advises the sender of a session of a rate in Mbit/s, where it may receive that.
type Advisor interface {
	AdviseClient(now int64, s kernel.Session, qp, rate uint32)
	// NamesReceiver reports whether advice has the queue pair of the data packet, so that it is
	// sent before the sender's is known.
	NamesReceiver() bool
}

// Ingress is this node as an ingress gateway.
type Ingress struct {
	k        *kernel.Kernel
	pairs    *kernel.Pairs
	holder   Holder
	advisor  Advisor
	settings *Serving // nil: PPFC is ignored
	clients  bool     // messages are passed on: the holds are by the switch
	rate     kernel.Bucket
}

// NewIngress returns a gateway, disabled.
func NewIngress(k *kernel.Kernel, pairs *kernel.Pairs, h Holder, a Advisor) *Ingress {
	return &Ingress{k: k, pairs: pairs, holder: h, advisor: a}
}

// Configure takes settings; nil: PPFC is ignored. clients: received messages are passed on to the senders
// of their flows.
func (g *Ingress) Configure(s *Serving, clients bool) {
	if g.settings, g.clients = s, clients; s != nil {
		g.rate.Rate = s.Receive
	}
}

// IsPPFC reports whether a message is a PPFC, or a bad one.
func IsPPFC(m *packetio.Message) bool {
	bad, ok := m.Err.(*notify.Error)
	return m.Packet.Kind == notify.KindPPFC || ok && bad.Kind == notify.KindPPFC
}

// Receive takes a PPFC that came in, or one that is bad.
//
//conformance:draft-xz/security draft-xz/map-qp
func (g *Ingress) Receive(now int64, m *packetio.Message) {
	c := &g.k.Counters
	c.PPFCReceived++
	if bad, ok := m.Err.(*notify.Error); ok {
		c.PPFCRefused[bad.Reason]++
		return
	}
	s, ppfc, e := g.settings, &m.Packet.PPFC, &m.Packet.Envelope
	switch {
	case s == nil:
		c.PPFCOff++
		return
	case !enforce.MaySend(ppfc, e.Src, s.Peers):
		c.PPFCSender++
		return
	case e.Dst != g.k.Out.Router(e.Dst):
		c.PPFCRefused[notify.BadDestination]++
		return
	case !kernel.Within(s.Serves, ppfc.Source):
		c.PPFCNotServed++
		return
	}
	d := demandOf(ppfc, e.Src, m.At)
	switch {
	case g.holder.Late(now, d):
		c.PPFCLate++
	case !g.rate.Allow(now):
		c.PPFCReceivePoliced++
	default:
		if m.Packet.AH && s.Mark == 0 {
			c.PPFCUnverified++ // as package upstream has it
		}
		g.obey(now, d, ppfc)
	}
}

// demandOf returns the demand of a PPFC: it is about packets that leave by any port.
func demandOf(m *notify.PPFC, from netip.Addr, at int64) holder.Demand {
	return holder.Demand{
		Demand: enforce.OfPPFC(m), Key: enforce.PPFCKey(m, from), At: at,
		About: kernel.Addresses{Src: m.Source, Dst: m.Destination},
		Match: holder.SessionMatch(m.Source, m.Destination, &m.Flow),
		// others lack ports
		Unknown: m.Flow.Form == notify.Ports && m.Flow.Protocol != kernel.ProtocolTCP && m.Flow.Protocol != kernel.ProtocolUDP,
	}
}

// obey begins or ends a hold, and passes the message on to the client.
func (g *Ingress) obey(now int64, d holder.Demand, m *notify.PPFC) {
	outcome := g.holder.Receive(now, d)
	g.k.Counters.PPFCOutcome[outcome]++
	switch outcome {
	case enforce.Full, enforce.Ignored:
		return
	case enforce.Held, enforce.Refreshed:
		g.holder.CountObeyed(notify.KindPPFC)
	case enforce.Noted, enforce.Ended:
		g.k.Counters.PPFCObeyed++
	}
	if g.clients && (d.Verb != enforce.End || outcome == enforce.Ended) {
		g.notifyAll(now, m)
	}
}

// notifyAll passes a PPFC on to the sender of its flow, or to those of all known queue pairs that share
// its 5-tuple.
//
//conformance:draft-xz/map-qp
func (g *Ingress) notifyAll(now int64, m *notify.PPFC) {
	id := &m.Flow
	if id.Form == notify.Ports && id.Protocol == kernel.ProtocolUDP && id.DstPort == roce.UDPPort {
		pass := func(s kernel.Session) { g.Notify(now, m.PT, m.PauseDuration, s) }
		if g.pairs.OfConnection(m.Source, m.Destination, id.SrcPort, pass) > 0 {
			return
		}
	}
	s := kernel.Session{RDMA: id.Form == notify.QPs, Src: m.Source, Dst: m.Destination, SrcPort: id.SrcPort,
		DstPort: id.DstPort, SrcQP: id.SrcQP, DstQP: id.DstQP, PKey: notify.DefaultPKey}
	if known := g.pairs.Find(s.Pair()); s.RDMA && known.Seen {
		s.PKey, s.Bits = known.PKey, known.Bits
	}
	g.Notify(now, m.PT, m.PauseDuration, s)
}

// Notify passes a PPFC (its type and pause duration in µs) on to the sender of the flow in RoCEv2 form.
//
// Decision: draft-xz leaves the rate of a stop open. A client is stopped by the least
// rate that may be advised, since 0 is no rate; hold repeats that; a resume advises the
// speed of the fastest port, which no sender exceeds, or that of policies. A CNP has no end.
// An alarm is silent.
//
//conformance:draft-xz/rocev2 draft-xz/client-resume draft-zz/near-source
func (g *Ingress) Notify(now int64, pt notify.PT, us uint16, s kernel.Session) {
	to := g.settings
	if to == nil || to.Client == ClientNone || pt == notify.Alarm {
		return
	}
	ends, rate := pt == notify.Resume || us == 0, max(to.MinRate, 1)
	if ends {
		rate = g.k.Ports.Fastest()
	}
	qp := g.pairs.Sender(&s)
	switch c := &g.k.Counters; {
	case ends && to.Client != ClientRateAdvice:
	case !s.RDMA, qp == 0 && (to.Client != ClientRateAdvice || !g.advisor.NamesReceiver()):
		c.ClientQPUnknown++
	case to.Client == ClientRateAdvice:
		g.advisor.AdviseClient(now, s, qp, rate)
	case pt == notify.Hold: // between the marks a CNP would slow it on
	case !kernel.Within(to.Hosts, s.Src):
		c.CNPNotAllowed++
	case !g.k.Out.AllowClient(now):
		c.CNPPoliced++
	default:
		g.k.Out.CNP(&s, qp, g.k.Out.Router(s.Src))
	}
}
