// SPDX-License-Identifier: Apache-2.0

package orch

import (
	stdcmp "cmp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/config"
	"sluice/orchagent-ext/flow"
	"sluice/orchagent-ext/packetio"
	"sluice/orchagent-ext/sonicdb"
	"sluice/yang/model"
	"sluice/yang/rows"
)

// snapshot is what is in force of rows: table, key, and fields as name=value.
func snapshot(t *testing.T, all ...[]string) *config.Snapshot {
	t.Helper()
	var changes []sonicdb.Change
	for _, words := range all {
		fields := map[string]string{}
		for _, w := range words[2:] {
			name, value, _ := strings.Cut(w, "=")
			fields[name] = value
		}
		changes = append(changes, sonicdb.Change{Row: rows.Row{Table: words[0], Key: words[1], Fields: fields}})
	}
	s, rejected := config.New().Apply(changes)
	if len(rejected) > 0 {
		t.Fatalf("%v", rejected)
	}
	return s
}

var (
	port0   = []string{"PORT", "Ethernet0", "lanes=0,1"}
	port4   = []string{"PORT", "Ethernet4", "lanes=4"}
	edge0   = []string{"SLUICE_PORT", "Ethernet0", "role=edge"}
	fabric4 = []string{"SLUICE_PORT", "Ethernet4", "role=fabric"}
	on      = []string{"SLUICE_FLOW_LABEL", "global", "admin_state=enabled"}
)

