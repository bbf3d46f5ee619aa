// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	"sluice/sai-shim/saiattr"
)

// ECMP hashes the 5-tuple and the label (draft-hu section 3); without ports where the policy leaves
// them out.
//
//conformance:draft-hu/hash-label draft-hu/legacy
func TestLabelsAreHashedBesideThe5Tuple(t *testing.T) {
	for noPorts, want := range map[bool]string{
		false: "SRC_IP,DST_IP,IP_PROTOCOL,L4_SRC_PORT,L4_DST_PORT,IPV6_FLOW_LABEL",
		true:  "SRC_IP,DST_IP,IP_PROTOCOL,IPV6_FLOW_LABEL",
	} {
		p := policy("Ethernet0")
		p.NoPorts = noPorts
		got := ""
		for _, o := range labelObjects(p, Rewrite, Features{HashIPv6: saiattr.ECMPHashIPv6.Name}, false, false) {
			if o.Type == TypeHash {
				got = o.Attr(saiattr.HashFields.Name)
			}
		}
		if got != want {
			t.Errorf("without ports %t: %q, want %q", noPorts, got, want)
		}
	}
}

// TestLabelledPacketsAreSampledToShowFlows where nothing else is sampled: the entries that compute
// labels do it, at no lower interval than the switch allows, and no table is added.
func TestLabelledPacketsAreSampledToShowFlows(t *testing.T) {
	p := policy("Ethernet0")
	tables := func(all []Object) (n int, sampled bool) {
		for _, o := range all {
			if o.Type == TypeACLTable {
				n++
			}
			sampled = sampled || o.Key == keyCompute && o.Attr(saiattr.ACLEntrySample.Name) != ""
		}
		return n, sampled
	}
	shown := p
	shown.Shown = 256
	for _, tt := range []struct {
		policy  Policy
		export  Method
		sampled bool
		chance  uint32
	}{{p, Sample, false, 0}, {shown, Sample, true, 512}, {shown, Mirror, false, 0}, {shown, None, false, 0}} {
		c := Choices{NeedFlowLabel: {Method: Compute}, NeedExport: {Method: tt.export}}
		f := Features{MinSampling: 512}
		n, sampled := tables(Objects(tt.policy, c, f))
		if n != 1 || sampled != tt.sampled || tt.policy.chance(c, f) != tt.chance {
			t.Errorf("shown %d by %s: %d tables, sampled %v, chance %d", tt.policy.Shown, tt.export, n, sampled, tt.policy.chance(c, f))
		}
	}
}
