// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"net/netip"

	"sluice/orchagent-ext/wire/notify"
)

// Sender sends frames and packets. It is free of allocations.
type Sender interface {
	// Send sends an IPv6 packet out of a port to a link-local address.
	Send(port uint32, to netip.Addr, packet []byte) error
	// SendFrame sends an Ethernet frame out of a port.
	SendFrame(port uint32, frame []byte) error
	// Route sends an IP packet by the kernel's routes.
	Route(packet []byte) error
}

// maxMessage is the room for a message in octets: the longest has 130.
const maxMessage = 256

// Format has the form of messages that go out, and this node's addresses in them.
type Format struct {
	Encapsulation    notify.Encapsulation // of PFCM
	Codes            notify.CodePoints
	Router4, Router6 netip.Addr // router ids; the zero value: there is none
}

// Router returns this node's router id of the family of an address, or the zero value.
func (f *Format) Router(of netip.Addr) netip.Addr {
	if of.Is4() {
		return f.Router4
	}
	return f.Router6
}

// Outbox writes and sends messages, within the rates of their kinds, and counts them. A caller asks for
// the rate ([Outbox.AllowPFCM], [Outbox.AllowClient]) where a message asks for a hold: the end of one is
// always sent.
type Outbox struct {
	Format
	Sender

	pfcmRate   Bucket
	clientRate Bucket // of Rate Advice and CNP together
	counters   *Counters

	// The message that is being sent: local ones would escape to the heap.
	packet   []byte
	envelope notify.Envelope
	pfc      notify.PFC
}

// Configure sets the form of messages, and the rates of PFCM and of messages to senders of flows.
func (o *Outbox) Configure(f Format, pfcm, client Rate) {
	o.Format, o.pfcmRate.Rate, o.clientRate.Rate = f, pfcm, client
}

// AllowPFCM reports whether the rate lets a PFCM pass now, and counts one that it does not.
func (o *Outbox) AllowPFCM(now int64) bool {
	if o.pfcmRate.Allow(now) {
		return true
	}
	o.counters.TxPoliced++
	return false
}

// AllowClient reports whether the rate lets a message to the sender of a flow pass now.
func (o *Outbox) AllowClient(now int64) bool { return o.clientRate.Allow(now) }

// PFCM sends a PFCM to the neighbor at a port, and reports whether it was sent. Its encapsulation is
// that of the format.
func (o *Outbox) PFCM(p *Port, m notify.PFCM) bool {
	m.Encapsulation = o.Encapsulation
	o.envelope = notify.DefaultEnvelope(notify.KindPFCM)
	o.envelope.Src, o.envelope.Dst = p.Self, p.Neighbor
	packet, err := m.AppendPacket(o.packet[:0], &o.envelope, o.Codes)
	if err == nil {
		err = o.Send(p.Index, p.Neighbor, packet)
	}
	return count(err, &o.counters.Sent, &o.counters.SendFailed)
}

// PFC sends a PFC frame out of a port.
func (o *Outbox) PFC(p *Port, m *notify.PFC) {
	o.pfc = *m
	o.envelope = notify.Envelope{SrcMAC: p.MAC}
	frame, err := notify.AppendFrame(o.packet[:0], &o.pfc, &o.envelope, o.Codes)
	if err == nil {
		err = o.SendFrame(p.Index, frame)
	}
	count(err, &o.counters.PFCSent, &o.counters.PFCFailed)
}

// PPFC sends a PPFC to a gateway, from the router id in it, and reports whether it was sent.
func (o *Outbox) PPFC(m *notify.PPFC, gateway netip.Addr) bool {
	o.envelope = notify.DefaultEnvelope(notify.KindPPFC)
	o.envelope.Src, o.envelope.Dst = m.RouterID, gateway
	packet, err := m.AppendPacket(o.packet[:0], &o.envelope, o.Codes)
	return o.route(packet, err, &o.counters.PPFCSent, &o.counters.PPFCFailed)
}

// Advice advises the sender of a session, whose queue pair is qp, of a rate in Mbit/s. The message has
// the router id as IP source, or the session's receiver.
//
//conformance:draft-zz/dest-qp draft-zz/src-qp
func (o *Outbox) Advice(now int64, s *Session, qp, rate uint32, asReceiver bool) {
	m := notify.RateAdvice{PKey: s.PKey, DestQP: qp, Rate: rate, Version: notify.RateAdviceVersion, DestinationQP: qp, SourceQP: s.DstQP}
	o.envelope = notify.DefaultEnvelope(notify.KindRateAdvice)
	o.envelope.Src, o.envelope.Dst, o.envelope.SrcPort = o.Router(s.Src), s.Src, s.SrcPort
	if asReceiver {
		o.envelope.Src = s.Dst
	}
	if !o.envelope.Src.IsValid() {
		o.counters.AdviceNoRouterID++
		return
	}
	if !o.AllowClient(now) {
		o.counters.AdvicePoliced++
		return
	}
	packet, err := m.AppendPacket(o.packet[:0], &o.envelope, o.Codes)
	o.route(packet, err, &o.counters.AdviceSent, &o.counters.AdviceFailed)
}

// CNP sends a CNP to the queue pair qp that a session is sent from, and reports whether it was sent.
func (o *Outbox) CNP(s *Session, qp uint32, from netip.Addr) bool {
	m := notify.CNP{PKey: s.PKey, DestQP: qp}
	o.envelope = notify.DefaultEnvelope(notify.KindCNP)
	o.envelope.Src, o.envelope.Dst, o.envelope.SrcPort = from, s.Src, s.SrcPort
	if !from.IsValid() {
		o.counters.AdviceNoRouterID++
		return false
	}
	packet, err := m.AppendPacket(o.packet[:0], &o.envelope, o.Codes)
	return o.route(packet, err, &o.counters.CNPSent, &o.counters.CNPFailed)
}

// route sends a packet by the kernel's routes, unless it could not be written, and counts it.
func (o *Outbox) route(packet []byte, err error, sent, failed *uint64) bool {
	if err == nil {
		err = o.Route(packet)
	}
	return count(err, sent, failed)
}

// count counts a message, and reports whether it was sent.
func count(err error, sent, failed *uint64) bool {
	if err != nil {
		*failed++
		return false
	}
	*sent++
	return true
}