func TestPolicy(t *testing.T) {
	label := func(a flow.Algorithm, zeroOnly bool) *asic.Label {
		return &asic.Label{Algorithm: a, ZeroOnly: zeroOnly}
	}
	cpu := asic.CPU{Rate: 100000, Burst: 10000}
	for _, tt := range []struct {
		name string
		rows [][]string
		want asic.Policy
	}{
		{"nothing", nil, asic.Policy{FlowCapacity: 65536, CPU: cpu}},
		{"off", [][]string{port0, edge0}, asic.Policy{FlowCapacity: 65536, CPU: cpu}},
		{"on", [][]string{port0, port4, edge0, fabric4, on}, asic.Policy{Label: label(flow.DraftLiteral, true), Ports: []string{"Ethernet0"}, FlowCapacity: 65536, CPU: cpu}},
		{
			"all the other values",
			[][]string{
				port0, port4, {"SLUICE_PORT", "Ethernet0", "role=edge", "flow_label=disabled"}, {"SLUICE_PORT", "Ethernet4", "flow_label=enabled"},
				{"SLUICE_FLOW_LABEL", "global", "admin_state=enabled", "algorithm=crc32", "rewrite=always", "manage_switch_hash=true"},
				{"SLUICE", "global", "flow_capacity=2048", "rc_source_qp=zero", "cpu_rate=7", "cpu_burst=8"},
			},
			asic.Policy{Label: &asic.Label{Algorithm: flow.CRC32, ZeroSrcQP: true}, Ports: []string{"Ethernet4"}, ManageHash: true, FlowCapacity: 2048, CPU: asic.CPU{Rate: 7, Burst: 8}},
		},
		{
			"export",
			[][]string{port0, port4, edge0, fabric4, {"SLUICE_IPFIX", "global", "admin_state=enabled", "sampling_rate=100"}, {"SLUICE_IPFIX_COLLECTOR", "c", "address=192.0.2.1"}},
			asic.Policy{Export: &asic.Export{Rate: 100, Ports: []string{"Ethernet0", "Ethernet4"}}, FlowCapacity: 65536, CPU: cpu},
		},
		{"kill switch", [][]string{port0, edge0, on, {"SLUICE", "global", "admin_state=disabled"}}, asic.Policy{FlowCapacity: 65536, CPU: cpu}},
		{
			"PortChannel",
			[][]string{
				port0, port4, {"PORTCHANNEL", "PortChannel1"}, {"PORTCHANNEL_MEMBER", "PortChannel1|Ethernet4"}, {"PORTCHANNEL_MEMBER", "PortChannel1|Ethernet0"},
				{"SLUICE_PORT", "PortChannel1", "role=edge"}, on,
			},
			asic.Policy{Label: label(flow.DraftLiteral, true), Ports: []string{"Ethernet0", "Ethernet4"}, FlowCapacity: 65536, CPU: cpu},
		},
	} {
		if diff := cmp.Diff(tt.want, Policy(snapshot(t, tt.rows...))); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestWarnings(t *testing.T) {
	s := snapshot(t, port0, edge0, on)
	hashed := snapshot(t, port0, edge0, on, []string{"SWITCH_HASH", "GLOBAL", "ecmp_hash@=SRC_IP,IPV6_FLOW_LABEL"})
	managed := snapshot(t, port0, edge0, []string{"SLUICE_FLOW_LABEL", "global", "admin_state=enabled", "manage_switch_hash=true"})
	rowed := snapshot(t, port0, on, []string{"SLUICE", "global", "driver=orchagent"})
	enabled := []string{"SLUICE_FLOW_LABEL", "global", "admin_state=enabled", "manage_switch_hash=true"}
	tunnels := snapshot(t, port0, edge0, append(enabled[:len(enabled):len(enabled)], "tunnels=outer"))
	channel := snapshot(t, port0, enabled, []string{"PORTCHANNEL", "PortChannel1"}, []string{"PORTCHANNEL_MEMBER", "PortChannel1|Ethernet0"}, []string{"SLUICE_PORT", "PortChannel1", "role=edge"})
	for _, tt := range []struct {
		name    string
		s       *config.Snapshot
		outcome asic.Outcome
		want    []string
	}{
		{"off", snapshot(t, port0), asic.Outcome{Choices: asic.Chose(asic.NeedFlowLabel, asic.None)}, nil},
		{"no collector", snapshot(t, []string{"SLUICE_IPFIX", "global", "admin_state=enabled"}), asic.Outcome{Choices: asic.Chose(asic.NeedFlowLabel, asic.None)}, []string{"no collector"}},
		{
			"nothing to export", snapshot(t, port0, []string{"SLUICE_IPFIX", "global", "admin_state=enabled"}, []string{"SLUICE_IPFIX_COLLECTOR", "c", "address=192.0.2.1"}),
			asic.Outcome{Choices: asic.Chose(asic.NeedFlowLabel, asic.None)}, []string{"nothing is exported: SLUICE_PORT has no row"},
		},
		{"no hash", s, asic.Outcome{Choices: asic.Chose(asic.NeedFlowLabel, asic.Compute)}, []string{"ECMP does not hash the flow label"}},
		{"hashed", hashed, asic.Outcome{Choices: asic.Chose(asic.NeedFlowLabel, asic.Compute)}, nil},
		{"managed", managed, asic.Outcome{Choices: asic.Chose(asic.NeedFlowLabel, asic.Rewrite)}, nil},
		{"by queue pair", managed, asic.Outcome{Choices: asic.Chose(asic.NeedFlowLabel, asic.Hash)}, nil},
		{"no port", snapshot(t, port0, on), asic.Outcome{Choices: asic.Chose(asic.NeedFlowLabel, asic.Hash)}, []string{"no port is to be labelled"}},
		{"no method", managed, asic.Outcome{Choices: asic.Choices{asic.NeedFlowLabel: {Method: asic.None, Reason: "compute: no"}}}, []string{"no method for flow labels: compute: no"}},
		{"no method by rows, and no port is needed", rowed, asic.Outcome{Choices: asic.Choices{asic.NeedFlowLabel: {Method: asic.None, Reason: "compute: no"}}}, []string{"no method for flow labels", "ECMP does not hash the flow label"}},
		{"by rows", rowed, asic.Outcome{Choices: asic.Chose(asic.NeedFlowLabel, asic.Hash)}, nil},
		{"tunnels", tunnels, asic.Outcome{Choices: asic.Chose(asic.NeedFlowLabel, asic.Compute)}, nil},
		{"tunnels by rewrite", tunnels, asic.Outcome{Choices: asic.Chose(asic.NeedFlowLabel, asic.Rewrite)}, []string{"the method rewrite cannot label tunnels"}},
		{"dual-homed", channel, asic.Outcome{Choices: asic.Chose(asic.NeedFlowLabel, asic.Rewrite)}, []string{"Set rc_source_qp=zero"}},
		{"dual-homed, computed", channel, asic.Outcome{Choices: asic.Chose(asic.NeedFlowLabel, asic.Compute)}, nil},
		{"problems", managed, asic.Outcome{Choices: asic.Chose(asic.NeedFlowLabel, asic.Compute), Problems: []string{"port/Ethernet0: owned"}}, []string{"owned"}},
	} {
		got := warnings(tt.s, Policy(tt.s), tt.outcome)
		if len(got) != len(tt.want) {
			t.Errorf("%s: %q", tt.name, got)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], tt.want[i]) {
				t.Errorf("%s: %q, want %q", tt.name, got[i], tt.want[i])
			}
		}
	}
}

