// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/binary"
	"errors"

	"sluice/orchagent-ext/wire/roce"
)

const (
	maxQP = 1<<24 - 1

	// Both messages have the same length: BTH, 16 octets, ICRC.
	rocePayloadLen = roce.BTHLen + 16 + roce.ICRCLen
)

// RateAdvice advises a sender of the rate that fits (draft-zz section 6). The message has
// no time of its own: it holds for as long as its receiver is configured to, and of
// several that hold the receiver takes the lowest.
//
//conformance:draft-zz/rate draft-zz/dest-qp draft-zz/src-qp
type RateAdvice struct {
	PKey   uint16 // BTH: partition key of the data packet
	DestQP uint32 // BTH: the queue pair that the message is delivered to

	Rate    uint32 // Mbit/s; above 0
	Version uint32 // [RateAdviceVersion]

	// DestinationQP is the queue pair of the sender, whom the advice is for;
	// SourceQP that of the receiver. 24 bits each, the upper 8 of the field 0.
	//
	// Decision: draft-zz section 6.2 has DestinationQP "corresponding to the
	// sender" and, in the next sentence, copied from the BTH of the data packet,
	// where the receiver's is. The first holds, and DestQP is the same.
	DestinationQP, SourceQP uint32
}

// Kind returns KindRateAdvice. It implements [Message].
func (RateAdvice) Kind() Kind { return KindRateAdvice }

// Check implements [Message]. It returns [BadVersion], [ZeroRate], or [BadQueuePair] for
// a number of more than 24 bits.
//
//conformance:draft-zz/rate draft-zz/version
func (m RateAdvice) Check() Reason { return m.check() }

// check is Check without a copy: one of fields that were just written waits for them.
func (m *RateAdvice) check() Reason {
	switch {
	case m.Version != RateAdviceVersion:
		return BadVersion
	case m.Rate == 0:
		return ZeroRate
	case m.DestQP > maxQP || m.DestinationQP > maxQP || m.SourceQP > maxQP:
		return BadQueuePair
	}
	return Accepted
}

// AppendPayload appends the UDP payload without the ICRC: 28 octets. Of the code points
// it uses the opcode. PSN, pad and flags of the BTH are 0.
//
//conformance:draft-zz/bth
func (m RateAdvice) AppendPayload(b []byte, c CodePoints) ([]byte, error) {
	if r := m.check(); r != Accepted {
		return b, fail(KindRateAdvice, r)
	}
	b = roce.BTH{Opcode: c.RateAdviceOpcode, PKey: m.PKey, DestQP: m.DestQP}.Append(b)
	b = binary.BigEndian.AppendUint64(b, uint64(m.Rate)<<32|uint64(m.Version))
	return binary.BigEndian.AppendUint64(b, uint64(m.DestinationQP)<<32|uint64(m.SourceQP)), nil
}

// AppendPacket appends the packet from its IP header on, with ICRC and UDP
// checksum. After an error, such as [FamilyMix], b has its old length.
//
//conformance:draft-zz/port draft-zz/icrc
func (m RateAdvice) AppendPacket(b []byte, e *Envelope, c CodePoints) ([]byte, error) {
	start := len(b)
	v6 := !e.Src.Is4()
	if !inFamily(e.Src, v6) || !inFamily(e.Dst, v6) {
		return b, fail(KindRateAdvice, FamilyMix)
	}
	b, err := m.AppendPayload(e.appendUDP(b, v6, roce.UDPPort), c)
	if err == nil {
		b, err = roce.Finish(b, start)
	}
	if err != nil {
		return b[:start], err
	}
	return b, nil
}

// CNP is the congestion notification packet of RoCEv2 (IBTA vol. 1 annex A17).
// It slows the sender's queue pair by a step that the sender knows.
type CNP struct {
	PKey   uint16 // partition key of the data packet
	DestQP uint32 // the queue pair of the data's sender, 24 bits
}

