// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"

	"sluice/orchagent-ext/testbed/fabric"
)

// Offsets in frames without a VLAN tag (PROTOCOLS of RoCEv2: IBTA vol. 1, annex A17).
const (
	ethernet   = 14
	ipv4, ipv6 = 20, 40 // octets of a header, options left out
	udp        = 8
	roceV2     = 4791
	icrcSize   = 4
)

// Opcodes whose DETH names the source queue pair: UD SEND ONLY, with and without immediate.
const udSendOnly, udSendImmediate = 0x64, 0x65

// The opcode of acknowledgements, and the syndrome of their AETH where a PSN is missing.
const rcAcknowledge, nakSequence = 0x11, 0x60

// A packet is a RoCEv2 packet as it arrived. The judge shares no code with the daemon.
type packet struct {
	src, dst    netip.Addr
	label       uint32
	sport       uint16
	opcode      byte
	destQP, psn uint32
	srcQP       uint32 // of datagrams, else 0
	icrc        bool   // that of the packet is right
	nakSequence bool   // an acknowledgement that refuses, as a PSN is missing (IBTA vol. 1, table 47)
}

// roce returns the RoCEv2 packets of frames; those of queue pair 1, the connection manager's, are
// among them.
func roce(frames []fabric.Frame) (all []packet) {
	for _, f := range frames {
		if p, ok := parse(f.Data); ok {
			all = append(all, p)
		}
	}
	return all
}

// parse reads a frame; ok is false where it has no BTH.
func parse(frame []byte) (p packet, ok bool) {
	if len(frame) < ethernet+ipv4+udp+12+icrcSize {
		return p, false
	}
	ip := frame[ethernet:]
	var at, size int
	switch binary.BigEndian.Uint16(frame[12:]) {
	case 0x0800:
		at, size = ipv4, int(binary.BigEndian.Uint16(ip[2:]))
		if ip[0] != 0x45 || ip[9] != 17 {
			return p, false
		}
		p.src, p.dst = netip.AddrFrom4([4]byte(ip[12:])), netip.AddrFrom4([4]byte(ip[16:]))
	case 0x86dd:
		if len(ip) < ipv6+udp+12+icrcSize || ip[6] != 17 {
			return p, false
		}
		at, size = ipv6, ipv6+int(binary.BigEndian.Uint16(ip[4:]))
		p.src, p.dst = netip.AddrFrom16([16]byte(ip[8:])), netip.AddrFrom16([16]byte(ip[24:]))
		p.label = binary.BigEndian.Uint32(ip) & 0xfffff
	default:
		return p, false
	}
	if binary.BigEndian.Uint16(ip[at+2:]) != roceV2 || size > len(ip) || size < at+udp+12+icrcSize {
		return p, false
	}
	ip = ip[:size] // less the padding of Ethernet
	bth := ip[at+udp:]
	p.sport, p.opcode = binary.BigEndian.Uint16(ip[at:]), bth[0]
	p.destQP, p.psn = binary.BigEndian.Uint32(bth[4:])&0xffffff, binary.BigEndian.Uint32(bth[8:])&0xffffff
	if p.opcode == udSendOnly || p.opcode == udSendImmediate {
		p.srcQP = binary.BigEndian.Uint32(bth[16:]) & 0xffffff
	}
	p.nakSequence = p.opcode == rcAcknowledge && bth[12] == nakSequence
	p.icrc = binary.LittleEndian.Uint32(ip[size-icrcSize:]) == icrc(ip, at)
	return p, true
}

// icrc is the invariant CRC (IBTA, annex A17) of a packet from its IP header on: over 8 octets of
// ones and the packet, with ones in the fields that routers change.
func icrc(ip []byte, at int) uint32 {
	head := append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, ip[:at+udp+12]...)
	p := head[8:]
	if at == ipv4 {
		p[1], p[8], p[10], p[11] = 0xff, 0xff, 0xff, 0xff // type of service, time to live, checksum
	} else {
		p[0] |= 0x0f // traffic class, flow label, hop limit
		p[1], p[2], p[3], p[7] = 0xff, 0xff, 0xff, 0xff
	}
	p[at+6], p[at+7] = 0xff, 0xff // UDP checksum
	p[at+udp+4] = 0xff            // FECN, BECN, reserved
	return crc32.Update(crc32.ChecksumIEEE(head), crc32.IEEETable, ip[at+udp+12:len(ip)-icrcSize])
}

// literalLabel is the flow label of draft-hu's algorithm as its text has it: over source and
// destination queue pair and the low 16 bits of both addresses, bit by bit. 0 becomes 1 (RFC 6437:
// 0 is no label).
func literalLabel(srcQP, dstQP uint32, src, dst netip.Addr) uint32 {
	s, d := src.As16(), dst.As16()
	in := []byte{byte(srcQP >> 16), byte(srcQP >> 8), byte(srcQP), byte(dstQP >> 16), byte(dstQP >> 8), byte(dstQP), s[14], s[15], d[14], d[15]}
	register := uint32(0xffffffff)
	for _, octet := range in {
		register ^= uint32(octet)
		for range 8 {
			out := register & 1
			register >>= 1
			if out == 1 {
				register ^= 0x04c11db7
			}
		}
	}
	return max(register&0xfffff, 1)
}