// TestReaderSettings: what the modes of export make of the packet path.
func TestReaderSettings(t *testing.T) {
	for mode, want := range map[string]struct{ packet, biflow bool }{"flow": {}, "packet": {packet: true}, "biflow": {biflow: true}} {
		s := snapshot(t, port0, edge0, []string{"SLUICE_IPFIX", "global", "admin_state=enabled", "mode=" + mode}, []string{"SLUICE_IPFIX_COLLECTOR", "c", "address=192.0.2.1"})
		is := readerSettingsOf(s, Policy(s), nil, true, asic.CPU{})
		if !is.exports || is.meter.PerPacket != want.packet || is.biflow != want.biflow {
			t.Errorf("mode %s: %+v", mode, is)
		}
		if off := readerSettingsOf(s, Policy(s), nil, false, asic.CPU{}); off != (readerSettings{}) {
			t.Errorf("mode %s, and nothing is exported: %+v", mode, off)
		}
	}
}

// TestReaderTellsOfPSNsWhereEveryPacketComes: not of samples, nor where sFlow samples; and
// it goes by what the switch lets through at most, also where that was less when it was opened.
func TestReaderTellsOfPSNsWhereEveryPacketComes(t *testing.T) {
	sample := asic.Choices{asic.NeedExport: {Method: asic.Sample}}
	for name, tt := range map[string]struct {
		rate, driver string
		choices      asic.Choices
		want         bool
	}{
		"every packet":   {"1", "sai", sample, true},
		"samples":        {"2", "sai", sample, false},
		"sFlow":          {"1", "orchagent", asic.Choices{asic.NeedExport: {Method: asic.SFlow}}, false},
		"another method": {"1", "sai", asic.Choices{asic.NeedExport: {Method: asic.Mirror}}, false},
	} {
		s := snapshot(t, port0, edge0, []string{"SLUICE", "global", "driver=" + tt.driver, "cpu_rate=5000", "cpu_burst=700"},
			[]string{"SLUICE_IPFIX", "global", "admin_state=enabled", "sampling_rate=" + tt.rate}, []string{"SLUICE_IPFIX_COLLECTOR", "c", "address=192.0.2.1"})
		want := packetio.Health{Whole: tt.want, Rate: 5000, Burst: 600}
		if got := readerSettingsOf(s, Policy(s), tt.choices, true, asic.CPU{Rate: 8000, Burst: 600}).health; got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestPorts(t *testing.T) {
	s := snapshot(t, port0, port4, []string{"PORTCHANNEL", "PortChannel1"}, []string{"PORTCHANNEL_MEMBER", "PortChannel1|Ethernet4"})
	want := []asic.Port{{Name: "Ethernet0", Lanes: []uint32{0, 1}}, {Name: "Ethernet4", Lanes: []uint32{4}, Channel: "PortChannel1"}}
	if diff := cmp.Diff(want, Ports(s)); diff != "" {
		t.Error(diff)
	}
}

// TestNeedsAreOfTheModel: the grouping of needs in the state model has each need, its
// methods in their order of preference, and the states.
func TestNeedsAreOfTheModel(t *testing.T) {
	enum := func(leaf string) []string {
		e := model.SchemaTree()["SonicSluiceState_SonicSluiceState_SLUICE_CAPABILITY_Switch"].Dir[leaf]
		if e == nil {
			t.Fatalf("SLUICE_CAPABILITY has no %s", leaf)
		}
		if e.Type.Enum == nil {
			return nil
		}
		names := e.Type.Enum.Names()
		slices.SortFunc(names, func(a, b string) int { return stdcmp.Compare(e.Type.Enum.Value(a), e.Type.Enum.Value(b)) })
		return names
	}
	var leaves []string
	for _, n := range asic.Needs() {
		want := []string{}
		for _, m := range append(slices.Clone(n.Methods()), asic.None) {
			want = append(want, string(m))
		}
		if diff := cmp.Diff(want, enum(n.Leaf()+"_method")); diff != "" {
			t.Errorf("%s: %s", n, diff)
		}
		if diff := cmp.Diff([]string{string(asic.Active), string(asic.Unproven), string(asic.Unmet)}, enum(n.Leaf()+"_state")); diff != "" {
			t.Errorf("%s: %s", n, diff)
		}
		enum(n.Leaf() + "_reason")
		leaves = append(leaves, n.Leaf()+"_method")
	}
	for _, field := range rows.Fields("SLUICE_CAPABILITY") {
		if strings.HasSuffix(field, "_method") && !slices.Contains(leaves, field) {
			t.Errorf("%s is of no need", field)
		}
	}
}
