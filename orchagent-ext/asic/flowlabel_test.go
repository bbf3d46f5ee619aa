// SPDX-License-Identifier: Apache-2.0

package asic

import "testing"

// A hash takes the queue pair and not the octet before it, whose congestion bits
// change within a flow. ACL entries have masks of their own.
func TestOnlyTheQueuePairIsHashed(t *testing.T) {
	for method, want := range map[Method]string{UDFHash: "0x00ffffff", Rewrite: ""} {
		found := false
		for _, o := range Objects(policy("Ethernet0"), Chose(NeedFlowLabel, method), Features{}) {
			if o.Type != TypeUDF {
				continue
			}
			found = true
			mask := ""
			for _, a := range o.Attrs {
				if a.Name == "SAI_UDF_ATTR_HASH_MASK" {
					mask = a.Value
				}
			}
			if mask != want {
				t.Errorf("%s: mask %q, want %q", method, mask, want)
			}
		}
		if !found {
			t.Errorf("%s: no UDF", method)
		}
	}
}
