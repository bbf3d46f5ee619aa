// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/binary"
	"errors"
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

// With the draft's example opcode 0x1d, which IBTA gives to ATOMIC WRITE, a genuine one is
// no notification: it has 8 octets behind its RETH, where Rate Advice ends.
func TestAtomicWriteIsNoRefusedAdvice(t *testing.T) {
	c := DefaultCodePoints()
	c.RateAdviceOpcode = roce.RCAtomicWrite
	b := roce.IPv6Header{NextHeader: 17, HopLimit: 64, Src: [16]byte{0x20, 1, 15: 1}, Dst: [16]byte{0x20, 1, 15: 2}}.Append(nil)
	b = roce.UDPHeader{SrcPort: 0xc000, DstPort: roce.UDPPort}.Append(b)
	b = roce.BTH{Opcode: roce.RCAtomicWrite, PKey: 0xffff, DestQP: 7}.Append(b)
	b, err := roce.Finish(append(roce.RETH{VA: 4096, RKey: 1, Length: 8}.Append(b), 1, 2, 3, 4, 5, 6, 7, 8), 0)
	if err != nil {
		t.Fatal(err)
	}
	var p Packet
	if err := p.ParseIP(b, c); !errors.Is(err, ErrNotNotification) || p.Kind != KindNone {
		t.Errorf("kind %v, %v; want none", p.Kind, err)
	}
	advice, err := RateAdvice{PKey: 0xffff, DestQP: 7, Rate: 5, Version: RateAdviceVersion, DestinationQP: 7, SourceQP: 8}.AppendPacket(nil, &Envelope{Src: addr(b[8:], true), Dst: addr(b[24:], true)}, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.ParseIP(advice, c); err != nil || p.Kind != KindRateAdvice {
		t.Errorf("Rate Advice of that opcode: kind %v, %v", p.Kind, err)
	}
}

// A message behind an authentication header is read as without it (draft-yang section 5).
func TestReadsBehindAuthenticationHeader(t *testing.T) {
	for _, name := range []string{"pfcm-icmpv6-pause"} {
		whole := packetOf(t, sampleOf(t, name))
		next := whole[6]
		ah := append([]byte{next, 4, 0, 0}, make([]byte, 20)...) // 12 octets of check value
		b := append(append(append([]byte(nil), whole[:40]...), ah...), whole[40:]...)
		b[6] = 51
		binary.BigEndian.PutUint16(b[4:], uint16(len(b)-40))
		var want, got Packet
		if err := want.ParseIP(whole, DefaultCodePoints()); err != nil {
			t.Fatal(err)
		}
		if err := got.ParseIP(b, DefaultCodePoints()); err != nil || got.Kind != want.Kind || got.PFCM != want.PFCM || !got.AH || want.AH {
			t.Errorf("%s: %v, kind %v, %+v; want %+v", name, err, got.Kind, got.PFCM, want.PFCM)
		}
		for n := range ah { // one that says more than there is, or less
			short := append([]byte(nil), b[:40+n]...)
			binary.BigEndian.PutUint16(short[4:], uint16(n))
			if err := got.ParseIP(short, DefaultCodePoints()); err == nil {
				t.Errorf("%s: %d octets of an authentication header are accepted", name, n)
			}
		}
	}
}
