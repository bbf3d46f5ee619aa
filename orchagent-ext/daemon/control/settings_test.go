// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/tests/configtest"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/sonicdb"
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

func TestRowsOfPFCMConfigureFlowControl(t *testing.T) {
	mark := uint32(77)
	s := configtest.Snapshot(t, configtest.Port0, configtest.Port4, []string{"PORT", "Ethernet8", "lanes=8", "speed=100000"}, []string{"PORT", "Ethernet12", "lanes=12", "speed=100000"},
		[]string{"PORTCHANNEL", "PortChannel1"}, []string{"PORTCHANNEL_MEMBER", "PortChannel1|Ethernet8"}, []string{"PORTCHANNEL_MEMBER", "PortChannel1|Ethernet12"},
		[]string{"SLUICE_THRESHOLD", "gold", "high_bytes=100000", "queues@=3,4", "action=reduce", "reduction=30", "average_us=5"},
		configtest.Edge0, []string{"SLUICE_PORT", "Ethernet4", "role=edge", "upstream_neighbor=fe80::9", "threshold=gold"},
		[]string{"SLUICE_PORT", "PortChannel1", "role=border"},
		[]string{"SLUICE", "global", "stream_id_seed=5"},
		[]string{"SLUICE_PFCM", "global", "admin_state=enabled", "encapsulation=hop-by-hop", "icmpv6_type=210", "option_type=29", "translate_pfc=true",
			"unknown_stream=pair", "hold_limit_ms=500", "rx_rate=100", "rx_burst=10", "rx_rate_per_source=50", "tx_rate=200", "require_mark=77"},
		[]string{"SLUICE_PPFC", "global", "figure2=accept"})
	if !policy.Controls(s) {
		t.Fatal("PFCM is enabled and not in force")
	}
	known := map[string]neighbors.Port{
		"Ethernet4":    {Index: 14, MAC: roce.MAC{2, 4}, Self: netip.MustParseAddr("fe80::4"), Neighbor: netip.MustParseAddr("fe80::9"), Configured: true},
		"PortChannel1": {Index: 18, Self: netip.MustParseAddr("fe80::8"), Neighbor: netip.MustParseAddr("fe80::18")},
	}
	got := configOf(s)
	got.Ports = portsOf(s, known, fakePorts{}.PortID)
	var err error
	if got.Queues, err = queuesOf(s, fakePorts{}, true); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]netip.Addr{"Ethernet4": netip.MustParseAddr("fe80::9"), "PortChannel1": {}}, watched(s), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("neighbors that are watched (-want +got):\n%s", diff)
	}
	codes := notify.DefaultCodePoints()
	codes.PFCMType, codes.PFCMOption, codes.Figure2 = 210, 29, true
	gold := congestion.Threshold{High: 100_000, Low: 50_000, Average: 5 * time.Microsecond, Action: notify.Reduce(30), Duration: 40 * time.Millisecond}
	want := &flowcontrol.Config{
		Generate: true, Obey: true, Translate: true, Encapsulation: notify.HopByHop, Codes: codes, Seed: 5, HoldPair: true, HoldLimit: 500 * time.Millisecond,
		Receive: flowcontrol.Rate{PerSecond: 100, Burst: 10}, ReceiveBySource: flowcontrol.Rate{PerSecond: 50, Burst: 5}, Send: flowcontrol.Rate{PerSecond: 200, Burst: 20}, SendClient: flowcontrol.Rate{PerSecond: 12800, Burst: 1280},
		Mark: mark,
		Ports: []flowcontrol.Port{
			{Name: "Ethernet0", Members: []sai.ObjectID{1}, Edge: true}, // a host, which is told nothing
			{Name: "Ethernet4", Members: []sai.ObjectID{5}, Index: 14, MAC: roce.MAC{2, 4}, Self: netip.MustParseAddr("fe80::4"), Neighbor: netip.MustParseAddr("fe80::9"), Notify: true, Edge: true},
			{Name: "PortChannel1", Members: []sai.ObjectID{13, 9}, Index: 18, Self: netip.MustParseAddr("fe80::8"), Neighbor: netip.MustParseAddr("fe80::18"), Speed: 100_000, Notify: true, Border: true},
		},
		Queues: map[sai.ObjectID]flowcontrol.Queue{
			503: {Port: 5, Name: "Ethernet4", Number: 3, Threshold: gold}, 504: {Port: 5, Name: "Ethernet4", Number: 4, Threshold: gold},
		},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if _, err := queuesOf(s, fakePorts{none: true}, true); err == nil || !strings.Contains(err.Error(), "Ethernet4") {
		t.Errorf("without queues: %v", err)
	}
	if policy.Controls(configtest.Snapshot(t, configtest.Port0)) || policy.Controls(configtest.Snapshot(t, []string{"SLUICE", "global", "admin_state=disabled"}, []string{"SLUICE_PFCM", "global", "admin_state=enabled"})) {
		t.Error("PFCM is in force though it, or all, is disabled")
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
	l.assumeStale(configtest.Snapshot(t, configtest.Port0, configtest.Port4), fakePorts{})
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

func TestPFCMWithoutItsNeedsIsWarnedOf(t *testing.T) {
	s := configtest.Snapshot(t, configtest.Port0, configtest.Port4, configtest.Fabric4, configtest.Edge0, []string{"SLUICE", "global", "stream_id_scope=local"},
		[]string{"SLUICE_PFCM", "global", "admin_state=enabled", "allow_loss=true"})
	c := configOf(s)
	known := map[string]neighbors.Port{"Ethernet4": {Index: 1, Why: "no answer"}, "Ethernet0": {Why: "a host"}}
	c.Ports = portsOf(s, known, fakePorts{}.PortID)
	w := warnings(s, c, known)
	for _, want := range []string{"allow_loss is ignored", "scope hash", "no port of SLUICE_PORT has a threshold", "no neighbor by Ethernet4: no answer"} {
		if !slices.ContainsFunc(w, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("no warning says %q: %q", want, w)
		}
	}
	if len(w) != 4 {
		t.Errorf("%q", w)
	}
}

// A flow with a row shows its state there; one without a row gets one.
func TestCongestedAndHeldFlowsHaveRows(t *testing.T) {
	now := status.Instant{Wall: time.Unix(1000, 0), Monotonic: 5e9} // half a second after the report
	src, dst := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	c := Control{running: &running{config: &flowcontrol.Config{}, report: &flowcontrol.Report{
		At:    45e8,
		Flows: []flowcontrol.CongestedFlow{{Port: "Ethernet4", Number: 3, In: "Ethernet0", Source: src, Destination: dst, DestQP: 17, Label: 9, Stream: 7, Octets: 150_000, Congested: true, Requested: true, To: netip.MustParseAddr("fe80::1"), Since: 4e9}, {}},
		Holds: []flowcontrol.Hold{{Kind: notify.KindPFCM, From: netip.MustParseAddr("fe80::2"), Index: 4, Queue: 3, Stream: 8, Since: 4e9, Until: 6e9}, {Kind: notify.KindPFCM, From: netip.MustParseAddr("fe80::2"), Stream: 9, Ignored: true}},
	}}}
	id := func(n uint16) *uint16 { return &n }
	got := encoded(t, c.FlowRows([]*telemetry.Flow{{Id: telemetry.Text("held"), StreamId: id(8)}, {Id: telemetry.Text("other"), StreamId: id(9)}}, now))
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
	for _, r := range append(got[2:], encoded(t, c.HoldRows(now))...) {
		if _, err := rows.Decode(r); err != nil {
			t.Errorf("the model does not know %v: %v", r, err)
		}
	}
	h := encoded(t, c.HoldRows(now))
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

// TestCodePointsAreThoseOfTheModel: the codec takes the numbers that CONFIG_DB takes, so that the
// tools refuse what rows refuse.
func TestCodePointsAreThoseOfTheModel(t *testing.T) {
	for _, field := range []struct {
		table, name string
		last        int
		set         func(c *notify.CodePoints, v uint16)
	}{
		{"SLUICE_PFCM", "icmpv6_type", 255, func(c *notify.CodePoints, v uint16) { c.PFCMType = uint8(v) }},
		{"SLUICE_PFCM", "option_type", 255, func(c *notify.CodePoints, v uint16) { c.PFCMOption = uint8(v) }},
		{"SLUICE_PPFC", "icmpv6_type", 255, func(c *notify.CodePoints, v uint16) { c.PPFCTypeV6 = uint8(v) }},
		{"SLUICE_PPFC", "icmpv4_type", 255, func(c *notify.CodePoints, v uint16) { c.PPFCTypeV4 = uint8(v) }},
		{"SLUICE_PPFC", "udp_port", 6400, func(c *notify.CodePoints, v uint16) { c.PPFCPort = v }},
	} {
		for v := range field.last + 1 {
			codes := notify.DefaultCodePoints()
			field.set(&codes, uint16(v))
			row := rows.Row{Table: field.table, Key: "global", Fields: map[string]string{field.name: strconv.Itoa(v)}}
			_, rejected := config.New().Apply([]sonicdb.Change{{Row: row}})
			if taken := len(rejected) == 0; taken != (codes.Validate() == nil) {
				t.Errorf("%s %s=%d: the row is taken: %v, the codec: %v", field.table, field.name, v, taken, codes.Validate())
			}
		}
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

// PFCM names flows by their label whatever classification is configured: that is of the Stream
// IDs of scope global.
//
//conformance:draft-yang/by-5-tuple
func TestClassificationLeavesPFCMAsItIs(t *testing.T) {
	pfcm := []string{"SLUICE_PFCM", "global", "admin_state=enabled"}
	byLabel := configOf(configtest.Snapshot(t, configtest.Port0, pfcm))
	byTuple := configOf(configtest.Snapshot(t, configtest.Port0, pfcm, []string{"SLUICE", "global", "classification=5-tuple"}))
	if diff := cmp.Diff(byLabel, byTuple, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("(-by label +by 5-tuple):\n%s", diff)
	}
}
