// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"
	"strings"
	"testing"

	"sluice/orchagent-ext/testbed/orchagenttest"
)

// TestSwitchesAreThoseOfTheSchemas: what a release gives is what its orchagent takes.
func TestSwitchesAreThoseOfTheSchemas(t *testing.T) {
	seen := 0
	for _, r := range orchagenttest.Releases {
		s, err := ParseSwitch("sonic-" + r.Name)
		if err != nil {
			continue
		}
		seen++
		if s.HashesLabel != slices.Contains(r.HashFields, "IPV6_FLOW_LABEL") || s.HashesQueuePair != slices.Contains(r.HashFields, "RDMA_BTH_DEST_QP") ||
			s.Copies != slices.Contains(r.PacketActions, "COPY") || s.Redirects != slices.Contains(r.Actions, "REDIRECT_ACTION") || s.Labels {
			t.Errorf("%+v: %+v", s, r)
		}
	}
	if seen != len(Switches)-2 {
		t.Errorf("%d releases", seen)
	}
}

func TestKindIsThatOfTheMachine(t *testing.T) {
	for name, tt := range map[string]struct {
		m                         Machine
		want                      string
		labels, redirects, hashes bool
	}{
		"Linux":                 {Machine{}, "linux", true, true, true},
		"virtual switch":        {Machine{ASIC: "vs", Syncd: true, SONiC: "202605"}, "sonic-vs", true, true, true},
		"ASIC of syncd":         {Machine{ASIC: "broadcom", Syncd: true, SONiC: "202411"}, "sonic-202411", false, true, false},
		"ASIC, unknown release": {Machine{ASIC: "broadcom", Syncd: true, SONiC: "202705"}, "", false, false, false},
		"ASIC without syncd":    {Machine{ASIC: "broadcom", SONiC: "202605"}, "", false, false, false},
		"daemon that labels":    {Machine{Capability: map[string]string{"flow_label_method": "compute", "flow_label_state": "active", "placement_method": "entries"}}, "this switch", true, false, true},
		"daemon that redirects": {Machine{ASIC: "broadcom", Syncd: true, Driver: "orchagent", Capability: map[string]string{"flow_label_method": "hash", "flow_label_state": "active", "placement_method": "redirect", "placement_state": "unproven"}}, "this switch", false, true, true},
		"daemon without labels": {Machine{Capability: map[string]string{"flow_label_method": "compute", "flow_label_state": "none"}}, "this switch", false, false, false},
	} {
		f := Facts{Machine: &tt.m}
		s := f.kind()
		if s == nil {
			s = &Switch{}
		}
		if s.Name != tt.want || s.Labels != tt.labels || s.Redirects != tt.redirects || s.HashesLabel != tt.hashes {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if _, err := ParseSwitch("sonic-201911"); err == nil || !strings.Contains(err.Error(), "linux, sonic-vs, sonic-202305") {
		t.Errorf("%v", err)
	}
}
