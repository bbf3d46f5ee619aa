// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"net/netip"

	"sluice/orchagent-ext/congestion"
	"sluice/orchagent-ext/notify"
	"sluice/orchagent-ext/roce"
)

// PPFC is how the ingress gateways of congested flows are told (draft-xz).
type PPFC struct {
	Transport notify.Transport
	ByQueue   bool      // Priority is the queue; otherwise the flow's DSCP
	Gateways  []Gateway // which gateway serves the sources of a prefix; the longest prefix counts
}

// Gateway serves the sources of a prefix.
type Gateway struct {
	Prefix netip.Prefix
	Addr   netip.Addr // of its router id; our own: served here
}

// session is what a packet of a congested flow says of it.
type session struct {
	rdma             bool       // the rest is known
	src, dst         netip.Addr // of the innermost IP header: the hosts
	srcPort, dstPort uint16
	srcQP, dstQP     uint32 // srcQP 0: not known
	pkey             uint16
	bits             uint8 // of BTH octet 4, the low 6
}

// readSession reads the head of a packet from its IP header on; what is behind it is cut off.
func (c *core) readSession(head []byte) (s session, dscp uint8) {
	p := &c.head
	length := 0
	switch {
	case head[0]>>4 == 6 && len(head) >= 40:
		length = 40 + int(head[4])<<8 + int(head[5])
		dscp = (head[0]<<4 | head[1]>>4) >> 2
	case head[0]>>4 == 4 && len(head) >= 20:
		length = int(head[2])<<8 + int(head[3])
		dscp = head[1] >> 2
	}
	if p.ParseIP(head, max(length, len(head))) != nil {
		return session{}, dscp
	}
	bth := p.BTH()
	s = session{rdma: true, src: p.Src(), dst: p.Dst(), srcPort: p.SrcPort(), dstPort: roce.UDPPort, dstQP: bth.DestQP, pkey: bth.PKey, bits: bth.Resv6}
	if deth, ok := p.DETH(); ok {
		s.srcQP = deth.SrcQP
	}
	return s, dscp
}

// sender is the queue pair that the flow is sent from; 0: it was not learned.
func (c *core) sender(s *session) uint32 {
	if s.srcQP == 0 && s.rdma {
		s.srcQP = c.pairs.find(Pair{Src: s.src, Dst: s.dst, DestQP: s.dstQP})
	}
	return s.srcQP
}

// router is our own address of the family of another one; the zero value: there is none.
func (s *settings) router(of netip.Addr) netip.Addr {
	if of.Is4() {
		return s.Router4
	}
	return s.Router6
}

// gateway is the router id of the gateway that serves a source.
func (p *PPFC) gateway(source netip.Addr) netip.Addr {
	var best Gateway
	for _, g := range p.Gateways {
		if g.Prefix.Contains(source) && (!best.Addr.IsValid() || g.Prefix.Bits() > best.Prefix.Bits()) {
			best = g
		}
	}
	return best.Addr
}

// tellSource tells those at the source of a flow: its ingress gateway, by PPFC, and its
// sender, by Rate Advice. at is when the switch noticed; 0: it was read.
func (c *core) tellSource(now int64, f *congested, s congestion.Signal, at int64) {
	if c.settings.PPFC != nil && f.src.IsValid() && c.tellGateway(now, f, s) && at != 0 && s == congestion.Stop {
		c.ppfcReaction.Add(durationOf(c.clock() - at))
	}
	if c.settings.Advice != nil && (s == congestion.Stop || s == congestion.Alarm) {
		c.beginAdvice(now, f)
	}
}

// tellGateway reports whether a PPFC was sent.
func (c *core) tellGateway(now int64, f *congested, s congestion.Signal) bool {
	pt, us, ok := f.q.Threshold.PPFC(s)
	if !ok || pt == notify.Resume && !f.gatewayTold {
		return false
	}
	gateway := c.settings.PPFC.gateway(f.src)
	router := c.settings.router(f.src)
	switch {
	case !gateway.IsValid() || gateway.Is4() != f.src.Is4():
		count(&f.noGateway, &c.counters.NoGateway)
		return false
	case !router.IsValid():
		count(&f.noGateway, &c.counters.NoRouterID)
		return false
	}
	m := &c.ppfc
	*m = notify.PPFC{
		Transport: c.settings.PPFC.Transport, PT: pt, Priority: f.dscp, PauseDuration: us, Source: f.src, Destination: f.dst,
		RouterID: router, CongestionQID: uint16(f.q.Number), Flow: c.flowIdentifier(&f.session),
	}
	if c.settings.PPFC.ByQueue {
		m.Priority = f.q.Number
	}
	if p := c.settings.members[f.q.Port]; p != nil {
		m.CongestionPort = uint16(p.Index)
	}
	f.gatewayTold = pt == notify.Stop || pt == notify.Hold || pt == notify.Alarm && f.gatewayTold
	if gateway == router { // served here
		c.client(now, m, &f.session)
		return false
	}
	if !c.send.take(now) {
		c.counters.PPFCPoliced++
		return false
	}
	c.envelope = notify.DefaultEnvelope(notify.KindPPFC)
	c.envelope.Src, c.envelope.Dst = router, gateway
	packet, err := m.AppendPacket(c.packet[:0], &c.envelope, c.settings.Codes)
	return c.route(packet, err, &c.counters.PPFCSent, &c.counters.PPFCFailed)
}

// route sends a packet as the routes say, and counts it.
func (c *core) route(packet []byte, err error, sent, failed *uint64) bool {
	if err == nil {
		err = c.out.Route(packet)
	}
	if err != nil {
		*failed++
		return false
	}
	*sent++
	return true
}

// flowIdentifier says which flow of the address pair is meant: by its queue pairs, or all
// where the packet is of no RDMA session.
func (c *core) flowIdentifier(s *session) notify.FlowIdentifier {
	if !s.rdma {
		return notify.FlowIdentifier{Form: notify.AllFlows}
	}
	return notify.FlowIdentifier{Form: notify.QPs, Protocol: protocolUDP, SrcPort: s.srcPort, DstPort: s.dstPort, SrcQP: c.sender(s), DstQP: s.dstQP}
}

const protocolUDP = 17

// count counts something about a flow once.
func count(once *bool, counter *uint64) {
	if !*once {
		*once = true
		*counter++
	}
}

// endSource ends what the source of a flow was told.
func (c *core) endSource(now int64, f *congested) {
	if f.gatewayTold && c.settings.PPFC != nil {
		c.tellGateway(now, f, congestion.Resume)
	}
	c.endAdvice(f)
}
