// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"maps"
	"strings"
	"testing"
)

// ledgerText is the attributes of a flow in the ledger.
const ledgerText = "SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL=0xc6533 SAI_ACL_ENTRY_ATTR_ACTION_COUNTER=oid:0x9000000001b12 " +
	"SAI_ACL_ENTRY_ATTR_ACTION_INGRESS_SAMPLEPACKET_ENABLE=@export/sample udp-source-port=49152"

// TestRowsOfFlowsTakeAHalf: a row of the ledger takes at most 128 octets, a size of Go's allocator.
func TestRowsOfFlowsTakeAHalf(t *testing.T) {
	p := Pack(map[string]string{"type": "acl-entry", "key": "flow/2001:db8:0:1::a/2001:db8:bad:2::b/000d7e", "attributes": ledgerText})
	if len(p) > 128 {
		t.Errorf("%d octets: %q", len(p), p)
	}
}

func TestPackedRowsHaveTheirFieldsAgain(t *testing.T) {
	long := strings.Repeat("x", 70000)
	for _, fields := range []map[string]string{
		{"a": "1"}, {"a": "", "": "b"}, {"a": "SAI_\xf8\xf9\xfa\xfb", "SAI_b": ledgerText}, {"a": "SAI_ACL", "b": "x" + ledgerText}, {"a": long, "b": "\x00\xff", long: "c"}, {"NULL": "NULL"},
	} {
		p := pack(fields)
		if p == "" || !maps.Equal(p.Unpack(), fields) || p != pack(maps.Clone(fields)) {
			t.Errorf("%.100q is %.100q", fields, p.Unpack())
		}
	}
	if got := pack(nil).Unpack(); !maps.Equal(got, map[string]string{"NULL": "NULL"}) {
		t.Errorf("a row without fields: %v", got)
	}
	if got := Packed("").Unpack(); len(got) != 0 {
		t.Errorf("a missing row: %v", got)
	}
}
