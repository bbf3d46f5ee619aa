// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"encoding/binary"
	"net/netip"
	"time"

	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	sai "sluice/sai-shim"
)

// PPFC has the settings of notifications to the ingress gateways of congested flows
// (draft-xz).
type PPFC struct {
	Transport notify.Transport
	Send      Rate
	ByQueue   bool      // Priority is the queue; otherwise the flow's DSCP
	Gateways  []Gateway // which gateway serves the sources of a prefix; the longest prefix counts
}

// Gateway serves the sources of a prefix.
type Gateway struct {
	Prefix netip.Prefix
	Addr   netip.Addr // of its router id; our own: served here
}

// session has the header fields of a congested flow's innermost packet, which tunnels and
// segment routing leave as its sender made it.
type session struct {
	rdma             bool       // it is RoCEv2
	protocol         uint8      // TCP or UDP; 0: neither, and it has no ports
	src, dst         netip.Addr // the hosts
	srcPort, dstPort uint16
	srcQP, dstQP     uint32 // srcQP 0: not known
	pkey             uint16
	bits             uint8 // of BTH octet 4, the low 6
}

// readSession returns the session of an event's packet, and the DSCP that it leaves with.
// A library of version 2 lacks sessions: there it is read from the head of the packet.
func (c *core) readSession(e *sai.FlowEvent, head []byte) (s session, dscp uint8) {
	length, next, at := 0, uint8(0), 0
	switch {
	case head[0]>>4 == 6 && len(head) >= 40:
		length, next, at = 40+int(head[4])<<8+int(head[5]), head[6], 40
		dscp = (head[0]<<4 | head[1]>>4) >> 2
		s.src, s.dst = netip.AddrFrom16([16]byte(head[8:24])), netip.AddrFrom16([16]byte(head[24:40]))
	case head[0]>>4 == 4 && len(head) >= 20:
		length, next, at = int(head[2])<<8+int(head[3]), head[9], int(head[0]&0xf)*4
		dscp = head[1] >> 2
		s.src, s.dst = netip.AddrFrom4([4]byte(head[12:16])), netip.AddrFrom4([4]byte(head[16:20]))
	}
	if from := &e.Session; from.Protocol != 0 {
		return session{
			rdma: from.RoCEv2, protocol: from.Protocol, src: from.Src.Addr(), dst: from.Dst.Addr(), srcPort: from.SrcPort, dstPort: from.DstPort,
			srcQP: from.SrcQP, dstQP: from.DestQP, pkey: from.PKey, bits: from.BTHOctet & 0x3f,
		}, dscp
	}
	p := &c.head
	if p.ParseIP(head, max(length, len(head))) == nil {
		bth := p.BTH()
		s = session{rdma: true, protocol: protocolUDP, src: p.Src(), dst: p.Dst(), srcPort: p.SrcPort(), dstPort: roce.UDPPort, dstQP: bth.DestQP, pkey: bth.PKey, bits: bth.Resv6}
		if deth, ok := p.DETH(); ok {
			s.srcQP = deth.SrcQP
		}
	} else if (next == protocolUDP || next == protocolTCP) && len(head) >= at+4 {
		s.protocol, s.srcPort, s.dstPort = next, binary.BigEndian.Uint16(head[at:]), binary.BigEndian.Uint16(head[at+2:])
	}
	return s, dscp
}

// sender returns the queue pair that the flow is sent from; 0: it was not learned.
func (c *core) sender(s *session) uint32 {
	if s.srcQP == 0 && s.rdma {
		s.srcQP = c.pairs.find(Pair{Src: s.src, Dst: s.dst, DestQP: s.dstQP}).qp
	}
	return s.srcQP
}

// router returns this node's address of the family of another one, or the zero value.
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

