// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	"sluice/orchagent-ext/flows/flow"
)

// To learn source queue pairs the CPU gets all of RDMA-CM and samples of acknowledgements,
// of ports with labels and without; what is labelled otherwise still is. A switch that
// does not match BTH opcodes samples as before.
func TestLearningHasEntries(t *testing.T) {
	export := &Export{Rate: 256, CM: true, Answers: 16, Ports: []string{"Ethernet0", "Ethernet4"}}
	label := &Label{Algorithm: flow.CRC32, ZeroOnly: true}
	const opcode, compute = "SAI_ACL_ENTRY_ATTR_FIELD_BTH_OPCODE", "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL"
	for name, tt := range map[string]struct {
		policy Policy
		method Method
		opcode bool
		want   map[string]string // opcodes by key
	}{
		"no labels": {Policy{Export: export}, None, true, map[string]string{"learn/cm": "0x64", "learn/answers": "0x11"}},
		"compute": {Policy{Label: label, Ports: []string{"Ethernet0"}, Export: export}, Compute, true, map[string]string{
			"learn/cm": "0x64", "learn/answers": "0x11", "learn/cm/labelled": "0x64", "learn/answers/labelled": "0x11",
			"learn/cm/labelled/ipv6": "0x64", "learn/answers/labelled/ipv6": "0x11"}},
		"rewrite":       {Policy{Label: label, Ports: []string{"Ethernet0"}, Export: export}, Rewrite, true, map[string]string{"learn/cm": "0x64", "learn/answers": "0x11"}},
		"IPFIX":         {Policy{Export: &Export{Rate: 1000, CM: true}}, None, true, map[string]string{"learn/cm": "0x64"}},
		"not asked for": {Policy{Export: &Export{Rate: 1000}}, None, true, map[string]string{}},
		"no opcodes":    {Policy{Export: export}, None, false, map[string]string{}},
	} {
		objects := Objects(tt.policy, Chose(NeedFlowLabel, tt.method), Features{Opcode: tt.opcode})
		found, keys := map[string]string{}, map[string]bool{}
		for _, o := range objects {
			if keys[o.Key] {
				t.Errorf("%s: %s is there twice", name, o.Key)
			}
			keys[o.Key] = true
			if v := o.Attr(opcode); v != "" {
				found[o.Key] = v
				if labels := o.Attr(compute) != ""; labels != (o.Key[len(o.Key)-4:] == "ipv6") {
					t.Errorf("%s: %s labels: %v", name, o.Key, labels)
				}
			}
		}
		if len(found) != len(tt.want) {
			t.Errorf("%s: entries %v, want %v", name, found, tt.want)
		}
		for key, v := range tt.want {
			if found[key] != v {
				t.Errorf("%s: %s has opcode %q, want %s", name, key, found[key], v)
			}
		}
		if _, err := Compare(objects, nil, func(string) bool { return false }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Where the CPU is that of a software switch, entries that sample copy packets, too, while these
// are few: of flows without an entry of their own, and of answers. Samples that are exported, or
// that estimate flows in queues, stay by chance.
func TestFirstPacketsComeBesideSamples(t *testing.T) {
	const policer = "SAI_ACL_ENTRY_ATTR_ACTION_SET_POLICER"
	label := &Label{Algorithm: flow.CRC32}
	ports := []string{"Ethernet0"}
	placed := Choices{NeedFlowLabel: Choice{Method: Compute}, NeedPlacement: Choice{Method: Entries}}
	for name, tt := range map[string]struct {
		policy Policy
		c      Choices
		first  bool
		want   map[string]string // policers by the key of the sample object
	}{
		"placement":        {Policy{Label: label, Ports: ports, Placement: &Placement{Sampling: 256}}, placed, true, map[string]string{"@export/sample": "@export/sample/first"}},
		"learning":         {Policy{Export: &Export{Rate: 256, CM: true, Answers: 16, First: true, Ports: ports}}, Chose(NeedFlowLabel, None), true, map[string]string{"@export/sample": "@export/sample/first", "@learn/sample": "@learn/sample/first"}},
		"hold by source":   {Policy{Export: &Export{Rate: 256, CM: true, Answers: 16, First: true, Ports: ports}}, Choices{NeedHold: Choice{Method: Source}}, true, nil},
		"estimates":        {Policy{Export: &Export{Rate: 256, CM: true, Answers: 16, Ports: ports}}, Chose(NeedFlowLabel, None), true, nil},
		"placement, IPFIX": {Policy{Label: label, Ports: ports, Placement: &Placement{Sampling: 256}, Export: &Export{Rate: 1000, Ports: ports}}, placed, true, nil},
		"an ASIC":          {Policy{Label: label, Ports: ports, Placement: &Placement{Sampling: 256}}, placed, false, nil},
	} {
		objects := Objects(tt.policy, tt.c, Features{Opcode: true, First: tt.first})
		for _, o := range objects {
			if o.Type != TypeACLEntry {
				continue
			}
			if got, want := o.Attr(policer), tt.want[o.Attr("SAI_ACL_ENTRY_ATTR_ACTION_INGRESS_SAMPLEPACKET_ENABLE")]; got != want {
				t.Errorf("%s: %s has policer %q, want %q", name, o.Key, got, want)
			}
		}
		if _, err := Compare(objects, nil, func(string) bool { return false }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
