// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/binary"
	"time"

	"sluice/orchagent-ext/wire/roce"
)

// PFCAddress is the only destination of PFC frames; bridges keep it on the link (IEEE
// 802.1Q table 8-1). [AppendFrame] sets it, whatever the envelope has; a frame to another
// address is refused with [BadDestination].
var PFCAddress = roce.MAC{0x01, 0x80, 0xc2, 0, 0, 0x01}

const (
	pfcOpcode = 0x0101 // priority-based; 0x0001 would pause the whole link
	pfcLen    = 2 + 2 + 8*2
)

// PFC is the priority-based flow control frame (IEEE 802.1Qbb, 802.3 annex
// 31D). It pauses or resumes priorities of a link.
type PFC struct {
	Enable uint8     // bit n, the least significant one first: Quanta[n] is to be obeyed
	Quanta [8]uint16 // pause by priority, in units of 512 bit times; 0 resumes
}

// Kind returns KindPFC. It implements [Message].
func (PFC) Kind() Kind { return KindPFC }

// Check implements [Message]: every PFC is accepted. A class-enable vector of 0 asks for
// nothing and is well formed.
func (PFC) Check() Reason { return Accepted }

// AppendPayload appends opcode, class-enable vector and the eight times. They are 20
// octets in network byte order; the high octet of the vector is 0, as priorities are 8.
// The error is always nil.
func (m PFC) AppendPayload(b []byte, _ CodePoints) ([]byte, error) {
	b = append(b, pfcOpcode>>8, pfcOpcode&0xff, 0, m.Enable)
	for _, q := range m.Quanta {
		b = append(b, byte(q>>8), byte(q))
	}
	return b, nil
}

// AppendPacket appends the same octets as AppendPayload: PFC travels without an IP
// header. The envelope may be nil.
func (m PFC) AppendPacket(b []byte, _ *Envelope, c CodePoints) ([]byte, error) {
	return m.AppendPayload(b, c)
}

// pfc reads the octets after the Ethernet header.
func (p *Packet) pfc(b []byte, e Envelope) error {
	if len(b) < 2 {
		return fail(KindNone, Short)
	}
	if binary.BigEndian.Uint16(b) != pfcOpcode {
		return ErrNotNotification
	}
	if len(b) < pfcLen {
		return fail(KindPFC, Short)
	}
	p.PFC.Enable = b[3]
	for i := range p.PFC.Quanta {
		p.PFC.Quanta[i] = binary.BigEndian.Uint16(b[4+2*i:])
	}
	p.Kind, p.Envelope = KindPFC, e
	return fail(KindPFC, unless(e.DstMAC == PFCAddress, BadDestination))
}

// Quanta converts a pause of so many µs on a link of so many Mbit/s into PFC quanta:
// rounded up, so that the pause is as long as asked, and at most [MaxQuanta]. Without a
// speed it is 0.
//
//conformance:draft-yang/pfc-quanta
func Quanta(us, mbps uint32) uint16 {
	bits := uint64(us) * uint64(mbps)
	return uint16(min((bits+511)/512, MaxQuanta))
}

// QuantaDuration is how long a pause of so many quanta lasts on a link of so
// many Mbit/s, in whole ns rounded down. Without a speed it is 0.
func QuantaDuration(quanta uint16, mbps uint32) time.Duration {
	if mbps == 0 {
		return 0
	}
	return time.Duration(uint64(quanta) * 512 * 1000 / uint64(mbps))
}
