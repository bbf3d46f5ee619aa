// SPDX-License-Identifier: Apache-2.0

package flow

import "testing"

// TestFlowSpansItsTimes: the earliest to the latest, also where the clock goes back, and
// without the packets that have no time.
func TestFlowSpansItsTimes(t *testing.T) {
	packet := send(t, 1, 2, 7)
	for _, tt := range []struct {
		times       []int64
		first, last int64
	}{
		{[]int64{5, 9, 7}, 5, 9},
		{[]int64{50, -20, 10}, -20, 50},
		{[]int64{-9, -5}, -9, -5},
		{[]int64{NoTime, NoTime}, NoTime, NoTime},
		{[]int64{NoTime, 7, NoTime, 8}, 7, 8},
		{[]int64{0, NoTime}, 0, 0},
	} {
		table := NewTable(Config{Capacity: 4})
		var f *Flow
		for _, now := range tt.times {
			f = observe(t, table, packet, now)
		}
		if f.First != tt.first || f.Last != tt.last {
			t.Errorf("%d: %d to %d, want %d to %d", tt.times, f.First, f.Last, tt.first, tt.last)
		}
	}
}
