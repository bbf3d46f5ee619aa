// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"encoding/binary"
	"testing"
	"time"

	"sluice/orchagent-ext/wire/roce"
)

// cmMessages is one message of each kind with all the fields that it has.
var cmMessages = []roce.CM{
	{Attribute: roce.CMReq, LocalCommID: 0x11223344, LocalQPN: 0xabcdef, StartingPSN: 0x123456},
	{Attribute: roce.CMRep, LocalCommID: 0x55667788, RemoteCommID: 0x11223344, LocalQPN: 0xfedcba, StartingPSN: 0x654321},
	{Attribute: roce.CMRtu, LocalCommID: 0x11223344, RemoteCommID: 0x55667788},
	{Attribute: roce.CMDreq, LocalCommID: 0x11223344, RemoteCommID: 0x55667788, RemoteQPN: 0xfedcba},
	{Attribute: roce.CMDrep, LocalCommID: 0x55667788, RemoteCommID: 0x11223344},
	{Attribute: roce.CMRej, LocalCommID: 0x55667788, RemoteCommID: 0x11223344, Code: 28},
	{Attribute: roce.CMMra, LocalCommID: 0x55667788, RemoteCommID: 0x11223344},
	{Attribute: roce.CMLap, LocalCommID: 0x11223344, RemoteCommID: 0x55667788, RemoteQPN: 0xfedcba},
	{Attribute: roce.CMApr, LocalCommID: 0x55667788, RemoteCommID: 0x11223344, Code: 3},
	{Attribute: roce.CMSidrReq, LocalCommID: 0x55667788},
	{Attribute: roce.CMSidrRep, LocalCommID: 0x55667788, LocalQPN: 0xabcdef, Code: 1},
	{Attribute: roce.CMSap, LocalCommID: 0x55667788}, // only who sends it
}

// parseCM parses a packet to queue pair 1 that carries body behind the BTH.
func parseCM(t *testing.T, body []byte) (roce.CM, bool) {
	t.Helper()
	p := parseUD(t, roce.BTH{Opcode: roce.UDSendOnly, DestQP: 1}, body)
	return p.CM()
}

func parseUD(t *testing.T, bth roce.BTH, body []byte) *roce.Packet {
	t.Helper()
	frame := frameUD(t, bth, body)
	p := new(roce.Packet)
	if err := p.Parse(frame, len(frame)); err != nil {
		t.Fatal(err)
	}
	return p
}

