// SPDX-License-Identifier: Apache-2.0

package health

import (
	"encoding/binary"
	"testing"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// FuzzObserve shows a table whatever packets: figures stay in their bounds.
func FuzzObserve(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef"))
	f.Fuzz(func(t *testing.T, script []byte) {
		table := NewTable(Config{Capacity: 3})
		var p roce.Packet
		now := int64(0)
		for len(script) >= 12 {
			b := make([]byte, 100)
			b[0], b[5], b[6], b[7] = 0x60, 60, 17, 64
			b[23], b[39] = script[0]&1, ^script[0]&1
			binary.BigEndian.PutUint16(b[42:], roce.UDPPort)
			b[45] = 60
			copy(b[48:], script[1:2])
			b[55] = script[2] & 3
			copy(b[57:60], script[3:6])
			copy(b[60:], script[6:9])
			copy(b[72:], script[4:12])
			now += int64(int16(binary.BigEndian.Uint16(script[10:]))) * 1000
			seen := Seen{Time: now, SrcQP: uint32(script[9] & 3), From: flow.Provenance(script[9] >> 2 & 1), Slot: int(script[9]>>3) - 1}
			script = script[12:]
			if p.ParseIP(b, len(b)) == nil {
				table.Observe(&p, seen)
			}
		}
		packets := uint64(0)
		for d := range table.All() {
			packets += d.Packets
			if d.CE > d.ECT || d.ECT > d.Packets || d.Recovered+d.Duplicates > d.Packets || d.seat.state.requests.holesOpen() > maxHoles || d.seat.state.responses.holesOpen() > maxHoles {
				t.Fatalf("%+v", d)
			}
			if d.Reordered > d.Packets || d.Reordered+d.Recovered > d.Missing+d.Packets {
				t.Fatalf("%+v", d.Counters)
			}
		}
	})
}
