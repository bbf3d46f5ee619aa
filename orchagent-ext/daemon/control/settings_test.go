// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/hold/neighbors"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	sai "sluice/sai-shim"
	"sluice/yang/rows"
)

// fakePorts is a switch whose port EthernetN is object N+1, with 8 queues.
type fakePorts struct{ none bool }

func (fakePorts) PortID(name string) sai.ObjectID {
	return map[string]sai.ObjectID{"Ethernet0": 1, "Ethernet4": 5, "Ethernet8": 9, "Ethernet12": 13}[name]
}
func (f fakePorts) QueueIDs(name string) (ids []sai.ObjectID, err error) {
	if f.none {
		return nil, errors.New("none here")
	}
	for i := range sai.ObjectID(8) {
		ids = append(ids, f.PortID(name)*100+i)
	}
	return ids, nil
}

func (fakePorts) Classes([]string) (map[string]*engine.Classes, error) { return nil, nil }

// TestPortsAndQueuesAreThoseOfTheSwitch: settings name ports, and the task has their objects.
func TestPortsAndQueuesAreThoseOfTheSwitch(t *testing.T) {
	gold := congestion.Threshold{High: 100_000, Low: 50_000}
	s := &Settings{
		Devices: []Device{
			{Port: flowcontrol.Port{Name: "Ethernet0", Edge: true}, Members: []Member{{Name: "Ethernet0"}}},
			{Port: flowcontrol.Port{Name: "Ethernet4", Notify: true, Edge: true}, Watched: true, Upstream: netip.MustParseAddr("fe80::9"), Members: []Member{{Name: "Ethernet4"}}},
			{Port: flowcontrol.Port{Name: "Ethernet99", Notify: true}, Watched: true, Members: []Member{{Name: "Ethernet99"}}}, // the switch lacks it
			{Port: flowcontrol.Port{Name: "PortChannel1", Notify: true, Border: true}, Watched: true, Members: []Member{{Name: "Ethernet12", SpeedMbps: 100_000}, {Name: "Ethernet8", SpeedMbps: 100_000}}},
		},
		Thresholds: map[string]Threshold{"Ethernet4": {Threshold: gold, Queues: []uint8{3, 4}}, "Ethernet99": {Threshold: gold}},
	}
	known := map[string]neighbors.Port{
		"Ethernet4":    {Index: 14, MAC: roce.MAC{2, 4}, Self: netip.MustParseAddr("fe80::4"), Neighbor: netip.MustParseAddr("fe80::9"), Configured: true},
		"PortChannel1": {Index: 18, Self: netip.MustParseAddr("fe80::8"), Neighbor: netip.MustParseAddr("fe80::18")},
	}
	sameAddr := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	if diff := cmp.Diff(map[string]netip.Addr{"Ethernet4": netip.MustParseAddr("fe80::9"), "Ethernet99": {}, "PortChannel1": {}}, s.watched(), sameAddr); diff != "" {
		t.Errorf("neighbors that are watched (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]flowcontrol.Port{
		{Name: "Ethernet0", Members: []sai.ObjectID{1}, Edge: true},
		{Name: "Ethernet4", Members: []sai.ObjectID{5}, Index: 14, MAC: roce.MAC{2, 4}, Self: netip.MustParseAddr("fe80::4"), Neighbor: netip.MustParseAddr("fe80::9"), Notify: true, Edge: true},
		{Name: "PortChannel1", Members: []sai.ObjectID{13, 9}, Index: 18, Self: netip.MustParseAddr("fe80::8"), Neighbor: netip.MustParseAddr("fe80::18"), Speed: 100_000, Notify: true, Border: true},
	}, s.ports(known, fakePorts{}.PortID), sameAddr); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	queues, err := s.queues(fakePorts{}, true)
	if diff := cmp.Diff(map[sai.ObjectID]flowcontrol.Queue{
		503: {Port: 5, Name: "Ethernet4", Number: 3, Threshold: gold}, 504: {Port: 5, Name: "Ethernet4", Number: 4, Threshold: gold},
	}, queues); diff != "" || err != nil {
		t.Errorf("queues, %v (-want +got):\n%s", err, diff)
	}
	if _, err := s.queues(fakePorts{none: true}, true); err == nil || !strings.Contains(err.Error(), "Ethernet4") {
		t.Errorf("without queues: %v", err)
	}
}

