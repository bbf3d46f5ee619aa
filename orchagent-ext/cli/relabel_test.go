// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// Which packets relabel writes into: whole ones over IPv6, the outermost header of tunnels
// where that is asked for; no fragment, whatever carries it.
func TestRelabelWritesWhatASwitchWrites(t *testing.T) {
	header := func(next uint8, payload int) []byte {
		return roce.IPv6Header{NextHeader: next, HopLimit: 64, PayloadLength: uint16(payload), Src: [16]byte{0x20, 1, 15: 1}, Dst: [16]byte{0x20, 1, 15: 2}}.Append(nil)
	}
	finish := func(b []byte) []byte {
		b = roce.UDPHeader{SrcPort: 0xc000, DstPort: roce.UDPPort}.Append(b)
		b, err := roce.Finish(append(roce.BTH{Opcode: roce.RCSendOnly, DestQP: 7}.Append(b), 1, 2, 3, 4), 0)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	plain := finish(header(17, 0))
	fragment := finish(append(header(44, 0), 17, 0, 0, 0, 0, 0, 0, 1))
	fragment[40+3] = 1 // more follow
	tunnel := append(header(41, len(plain)), plain...)
	v4 := finish(roce.IPv4Header{TTL: 64, Protocol: 17, Src: [4]byte{10, 0, 0, 1}, Dst: [4]byte{10, 0, 0, 2}}.Append(nil))
	tunnel4 := append(header(4, len(v4)), v4...)
	tunnelled := append(header(41, len(fragment)), fragment...)
	for _, tt := range []struct {
		name               string
		packet             []byte
		written, outermost bool // with --tunnels skip, and outer
	}{
		{"plain", plain, true, true},
		{"first fragment", fragment, false, false},
		{"tunnel", tunnel, false, true},
		{"tunnel of IPv4", tunnel4, false, true},
		{"first fragment in a tunnel", tunnelled, false, false},
		{"IPv4", v4, false, false},
	} {
		for outer, want := range map[bool]bool{false: tt.written, true: tt.outermost} {
			var p roce.Packet
			b := append([]byte(nil), tt.packet...)
			if err := p.ParseIP(b, len(b)); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			l := labeller{table: newFlowTable(nil, nil), algorithm: flow.DraftLiteral, outer: outer}
			l.label(&p, 1)
			changed := -1 // the last octet
			for i := range b {
				if b[i] != tt.packet[i] {
					changed = i
				}
			}
			if written := p.FlowLabel() != 0; written != want || l.written == 1 != want || changed > 3 {
				t.Errorf("%s, outer %v: label %#05x, octet %d changed; want written %v (%s)", tt.name, outer, p.FlowLabel(), changed, want, &l)
			}
		}
	}
}