func frameUD(t *testing.T, bth roce.BTH, body []byte) []byte {
	t.Helper()
	b := frame6(udp, roce.UDPHeader{SrcPort: 0xc000, DstPort: roce.UDPPort}.Append(nil))
	b, err := roce.Finish(append(bth.Append(b), body...), ipAt)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// cmOffsets are the offsets of the fields, in octets from the BTH; 0 where the
// message has none.
var cmOffsets = map[roce.CMAttribute]struct{ local, remote, qpn, remoteQPN, psn, code16, code8 int }{
	roce.CMReq:     {local: 44, qpn: 76, psn: 88},
	roce.CMRep:     {local: 44, remote: 48, qpn: 56, psn: 64},
	roce.CMRtu:     {local: 44, remote: 48},
	roce.CMDreq:    {local: 44, remote: 48, remoteQPN: 52},
	roce.CMDrep:    {local: 44, remote: 48},
	roce.CMRej:     {local: 44, remote: 48, code16: 54},
	roce.CMMra:     {local: 44, remote: 48},
	roce.CMLap:     {local: 44, remote: 48, remoteQPN: 56},
	roce.CMApr:     {local: 44, remote: 48, code8: 53},
	roce.CMSidrReq: {local: 44},
	roce.CMSidrRep: {local: 44, qpn: 52, code8: 48},
	roce.CMSap:     {local: 44},
}

func TestCM(t *testing.T) {
	for _, m := range cmMessages {
		p := parseUD(t, roce.BTH{Opcode: roce.UDSendOnly, DestQP: 1}, m.Append(nil))
		if got, ok := p.CM(); !ok || got != m {
			t.Errorf("%v: put in %+v, parsed %+v, %v", m.Attribute, m, got, ok)
		}
		b, at := p.BTHBytes(), cmOffsets[m.Attribute]
		word := func(offset int) uint32 {
			if offset == 0 {
				return 0
			}
			return binary.BigEndian.Uint32(b[offset:])
		}
		want := roce.CM{
			Attribute: roce.CMAttribute(binary.BigEndian.Uint16(b[20+16:])), LocalCommID: word(at.local), RemoteCommID: word(at.remote),
			LocalQPN: word(at.qpn) >> 8, RemoteQPN: word(at.remoteQPN) >> 8, StartingPSN: word(at.psn) >> 8,
			Code: uint16(word(at.code16)>>16 + word(at.code8)>>24),
		}
		if m != want {
			t.Errorf("%v: put in %+v, at the known offsets is %+v", m.Attribute, m, want)
		}
		if b[20+1] != 7 || len(b) != 280 {
			t.Errorf("%v: management class %d, %d octets in UDP", m.Attribute, b[20+1], len(b))
		}
	}
}

func TestNotCM(t *testing.T) {
	message := cmMessages[0].Append(nil)
	other := append([]byte(nil), message...)
	other[8+1] = 0x01 // subnet administration, not CM
	for name, p := range map[string]*roce.Packet{
		"another queue pair": parseUD(t, roce.BTH{Opcode: roce.UDSendOnly, DestQP: 2}, message),
		"with immediate":     parseUD(t, roce.BTH{Opcode: roce.UDSendOnlyImm, DestQP: 1}, message),
		"another class":      parseUD(t, roce.BTH{Opcode: roce.UDSendOnly, DestQP: 1}, other),
		"too short":          parseUD(t, roce.BTH{Opcode: roce.UDSendOnly, DestQP: 1}, message[:len(message)-1]),
	} {
		if m, ok := p.CM(); ok {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestCMAttributeNames(t *testing.T) {
	for a, want := range map[roce.CMAttribute]string{
		roce.CMReq: "REQ", roce.CMRep: "REP", roce.CMRtu: "RTU", roce.CMDreq: "DREQ", roce.CMDrep: "DREP",
		roce.CMMra: "MRA", roce.CMRej: "REJ", roce.CMSidrReq: "SIDR_REQ", roce.CMSidrRep: "SIDR_REP", roce.CMLap: "LAP", roce.CMApr: "APR",
		roce.CMSap: "SAP", roce.CMSpr: "SPR", 0x001d: "0x001d",
	} {
		if got := a.String(); got != want {
			t.Errorf("0x%04x is %q, want %q", uint16(a), got, want)
		}
	}
}

// TestCMReasons: a refusal has its reason in words, or its number.
func TestCMReasons(t *testing.T) {
	for want, m := range map[string]roce.CM{
		"consumer reject":                  {Attribute: roce.CMRej, Code: 28},
		"invalid service ID":               {Attribute: roce.CMRej, Code: 8},
		"vendor option not supported":      {Attribute: roce.CMRej, Code: 35},
		"code 34":                          {Attribute: roce.CMRej, Code: 34},
		"code 65535":                       {Attribute: roce.CMRej, Code: 0xffff},
		"rejected by the service provider": {Attribute: roce.CMSidrRep, Code: 2},
		"alternate path rejected":          {Attribute: roce.CMApr, Code: 3},
		"code 200":                         {Attribute: roce.CMApr, Code: 200},
		"":                                 {Attribute: roce.CMRep, Code: 3},
	} {
		if got := m.Reason(); got != want {
			t.Errorf("%v %d is %q, want %q", m.Attribute, m.Code, got, want)
		}
	}
}

// TestRNRTimer: the first, the last and two others of table 45.
func TestRNRTimer(t *testing.T) {
	for syndrome, want := range map[uint8]time.Duration{
		0x20: 655360 * time.Microsecond, 0x21: 10 * time.Microsecond, 0x2c: 640 * time.Microsecond, 0x3f: 491520 * time.Microsecond,
		0x60: 0, 0x1f: 0,
	} {
		if got := (roce.AETH{Syndrome: syndrome}).RNRTimer(); got != want {
			t.Errorf("syndrome %#02x: %v, want %v", syndrome, got, want)
		}
	}
}
