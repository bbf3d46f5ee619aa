// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"errors"

	"sluice/orchagent-ext/cli/capture/link"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	"sluice/orchagent-ext/wire/sflow"
)

// Parse parses the frame into p, as far as look allows. Link types that package link cannot read
// count as not RoCEv2, with their number as reason.
func (f *Frame) Parse(p *roce.Packet, look roce.Look) error {
	at, etherType := link.Start(f.Link, f.Data)
	if etherType == link.None {
		return p.NotParsed(roce.OtherLink, uint16(f.Link))
	}
	return p.ParseFrom(look, f.Data, at, etherType, f.Length)
}

// ParseNotification parses the frame into n for the notifications. p is the result of Parse on
// the same frame, which has found the IP header.
func (f *Frame) ParseNotification(n *notify.Packet, p *roce.Packet, c notify.CodePoints) error {
	const tagged = 14 + 2*4 // Ethernet, with the tags that notify reads
	at, found := p.IPHeader()
	switch {
	case f.Link == link.Ethernet && (!found || at <= tagged):
		return n.Parse(f.Data, c)
	case !found || p.Copied() || at > len(f.Data):
		return notify.ErrNotNotification
	}
	return n.ParseIP(f.Data[at:], c)
}

// Samples is the packets that a datagram of sFlow brought.
type Samples struct {
	carrier  *Frame
	datagram sflow.Datagram
}

// Samples returns the packets of the datagram of sFlow in the frame. p is the result of Parse on
// the frame, and err its error. ok is false where the frame is another one.
func (f *Frame) Samples(p *roce.Packet, err error) (all Samples, ok bool) {
	if !errors.Is(err, roce.ErrNotRoCE) || p.Other() != SFlow {
		return Samples{}, false
	}
	d, err := sflow.Parse(p.Datagram())
	return Samples{f, d}, err == nil // else another protocol has its port
}

// SFlow is the kind of the frames that can be datagrams of sFlow.
var SFlow = roce.Other{Kind: roce.OtherPort, Value: sflow.UDPPort}

// Next reads the next packet into f: a frame of its own, with the number and the time of the one
// that carries it. It is valid as long as that.
func (s *Samples) Next(f *Frame) bool {
	*f = *s.carrier
	if !s.datagram.Next(&f.Sample) {
		return false
	}
	f.carrier = s.carrier
	f.Link, f.Data, f.Length = sampled(f.Sample.Protocol), f.Sample.Header, f.Sample.Length
	f.Index = int(f.Sample.Source)
	return true
}

// Carrier returns the frame of the file that f is, or is a sample of.
func (f *Frame) Carrier() *Frame {
	if f.carrier != nil {
		return f.carrier
	}
	return f
}

// Part reports whether others passed with the frame that the capture lacks.
func (f *Frame) Part() bool { return f.Sample.Rate > 1 }

// unknownLink is a number that no link type of a capture has.
const unknownLink link.Type = 0xffff

// sampled returns the link type of a header that sFlow has.
func sampled(p sflow.Protocol) link.Type {
	switch p {
	case sflow.Ethernet:
		return link.Ethernet
	case sflow.PPP:
		return link.PPP
	case sflow.IPv4, sflow.IPv6:
		return link.Raw
	case sflow.MPLS:
		return link.MPLS
	case sflow.WiFi:
		return link.WiFi
	}
	return unknownLink
}
