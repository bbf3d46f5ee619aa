// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"net/netip"

	sai "sluice/sai-shim"
)

// IP protocol numbers of transports with ports.
const (
	ProtocolTCP = 6
	ProtocolUDP = 17
)

// Session has the header fields of a flow's innermost packet, which tunnels and segment routing leave
// as its sender made it.
type Session struct {
	RDMA             bool       // it is RoCEv2
	Protocol         uint8      // TCP or UDP; 0: neither, and it lacks a ports
	Src, Dst         netip.Addr // the hosts
	SrcPort, DstPort uint16
	SrcQP, DstQP     uint32 // SrcQP 0: unknown
	PKey             uint16
	Bits             uint8 // of BTH octet 4, the low 6
}

// Pair returns the queue pair that the session is sent to.
func (s *Session) Pair() Pair { return Pair{Src: s.Src, Dst: s.Dst, DestQP: s.DstQP} }

// Pair is a queue pair that sends, as packets name the one that receives.
type Pair struct {
	Src, Dst netip.Addr
	DestQP   uint32
}

// Learned is the source queue pair of a [Pair].
type Learned struct {
	Pair
	SrcQP uint32 // 0: unknown yet

	// Of a packet of the flow; SrcPort is 0 before the first packet, and the others are
	// unknown then.
	SrcPort, PKey uint16
	DSCP, Bits    uint8 // Bits of BTH octet 4, the low 6

	Packet Packet // of holds at senders; the zero value: it is unknown
}

// Session returns the session of the packets that a pair was learned from.
func (l *Learned) Session() Session {
	return Session{RDMA: true, Src: l.Src, Dst: l.Dst, SrcPort: l.SrcPort, SrcQP: l.SrcQP, DstQP: l.DestQP, PKey: l.PKey, Bits: l.Bits}
}

// Packet is a packet that the CPU has of a flow, and those that it represents.
type Packet struct {
	In, Out  sai.ObjectID // ports that it came in and leaves by; sai.Null: unknown
	Src, Dst netip.Addr   // of the outermost header
	Label    uint32
	Octets   uint64 // on the wire, estimated, of the flow since its packet before that was reported
	At       int64  // when the switch had it, ns of CLOCK_MONOTONIC; 0: unknown
	Samples  uint32 // that they are estimated from; 0: they are counted
}

// Within reports whether an address is in one of the prefixes.
func Within(prefixes []netip.Prefix, a netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