// marking is a library that remembers marks.
type marking struct {
	flowcontrol.Library
	set map[sai.ObjectID]marks
}

func (m *marking) SetQueueMarks(queue sai.ObjectID, high, low uint32) error {
	m.set[queue] = marks{high, low}
	return nil
}

func TestFlowControlClearsMarksOfAnEarlierProcess(t *testing.T) {
	m := &marking{set: map[sai.ObjectID]marks{}}
	l := &running{library: m, marks: map[sai.ObjectID]marks{}}
	l.assumeStale([]string{"Ethernet0", "Ethernet4"}, fakePorts{})
	if err := l.mark(map[sai.ObjectID]flowcontrol.Queue{503: {Threshold: congestion.Threshold{High: 100, Low: 50}}}); err != nil {
		t.Fatal(err)
	}
	for _, first := range []sai.ObjectID{100, 500} {
		for i := range sai.ObjectID(8) {
			want := marks{}
			if first+i == 503 {
				want = marks{100, 50}
			}
			if got, ok := m.set[first+i]; !ok || got != want {
				t.Errorf("marks of queue %d: %v (%v), want %v", first+i, got, ok, want)
			}
		}
	}
	clear(m.set)
	if err := l.mark(nil); err != nil || len(m.set) != 1 || m.set[503] != (marks{}) {
		t.Errorf("then set %v, %v", m.set, err)
	}
}

// TestMarksOfAllowedThresholdsAreTaken: a switch refuses a low mark that is not below the high one, and
// takes 0 for half of it; every threshold that the model allows has marks that it takes.
func TestMarksOfAllowedThresholdsAreTaken(t *testing.T) {
	const most = math.MaxUint32
	values := []uint64{0, 1, 2, 3, 100_000, most - 1, most, most + 1, most + 2, math.MaxUint64 - 1, math.MaxUint64}
	allowed := 0
	for _, high := range values {
		for _, low := range values {
			row := rows.Row{Table: "SLUICE_THRESHOLD", Key: "gold", Fields: map[string]string{"high_bytes": fmt.Sprint(high), "low_bytes": fmt.Sprint(low)}}
			if _, err := rows.Decode(row); err != nil {
				continue
			}
			allowed++
			if m := marksOf(&congestion.Threshold{High: high, Low: low}); m.low == 0 || m.low >= m.high {
				t.Errorf("high_bytes %d, low_bytes %d: marks %d and %d", high, low, m.high, m.low)
			}
		}
	}
	if allowed < len(values) {
		t.Errorf("%d pairs are allowed", allowed)
	}
}

