// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"net/netip"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// Ingress has the settings of this node as the ingress gateway of sources (draft-xz).
type Ingress struct {
	Serves  []netip.Prefix // of sources
	Peers   []netip.Prefix // who may send PPFC
	Receive Rate

	// ReceiveBySource bounds the messages of each source address, in the kernel.
	ReceiveBySource Rate
	Client          Client
	Hosts           []netip.Prefix // clients that may get CNPs
	MinRate         uint32         // Mbit/s that a stopped client is told

	// a hold without resume is released after it, and its key ignored as long; 0: never
	HoldLimit time.Duration
	Mark      uint32 // that IPsec sets on received messages; 0: none is demanded
}

// Client is how a gateway passes a PPFC on to the client, the sender of the flow.
type Client uint8

// The ways.
const (
	ClientNone Client = iota
	ClientRateAdvice
	ClientCNP
)

// within reports whether an address is in one of the prefixes.
func within(prefixes []netip.Prefix, a netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// receivePPFC takes a PPFC that came in, or one that is bad.
//
//conformance:draft-xz/security draft-xz/map-qp
func (c *core) receivePPFC(now int64, m *packetio.Message) {
	c.counters.PPFCReceived++
	if bad, ok := m.Err.(*notify.Error); ok {
		c.counters.PPFCRefused[bad.Reason]++
		return
	}
	g, ppfc, e := c.settings.Ingress, &m.Packet.PPFC, &m.Packet.Envelope
	switch {
	case g == nil:
		c.counters.PPFCOff++
	case !enforce.MaySend(ppfc, e.Src, g.Peers):
		c.counters.PPFCSender++
	case e.Dst != c.settings.router(e.Dst):
		c.counters.PPFCRefused[notify.BadDestination]++
	case !within(g.Serves, ppfc.Source):
		c.counters.PPFCNotServed++
	case c.late(now, m.At, enforce.PPFCKey(ppfc, e.Src), enforce.OfPPFC(ppfc)):
		c.counters.PPFCLate++
	case !c.ingress.take(now):
		c.counters.PPFCReceivePoliced++
	default:
		c.counters.PPFCUnverified += unverified(m, g.Mark)
		k := enforce.PPFCKey(ppfc, e.Src)
		c.targets = c.targets[:0]
		at := target{sai.Null, sessionOf(ppfc.Source, ppfc.Destination, &ppfc.Flow)}
		// others have no ports
		if ppfc.Flow.Form != notify.Ports || ppfc.Flow.Protocol == protocolTCP || ppfc.Flow.Protocol == protocolUDP {
			c.targets = append(c.targets, enforce.Target[target]{Flow: at, Rate: c.rateOf(now, at)})
		}
		outcome := c.demand(now, m.At, k, enforce.OfPPFC(ppfc), about{ppfc.Source, ppfc.Destination})
		c.counters.PPFCOutcome[outcome]++
		switch outcome {
		case enforce.Full, enforce.Ignored:
			return
		case enforce.Held, enforce.Refreshed:
			c.await(&c.counters.PPFCObeyed)
		case enforce.Told, enforce.Ended:
			c.counters.PPFCObeyed++
		}
		s := session{rdma: ppfc.Flow.Form == notify.QPs, src: ppfc.Source, dst: ppfc.Destination, srcPort: ppfc.Flow.SrcPort,
			dstPort: ppfc.Flow.DstPort, srcQP: ppfc.Flow.SrcQP, dstQP: ppfc.Flow.DstQP, pkey: notify.DefaultPKey}
		if known := c.pairs.find(Pair{Src: s.src, Dst: s.dst, DestQP: s.dstQP}); s.rdma && known.seen {
			s.pkey, s.bits = known.pkey, known.bits
		}
		if c.settings.Source == nil { // else the hold is by the sender
			c.client(now, ppfc, &s)
		}
	}
}

// sessionOf returns the match of the flow of a PPFC, for packets by any port.
func sessionOf(src, dst netip.Addr, flow *notify.FlowIdentifier) sai.HoldMatch {
	h := sai.HoldMatch{Kind: sai.HoldPair, Src: src, Dst: dst}
	switch flow.Form {
	case notify.QPs:
		h.Kind, h.Value = sai.HoldSession, flow.DstQP
	case notify.Ports:
		h.Kind, h.Protocol, h.Value = sai.HoldTuple, flow.Protocol, uint32(flow.SrcPort)<<16|uint32(flow.DstPort)
	}
	return h
}

// client passes a PPFC on to the sender of the flow in RoCEv2 form.
//
// Decision: draft-xz leaves the rate of a stop open. A client is stopped by the least
// rate that may be advised, since 0 is no rate; hold repeats that; resume and alarm are
// silent: the last advice runs out.
//
//conformance:draft-xz/rocev2 draft-zz/near-source
func (c *core) client(now int64, m *notify.PPFC, s *session) {
	g := c.settings.Ingress
	if g == nil || g.Client == ClientNone || m.PT != notify.Stop && m.PT != notify.Hold || m.PauseDuration == 0 {
		return
	}
	if !s.rdma {
		c.counters.ClientQPUnknown++
		return
	}
	qp := c.sender(s)
	if copies := g.Client == ClientRateAdvice && c.settings.Advice != nil && c.settings.Advice.Copy; qp == 0 && !copies {
		c.counters.ClientQPUnknown++
		return
	}
	if g.Client == ClientRateAdvice {
		c.adviseClient(now, s, qp)
		return
	}
	if m.PT == notify.Hold {
		return // between the marks a CNP would slow it on
	}
	if !within(g.Hosts, s.src) {
		c.counters.CNPNotAllowed++
		return
	}
	if !c.sendClient.take(now) {
		c.counters.CNPPoliced++
		return
	}
	c.sendCNP(s, qp, c.settings.router(s.src))
}

// sendCNP sends a CNP to the queue pair that a session is sent from, and reports whether it was
// sent.
func (c *core) sendCNP(s *session, qp uint32, from netip.Addr) bool {
	c.cnp = notify.CNP{PKey: s.pkey, DestQP: qp}
	c.envelope = notify.DefaultEnvelope(notify.KindCNP)
	c.envelope.Src, c.envelope.Dst, c.envelope.SrcPort = from, s.src, s.srcPort
	if !from.IsValid() {
		c.counters.AdviceNoRouterID++
		return false
	}
	packet, err := c.cnp.AppendPacket(c.packet[:0], &c.envelope, c.settings.Codes)
	return c.route(packet, err, &c.counters.CNPSent, &c.counters.CNPFailed)
}

// adviseClient advises the sender of a session the least rate, where Rate Advice is on and the
// sender may receive it.
//
//conformance:draft-zz/remote draft-zz/capable
func (c *core) adviseClient(now int64, s *session, qp uint32) {
	a := c.settings.Advice
	if a == nil || !a.may(s) {
		c.counters.AdviceNotAllowed++
		return
	}
	if a.Copy {
		qp = s.dstQP
	}
	c.sendAdvice(now, s, qp, max(c.settings.Ingress.MinRate, 1), a.Receiver)
}
