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
		for _, o := range labelObjects(p, Rewrite, Features{HashIPv6: saiattr.ECMPHashIPv6.Name}, false) {
			if o.Type == TypeHash {
				got = o.Attr(saiattr.HashFields.Name)
			}
		}
		if got != want {
			t.Errorf("without ports %t: %q, want %q", noPorts, got, want)
		}
	}
}
