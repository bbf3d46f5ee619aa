// SPDX-License-Identifier: Apache-2.0

package health

import (
	"math/rand/v2"
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

// captured is one packet where the observer is.
type captured struct {
	frame   []byte
	at      int64
	forward bool
}

// want is what must be told of one direction. It is counted where the fault is made.
type want struct {
	Counters
	rtt, sizes []uint64
}

const (
	qpA, qpB = 0x0000a1, 0x0000b2
	us       = int64(1000)
	ipv6UDP  = 40 + 8
)

// session makes a connection from A, whose requests go forward, to B, and keeps count.
type session struct {
	t       *testing.T
	random  *rand.Rand
	mtu     uint32
	psn     uint32
	now     int64
	packets []captured
	want    [2]want // forward, back
}

func newSession(t *testing.T, seed uint64) *session {
	s := &session{t: t, random: rand.New(rand.NewPCG(seed, 1)), now: 1e18}
	s.mtu = mtus[s.random.IntN(len(mtus))]
	s.psn = s.random.Uint32N(1 << 24)
	if seed%4 == 0 { // the PSNs begin again at 0
		s.psn = 1<<24 - s.random.Uint32N(100) - 1
	}
	return s
}

// one is a packet that could be sent.
type one struct {
	op     roce.Opcode
	psn    uint32
	octets uint32 // of payload
	reth   uint32 // length that it announces
	ack    bool   // asks for an acknowledgement
	nak    uint8  // syndrome
}

func (s *session) emit(forward bool, p one) {
	s.t.Helper()
	ecn := uint8(2)
	w := &s.want[0]
	src, dst, qp := [16]byte{0: 0x20, 15: 1}, [16]byte{0: 0x20, 15: 2}, uint32(qpB)
	if !forward {
		w, src, dst, qp = &s.want[1], dst, src, qpA
	}
	if s.random.IntN(8) == 0 {
		ecn = 3
		w.CE++
	}
	b := roce.IPv6Header{TrafficClass: ecn, NextHeader: 17, HopLimit: 64, Src: src, Dst: dst}.Append(nil)
	b = roce.UDPHeader{SrcPort: 0xc000, DstPort: roce.UDPPort}.Append(b)
	pad := uint8(-p.octets & 3)
	b = roce.BTH{Opcode: p.op, PKey: 0xffff, DestQP: qp, PSN: p.psn & psnMask, AckReq: p.ack, Pad: pad}.Append(b)
	switch p.op {
	case roce.RCWriteFirst, roce.RCWriteOnly, roce.RCReadRequest:
		b = roce.RETH{Length: p.reth}.Append(b)
	case roce.RCAck, roce.RCReadResponseFirst, roce.RCReadResponseLast, roce.RCReadResponseOnly:
		b = roce.AETH{Syndrome: p.nak}.Append(b)
	case roce.CNP:
		b = append(b, make([]byte, 16)...)
	}
	b = append(b, make([]byte, int(p.octets)+int(pad))...)
	b, err := roce.Finish(b, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	w.Packets++
	w.ECT++
	w.Octets += uint64(len(b))
	s.packets = append(s.packets, captured{b, s.now, forward})
	s.now += us + s.random.Int64N(20*us)
}

// message is the packets of a send or a write, from the next PSN on.
func (s *session) message(n int) (packets []one) {
	last := 1 + s.random.Uint32N(s.mtu)
	total := uint32(n-1)*s.mtu + last
	first, middle, end, only := roce.RCSendFirst, roce.RCSendMiddle, roce.RCSendLast, roce.RCSendOnly
	if s.random.IntN(2) == 0 {
		first, middle, end, only = roce.RCWriteFirst, roce.RCWriteMiddle, roce.RCWriteLast, roce.RCWriteOnly
	}
	for i := range n {
		p := one{middle, s.psn + uint32(i), s.mtu, 0, false, 0}
		switch {
		case n == 1:
			p = one{only, s.psn, last, total, true, 0}
		case i == 0:
			p.op, p.reth = first, total
		case i == n-1:
			p = one{end, p.psn, last, 0, true, 0}
		}
		packets = append(packets, p)
	}
	s.psn += uint32(n)
	w := &s.want[0]
	w.Payload += uint64(total)
	w.sizes = append(w.sizes, uint64(total))
	return packets
}

// acknowledge answers the newest packet that was sent at a time; known: no packet of it
// was sent twice.
func (s *session) acknowledge(p one, sent int64, once bool) {
	if once {
		s.want[0].rtt = append(s.want[0].rtt, uint64(s.now-sent))
	}
	s.want[1].Acks++
	s.want[1].NAKs[roce.NotNAK]++
	s.emit(false, one{op: roce.RCAck, psn: p.psn, nak: 0x1f})
}

func (s *session) refuse(psn uint32, syndrome uint8, why roce.NAK) {
	s.want[1].NAKs[why]++
	s.emit(false, one{op: roce.RCAck, psn: psn, nak: syndrome})
}

// send emits packets and returns when the last one was sent.
func (s *session) send(packets []one) (sent int64) {
	for _, p := range packets {
		sent = s.now
		s.emit(true, p)
	}
	return sent
}

// again emits packets a second time, of which the first lost ones were not seen.
func (s *session) again(packets []one, lost int) {
	w := &s.want[0]
	for i, p := range packets {
		w.Retransmitted += uint64(p.octets)
		if i < lost {
			w.Recovered++
		} else {
			w.Duplicates++
		}
		s.emit(true, p)
	}
}

// faults are what can happen to a message. Each ends whole, and acknowledged.
var faults = map[string]func(s *session){
	"none": func(s *session) {
		m := s.message(1 + s.random.IntN(6))
		s.acknowledge(m[len(m)-1], s.send(m), true)
	},
	"one acknowledgement for two": func(s *session) {
		s.send(s.message(2))
		m := s.message(2)
		s.acknowledge(m[1], s.send(m), true)
	},
	// Some packets are lost before the observer. The receiver asks for them, and the sender goes back.
	"loss before": func(s *session) {
		m := s.message(4 + s.random.IntN(6))
		lost, at := 1+s.random.IntN(2), s.random.IntN(2)
		s.send(m[:at])
		s.want[0].Gaps++
		s.want[0].Missing += uint64(lost)
		s.send(m[at+lost:])
		s.refuse(m[at].psn, 0x60, roce.NAKSequence)
		s.again(m[at:], lost)
		s.acknowledge(m[len(m)-1], 0, false)
	},
	"loss behind": func(s *session) {
		m := s.message(3 + s.random.IntN(6))
		at := s.random.IntN(2)
		s.send(m)
		s.refuse(m[at].psn, 0x60, roce.NAKSequence)
		s.again(m[at:], 0)
		s.acknowledge(m[len(m)-1], 0, false)
	},
	"swap": func(s *session) {
		m := s.message(4 + s.random.IntN(3))
		at := s.random.IntN(2)
		m[at], m[at+1] = m[at+1], m[at]
		s.want[0].Gaps++
		s.want[0].Missing++
		s.want[0].Reordered++
		s.acknowledge(m[len(m)-1], s.send(m), true)
	},
	"duplicate": func(s *session) {
		m := s.message(3 + s.random.IntN(3))
		s.send(m[:2])
		s.again(m[1:2], 0)
		s.acknowledge(m[len(m)-1], s.send(m[2:]), true)
	},
	"receiver not ready": func(s *session) {
		m := s.message(1 + s.random.IntN(3))
		s.send(m)
		s.refuse(m[0].psn, 0x20|uint8(s.random.IntN(32)), roce.NAKRNR)
		s.again(m, 0)
		s.acknowledge(m[len(m)-1], 0, false)
	},
	"no access": func(s *session) {
		m := s.message(1)
		s.send(m)
		s.refuse(m[0].psn, 0x62, roce.NAKAccess)
	},
	"notification": func(s *session) {
		s.want[1].CNPs++
		s.emit(false, one{op: roce.CNP})
	},
	"stall": func(s *session) {
		m := s.message(4)
		s.send(m[:2])
		last := s.packets[len(s.packets)-1].at
		s.now += 2*defaultStall + s.random.Int64N(defaultStall)
		w := &s.want[0]
		w.Stalls++
		w.Stalled += s.now - last
		w.LongestStall = max(w.LongestStall, s.now-last)
		s.acknowledge(m[3], s.send(m[2:]), true)
	},
	"read": func(s *session) { s.read(0) },
	// Responses are lost before the observer. The requester asks again from there on.
	"read loss": func(s *session) { s.read(1 + s.random.IntN(2)) },
}

func (s *session) read(lost int) {
	n := 4 + s.random.IntN(4)
	length := uint32(n-1)*s.mtu + 1 + s.random.Uint32N(s.mtu)
	forward, back := &s.want[0], &s.want[1]
	forward.sizes = append(forward.sizes, uint64(length))
	request := one{roce.RCReadRequest, s.psn, 0, length, true, 0}
	sent := s.send([]one{request})
	respond := func(from, to int, since int) { // of a request from since on
		for i := from; i < to; i++ {
			p := one{op: roce.RCReadResponseMiddle, psn: s.psn + uint32(i), octets: s.mtu}
			switch i {
			case n - 1:
				p.op, p.octets, p.nak = roce.RCReadResponseLast, length-uint32(n-1)*s.mtu, 0x1f
			case since:
				p.op, p.nak = roce.RCReadResponseFirst, 0x1f
			}
			if since == 0 || i < since+lost {
				back.Payload += uint64(p.octets)
			}
			if since > 0 {
				back.Retransmitted += uint64(p.octets)
			}
			s.emit(false, p)
		}
	}
	forward.rtt = append(forward.rtt, uint64(s.now-sent))
	if lost == 0 {
		respond(0, n, 0)
	} else {
		respond(0, 1, 0)
		back.Gaps++
		back.Missing += uint64(lost)
		respond(1+lost, n, 0)
		forward.Duplicates++
		s.emit(true, one{roce.RCReadRequest, s.psn + 1, 0, length - s.mtu, true, 0})
		back.Recovered += uint64(lost)
		back.Duplicates += uint64(n - 1 - lost)
		respond(1, n, 1)
	}
	s.psn += uint32(n)
}
