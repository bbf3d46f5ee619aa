// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/flowcontrol"
	"sluice/orchagent-ext/ipfix"
	"sluice/orchagent-ext/notify"
	"sluice/orchagent-ext/packetio"
	"sluice/yang/rows"
)

// TestRowsAreOfTheModel: what is written reads back through the model as it was.
func TestRowsAreOfTheModel(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	report := &flowcontrol.Report{}
	report.Reaction.Add(100 * time.Microsecond)
	messages := Notifications{
		Lane: report, Bad: func(notify.Kind, notify.Reason) uint64 { return 1 }, Dropped: func(notify.Kind, packetio.Dropped) uint64 { return 2 },
	}.Rows()
	if received := messages[0].Fields["received"]; received != fmt.Sprint(int(notify.BadSource)+2*2) {
		t.Errorf("%s messages received: each that was refused is one", received)
	}
	if p50 := messages[0].Fields["reaction_us_p50"]; p50 != "100.0" {
		t.Errorf("reaction_us_p50 %s", p50)
	}
	for _, r := range append(messages,
		State{State: Starting, Driver: "sai", Version: "1", FlowLabel: Inactive, Method: "none", Since: now, PFCM: Failed, PFCMReason: "no", Holds: 3}.Row(),
		Hold{Hold: flowcontrol.Hold{Kind: notify.KindPFCM, From: netip.MustParseAddr("fe80::1"), Stream: 7, Keep: 70, Rate: 5e6, Source: netip.MustParseAddr("::1"), Destination: netip.MustParseAddr("::2")},
			PortName: "Ethernet0", Since: now, Until: now, Known: true}.Row(),
		Capability{Needs: []Need{{"flow_label", "none", "compute: no", "none"}, {"hold", "exact", "preferred method available", "active"}}, IPv4: "spread"}.Row(),
		State{
			State: Degraded, Driver: "sai", Version: "1", FlowLabel: Active, Method: "compute", Objects: 8, Flows: 64, StreamIDs: "none", ConfigErrors: 1,
			Warnings: []string{"a", "b"}, LastError: "no library", LastErrorAt: now, Since: now,
			LastFault: "panic: boom", LastFaultAt: now,
		}.Row(),
		Capability{Needs: []Need{{"export", "mirror", "sample: no", "unproven"}}, IPv4: "spread", NoQueues: "no"}.Row(),
		Capability{IPv4: "spread", Queues: 8}.Row(),
		ConfigError(&rows.Error{Table: "SLUICE_PORT", Key: "Ethernet400", Reason: "no such port"}, now, nil),
		ConfigError(&rows.Error{Table: "SLUICE_FLOW_LABEL", Key: "global", Field: "algorithm", Value: "md5", Reason: "must be one of"}, now,
			&rows.Row{Table: "SLUICE_FLOW_LABEL", Key: "global", Fields: map[string]string{"algorithm": "crc32"}}),
		Counters{Written: 1, Skipped: 2, Copied: 3, Lost: 4, Policed: 13, Cut: 15, RefusedCapacity: 5, RefusedSwitch: 6, Evicted: 7, Faults: 14, Streams: StreamIDs{1, 2, 3, 4, 5, 6, 7}, CPU: packetio.Stats{RoCE: 6, Tunnelled: 7, NotRoCE: 8, Malformed: 9, QueueFull: 10, NewFlows: 11, FlowsKnown: 12}}.Row(),
		Counters{}.Row(),
		Collector(ipfix.Stats{Name: "c1", Connected: true, Messages: 1, Records: 2, Octets: 3, Waiting: 4, Dropped: 5, Connects: 6, Refused: 7}),
		Collector(ipfix.Stats{Name: "c2", Error: "connection refused"}),
		Queue{Port: "Ethernet0", Queue: 3, Watermark: new(uint64), Packets: 2, Bytes: 3, Dropped: 4}.Row(),
		Queue{Port: "Ethernet0", Queue: 4, Queued: new(uint64), Packets: 2, Bytes: 3, Dropped: 4}.Row(),
		Port{Name: "Ethernet0", RxPackets: 1, RxBytes: 2, TxPackets: 3, TxBytes: 4}.Row(),
		Port{Name: "Ethernet0", Oper: "down", RxPackets: 1}.Row(),
	) {
		s, err := rows.Decode(r)
		if err != nil {
			t.Errorf("%s: %v", r.Name(), err)
			continue
		}
		back, err := rows.Encode(s)
		if err != nil {
			t.Errorf("%s: %v", r.Name(), err)
			continue
		}
		if diff := cmp.Diff(r, back); diff != "" {
			t.Errorf("%s: %s", r.Name(), diff)
		}
	}
}

// TestLastGood: what is in force is read back from the row of an error.
func TestLastGood(t *testing.T) {
	good := rows.Row{Table: "SLUICE_PPFC_PEER", Key: "2001:db8::/32", Fields: map[string]string{"a b": `c "d" | e`}}
	wrong := &rows.Error{Table: good.Table, Key: good.Key}
	errs := []rows.Row{ConfigError(wrong, time.Time{}, nil), ConfigError(wrong, time.Time{}, &good)}
	if diff := cmp.Diff([]rows.Row{good}, LastGood(errs)); diff != "" {
		t.Error(diff)
	}
}

func TestSkippedShare(t *testing.T) {
	for _, tt := range []struct {
		c    Counters
		want string
	}{{Counters{}, "0.0"}, {Counters{Written: 3, Skipped: 1}, "25.0"}, {Counters{Skipped: 9}, "100.0"}} {
		if got := tt.c.Row().Fields["label_skipped_percent"]; got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.c, got, tt.want)
		}
	}
}
