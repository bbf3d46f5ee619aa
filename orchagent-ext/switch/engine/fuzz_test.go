// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"reflect"
	"testing"
)

// FuzzParseRecord: a row of the ledger that is read is written as it was read, and a flow that
// its key names has that key.
func FuzzParseRecord(f *testing.F) {
	f.Add("oid:0x1", "flow/2001:db8::1/2001:db8::2/000077", "acl-entry", "a=b c=d%20e", "")
	f.Add("unknown:1", "hash", "hash", "x=", "oid:0x2")
	f.Fuzz(func(t *testing.T, id, key, kind, attributes, previous string) {
		r, err := ParseRecord(ID(id), map[string]string{"key": key, "type": kind, "attributes": attributes, "previous": previous})
		if err != nil {
			return
		}
		again, err := ParseRecord(r.ID, r.Fields())
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%+v, and again %+v, %v", r, again, err)
		}
		if flow, ok := parseFlowKey(key); ok {
			if again, ok := parseFlowKey(flowKey(flow)); !ok || again != flow {
				t.Errorf("flow %+v, and again %+v", flow, again)
			}
		}
		_, _, _ = parsePinned(r)
	})
}
