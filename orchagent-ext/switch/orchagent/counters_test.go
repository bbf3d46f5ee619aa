// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// TestQueuesAreReadForTheGivenPortsAlone: the queues of the ports asked for, and no others; what was read is good
// for a while, unless other ports are asked for.
func TestQueuesAreReadForTheGivenPortsAlone(t *testing.T) {
	p := newPlace(t)
	counters, err := sonicdb.Open(p.databases, "COUNTERS_DB", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = counters.Close() })
	write := func(table, key string, fields map[string]string) {
		t.Helper()
		if err := counters.Write(t.Context(), sonicdb.Change{Row: rows.Row{Table: table, Key: key, Fields: fields}}); err != nil {
			t.Fatal(err)
		}
	}
	write(mapQueues, "", map[string]string{"Ethernet0:3": "oid:0x3", "Ethernet4:0": "oid:0x4", "Ethernet0:x": "oid:0x5", "Ethernet8": "oid:0x6"})
	write(tableCounters, "oid:0x3", map[string]string{"SAI_QUEUE_STAT_PACKETS": "7", "SAI_QUEUE_STAT_BYTES": "700", "SAI_QUEUE_STAT_DROPPED_PACKETS": "N/A"})
	write(tableWatermarks, "oid:0x3", map[string]string{"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES": "9000"})
	d := p.driver().Counters()
	first := map[string]bool{"Ethernet0": true}
	is := func(ports map[string]bool, want ...QueueCounters) {
		t.Helper()
		got, err := d.Queues(ports)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	was := QueueCounters{Port: "Ethernet0", Queue: 3, Watermark: 9000, Packets: 7, Octets: 700}
	is(first, was)
	d.queue.at = d.queue.at.Add(time.Hour) // the machine may be busy
	write(tableCounters, "oid:0x3", map[string]string{"SAI_QUEUE_STAT_PACKETS": "8"})
	is(first, was)
	is(map[string]bool{"Ethernet4": true}, QueueCounters{Port: "Ethernet4"})
	is(first, QueueCounters{Port: "Ethernet0", Queue: 3, Watermark: 9000, Packets: 8})
	write(tableCounters, "oid:0x3", map[string]string{"SAI_QUEUE_STAT_PACKETS": "9"})
	d.queue.at = time.Now().Add(-2 * queuesCached)
	is(first, QueueCounters{Port: "Ethernet0", Queue: 3, Watermark: 9000, Packets: 9})
	is(nil)
}
