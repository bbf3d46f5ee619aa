// SPDX-License-Identifier: Apache-2.0

package nic

import (
	"encoding/binary"
	"net/netip"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// Flow is one queue pair that sends RDMA writes of one packet each.
type Flow struct {
	Src, Dst      netip.Addr // both of IPv6, or of IPv4
	SrcQP, DestQP uint32     // 24 bits
	Label         uint32     // IPv6 flow label, 20 bits; unused for IPv4
	SrcPort       uint16     // UDP
	TrafficClass  uint8
	// Payload: octets a packet, a multiple of 4, at least [StampLen]
	Payload int
	Rate    uint64 // bit/s of IP packets that the application offers
	// Datagram: UD, whose packets name the queue pair that sends; otherwise RC
	Datagram bool
	// Burst: packets that are offered at once; below 2: each for itself
	Burst int
	// Backlog: what could not be sent in time is sent later; otherwise it is never offered
	Backlog bool
	// CapabilityBits: of BTH octet 4: the sender understands Rate Advice (draft-zz)
	CapabilityBits uint8
	// AckEvery: the first of each so many packets asks for an acknowledgement; 0: none does
	AckEvery int
	// Run: tells what one program sends from what another does; it is in the RETH
	Run uint32
}

// Lengths of headers in octets.
const (
	ethernetLen = 14
	ipv6Len     = 40
	ipv4Len     = 20
	udpLen      = 8
	rethLen     = 16
	dethLen     = 8
	icrcLen     = 4

	// StampLen is the length of the stamp that a Receiver reads: when the application
	// offered the packet (ns since 1970, 8 octets), and the packet's number in its flow (8
	// octets).
	StampLen = 16

	// stampBehindIP is the stamp's offset from the end of the IP header of a frame without
	// VLAN tags.
	stampBehindIP = udpLen + roce.BTHLen + rethLen
)

// stampOf returns the stamp of a frame (time of the offer and number in the flow), or nil
// if the frame ends before it.
func stampOf(frame []byte, p *roce.Packet) []byte {
	at := ethernetLen + ipv6Len + stampBehindIP
	if p.Is4() {
		at = ethernetLen + ipv4Len + stampBehindIP
	}
	if len(frame) < at+StampLen {
		return nil
	}
	return frame[at : at+StampLen]
}

// appendHeaders appends those of Ethernet and IP to b.
func appendHeaders(b []byte, e roce.Ethernet, src, dst netip.Addr, trafficClass uint8, label uint32) []byte {
	if src.Is4() {
		e.EtherType = roce.EtherTypeIPv4
		return roce.IPv4Header{TOS: trafficClass, Fragment: doNotFragment, TTL: 64, Protocol: 17, Src: src.As4(), Dst: dst.As4()}.Append(e.Append(b))
	}
	e.EtherType = roce.EtherTypeIPv6
	return roce.IPv6Header{TrafficClass: trafficClass, FlowLabel: label, NextHeader: 17, HopLimit: 64, Src: src.As16(), Dst: dst.As16()}.Append(e.Append(b))
}

// doNotFragment is bit 1 of IPv4's flags, in the 16-bit word with the fragment offset
// (RFC 791 section 3.1).
const doNotFragment = 0x4000

// Octets is the size of each IP packet of the flow.
func (f *Flow) Octets() int {
	ip := ipv6Len
	if f.Src.Is4() {
		ip = ipv4Len
	}
	return ip + stampBehindIP + f.Payload + icrcLen
}

// interval is the time between two packets at a rate.
func (f *Flow) interval(rate uint64) int64 {
	return int64(float64(f.Octets()*8) * float64(time.Second) / float64(rate))
}

// streamID is the flow's Stream ID of scope hash.
func (f *Flow) streamID(seed uint32) uint16 {
	return flow.HashStreamID(seed, f.Src.As16(), f.Dst.As16(), f.Label)
}

// frame builds packet number n of the flow into b, offered at a time (ns since 1970).
func (f *Flow) frame(b []byte, from, to roce.MAC, n uint64, at int64) ([]byte, error) {
	b = appendHeaders(b[:0], roce.Ethernet{Dst: to, Src: from}, f.Src, f.Dst, f.TrafficClass, f.Label)
	b = roce.UDPHeader{SrcPort: f.SrcPort, DstPort: roce.UDPPort}.Append(b)
	h := roce.BTH{Opcode: roce.RCWriteOnly, PKey: 0xffff, DestQP: f.DestQP, PSN: uint32(n) & 0xffffff, Resv6: f.CapabilityBits & 0x3f, AckReq: f.asks(n)}
	if f.Datagram {
		h.Opcode = roce.UDSendOnly
		b = roce.DETH{QKey: 0x11111111, SrcQP: f.SrcQP}.Append(h.Append(b))
		// both kinds have their stamp in the same place
		b = append(b, make([]byte, rethLen-dethLen)...)
	} else {
		b = roce.RETH{VA: verifiedVA<<32 | uint64(f.Run), RKey: f.DestQP, Length: uint32(f.Payload)}.Append(h.Append(b))
	}
	b = binary.BigEndian.AppendUint64(b, uint64(at))
	b = binary.BigEndian.AppendUint64(b, n)
	b = append(b, make([]byte, f.Payload-StampLen)...)
	return roce.Finish(b, ethernetLen)
}

// Communication ids of RDMA-CM are the flow's queue pair behind the side's letter.
const (
	commA = 0xa << 28
	commB = 0xb << 28
)

// request builds the request of RDMA-CM that connects the flow.
func (f *Flow) request(b []byte, from, to roce.MAC) ([]byte, error) {
	b = appendHeaders(b[:0], roce.Ethernet{Dst: to, Src: from}, f.Src, f.Dst, f.TrafficClass, f.Label)
	b = roce.UDPHeader{SrcPort: f.SrcPort, DstPort: roce.UDPPort}.Append(b)
	b = roce.BTH{Opcode: roce.UDSendOnly, PKey: 0xffff, DestQP: 1}.Append(b)
	return roce.Finish(roce.CM{Attribute: roce.CMReq, LocalCommID: commA | f.SrcQP, LocalQPN: f.SrcQP}.Append(b), ethernetLen)
}
