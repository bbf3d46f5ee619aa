// SPDX-License-Identifier: Apache-2.0

package top

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/yang/rows"
)

// start is when the first row of these tests was written.
var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// table makes rows of TABLE|key field=value… lines.
func table(lines ...string) []rows.Row {
	var all []rows.Row
	for _, line := range lines {
		words := strings.Fields(line)
		name, key, _ := strings.Cut(words[0], "|")
		fields := map[string]string{}
		for _, w := range words[1:] {
			field, v, _ := strings.Cut(w, "=")
			fields[field] = v
		}
		all = append(all, rows.Row{Table: name, Key: key, Fields: fields})
	}
	return all
}

// port has a row in both tables; its counters count octets of packets of 1000.
func port(name, role string, rx, tx int) []string {
	return []string{
		fmt.Sprintf("SLUICE_PORT|%s role=%s", name, role),
		fmt.Sprintf("SLUICE_PORT_STATS|%s rx_packets=%d rx_bytes=%d tx_packets=%d tx_bytes=%d", name, rx, 1000*rx, tx, 1000*tx),
	}
}

func at(second int) string {
	return "SLUICE_STATS|global read_time=" + start.Add(time.Duration(second)*time.Second).Format(time.RFC3339Nano)
}

func known(v float64) Number { return Number{v, true} }

var comparer = cmp.Comparer(func(a, b Number) bool {
	return a.known == b.known && (a.value-b.value < 1e-9 && b.value-a.value < 1e-9)
})

func TestRatesAndShares(t *testing.T) {
	before := table(slices.Concat([]string{at(0) + " cpu_copied=10 cpu_ring_full=0"}, port("Ethernet0", "edge", 0, 0), port("Ethernet16", "fabric", 0, 0), port("Ethernet4", "fabric", 0, 0), port("Ethernet8", "fabric", 7, 500))...)
	now := table(slices.Concat([]string{at(2) + " cpu_copied=30 cpu_ring_full=4"}, port("Ethernet0", "edge", 400, 100), port("Ethernet16", "fabric", 0, 300), port("Ethernet4", "fabric", 0, 100), port("Ethernet8", "fabric", 7, 500))...)
	now = append(now, table("SLUICE_QUEUE_STATS|Ethernet4|3 watermark_bytes=512", "SLUICE_QUEUE_STATS|Ethernet4|4 watermark_bytes=7000",
		"SLUICE_QUEUE_STATS|Ethernet4|5 packets=1", "SLUICE_QUEUE_STATS|Ethernet16|3 watermark_bytes=0")...)
	v := viewOf(before, now)
	zero := known(0)
	want := []Port{
		{"Ethernet0", "edge", "", known(1.6e6), known(200), known(4e5), known(50), Number{}, Number{}, nil},
		{"Ethernet4", "fabric", "", zero, zero, known(4e5), known(50), known(0.25), Number{}, &Queue{"4", known(7000), Number{}}},
		{"Ethernet8", "fabric", "", zero, zero, zero, zero, zero, Number{}, nil},
		{"Ethernet16", "fabric", "", zero, zero, known(1.2e6), known(150), known(0.75), Number{}, &Queue{"3", zero, Number{}}},
	}
	if diff := cmp.Diff(want, v.Ports, comparer); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	if frame := v.Frame(Layout{Width: 80}); !strings.Contains(frame, "QUEUE-MAX\n") || !strings.Contains(frame, "  7.00k q4\n") || !strings.Contains(frame, "  0.0%                      -\n") {
		t.Error(frame)
	}
	if diff := cmp.Diff(Paths{3, 1, known(2.25), known(1.5), []float64{2.25}}, v.Paths, comparer, cmp.AllowUnexported(Paths{})); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	if v.CPU.Copied != known(10) || v.CPU.Drops[0] != (Drop{"ring full", known(2)}) || v.CPU.RoCE.known {
		t.Errorf("%+v", v.CPU)
	}
}

// Where labels are chosen, ports show what their share would be by the hash.
func TestShareByHash(t *testing.T) {
	now := table(slices.Concat([]string{at(0)}, port("Ethernet0", "edge", 0, 0), port("Ethernet4", "fabric", 0, 100), port("Ethernet8", "fabric", 0, 100))...)
	now = append(now, table("SLUICE_PLACEMENT_MEMBER|g|Ethernet4 name=Ethernet4 hash_rate=300", "SLUICE_PLACEMENT_MEMBER|g|Ethernet8 name=Ethernet8 hash_rate=100")...)
	v := viewOf(now, now)
	for i, want := range []Number{{}, known(0.75), known(0.25)} {
		if got := v.Ports[i].ByHash; got != want {
			t.Errorf("%s: %v by hash, want %v", v.Ports[i].Name, got, want)
		}
	}
	if frame := v.Frame(Layout{Width: 100}); !strings.Contains(frame, "BY-HASH") || !strings.Contains(frame, " 75.0%") {
		t.Error(frame)
	}
	if frame := viewOf(now[:7], now[:7]).Frame(Layout{Width: 100}); strings.Contains(frame, "BY-HASH") {
		t.Error(frame)
	}
}