// Kind returns KindCNP. It implements [Message].
func (CNP) Kind() Kind { return KindCNP }

// Check implements [Message]. It returns [BadQueuePair] for a number of more than 24
// bits.
func (m CNP) Check() Reason { return unless(m.DestQP <= maxQP, BadQueuePair) }

// AppendPayload appends the UDP payload without the ICRC: BTH with BECN, 16
// reserved octets.
func (m CNP) AppendPayload(b []byte, _ CodePoints) ([]byte, error) {
	if r := m.Check(); r != Accepted {
		return b, fail(KindCNP, r)
	}
	b = roce.BTH{Opcode: roce.CNP, PKey: m.PKey, BECN: true, DestQP: m.DestQP}.Append(b)
	return append(b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), nil
}

// AppendPacket appends the packet from its IP header on, with ICRC and UDP
// checksum. After an error, such as [FamilyMix], b has its old length. Code points are
// unused: a CNP has its opcode from IBTA.
func (m CNP) AppendPacket(b []byte, e *Envelope, c CodePoints) ([]byte, error) {
	start := len(b)
	v6 := !e.Src.Is4()
	if !inFamily(e.Src, v6) || !inFamily(e.Dst, v6) {
		return b, fail(KindCNP, FamilyMix)
	}
	b, err := m.AppendPayload(e.appendUDP(b, v6, roce.UDPPort), c)
	if err == nil {
		b, err = roce.Finish(b, start)
	}
	if err != nil {
		return b[:start], err
	}
	return b, nil
}

// rocev2 reads the RoCEv2 packet whose UDP header begins at b[at].
//
// Decision: a UDP checksum of 0 (none) is accepted over both families, and so
// is source port 0: switches that make CNPs in hardware send them so, and the
// ICRC protects the message.
//
//conformance:draft-zz/opcode draft-zz/icrc
func (p *Packet) rocev2(b []byte, at int, c *CodePoints) error {
	bth := at + udpLen
	if len(b) <= bth {
		return fail(KindNone, Short)
	}
	var kind Kind
	switch roce.Opcode(b[bth]) {
	case roce.CNP:
		kind = KindCNP
	case c.RateAdviceOpcode:
		kind = KindRateAdvice
	default:
		return ErrNotNotification
	}
	if kind == KindRateAdvice && c.RateAdviceOpcode == roce.RCAtomicWrite && len(b)-bth != rocePayloadLen {
		return ErrNotNotification // an ATOMIC WRITE: behind its RETH are 8 octets more
	}
	if r := checkLength(len(b)-bth, rocePayloadLen); r != Accepted {
		return fail(kind, r)
	}
	if int(binary.BigEndian.Uint16(b[at+4:])) != len(b)-at {
		return fail(kind, BadLength)
	}
	if err := p.roce.ParseIP(b, len(b)); err != nil {
		if errors.Is(err, roce.ErrNotRoCE) {
			return ErrNotNotification
		}
		return fail(kind, BadLength)
	}
	got, want, ok := p.roce.ICRC()
	right := p.read(kind, b) && udpChecksum(b, at, true)
	p.Envelope.SrcPort = binary.BigEndian.Uint16(b[at:])
	rules := first(unless(right, BadChecksum), unless(ok && got == want, BadICRC))
	if kind == KindCNP {
		p.CNP = CNP{PKey: p.roce.PKey(), DestQP: p.roce.DestQP()}
		return fail(kind, first(rules, unless(b[bth+4]&0x40 != 0, NoBECN)))
	}
	m := b[bth+roce.BTHLen:]
	a := &p.RateAdvice
	a.PKey, a.DestQP = p.roce.PKey(), p.roce.DestQP()
	a.Rate, a.Version = binary.BigEndian.Uint32(m), binary.BigEndian.Uint32(m[4:])
	a.DestinationQP, a.SourceQP = binary.BigEndian.Uint32(m[8:]), binary.BigEndian.Uint32(m[12:])
	return fail(kind, first(rules, a.check()))
}
