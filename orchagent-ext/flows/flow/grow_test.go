// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

// TestGrowingTableIsLikeAReservedOne observes connections whose answers prove them, of which more come
// than the indexes begin with, and more than the table holds.
func TestGrowingTableIsLikeAReservedOne(t *testing.T) {
	const connections, apart = 3 * leastIndex, 1 << 12 // PSNs
	for _, capacity := range []int{1 << 15, 3 * leastIndex} {
		reserved, growing := NewTable(Config{Capacity: capacity}), NewTable(Config{Capacity: capacity, Growing: true})
		growing.secret = reserved.secret
		if small := len(growing.index.slots); small >= len(reserved.index.slots) || len(growing.heads) >= len(reserved.heads) {
			t.Fatalf("an index of %d, beside %d", small, len(reserved.index.slots))
		}
		now := int64(0)
		pass := func(f []byte) {
			now++
			one, other := observe(t, reserved, f, now), observe(t, growing, f, now)
			oneQP, oneFrom := reserved.SrcQP(one)
			otherQP, otherFrom := growing.SrcQP(other)
			if one.Key != other.Key || one.Packets != other.Packets || one.Slot() != other.Slot() || oneQP != otherQP || oneFrom != otherFrom {
				t.Fatalf("%v is in place %d with %d packets from %#x (%v), want %d, %d, %#x (%v)",
					other, other.Slot(), other.Packets, otherQP, otherFrom, one.Slot(), one.Packets, oneQP, oneFrom)
			}
		}
		for lap := range uint32(4) {
			for n := range uint32(connections) {
				psn := (n*apart + lap) & 0xffffff
				pass(frame(t, 1, 2, roce.BTH{Opcode: roce.RCSendOnly, DestQP: 1<<20 + n, PSN: psn}, nil))
				if lap > 0 { // after the last growth
					pass(frame(t, 2, 1, roce.BTH{Opcode: roce.RCAck, DestQP: 1<<21 + n, PSN: psn}, roce.AETH{}.Append(nil)))
				}
			}
		}
		if reserved.Stats() != growing.Stats() || capacity > 2*connections && growing.Stats().LearnedAck != 2*connections {
			t.Errorf("%+v, want %+v", growing.Stats(), reserved.Stats())
		}
	}
}

func TestReservedTableDoesNotGrow(t *testing.T) {
	table := NewTable(Config{Capacity: 4 * leastIndex})
	slots, heads := len(table.index.slots), len(table.heads)
	for n := range uint32(8 * leastIndex) {
		observe(t, table, send(t, 1, 2, n), int64(n))
	}
	if table.Len() != 4*leastIndex || len(table.index.slots) != slots || len(table.heads) != heads {
		t.Errorf("%d flows in an index of %d, want %d", table.Len(), len(table.index.slots), slots)
	}
}
