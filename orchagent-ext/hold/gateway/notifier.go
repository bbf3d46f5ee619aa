// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/netip"
	"slices"
	"time"

	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/hold/requests"
	"sluice/orchagent-ext/wire/notify"
)

// PPFC has the settings of notifications to the ingress gateways of congested flows.
type PPFC struct {
	Transport notify.Transport
	Send      kernel.Rate
	ByQueue   bool      // Priority is the queue; otherwise the flow's DSCP
	Gateways  []Gateway // that serve the sources of a prefix; the longest prefix counts
}

// Gateway has the gateways that serve the sources of a prefix.
type Gateway struct {
	Prefix netip.Prefix
	Addrs  []netip.Addr // of their router ids, of the family of the prefix; this node's: served here
}

// of returns the router ids of the gateways that serve a source.
//
//conformance:draft-xz/gateways
func (p *PPFC) of(source netip.Addr) []netip.Addr {
	var best *Gateway
	for i := range p.Gateways {
		g := &p.Gateways[i]
		if g.Prefix.Contains(source) && (best == nil || g.Prefix.Bits() > best.Prefix.Bits()) {
			best = g
		}
	}
	if best == nil {
		return nil
	}
	return best.Addrs
}

// Request is the state of a flow towards its ingress gateway. The zero value is a flow before its first
// signal.
type Request struct {
	stopped bool // the last message to the gateway but alarms was a stop or hold
	request requests.Request
	counted bool // as a flow that lacks a gateway or router id
}

// Stopped reports whether the gateway was asked to stop the flow.
func (r *Request) Stopped() bool { return r.stopped }

// Clients passes messages on where this node is the gateway.
type Clients interface {
	Notify(now int64, pt notify.PT, us uint16, s kernel.Session)
}

// Notifier notifies the ingress gateways of congested flows.
type Notifier struct {
	k        *kernel.Kernel
	pairs    *kernel.Pairs
	clients  Clients
	settings *PPFC // nil: it is disabled
	rate     kernel.Bucket
	requests requests.Table
	message  notify.PPFC // that is being sent: a local one would escape to the heap

	Reaction histogram.Fine // ns from a mark passed to the PPFC sent
}

// NewNotifier returns a notifier with room for so many flows, disabled.
func NewNotifier(k *kernel.Kernel, pairs *kernel.Pairs, c Clients, room int) *Notifier {
	return &Notifier{k: k, pairs: pairs, clients: c, requests: requests.New(room)}
}

// Configure takes settings; nil disables it.
func (n *Notifier) Configure(p *PPFC) {
	if n.settings = p; p != nil {
		n.rate.Rate = p.Send
	}
}

// Open returns the number of keys by which gateways are asked.
func (n *Notifier) Open() int { return n.requests.Len() }

// Signal notifies the gateway of a flow. at is the time of the switch's event; 0 for a depth that was
// read.
//
//conformance:draft-xz/trigger
func (n *Notifier) Signal(now int64, f *kernel.Flow, r *Request, s congestion.Signal, at int64) {
	if n.settings != nil && f.Src.IsValid() && n.notify(now, f, r, s) && at != 0 && s == congestion.Stop {
		n.Reaction.Add(kernel.Elapsed(at, n.k.Clock()))
	}
}

// End ends the request for a flow.
func (n *Notifier) End(now int64, f *kernel.Flow, r *Request) {
	if r.stopped && n.settings != nil {
		n.notify(now, f, r, congestion.Resume)
	}
}

// Forget withdraws the request of a flow silently.
func (n *Notifier) Forget(r *Request) { n.requests.Withdraw(&r.request) }

// notify reports whether a PPFC was sent.
func (n *Notifier) notify(now int64, f *kernel.Flow, r *Request, s congestion.Signal) bool {
	pt, us, ok := f.Queue.Threshold.PPFC(s)
	if !ok || pt == notify.Resume && !r.stopped {
		return false
	}
	src, dst := hosts(f)
	gateways, router := n.settings.of(src), n.k.Out.Router(src)
	switch {
	case len(gateways) == 0:
		kernel.CountOnce(&r.counted, &n.k.Counters.NoGateway)
		return false
	case !router.IsValid():
		kernel.CountOnce(&r.counted, &n.k.Counters.NoRouterID)
		return false
	}
	n.write(f, pt, us, src, dst, router)
	r.stopped = pt == notify.Stop || pt == notify.Hold || pt == notify.Alarm && r.stopped
	if slices.Contains(gateways, router) { // served here
		n.clients.Notify(now, pt, us, f.Session)
		if len(gateways) == 1 {
			return false
		}
	}
	return n.send(now, r, gateways)
}

// write makes n.message about a flow.
func (n *Notifier) write(f *kernel.Flow, pt notify.PT, us uint16, src, dst, router netip.Addr) {
	n.message = notify.PPFC{
		Transport: n.settings.Transport, PT: pt, Priority: f.DSCP, PauseDuration: us, Source: src, Destination: dst,
		RouterID: router, CongestionQID: uint16(f.Queue.Number), Flow: n.identifier(&f.Session),
	}
	if n.settings.ByQueue {
		n.message.Priority = f.Queue.Number
	}
	if p := n.k.Ports.Of(f.Queue.Port); p != nil {
		n.message.CongestionPort = uint16(p.Index)
	}
}

// send sends n.message to other nodes, for as long as other flows ask by its key, and reports whether one of
// them was sent it.
func (n *Notifier) send(now int64, r *Request, gateways []netip.Addr) (sent bool) {
	m := &n.message
	k := enforce.PPFCKey(m, m.RouterID)
	k.Flow.SrcQP = 0 // it may be learned between two messages
	holds := m.PT == notify.Stop || m.PT == notify.Hold
	switch {
	case m.PT == notify.Resume:
		if n.requests.Withdraw(&r.request); n.requests.Of(k).Flows > 0 {
			return false
		}
	case holds:
		m.PauseDuration = n.requests.Others(&r.request, k).Time(now, m.PauseDuration)
	}
	for _, gateway := range gateways {
		switch {
		case gateway == m.RouterID: // served here
		case m.PT != notify.Resume && !n.rate.Allow(now):
			n.k.Counters.PPFCPoliced++
		case n.k.Out.PPFC(m, gateway):
			sent = true
		}
	}
	if holds && sent {
		n.requests.Add(&r.request, k, notify.Pause, now+int64(m.PauseDuration)*int64(time.Microsecond))
	}
	return sent
}

// identifier returns the identifier of a flow of the address pair: by its queue
// pairs; by protocol and ports for a packet outside RDMA sessions; all flows of the pair
// for a packet that lacks ports.
//
//conformance:draft-xz/flow-id draft-xz/tcp-quic
func (n *Notifier) identifier(s *kernel.Session) notify.FlowIdentifier {
	switch {
	case s.Protocol == 0:
		return notify.FlowIdentifier{Form: notify.AllFlows}
	case !s.RDMA:
		return notify.FlowIdentifier{Form: notify.Ports, Protocol: s.Protocol, SrcPort: s.SrcPort, DstPort: s.DstPort}
	}
	return notify.FlowIdentifier{Form: notify.QPs, Protocol: kernel.ProtocolUDP, SrcPort: s.SrcPort, DstPort: s.DstPort, SrcQP: n.pairs.Sender(s), DstQP: s.DstQP}
}
