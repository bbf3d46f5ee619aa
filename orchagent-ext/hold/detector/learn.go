// SPDX-License-Identifier: Apache-2.0

package detector

import (
	"encoding/binary"
	"net/netip"

	names "sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/wire/roce"
	sai "sluice/sai-shim"
)

// learn takes from an event the port that the flow comes from, and the header that the
// neighbor sends: the outermost IP header as it arrived. Its session is that of the
// innermost RoCEv2 packet.
//
//conformance:draft-yang/addresses
func (d *Detector) learn(now int64, f *flow, e *sai.FlowEvent) {
	head := e.Head[:min(int(e.Length), len(e.Head))]
	a := &e.Arrival
	if len(head) == 0 || f.Nameless == kernel.Named && (!a.Known || f.In == e.InPort && f.arrivedAs(d.settings.Seed, a)) {
		return
	}
	if f.neighbor.Open() && f.Nameless == kernel.Named && a.Known && !f.arrivedAs(d.settings.Seed, a) {
		d.neighbors.Cancel(now, &f.Flow, &f.neighbor) // its sender has taken another label, or another path
	}
	f.In = e.InPort
	f.Session, f.DSCP = d.readSession(e, head)
	f.leave(d.settings.Seed, head)
	switch {
	case !a.Known:
		f.Src, f.Dst = f.Leaves.Src, f.Leaves.Dst
		if f.Nameless = kernel.IsRelabelled; !f.Src.IsValid() || e.InPort == sai.Null {
			f.Nameless = kernel.IsUnreadable
		}
		return
	case e.InPort == sai.Null:
		f.Nameless = kernel.IsUnreadable
		return
	}
	f.Src, f.Dst, f.DSCP = a.Src.Addr(), a.Dst.Addr(), a.TrafficClass>>2
	if f.Src.Is4() {
		f.Nameless = kernel.IsIPv4
		return
	}
	f.Stream, f.Nameless = names.HashStreamID(d.settings.Seed, f.Src.As16(), f.Dst.As16(), a.FlowLabel), kernel.Named
	if f.State.Congested() && !f.neighbor.Open() {
		f.neighbor.Recount()
		f.State.Retry() // the last signal could be sent to no neighbor
	}
}

// arrivedAs reports whether the flow is known as it arrived now.
func (f *flow) arrivedAs(seed uint32, a *sai.Arrival) bool {
	src, dst := a.Src.Addr(), a.Dst.Addr()
	return f.Src == src && f.Dst == dst && (src.Is4() || f.Stream == names.HashStreamID(seed, src.As16(), dst.As16(), a.FlowLabel))
}

// leave takes the outermost header as it leaves.
func (f *flow) leave(seed uint32, head []byte) {
	f.Leaves, f.Label = kernel.Leaving{}, 0
	switch {
	case head[0]>>4 == 4 && len(head) >= 20:
		f.Leaves = kernel.Leaving{Src: netip.AddrFrom4([4]byte(head[12:16])), Dst: netip.AddrFrom4([4]byte(head[16:20]))}
	case head[0]>>4 == 6 && len(head) >= 40:
		src, dst := [16]byte(head[8:24]), [16]byte(head[24:40])
		f.Label = binary.BigEndian.Uint32(head) & 0xfffff
		f.Leaves = kernel.Leaving{Src: netip.AddrFrom16(src), Dst: netip.AddrFrom16(dst), Stream: names.HashStreamID(seed, src, dst, f.Label)}
	}
}

// readSession returns the session of an event's packet, and the DSCP that it leaves with.
// A library of version 2 lacks sessions: there it is read from the head of the packet.
func (d *Detector) readSession(e *sai.FlowEvent, head []byte) (s kernel.Session, dscp uint8) {
	length, next, at := 0, uint8(0), 0
	switch {
	case head[0]>>4 == 6 && len(head) >= 40:
		length, next, at = 40+int(head[4])<<8+int(head[5]), head[6], 40
		dscp = (head[0]<<4 | head[1]>>4) >> 2
		s.Src, s.Dst = netip.AddrFrom16([16]byte(head[8:24])), netip.AddrFrom16([16]byte(head[24:40]))
	case head[0]>>4 == 4 && len(head) >= 20:
		length, next, at = int(head[2])<<8+int(head[3]), head[9], int(head[0]&0xf)*4
		dscp = head[1] >> 2
		s.Src, s.Dst = netip.AddrFrom4([4]byte(head[12:16])), netip.AddrFrom4([4]byte(head[16:20]))
	}
	if from := &e.Session; from.Protocol != 0 {
		return kernel.Session{
			RDMA: from.RoCEv2, Protocol: from.Protocol, Src: from.Src.Addr(), Dst: from.Dst.Addr(), SrcPort: from.SrcPort, DstPort: from.DstPort,
			SrcQP: from.SrcQP, DstQP: from.DestQP, PKey: from.PKey, Bits: from.BTHOctet & 0x3f,
		}, dscp
	}
	p := &d.head
	if p.ParseIP(head, max(length, len(head))) == nil {
		bth := p.BTH()
		s = kernel.Session{RDMA: true, Protocol: kernel.ProtocolUDP, Src: p.Src(), Dst: p.Dst(), SrcPort: p.SrcPort(), DstPort: roce.UDPPort, DstQP: bth.DestQP, PKey: bth.PKey, Bits: bth.Resv6}
		if deth, ok := p.DETH(); ok {
			s.SrcQP = deth.SrcQP
		}
	} else if (next == kernel.ProtocolUDP || next == kernel.ProtocolTCP) && len(head) >= at+4 {
		s.Protocol, s.SrcPort, s.DstPort = next, binary.BigEndian.Uint16(head[at:]), binary.BigEndian.Uint16(head[at+2:])
	}
	return s, dscp
}
