// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"hash/crc32"
	"net"
	"net/netip"
	"time"
)

// Offsets in a frame of Ethernet, IPv6, UDP and BTH.
const (
	atIP      = 14
	atUDP     = atIP + 40
	atBTH     = atUDP + 8
	atPayload = atBTH + 12
	atStamp   = atPayload // when it was sent, ns of the wall clock, 8 octets
	icrcSize  = 4

	udpProtocol = 17
	roceV2      = 4791
	rcWrite     = 0x07 // RC RDMA WRITE middle
	etherIPv6   = 0x86dd
)

// A flow is the packets of one queue pair.
type flow struct {
	qp   uint32 // destination queue pair
	port uint16 // UDP source port

	frame []byte
	psn   uint32 // of the next packet
}

// newFlow returns a flow between two hosts whose packets have so many octets of payload, at
// least 8. The flow label is 0.
func newFlow(from, gateway net.HardwareAddr, src, dst netip.Addr, qp uint32, port uint16, payload int) *flow {
	f := make([]byte, atPayload+payload+icrcSize)
	copy(f, gateway)
	copy(f[6:], from)
	binary.BigEndian.PutUint16(f[12:], etherIPv6)
	ip := f[atIP:]
	ip[0] = 6 << 4
	binary.BigEndian.PutUint16(ip[4:], uint16(len(f)-atUDP))
	ip[6], ip[7] = udpProtocol, 64
	s, d := src.As16(), dst.As16()
	copy(ip[8:], s[:])
	copy(ip[24:], d[:])
	udp := f[atUDP:]
	binary.BigEndian.PutUint16(udp, port)
	binary.BigEndian.PutUint16(udp[2:], roceV2)
	binary.BigEndian.PutUint16(udp[4:], uint16(len(f)-atUDP))
	bth := f[atBTH:]
	bth[0] = rcWrite
	binary.BigEndian.PutUint16(bth[2:], 0xffff)
	binary.BigEndian.PutUint32(bth[4:], qp)
	return &flow{qp: qp, port: port, frame: f}
}

// next returns the flow's next packet, valid until the next call. Its UDP checksum is 0, as
// RoCEv2 allows.
func (f *flow) next(now time.Time) []byte {
	binary.BigEndian.PutUint32(f.frame[atBTH+8:], f.psn&0xffffff)
	binary.BigEndian.PutUint64(f.frame[atStamp:], uint64(now.UnixNano()))
	binary.LittleEndian.PutUint32(f.frame[len(f.frame)-icrcSize:], icrc(f.frame))
	f.psn++
	return f.frame
}

// icrc is the invariant CRC (IBTA, annex A17) of a frame: over 8 octets of ones, and the packet
// with ones in the fields that switches change.
func icrc(frame []byte) uint32 {
	var head [8 + atPayload - atIP]byte
	for i := range 8 {
		head[i] = 0xff
	}
	p := head[8:]
	copy(p, frame[atIP:atPayload])
	p[0] |= 0x0f // traffic class and flow label
	p[1], p[2], p[3] = 0xff, 0xff, 0xff
	p[7] = 0xff               // hop limit
	p[46], p[47] = 0xff, 0xff // UDP checksum
	p[48+4] = 0xff            // FECN, BECN, reserved
	crc := crc32.ChecksumIEEE(head[:])
	return crc32.Update(crc, crc32.IEEETable, frame[atPayload:len(frame)-icrcSize])
}

// An arrival is a packet of a flow as it came in.
type arrival struct {
	qp, psn uint32
	label   uint32
	sent    time.Time
}

// parse reads a packet of [flow.next]; ok is false for every other frame, and one whose ICRC is
// wrong.
func parse(frame []byte) (a arrival, ok bool) {
	if len(frame) < atStamp+8+icrcSize || binary.BigEndian.Uint16(frame[12:]) != etherIPv6 || frame[atIP+6] != udpProtocol ||
		binary.BigEndian.Uint16(frame[atUDP+2:]) != roceV2 || frame[atBTH] != rcWrite ||
		binary.LittleEndian.Uint32(frame[len(frame)-icrcSize:]) != icrc(frame) {
		return a, false
	}
	return arrival{
		qp: binary.BigEndian.Uint32(frame[atBTH+4:]) & 0xffffff, psn: binary.BigEndian.Uint32(frame[atBTH+8:]) & 0xffffff,
		label: binary.BigEndian.Uint32(frame[atIP:]) & 0xfffff, sent: time.Unix(0, int64(binary.BigEndian.Uint64(frame[atStamp:]))),
	}, true
}
