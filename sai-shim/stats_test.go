// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saitest"
)

// TestStatsOfManyPorts reads the counters of three ports from libraries with a call for many,
// without it, and with one that answers SUCCESS and gives no numbers: the counters are the same.
func TestStatsOfManyPorts(t *testing.T) {
	want := make([]sai.PortStats, 3)
	for i := range want {
		base := uint64(i+1) * 1000
		want[i] = sai.PortStats{RxOctets: base, RxPackets: base + 1, TxOctets: base + 9, TxPackets: base + 10}
	}
	single := []string{"stats port#1", "stats port#2", "stats port#3"}
	for _, tt := range []struct {
		name, bulk, fail string
		first, next      []string // calls
		atOnce           int
	}{
		{"with it", "yes", "", []string{"bulk port#1"}, []string{"bulk port#1"}, 64},
		{"refused", "", "", single, single, 1},
		{"silent", "silent", "", single, single, 1},
		{"one port fails", "yes", ";stats port 1 -1 1", []string{"bulk port#1", "stats port#2"}, single, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			library := saitest.New(t)
			profile := library.Profile("FAIL", "remove nothing 0 -1"+tt.fail)
			if tt.bulk != "" {
				profile["BULK"] = tt.bulk
			}
			l := open(t, library, profile)
			if n := l.PortsAtOnce(); n != 2 {
				t.Errorf("%d ports at once before the first call, want 2", n)
			}
			library.Calls()
			for i, calls := range [][]string{tt.first, tt.next} {
				got, errs := l.AllPortStats([]sai.ObjectID{id(port, 1), id(port, 2), id(port, 3)})
				if diff := cmp.Diff(want, got); diff != "" || slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
					t.Errorf("time %d: %v %s", i+1, errs, diff)
				}
				if diff := cmp.Diff(calls, library.Calls()); diff != "" {
					t.Errorf("time %d: %s", i+1, diff)
				}
			}
			if n := l.PortsAtOnce(); n != tt.atOnce {
				t.Errorf("%d ports at once, want %d", n, tt.atOnce)
			}
		})
	}
	t.Run("a library without the function", func(t *testing.T) {
		library := saitest.New(t, "sai_bulk_object_get_stats")
		l := open(t, library, library.Profile("BULK", "yes"))
		if got, errs := l.AllPortStats([]sai.ObjectID{id(port, 1), id(port, 9)}); got[0] != want[0] || errs[0] != nil || errs[1] == nil {
			t.Errorf("%v %v", got, errs)
		}
	})
}

// TestStatsOfManyQueues: one queue teaches which statistics the library has; then one call reads
// those of many, and a queue that is gone has an error of its own.
func TestStatsOfManyQueues(t *testing.T) {
	library := saitest.New(t)
	l := open(t, library, library.Profile("BULK", "yes"))
	queues := []sai.ObjectID{id(queue, 1), id(queue, 2), id(queue, 3)}
	for _, want := range [][]string{{"stats queue#1", "stats queue#2", "stats queue#3"}, {"bulk queue#1"}} {
		library.Calls()
		all, errs := l.AllQueueStats(queues)
		if diff := cmp.Diff(want, library.Calls()); diff != "" {
			t.Error(diff)
		}
		for i := range queues {
			if base := uint64(i+1) * 1000; errs[i] != nil || len(all[i]) != 7 || all[i][sai.QueueDropped] != base+2 || all[i][sai.QueueMarked] != base+34 {
				t.Errorf("queue %d: %v %v", i+1, all[i], errs[i])
			}
		}
	}
	all, errs := l.AllQueueStats([]sai.ObjectID{queues[0], id(queue, 9999), queues[2]})
	if errs[0] != nil || errs[1] == nil || errs[2] != nil || all[1] != nil || all[2][sai.QueueDropped] != 3002 || l.QueuesAtOnce() != 64 {
		t.Errorf("%v %v, %d at once", all, errs, l.QueuesAtOnce())
	}
}
