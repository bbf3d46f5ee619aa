// SPDX-License-Identifier: Apache-2.0

package ipfix

import "sluice/orchagent-ext/flows/flow"

// EndReason is the reason why a record of a flow was made (RFC 7012,
// flowEndReason).
type EndReason uint8

// Why a record was made.
const (
	IdleTimeout     EndReason = 1
	ActiveTimeout   EndReason = 2
	ForcedEnd       EndReason = 4 // the exporter ends
	LackOfResources EndReason = 5 // the flow table was full
)

// Record is one flow since its last record, or one packet.
//
//conformance:draft-lin/other
type Record struct {
	Src, Dst  [16]byte // of the path as it was seen; IPv4 as ::ffff:a.b.c.d
	FlowLabel uint32   // of the path, 20 bits; IPv6 only
	DestQP    uint32   // 24 bits
	SrcQP     uint32   // 24 bits, if SrcQPFrom is not flow.None
	PSN       uint32   // 24 bits, of the last packet
	Ingress   uint32   // interface index (RFC 2863); 0: unknown
	Egress    uint32
	SrcPort   uint16
	PKey      uint16
	SrcQPFrom flow.Provenance

	Opcode       uint8 // of the last packet
	Flags1       uint8 // BTH octet 1: SE, M, Pad, TVer
	Flags2       uint8 // BTH octet 4 & 0xc0: FECN, BECN
	Flags3       uint8 // BTH octet 8 & 0x80: acknowledge request
	TrafficClass uint8 // of the last packet, with ECN
	EndReason    EndReason
	Packet       bool // the record is of one packet, observed at End

	// Elsewhere: SessionSrc and SessionDst are not those of the path
	Elsewhere bool
	// SessionSrc and SessionDst: of the header that carries UDP, and its final destination
	SessionSrc, SessionDst [16]byte

	// Octets and Packets: of IP packets, from the outermost header on
	Octets, Packets uint64
	// CEOctets and CEPackets: of those with ECN CE in the outermost header
	CEOctets, CEPackets uint64
	Classes             [numClasses]uint32 // packets by class
	Invalid             uint32             // packets that a receiver would refuse, see [roce.Packet.Valid]
	// Start and End: earliest and latest time of a packet, ns since 1970, or flow.NoTime,
	// which is exported as 0
	Start, End int64

	Reverse Reverse // of a biflow; the zero value: not one
}

// Reverse is the other direction of a biflow (RFC 5103).
type Reverse struct {
	Octets, Packets uint64
	Start, End      int64 // ns since 1970
	SrcPort         uint16
}

// variant identifies a template by the properties of its records.
type variant uint16

const (
	ipv6 variant = 1 << iota
	srcQP
	interfaces
	sampled
	biflow
	packet
	inside
	invalid
	numVariants = 1 << iota
)

// mapped is the prefix of IPv4 addresses in IPv6 (RFC 4291 section 2.5.5.2).
var mapped = [12]byte{10: 0xff, 11: 0xff}

//conformance:draft-lin/src-qp
func (r *Record) variant() variant {
	var v variant
	if [12]byte(r.Src[:12]) != mapped {
		v = ipv6
	}
	if r.SrcQPFrom != flow.None {
		v |= srcQP
	}
	if r.Ingress|r.Egress != 0 {
		v |= interfaces
	}
	if r.Reverse.Packets != 0 {
		v |= biflow
	}
	if r.Packet {
		v |= packet
	}
	if r.Elsewhere {
		v |= inside
	}
	if r.Invalid != 0 {
		v |= invalid
	}
	return v
}