// tellSource notifies the source side of a flow: its ingress gateway, by PPFC, and its
// sender, by Rate Advice. at is the time of the switch's event; 0 for a depth that was
// read.
func (c *core) tellSource(now int64, f *congested, s congestion.Signal, at int64) {
	if c.settings.PPFC != nil && f.src.IsValid() && c.tellGateway(now, f, s) && at != 0 && s == congestion.Stop {
		c.ppfcReaction.Add(elapsed(at, c.clock()))
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
	src, dst := f.hosts()
	gateway := c.settings.PPFC.gateway(src)
	router := c.settings.router(src)
	switch {
	case !gateway.IsValid() || gateway.Is4() != src.Is4():
		count(&f.noGateway, &c.counters.NoGateway)
		return false
	case !router.IsValid():
		count(&f.noGateway, &c.counters.NoRouterID)
		return false
	}
	m := &c.ppfc
	*m = notify.PPFC{
		Transport: c.settings.PPFC.Transport, PT: pt, Priority: f.dscp, PauseDuration: us, Source: src, Destination: dst,
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
	k := enforce.PPFCKey(m, router)
	k.Flow.SrcQP = 0 // it may be learned between two messages
	asks := pt == notify.Stop || pt == notify.Hold
	switch {
	case pt == notify.Resume:
		if c.withdraw(&f.stop); c.asked[k].flows > 0 {
			return false
		}
	case !c.sendPPFC.take(now):
		c.counters.PPFCPoliced++
		return false
	case asks:
		m.PauseDuration = c.others(&f.stop, k).time(now, us)
	}
	c.envelope = notify.DefaultEnvelope(notify.KindPPFC)
	c.envelope.Src, c.envelope.Dst = router, gateway
	packet, err := m.AppendPacket(c.packet[:0], &c.envelope, c.settings.Codes)
	sent := c.route(packet, err, &c.counters.PPFCSent, &c.counters.PPFCFailed)
	if sent && asks {
		c.ask(&f.stop, k, notify.Pause, now+int64(m.PauseDuration)*int64(time.Microsecond))
	}
	return sent
}

// route sends a packet by the kernel's routes, and counts it.
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

// hosts are the addresses that a PPFC names a flow by: those of its session; those of the
// packet as it arrives where it has no session, or where this node shifted its destination.
func (f *congested) hosts() (src, dst netip.Addr) {
	if f.session.protocol == 0 || f.session.src == f.src && f.session.dst == f.leaves.dst && isShifted(f.dst, f.leaves.dst) {
		return f.src, f.dst
	}
	return f.session.src, f.session.dst
}

// maxSegment is the length of the longest compressed segment, in octets.
const maxSegment = 4

// isShifted reports whether an endpoint makes the second address of the first by the flavor
// NEXT-C-SID (RFC 9800 section 4.1): it takes the segment behind the block away, and moves
// up what follows. Such a packet needs no routing header: its final destination is not in it.
func isShifted(carrier, shifted netip.Addr) bool {
	if carrier == shifted || !carrier.Is6() || !shifted.Is6() {
		return false
	}
	from, to := carrier.As16(), shifted.As16()
	for n := 1; n <= maxSegment; n++ {
		var next [16]byte
		for block := 1; block <= len(from)-n; block++ {
			copy(next[:], from[:block])
			copy(next[block:], from[block+n:])
			clear(next[len(next)-n:])
			if next == to {
				return true
			}
		}
	}
	return false
}

// flowIdentifier returns the identifier of a flow of the address pair: by its queue
// pairs; by protocol and ports for a packet outside RDMA sessions; for a packet without
// ports it names all flows of the pair.
//
//conformance:draft-xz/flow-id
func (c *core) flowIdentifier(s *session) notify.FlowIdentifier {
	switch {
	case s.protocol == 0:
		return notify.FlowIdentifier{Form: notify.AllFlows}
	case !s.rdma:
		return notify.FlowIdentifier{Form: notify.Ports, Protocol: s.protocol, SrcPort: s.srcPort, DstPort: s.dstPort}
	}
	return notify.FlowIdentifier{Form: notify.QPs, Protocol: protocolUDP, SrcPort: s.srcPort, DstPort: s.dstPort, SrcQP: c.sender(s), DstQP: s.dstQP}
}

// IP protocol numbers of transports with ports.
const (
	protocolTCP = 6
	protocolUDP = 17
)

// count counts something about a flow once.
func count(once *bool, counter *uint64) {
	if !*once {
		*once = true
		*counter++
	}
}

// endSource ends the notifications to the source of a flow.
func (c *core) endSource(now int64, f *congested) {
	if f.gatewayTold && c.settings.PPFC != nil {
		c.tellGateway(now, f, congestion.Resume)
	}
	c.endAdvice(f)
}