// With scope fabric a line says which scope is in force, and who plans.
func TestScopeFabric(t *testing.T) {
	for want, row := range map[string]map[string]string{
		"placement: scope fabric, plan 12, planner leaf-1, leaves 32\n":                                       {"scope": "fabric", "planner": "leaf-1", "plan": "12", "leaves": "32", "rows_rejected": "0"},
		"placement: scope local, no plan, no planner, leaves 0, rows aside 2: no lease in etcd (timed out)\n": {"scope": "local", "leaves": "0", "rows_rejected": "2", "reason": "no lease in etcd (timed out)"},
	} {
		now := append(table(append(port("Ethernet4", "fabric", 0, 100), at(0))...), rows.Row{Table: "SLUICE_PLACEMENT_FABRIC", Key: "global", Fields: row})
		v := viewOf(now, now)
		if frame := v.Frame(Layout{Width: 120}); !strings.Contains(frame, want) {
			t.Errorf("want %s\n%s", want, frame)
		}
		text, err := json.Marshal(v)
		if err != nil || !strings.Contains(string(text), `"placement_fabric":{"scope":"`+row["scope"]+`"`) {
			t.Errorf("%v: %s", err, text)
		}
	}
	if frame := viewOf(nil, table(append(port("Ethernet4", "fabric", 0, 100), at(0))...)).Frame(Layout{Width: 120}); strings.Contains(frame, "placement:") {
		t.Error(frame)
	}
}

// TestQueueOfNow: where the switch tells what is in its queues, that is shown.
func TestQueueOfNow(t *testing.T) {
	now := append(table(append(port("Ethernet4", "fabric", 1, 1), at(1))...),
		table("SLUICE_QUEUE_STATS|Ethernet4|0 queued_bytes=0", "SLUICE_QUEUE_STATS|Ethernet4|3 queued_bytes=9000", "SLUICE_QUEUE_STATS|Ethernet4|4 queued_bytes=8000")...)
	v := viewOf(now, now)
	if diff := cmp.Diff(&Queue{"3", Number{}, known(9000)}, v.Ports[0].Queue, comparer); diff != "" {
		t.Errorf("queue (-want +got):\n%s", diff)
	}
	if frame := v.Frame(Layout{Width: 80}); !strings.Contains(frame, "     QUEUE\n") || !strings.Contains(frame, "  9.00k q3\n") {
		t.Error(frame)
	}
}

// TestNothingIsNegative: a counter that decreased was reset, and one that was
// not there has no rate.
func TestNothingIsNegative(t *testing.T) {
	flow := func(n int) string {
		return fmt.Sprintf("SLUICE_FLOW|a,b,000001 src=a dst=b dest_qp=1 flow_label=2 packets=%d bytes=%d", n, 100*n)
	}
	before := table(append(port("Ethernet4", "fabric", 900, 900), at(0)+" cpu_copied=900", flow(900))...)
	now := table(append(port("Ethernet4", "fabric", 5, 905), at(1)+" cpu_copied=5", flow(5), "SLUICE_FLOW|a,b,000002 dest_qp=2 packets=7 bytes=7000")...)
	v := viewOf(before, now)
	if p := v.Ports[0]; p.RxBits.known || p.RxPackets.known || p.TxPackets != known(5) {
		t.Errorf("%+v", p)
	}
	for _, f := range v.Flows {
		if f.Bits.known || f.Packets.known || f.Share.known || !f.Bytes.known {
			t.Errorf("%+v", f)
		}
	}
	if v.CPU.Copied.known {
		t.Errorf("%+v", v.CPU)
	}
	frame := v.Frame(Layout{Width: 120, Height: 40})
	if strings.Contains(frame, "-0") || strings.Contains(frame, "-9") || strings.Contains(frame, "NaN") {
		t.Error(frame)
	}
	text, err := json.Marshal(v)
	if err != nil || !strings.Contains(string(text), `"rx_bits":null`) {
		t.Errorf("%v: %s", err, text)
	}
}

// TestPortsOfFlows: where there is room a flow has the port that it comes in by.
func TestPortsOfFlows(t *testing.T) {
	rows := table(at(0), "SLUICE_FLOW|a,b,000001 src=a dst=b dest_qp=1 ingress_port=Ethernet0", "SLUICE_FLOW|a,b,000002 src=a dst=b dest_qp=2")
	for width, want := range map[int]bool{0: true, 119: false, 120: true} {
		frame := viewOf(rows, rows).Frame(Layout{Width: width})
		for _, word := range []string{"  IN\n", "  Ethernet0\n"} {
			if strings.Contains(frame, word) != want {
				t.Errorf("%d columns, %q:\n%s", width, word, frame)
			}
		}
	}
}

