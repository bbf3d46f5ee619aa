// SPDX-License-Identifier: Apache-2.0

package settings

import (
	stdcmp "cmp"
	"slices"
	"strings"
	"testing"

	"sluice/tests/configtest"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/model"
	"sluice/yang/rows"
)

func TestPolicyFollowsTheConfiguration(t *testing.T) {
	label := func(a flow.Algorithm, zeroOnly bool) *engine.Label {
		return &engine.Label{Algorithm: a, ZeroOnly: zeroOnly}
	}
	cpu := engine.CPU{Rate: 100000, Burst: 10000}
	for _, tt := range []struct {
		name string
		rows [][]string
		want engine.Policy
	}{
		{"nothing", nil, engine.Policy{FlowCapacity: 65536, CPU: cpu}},
		{"off", [][]string{configtest.Port0, configtest.Edge0}, engine.Policy{FlowCapacity: 65536, CPU: cpu}},
		{"on", [][]string{configtest.Port0, configtest.Port4, configtest.Edge0, configtest.Fabric4, configtest.Labels}, engine.Policy{Label: label(flow.DraftLiteral, true), Shown: 256, Ports: []string{"Ethernet0"}, FlowCapacity: 65536, CPU: cpu}},
		{
			"all the other values",
			[][]string{
				configtest.Port0, configtest.Port4, {"SLUICE_PORT", "Ethernet0", "role=edge", "flow_label=disabled"}, {"SLUICE_PORT", "Ethernet4", "flow_label=enabled"},
				{"SLUICE_FLOW_LABEL", "global", "admin_state=enabled", "algorithm=crc32", "rewrite=always", "manage_switch_hash=true"},
				{"SLUICE", "global", "flow_capacity=2048", "rc_source_qp=zero", "cpu_rate=7", "cpu_burst=8"},
			},
			engine.Policy{Label: &engine.Label{Algorithm: flow.CRC32, ZeroSrcQP: true}, Shown: 256, Ports: []string{"Ethernet4"}, ManageHash: true, FlowCapacity: 2048, CPU: engine.CPU{Rate: 7, Burst: 8}},
		},
		{
			"export",
			[][]string{configtest.Port0, configtest.Port4, configtest.Edge0, configtest.Fabric4, {"SLUICE_IPFIX", "global", "admin_state=enabled", "sampling_rate=100"}, {"SLUICE_IPFIX_COLLECTOR", "c", "address=192.0.2.1"}},
			engine.Policy{Export: &engine.Export{Rate: 100, Ports: []string{"Ethernet0", "Ethernet4"}}, FlowCapacity: 65536, CPU: cpu},
		},
		{
			"export without a collector: flows are shown",
			[][]string{configtest.Port0, configtest.Edge0, {"SLUICE_IPFIX", "global", "admin_state=enabled", "sampling_rate=100"}},
			engine.Policy{Export: &engine.Export{Rate: 100, Ports: []string{"Ethernet0"}}, FlowCapacity: 65536, CPU: cpu},
		},
		{
			"flow control without labels: flows are shown",
			[][]string{configtest.Port0, configtest.Edge0, {"SLUICE_PFCM", "global", "admin_state=enabled"}},
			engine.Policy{Export: &engine.Export{Rate: 256, Ports: []string{"Ethernet0"}}, SingleFlows: true, FlowCapacity: 65536, CPU: cpu},
		},
		{"kill switch", [][]string{configtest.Port0, configtest.Edge0, configtest.Labels, {"SLUICE", "global", "admin_state=disabled"}}, engine.Policy{FlowCapacity: 65536, CPU: cpu}},
		{
			"PortChannel",
			[][]string{
				configtest.Port0, configtest.Port4, {"PORTCHANNEL", "PortChannel1"}, {"PORTCHANNEL_MEMBER", "PortChannel1|Ethernet4"}, {"PORTCHANNEL_MEMBER", "PortChannel1|Ethernet0"},
				{"SLUICE_PORT", "PortChannel1", "role=edge"}, configtest.Labels,
			},
			engine.Policy{Label: label(flow.DraftLiteral, true), Shown: 256, Ports: []string{"Ethernet0", "Ethernet4"}, FlowCapacity: 65536, CPU: cpu},
		},
	} {
		if diff := cmp.Diff(tt.want, Of(configtest.Snapshot(t, tt.rows...)).Policy); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestWarningsNameWhatKeepsTheConfigurationFromWorking(t *testing.T) {
	s := configtest.Snapshot(t, configtest.Port0, configtest.Edge0, configtest.Labels)
	hashed := configtest.Snapshot(t, configtest.Port0, configtest.Edge0, configtest.Labels, []string{"SWITCH_HASH", "GLOBAL", "ecmp_hash@=SRC_IP,IPV6_FLOW_LABEL"})
	managed := configtest.Snapshot(t, configtest.Port0, configtest.Edge0, []string{"SLUICE_FLOW_LABEL", "global", "admin_state=enabled", "manage_switch_hash=true"})
	rowed := configtest.Snapshot(t, configtest.Port0, configtest.Labels, []string{"SLUICE", "global", "driver=orchagent"})
	enabled := []string{"SLUICE_FLOW_LABEL", "global", "admin_state=enabled", "manage_switch_hash=true"}
	tunnels := configtest.Snapshot(t, configtest.Port0, configtest.Edge0, append(enabled[:len(enabled):len(enabled)], "tunnels=outer"))
	channel := configtest.Snapshot(t, configtest.Port0, enabled, []string{"PORTCHANNEL", "PortChannel1"}, []string{"PORTCHANNEL_MEMBER", "PortChannel1|Ethernet0"}, []string{"SLUICE_PORT", "PortChannel1", "role=edge"})
	for _, tt := range []struct {
		name    string
		s       *config.Snapshot
		outcome engine.Outcome
		want    []string
	}{
		{"off", configtest.Snapshot(t, configtest.Port0), engine.Outcome{Choices: engine.Chose(engine.NeedFlowLabel, engine.None)}, nil},
		{"no collector", configtest.Snapshot(t, []string{"SLUICE_IPFIX", "global", "admin_state=enabled"}), engine.Outcome{Choices: engine.Chose(engine.NeedFlowLabel, engine.None)}, []string{"has no collector: flows are shown", "nothing is exported: SLUICE_PORT has no row"}},
		{
			"nothing to export", configtest.Snapshot(t, configtest.Port0, []string{"SLUICE_IPFIX", "global", "admin_state=enabled"}, []string{"SLUICE_IPFIX_COLLECTOR", "c", "address=192.0.2.1"}),
			engine.Outcome{Choices: engine.Chose(engine.NeedFlowLabel, engine.None)}, []string{"nothing is exported: SLUICE_PORT has no row"},
		},
		{
			"a gateway that learns queue pairs and exports nothing", configtest.Snapshot(t, configtest.Port0, []string{"SLUICE_PPFC", "global", "admin_state=enabled"}),
			engine.Outcome{Choices: engine.Chose(engine.NeedFlowLabel, engine.None)}, nil,
		},
		{"no hash", s, engine.Outcome{Choices: engine.Chose(engine.NeedFlowLabel, engine.Compute)}, []string{"ECMP does not hash the flow label"}},
		{"hashed", hashed, engine.Outcome{Choices: engine.Chose(engine.NeedFlowLabel, engine.Compute)}, nil},
		{"managed", managed, engine.Outcome{Choices: engine.Chose(engine.NeedFlowLabel, engine.Rewrite)}, nil},
		{"by queue pair", managed, engine.Outcome{Choices: engine.Chose(engine.NeedFlowLabel, engine.Hash)}, nil},
		{"no port", configtest.Snapshot(t, configtest.Port0, configtest.Labels), engine.Outcome{Choices: engine.Chose(engine.NeedFlowLabel, engine.Hash)}, []string{"no port is to be labelled"}},
		{"no method", managed, engine.Outcome{Choices: engine.Choices{engine.NeedFlowLabel: {Method: engine.None, Reason: "compute: no"}}}, []string{"no method for flow labels: compute: no"}},
		{"no method by rows, and no port is needed", rowed, engine.Outcome{Choices: engine.Choices{engine.NeedFlowLabel: {Method: engine.None, Reason: "compute: no"}}}, []string{"no method for flow labels", "ECMP does not hash the flow label"}},
		{"by rows", rowed, engine.Outcome{Choices: engine.Chose(engine.NeedFlowLabel, engine.Hash)}, nil},
		{"tunnels", tunnels, engine.Outcome{Choices: engine.Chose(engine.NeedFlowLabel, engine.Compute)}, nil},
		{"tunnels by rewrite", tunnels, engine.Outcome{Choices: engine.Chose(engine.NeedFlowLabel, engine.Rewrite)}, []string{"the method rewrite cannot label tunnels"}},
		{"dual-homed", channel, engine.Outcome{Choices: engine.Chose(engine.NeedFlowLabel, engine.Rewrite)}, []string{"Set rc_source_qp=zero"}},
		{"dual-homed, computed", channel, engine.Outcome{Choices: engine.Chose(engine.NeedFlowLabel, engine.Compute)}, nil},
		{"problems", managed, engine.Outcome{Choices: engine.Chose(engine.NeedFlowLabel, engine.Compute), Problems: []string{"port/Ethernet0: owned"}}, []string{"owned"}},
	} {
		got := Of(tt.s).Warnings(&tt.outcome)
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

// TestLearnsQueuePairsWhereAdviceNeedsThem: where advice copies the queue pair of the data packet, flows are looked for if a
// policy limits them.
func TestLearnsQueuePairsWhereAdviceNeedsThem(t *testing.T) {
	for _, tt := range []struct {
		mode   string
		policy bool
		want   bool
	}{{"learned", false, true}, {"copy", false, false}, {"copy", true, true}} {
		rows := [][]string{configtest.Port0, {"SLUICE_RATE_ADVICE", "global", "admin_state=enabled", "destination_qp=" + tt.mode}}
		if tt.policy {
			rows = append(rows, []string{"SLUICE_RATE_POLICY", "gold", "rate_mbps=400"})
		}
		if got := Of(configtest.Snapshot(t, rows...)).Path.Learns; got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestPortsHaveTheirLanesAndPortChannel(t *testing.T) {
	s := configtest.Snapshot(t, configtest.Port0, configtest.Port4, []string{"PORTCHANNEL", "PortChannel1"}, []string{"PORTCHANNEL_MEMBER", "PortChannel1|Ethernet4"})
	want := []engine.Port{{Name: "Ethernet0", Lanes: []uint32{0, 1}}, {Name: "Ethernet4", Lanes: []uint32{4}, Channel: "PortChannel1"}}
	if diff := cmp.Diff(want, Of(s).Ports); diff != "" {
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
	for _, n := range engine.Needs() {
		want := []string{}
		for _, m := range append(slices.Clone(n.Methods()), engine.None) {
			want = append(want, string(m))
		}
		if diff := cmp.Diff(want, enum(n.Leaf()+"_method")); diff != "" {
			t.Errorf("%s: %s", n, diff)
		}
		if diff := cmp.Diff([]string{string(engine.Active), string(engine.Unproven), string(engine.Unmet)}, enum(n.Leaf()+"_state")); diff != "" {
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

// TestObsoletePlaintextFieldIsIgnoredWithAWarning: a row of an earlier version stays valid.
func TestObsoletePlaintextFieldIsIgnoredWithAWarning(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "false": false} {
		s := configtest.Snapshot(t, []string{"SLUICE", "global", "etcd_allow_plaintext=" + value})
		if len(s.Rejections) > 0 {
			t.Errorf("rejected: %v", s.Rejections)
		}
		w := strings.Join(Of(s).Warnings(&engine.Outcome{}), "; ")
		if got := strings.Contains(w, "SLUICE|global etcd_allow_plaintext is ignored: sluiced --etcd-allow-plaintext"); got != want {
			t.Errorf("%s: %q", value, w)
		}
	}
}

// Flows that come in by a port of a VRF have next hops of its routes; those of a port of several
// keep their hash.
func TestPortsArePlacedByVRF(t *testing.T) {
	rows := [][]string{configtest.Port0, configtest.Port4, configtest.Edge0, {"SLUICE_PORT", "Ethernet4", "role=edge"},
		{"SLUICE_PLACEMENT", "global", "admin_state=enabled"}, {"INTERFACE", "Ethernet4", "vrf_name=Vrf1"}}
	p := Of(configtest.Snapshot(t, rows...)).Policy.Placement
	if p == nil || !slices.Equal(p.Ports, []string{"Ethernet0"}) || !slices.Equal(p.VRFs["Vrf1"], []string{"Ethernet4"}) {
		t.Errorf("%+v", p)
	}
	p = Of(configtest.Snapshot(t, append(rows, []string{"VLAN_SUB_INTERFACE", "Ethernet4.10", "vrf_name=Vrf2"})...)).Policy.Placement
	if p == nil || !slices.Equal(p.Ports, []string{"Ethernet0"}) || len(p.VRFs) != 0 {
		t.Errorf("a port of two VRFs: %+v", p)
	}
}
