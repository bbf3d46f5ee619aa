// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/sai-shim/saitest"
)

// listener notes each call: what it is before, what was passed or read, and the answer.
type listener struct{ heard []string }

func (l *listener) Calling(c *sai.Call) int {
	l.heard = append(l.heard, c.String())
	return len(l.heard) - 1
}

func (l *listener) Called(token int, c *sai.Call, answer sai.Status) {
	for i := range c.Arguments {
		l.heard[token] += fmt.Sprintf(" %#x=%s", c.Arguments[i].ID, c.Arguments[i].Passed())
	}
	l.heard[token] += fmt.Sprintf(" → %s %s", c.ID, answer)
}

// TestWatcherSeesEachCall: a watcher is told of each call of the library before it is made,
// and after it of the object, the values and the status.
func TestWatcherSeesEachCall(t *testing.T) {
	library, seen := saitest.New(t), &listener{}
	l := must(sai.Open(library.Path, library.Profile("FAIL", "set switch 0 -5", "SLUICE_EXT_SET_IPV6_FLOW_LABEL", "0x10000055"), seen))
	if err := l.CreateSwitch(true); err != nil {
		t.Fatal(err)
	}
	table := must(createTable(l))
	seen.heard = seen.heard[:0]
	counter := must(createCounter(l, table))
	_ = must(l.Get(saiattr.ACLCounter, counter, saiattr.ACLCounterPackets))
	_ = must(l.GetObject(saiattr.ACLCounter, counter, saiattr.ACLCounterTable))
	_ = l.Exists(saiattr.ACLCounter, counter+7)
	_, _ = l.CanCreate(saiattr.ACLEntry, saiattr.ACLEntrySetLabel)
	_, _ = l.Takes(saiattr.Hash, saiattr.HashFields, "SRC_IP")
	_ = must(l.Objects(saiattr.ACLCounter))
	_ = l.Set(saiattr.Switch, l.Switch, saiattr.ECMPHashIPv6.Object(0))
	_ = l.SetHold(sai.Null, sai.HoldMatch{}, 0, 0)
	if err := l.Remove(saiattr.ACLCounter, counter); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	want := []string{
		fmt.Sprintf("create acl_counter SAI_ACL_COUNTER_ATTR_TABLE_ID SAI_ACL_COUNTER_ATTR_ENABLE_PACKET_COUNT SAI_ACL_COUNTER_ATTR_ENABLE_BYTE_COUNT 0x0=%s 0x1=true 0x2=true → %s SUCCESS", table, counter),
		fmt.Sprintf("get acl_counter %s SAI_ACL_COUNTER_ATTR_PACKETS 0x3=1003 → %[1]s SUCCESS", counter),
		fmt.Sprintf("get acl_counter %s SAI_ACL_COUNTER_ATTR_TABLE_ID 0x0=%s → %[1]s SUCCESS", counter, table),
		fmt.Sprintf("get acl_counter %s SAI_ACL_COUNTER_ATTR_TABLE_ID 0x0= → %[1]s ITEM_NOT_FOUND", counter+7),
		"ask acl_entry SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL 0x10000055=create=false set=false get=false → oid:0x0 SUCCESS",
		"ask hash values SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST 0x0=0,1,5,7,8,24,34,35 → oid:0x0 SUCCESS",
		"list acl_counter → oid:0x0 SUCCESS",
		fmt.Sprintf("set switch %s SAI_SWITCH_ATTR_ECMP_HASH_IPV6 %#x=oid:0x0 → %[1]s INVALID_PARAMETER", l.Switch, saiattr.ECMPHashIPv6.ID),
		"set hold → oid:0x0 SUCCESS",
		fmt.Sprintf("remove acl_counter %s → %[1]s SUCCESS", counter),
		"uninitialize api → oid:0x0 SUCCESS",
	}
	if diff := cmp.Diff(want, seen.heard); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
