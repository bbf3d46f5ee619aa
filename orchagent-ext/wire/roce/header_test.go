// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

func TestAETHAck(t *testing.T) {
	for syndrome, want := range map[uint8]bool{
		0x00: true, 0x1f: true, // ACK with credits, ACK without a limit
		0x20: false, 0x3f: false, // RNR NAK
		0x40: false,              // reserved
		0x60: false, 0x64: false, // NAK: PSN sequence error, invalid RD request
	} {
		if got := (roce.AETH{Syndrome: syndrome}).Ack(); got != want {
			t.Errorf("syndrome %#x: Ack %v, want %v", syndrome, got, want)
		}
	}
}

// Append drops the bits that a field has no room for, and no other field
// suffers.
func TestAppendDropsExcessBits(t *testing.T) {
	for name, c := range map[string]struct{ got, want []byte }{
		"BTH": {
			roce.BTH{Pad: 0xff, TVer: 0xff, Resv6: 0xff, DestQP: 0xff123456, Resv7: 0xff, PSN: 0xff654321}.Append(nil),
			[]byte{0, 0x3f, 0, 0, 0x3f, 0x12, 0x34, 0x56, 0x7f, 0x65, 0x43, 0x21},
		},
		"DETH":   {roce.DETH{SrcQP: 0xff123456}.Append(nil), []byte{0, 0, 0, 0, 0, 0x12, 0x34, 0x56}},
		"AETH":   {roce.AETH{MSN: 0xff123456}.Append(nil), []byte{0, 0x12, 0x34, 0x56}},
		"XRCETH": {roce.XRCETH{XRCSRQ: 0xff123456}.Append(nil), []byte{0, 0x12, 0x34, 0x56}},
		"IPv6":   {roce.IPv6Header{FlowLabel: 0xfff12345}.Append(nil)[:4], []byte{0x60, 0x01, 0x23, 0x45}},
	} {
		if d := diff(c.want, c.got); d != "" {
			t.Errorf("%s: want (-), appended (+):\n%s", name, d)
		}
	}
}