// TestHistoryRatesBetweenWritings: rates are between two writings of sluiced, however often one looks.
func TestHistoryRatesBetweenWritings(t *testing.T) {
	var h History
	for i, want := range []Number{{}, {}, known(100), known(100), known(100), known(250)} {
		second, copied := []int{0, 0, 1, 1, 1, 3}[i], []int{0, 0, 100, 100, 100, 600}[i]
		h.Add(Parse(table(fmt.Sprintf("%s cpu_copied=%d", at(second), copied)), start))
		if got := h.View("", start.Add(3*time.Second), "").CPU.Copied; got != want {
			t.Errorf("reading %d: %v, want %v", i, got, want)
		}
	}
	if got := h.View("", start.Add(3*time.Second+stale), "").CPU.Copied; got.known {
		t.Errorf("counters of %v ago have a rate: %v", stale, got)
	}
}

func TestFlowsSortByColumn(t *testing.T) {
	v := &View{Flows: []Flow{
		{ID: "a", DestQP: known(3), Bits: known(1), Packets: known(9), Bytes: known(5)},
		{ID: "b", DestQP: known(1), Bits: known(8), Packets: known(2), Bytes: known(6)},
		{ID: "c", DestQP: known(2), Bytes: known(7), Ingress: "Ethernet0"},
		{ID: "d", DestQP: known(2), Bytes: known(7), Egress: "Ethernet0"},
	}, AllFlows: 4, Method: "rewrite"}
	order := ByRate
	for _, want := range []string{"bacd", "abcd", "cdba", "bcda", "cdba", "bacd"} {
		v.Sort(order)
		got := ""
		for _, f := range v.Flows {
			got += f.ID
		}
		if got != want {
			t.Errorf("by %s: %s, want %s", order, got, want)
		}
		order = order.Next()
	}
	v.Limit(3)
	if got := v.Frame(Layout{}); !strings.HasSuffix(got, "\nand 1 more\n") {
		t.Error(got)
	}
	v.Only("Ethernet0")
	if len(v.Flows) != 1 || v.Flows[0].ID != "c" {
		t.Errorf("flows of a port: %+v", v.Flows)
	}
	v.Only("Ethernet4")
	if got := v.Frame(Layout{}); !strings.Contains(got, "none of the 4 flows names this port") || !strings.Contains(got, "port Ethernet4 has no counters") {
		t.Error(got)
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", 0.5: "0.50", 9.994: "9.99", 9.996: "10.0", 99.96: "100", 999: "999", 999.6: "1.00k", 1234: "1.23k",
		12345: "12.3k", 123456: "123k", 999999: "1.00M", 4e11: "400G", 1.5e15: "1.50P",
	} {
		if got := known(v).String(); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	g := utf8Glyphs
	for _, tt := range []struct {
		to        int
		want, cut string
	}{
		{0, "", ""}, {1, "…", "…"}, {2, "2…", "2…"}, {6, "200…:1", "2001:…"}, {12, "2001:d…3::01", "2001:db8:a:…"},
	} {
		s := map[bool]string{true: "2001:db8:a:b:3::01", false: "2001:db8:a:b::1:1"}[tt.to == 12]
		if got := g.middle(s, tt.to); got != tt.want {
			t.Errorf("%s in %d columns: %s, want %s", s, tt.to, got, tt.want)
		}
		if got := g.cut(s, tt.to); got != tt.cut {
			t.Errorf("%s cut to %d: %s, want %s", s, tt.to, got, tt.cut)
		}
	}
}

// TestModelHasTheFields: every table and counter that is read is in the models,
// so that only written fields are read.
func TestModelHasTheFields(t *testing.T) {
	for database, tables := range map[string][]string{"CONFIG_DB": ConfigTables, "STATE_DB": StateTables, "COUNTERS_DB": CountersTables} {
		for _, name := range tables {
			if !slices.Contains(rows.Tables(database), name) {
				t.Errorf("%s has no table %s", database, name)
			}
		}
	}
	fields := map[string][]string{
		tablePort:       {"role"},
		tableState:      {"state", "flow_label", "flow_label_method", "since", "flows", "config_errors", "warnings", "last_error"},
		tableCapability: {"flow_label_method", "flow_label_reason", "flow_label_state", "export_method", "hold_method", "threshold_method"},
		tableFlow:       {"src", "dst", "dest_qp", "flow_label", "stream_id", "ingress_port", "egress_port", "packets", "bytes"},
		tableStats:      {"read_time", "label_written", "label_skipped", "cpu_copied", "cpu_roce", "cpu_flows", "cpu_new_flows"},
		tablePortStats:  {"rx_bytes", "rx_packets", "tx_bytes", "tx_packets"},
		tableQueueStats: {"watermark_bytes", "queued_bytes"},
	}
	for _, d := range drops {
		fields[tableStats] = append(fields[tableStats], d.field)
	}
	for name, want := range fields {
		for _, field := range want {
			if !slices.Contains(rows.Fields(name), field) {
				t.Errorf("%s has no field %s", name, field)
			}
		}
	}
}
