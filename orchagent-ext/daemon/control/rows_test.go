// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
	"sluice/yang/rows"
)

// encoded are the rows of structs.
func encoded[S ygot.GoStruct](t *testing.T, all []S) []rows.Row {
	t.Helper()
	var encoded []rows.Row
	for _, s := range all {
		r, err := rows.Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		encoded = append(encoded, r)
	}
	return encoded
}

// TestRowsAreOfTheModel: what is written reads back through the model as it was, and
// every leaf that is set by its name is one.
func TestRowsAreOfTheModel(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	report := &flowcontrol.Report{}
	report.Reaction.Add(100_000)
	n := notifications{
		report: report, bad: func(notify.Kind, notify.Reason) uint64 { return 1 }, dropped: func(notify.Kind, packetio.Dropped) uint64 { return 2 },
		policed: func(notify.Kind) uint64 { return 3 },
	}
	e := status.Encoder{Log: slog.New(slog.DiscardHandler)}
	var did holdCount
	did.add(sai.HoldState{Octets: 1, Packets: 2, WaitingOctets: 3, DroppedPackets: 4}, nil)
	did.add(sai.HoldState{Octets: 10, Packets: 20, WaitingOctets: 30, DroppedPackets: 40}, nil)
	did.add(sai.HoldState{Octets: 100}, sai.ErrNotFound)
	held := flowcontrol.Hold{
		Kind: notify.KindPFCM, From: netip.MustParseAddr("fe80::1"), Stream: 7, Keep: 70, Rate: 5e6,
		Source: netip.MustParseAddr("::1"), Destination: netip.MustParseAddr("::2"),
	}
	ignored := flowcontrol.Hold{
		Kind: notify.KindPPFC, From: netip.MustParseAddr("192.0.2.1"), Ignored: true, Source: held.Source, Destination: held.Destination, Match: sai.HoldMatch{Value: 0x123456},
	}
	flow := &telemetry.Flow{Id: telemetry.Text("f")}
	congested(&flowcontrol.CongestedFlow{Congested: true, Source: held.Source, Destination: held.Destination, Stream: 9, Port: "Ethernet0", Number: 3}, now, knowledge{method: "exact", confidence: 100}, flow)
	all := append(n.rows(e.Fill), holdRow(&held, "Ethernet0", now, now, did), holdRow(&ignored, "any", now, now, holdCount{}), flow)
	written := map[string]map[string]string{}
	for r := range e.Encode(all...) {
		written[r.Name()] = maps.Clone(r.Fields)
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
	if e.Err() != nil {
		t.Error(e.Err())
	}
	for row, want := range map[string]map[string]string{
		"SLUICE_NOTIFY_STATS|pfcm":                       {"received": fmt.Sprint(int(notify.BadSource) + 2*2 + 3), "dropped_policed": "3", "reaction_us_p50": "100.0", "reaction_us_n": "1", "dropped_sender": "2"},
		"SLUICE_NOTIFY_STATS|rate-advice":                {"sent": "0"},
		"SLUICE_HOLD|fe80::1,Ethernet0,::1,::2,0x0007,0": {"state": "held", "action": "reduce", "reduction": "30", "rate_mbps": "5", "octets": "11", "dropped": "44", "stream_id": "7", "since": "2026-11-21T12:00:00Z"},
		"SLUICE_HOLD|192.0.2.1,::1,::2,0x123456,0":       {"state": "ignored", "action": "pause", "message": "ppfc", "stream_id": "", "octets": ""},
		"SLUICE_FLOW|f":                                  {"state": "congested", "stream_id": "9", "exact": "true", "egress_port": "Ethernet0"},
	} {
		got, ok := written[row]
		if !ok {
			t.Errorf("no row %s of %v", row, slices.Sorted(maps.Keys(written)))
		}
		for field, value := range want {
			if got[field] != value {
				t.Errorf("%s: %s is %q, want %q", row, field, got[field], value)
			}
		}
	}
}

// TestHoldsOfTwoConnectionsHaveTwoRows: also where they differ by the protocol alone, and beside a
// hold of all flows of their hosts.
func TestHoldsOfTwoConnectionsHaveTwoRows(t *testing.T) {
	const ports = 5000<<16 | 80
	for key, m := range map[string]sai.HoldMatch{
		"6:5000:80":  {Kind: sai.HoldTuple, Protocol: 6, Value: ports},
		"17:5000:80": {Kind: sai.HoldTuple, Protocol: 17, Value: ports},
		"0x000077":   {Kind: sai.HoldSession, Value: 0x77},
		"all":        {Kind: sai.HoldPair},
	} {
		h := flowcontrol.Hold{Kind: notify.KindPPFC, From: netip.MustParseAddr("192.0.2.1"), Match: m}
		if row := holdRow(&h, "any", time.Time{}, time.Time{}, holdCount{}); !strings.Contains(*row.Id, ","+key+",") {
			t.Errorf("the row of %+v is %q, want %q in it", m, *row.Id, key)
		}
	}
}