// TestThresholdsAndNeighborsThatAreMissingAreWarnedOf: after the warnings of the configuration itself.
func TestThresholdsAndNeighborsThatAreMissingAreWarnedOf(t *testing.T) {
	s := &Settings{PFCM: true, Warnings: []string{"of the rows"}}
	c := &flowcontrol.Config{Generate: true, Ports: []flowcontrol.Port{{Name: "Ethernet0", Edge: true}, {Name: "Ethernet4", Notify: true}}}
	known := map[string]neighbors.Port{"Ethernet4": {Index: 1, Why: "no answer"}, "Ethernet0": {Why: "a host"}}
	got := s.warnings(c, known)
	want := []string{"of the rows", "notifications are to be sent, and no port of SLUICE_PORT has a threshold", "PFCM: no neighbor by Ethernet4: no answer"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	c.Ports[1].Border, c.Translate = true, true
	want[2] = "PFCM: the speed of Ethernet4 is not known, so no pause is translated: set it in PORT"
	if diff := cmp.Diff(want, s.warnings(c, known)); diff != "" {
		t.Errorf("at a border (-want +got):\n%s", diff)
	}
}

// A flow with a row shows its state there; one without a row gets one.
func TestCongestedAndHeldFlowsHaveRows(t *testing.T) {
	now := status.Instant{Wall: time.Unix(1000, 0), Monotonic: 5e9} // half a second after the report
	src, dst := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	r := &running{config: &flowcontrol.Config{}, report: &flowcontrol.Report{
		At:    45e8,
		Flows: []flowcontrol.CongestedFlow{{Port: "Ethernet4", Number: 3, In: "Ethernet0", Source: src, Destination: dst, DestQP: 17, Label: 9, Stream: 7, Octets: 150_000, Congested: true, Requested: true, To: netip.MustParseAddr("fe80::1"), Since: 4e9}, {}},
		Holds: []flowcontrol.Hold{{Kind: notify.KindPFCM, From: netip.MustParseAddr("fe80::2"), Index: 4, Queue: 3, Stream: 8, Since: 4e9, Until: 6e9}, {Kind: notify.KindPFCM, From: netip.MustParseAddr("fe80::2"), Stream: 9, Ignored: true}},
	}}
	id := func(n uint16) *uint16 { return &n }
	got := encoded(t, r.flowRows([]*telemetry.Flow{{Id: telemetry.Text("held"), StreamId: id(8)}, {Id: telemetry.Text("other"), StreamId: id(9)}}, now))
	want := []rows.Row{
		{Table: "SLUICE_FLOW", Key: "held", Fields: map[string]string{"stream_id": "8", "state": "held", "since": "1970-01-01T00:16:39Z"}},
		{Table: "SLUICE_FLOW", Key: "other", Fields: map[string]string{"stream_id": "9"}},
		{Table: "SLUICE_FLOW", Key: "2001:db8::1,2001:db8::2,000011", Fields: map[string]string{
			"src": "2001:db8::1", "dst": "2001:db8::2", "dest_qp": "17", "flow_label": "9", "stream_id": "7", "queue": "3", "queue_bytes": "150000", "exact": "true", "method": "exact", "confidence_percent": "100",
			"ingress_port": "Ethernet0", "egress_port": "Ethernet4", "state": "congested", "since": "1970-01-01T00:16:39Z", "notified_neighbor": "fe80::1", "told": "fe80::1",
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flows (-want +got):\n%s", diff)
	}
	for _, r := range append(got[2:], encoded(t, r.holdRows(now))...) {
		if _, err := rows.Decode(r); err != nil {
			t.Errorf("the model does not know %v: %v", r, err)
		}
	}
	h := encoded(t, r.holdRows(now))
	if len(h) != 2 || h[0].Fields["until"] != "1970-01-01T00:16:41Z" || h[0].Fields["state"] != "held" || h[1].Fields["state"] != "ignored" {
		t.Errorf("holds %v", h)
	}
}

// TestReleasedHoldsAreLoggedOnceAMinute: a hold that a neighbor refreshes for ever is
// released each second; the log has the first at once, and each minute how many more.
func TestReleasedHoldsAreLoggedOnceAMinute(t *testing.T) {
	var r releasedLog
	lines, counted := 0, uint64(0)
	for second := range int64(601) {
		if n, due := r.due(uint64(second), (5+second)*int64(time.Second)); due {
			lines++
			counted += n
		}
	}
	if lines != 10 || counted != 541 {
		t.Errorf("%d lines of %d releases in 10 minutes, want 10 of 541", lines, counted)
	}
}

// TestPortsToHostsHaveTheirIndex: no neighbor is looked for there, and PPFC names them by it.
func TestPortsToHostsHaveTheirIndex(t *testing.T) {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Skipf("no loopback: %v", err)
	}
	ports := []flowcontrol.Port{{Name: "lo"}, {Name: "lo", Index: 77}, {Name: "gone"}}
	number(ports)
	for i, want := range []uint32{uint32(lo.Index), 77, 0} {
		if ports[i].Index != want {
			t.Errorf("port %d has index %d, want %d", i, ports[i].Index, want)
		}
	}
}
