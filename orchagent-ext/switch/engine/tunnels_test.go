// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	"sluice/orchagent-ext/flows/flow"
)

// RoCEv2 in tunnels has entries of its own where the switch can match its port: one that
// samples, and, where tunnels are labelled, one that computes the outermost label. Where
// it cannot there are none of both.
func TestTunnelsHaveEntries(t *testing.T) {
	p := Policy{Label: &Label{Algorithm: flow.CRC32, ZeroOnly: true, Outer: true}, Ports: []string{"Ethernet0"}, Export: &Export{Rate: 10, Ports: []string{"Ethernet0", "Ethernet4"}}}
	skip := p
	skip.Label = &Label{Algorithm: flow.CRC32, ZeroOnly: true}
	const port = "SAI_ACL_ENTRY_ATTR_FIELD_INNER_L4_DST_PORT"
	for _, tt := range []struct {
		name   string
		policy Policy
		method Method
		inner  bool
		want   []string
	}{
		{"outer", p, Compute, true, []string{"label/compute-outer", "export/entry/labelled/tunnels", "export/entry/tunnels"}},
		{"skip", skip, Compute, true, []string{"export/entry/labelled/tunnels", "export/entry/tunnels"}},
		{"rewrite", p, Rewrite, true, []string{"export/entry/labelled/tunnels", "export/entry/tunnels"}},
		{"by hash", p, Hash, true, []string{"export/entry/tunnels"}},
		{"no inner port", p, Compute, false, nil},
	} {
		found := map[string]bool{}
		for _, o := range Objects(tt.policy, Chose(NeedFlowLabel, tt.method), Features{InnerPort: tt.inner}) {
			if o.Attr(port) == "4791" {
				found[o.Key] = true
			}
			if outer := o.Attr("SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL") == "crc32 outer"; outer != (o.Key == keyOuter) {
				t.Errorf("%s: %s computes the outermost label: %v", tt.name, o.Key, outer)
			}
		}
		for _, key := range tt.want {
			if !found[key] {
				t.Errorf("%s: %s is not there, or matches no port in tunnels", tt.name, key)
			}
		}
		if len(found) != len(tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, found, tt.want)
		}
	}
}
