// SPDX-License-Identifier: Apache-2.0

package control

import (
	"log/slog"
	"testing"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/wire/notify"
)

// Ports that come or go have the switch opened again, with another task and another library.
func TestCountersGoOnWithAnotherTask(t *testing.T) {
	e := status.Encoder{Log: slog.New(slog.DiscardHandler)}
	var first Control
	for i, sent := range []uint64{5, 3, 4} {
		n := notifications{
			report: &flowcontrol.Report{Counters: flowcontrol.Counters{Sent: sent}}, queueLost: 2,
			bad:     func(notify.Kind, notify.Reason) uint64 { return 1 },
			dropped: func(notify.Kind, packetio.Dropped) uint64 { return 0 },
			policed: func(notify.Kind) uint64 { return 0 },
		}
		rows := n.rows(e.Fill)
		first.earlier.add(rows)
		if n.report.Counters.Sent != sent {
			t.Fatal("the counters of the report changed")
		}
		first.earlier = totalsOf(rows)
		var next Control
		next.Continue(&first)
		first.earlier = next.earlier
		want := map[int][3]string{0: {"5", "2", "1"}, 1: {"8", "4", "2"}, 2: {"12", "6", "3"}}[i]
		for _, row := range encoded(t, rows) {
			if row.Name() != "SLUICE_NOTIFY_STATS|pfcm" {
				continue
			}
			got := [3]string{row.Fields["sent"], row.Fields["hold_queue_lost"], row.Fields["dropped_hop_limit"]}
			if got != want {
				t.Errorf("task %d: sent, lost and dropped are %v, want %v", i, got, want)
			}
		}
	}
	if e.Err() != nil {
		t.Error(e.Err())
	}
}
