// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"net"
	"net/netip"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
)

// IP protocols of streams.
const (
	protocolICMP   = 1
	protocolTCP    = 6
	protocolICMPv6 = 58
)

const (
	etherIPv4 = 0x0800

	streamMagic = 0x526f5547 // in each packet of a stream, behind its headers
	markSize    = 12         // magic, number of the stream, and of the packet
)

// A stream is a flow that sends at a rate: RoCEv2 over UDP, TCP or ICMP. Its packets have its
// number, and theirs; those of RoCEv2 have it as queue pair and PSN, too.
type stream struct {
	id       uint32
	protocol byte // 17 is RoCEv2
	four     bool // over IPv4
	label    uint32
	mbps     float64       // of Ethernet frames
	until    time.Duration // since the load began; 0: to its end
	period   time.Duration // 0: it sends without a pause
	burst    time.Duration // for which it sends in each period
	size     int           // octets of a frame, at least 96

	held    bool // it fills a queue, and is to be held: none of its packets may get lost
	victim  bool // it shares a queue with such
	obeys   bool // it follows Rate Advice
	sender  *fabric.Sender
	frame   []byte
	mark    int         // where the magic is in the frame
	sent    []time.Time // by number
	credit  float64     // octets that may be sent now
	advised advised
	told    []advised // all advice that it got
}

// advised is a rate that a stream follows.
type advised struct {
	mbps  float64
	until time.Duration // since the load began
}

// rate is in Mbit/s, now since the load began.
func (s *stream) rate(now time.Duration) float64 {
	if s.until != 0 && now >= s.until || s.period != 0 && now%s.period >= s.burst {
		return 0
	}
	if s.obeys && now < s.advised.until {
		return min(s.mbps, s.advised.mbps)
	}
	return s.mbps
}

// ends are the two ends of a stream: the Ethernet addresses of its first hop, and the hosts.
type ends struct {
	from, gateway net.HardwareAddr
	src, dst      netip.Addr
}

// build makes the frame that all packets are copies of.
func (s *stream) build(e ends) {
	b := make([]byte, s.size)
	copy(b, e.gateway)
	copy(b[6:], e.from)
	s.four = e.src.Is4()
	at := s.network(b, e)
	h := b[at:]
	switch s.protocol {
	case udpProtocol:
		binary.BigEndian.PutUint16(h, sourcePort)
		binary.BigEndian.PutUint16(h[2:], roceV2)
		binary.BigEndian.PutUint16(h[4:], uint16(len(h))) // the checksum is 0
		h[8] = rcWrite
		binary.BigEndian.PutUint16(h[10:], 0xffff)
		binary.BigEndian.PutUint32(h[12:], s.id)
		at += 8 + 12
	case protocolTCP: // a reset: no host answers
		binary.BigEndian.PutUint16(h, uint16(40000+s.id))
		binary.BigEndian.PutUint16(h[2:], 5001)
		h[12], h[13] = 5<<4, 0x04
		at += 20
	default: // an answer to an echo, of which there was none
		if s.protocol == protocolICMPv6 {
			h[0] = 129
		}
		at += 8
	}
	s.mark = at
	binary.BigEndian.PutUint32(b[at:], streamMagic)
	binary.BigEndian.PutUint32(b[at+4:], s.id)
	s.frame = b
}

// network writes the IP header, and returns where the next one is.
func (s *stream) network(b []byte, e ends) int {
	ip := b[atIP:]
	if !s.four {
		binary.BigEndian.PutUint16(b[12:], etherIPv6)
		binary.BigEndian.PutUint32(ip, 6<<28|s.label)
		binary.BigEndian.PutUint16(ip[4:], uint16(len(b)-atIP-40))
		ip[6], ip[7] = s.protocol, 64
		src, dst := e.src.As16(), e.dst.As16()
		copy(ip[8:], src[:])
		copy(ip[24:], dst[:])
		return atIP + 40
	}
	binary.BigEndian.PutUint16(b[12:], etherIPv4)
	ip[0], ip[8], ip[9] = 4<<4|5, 64, s.protocol
	binary.BigEndian.PutUint16(ip[2:], uint16(len(b)-atIP))
	src, dst := e.src.As4(), e.dst.As4()
	copy(ip[12:], src[:])
	copy(ip[16:], dst[:])
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum+sum>>16))
	return atIP + 20
}

// next returns the next packet, valid until the next call. The ICRC is not written: switches
// leave it alone.
func (s *stream) next(now time.Time) []byte {
	n := uint32(len(s.sent))
	binary.BigEndian.PutUint32(s.frame[s.mark+8:], n)
	if s.protocol == udpProtocol {
		binary.BigEndian.PutUint32(s.frame[s.mark-4:], n&0xffffff)
	}
	s.sent = append(s.sent, now)
	return s.frame
}

// payloadOf returns where the payload of a stream's packet begins; 0: it is none.
func payloadOf(frame []byte) (at int, protocol byte) {
	if len(frame) < atIP+40 {
		return 0, 0
	}
	switch binary.BigEndian.Uint16(frame[12:]) {
	case etherIPv6:
		at, protocol = atIP+40, frame[atIP+6]
	case etherIPv4:
		at, protocol = atIP+20, frame[atIP+9]
	default:
		return 0, 0
	}
	switch protocol {
	case udpProtocol:
		at += 8 + 12
	case protocolTCP:
		at += 20
	case protocolICMP, protocolICMPv6:
		at += 8
	default:
		return 0, 0
	}
	return at, protocol
}

// numbersOf returns the numbers of the stream and of the packet; ok is false for other frames.
func numbersOf(frame []byte) (id, n uint32, ok bool) {
	at, _ := payloadOf(frame)
	if at == 0 || len(frame) < at+markSize || binary.BigEndian.Uint32(frame[at:]) != streamMagic {
		return 0, 0, false
	}
	return binary.BigEndian.Uint32(frame[at+4:]), binary.BigEndian.Uint32(frame[at+8:]), true
}

// adviceOf reads Rate Advice (draft-zz): the rate in Mbit/s, and the queue pair that a stream
// sends to.
func adviceOf(frame []byte) (mbps, qp uint32, ok bool) {
	const opcode, size = 0xc5, 4 * 4
	at, protocol := payloadOf(frame)
	if protocol != udpProtocol || len(frame) < at+size || binary.BigEndian.Uint16(frame[at-18:]) != roceV2 || frame[at-12] != opcode {
		return 0, 0, false
	}
	return binary.BigEndian.Uint32(frame[at:]), binary.BigEndian.Uint32(frame[at+8:]), true
}
