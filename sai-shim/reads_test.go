// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/sai-shim/saitest"
)

// TestReadsReturnTheAnswerOfTheObject: each question is asked of the right object, and the answer comes
// back whole.
func TestReadsReturnTheAnswerOfTheObject(t *testing.T) {
	library := saitest.New(t)
	l := open(t, library, library.Profile("HASH_FIELDS", "0 1 35", "HIDE",
		"SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL SAI_SWITCH_ATTR_ECMP_HASH_IPV6_RDMA SAI_HASH_ATTR_UDF_GROUP_LIST"))
	aTable := must(createTable(l))
	first, second := must(createEntry(l, aTable, 0)), must(createEntry(l, aTable, 1))
	counted := must(createCounter(l, aTable))
	third := must(createEntry(l, aTable, 2, ref(saiattr.ACLEntryCounter, counted)))
	aCounter, aPolicer := must(createCounter(l, aTable)), must(createPolicer(l, "bytes", 1, 1, "drop"))
	aHash := must(createHash(l, "DST_IP", "RDMA_BTH_DEST_QP"))
	if err := l.Set(saiattr.Switch, l.Switch, ref(saiattr.ECMPHashIPv6, aHash)); err != nil {
		t.Fatal(err)
	}
	if err := l.Set(saiattr.Port, id(port, 2), ref(saiattr.PortIngressACL, aTable)); err != nil {
		t.Fatal(err)
	}
	can := func(can, known bool) any { return [2]bool{can, known} }
	library.Calls()
	var calls []string
	for _, tt := range []struct {
		name string
		got  any
		want any
		call string // "": none that is recorded
	}{
		{"version", l.Version(), uint64(11800), ""},
		{"switch", l.Switch, id(33, 1), ""},
		{"ports", must(l.GetObjects(saiattr.Switch, l.Switch, saiattr.SwitchPorts)), []sai.ObjectID{id(port, 1), id(port, 2), id(port, 3)}, "get switch#1 PORT_LIST"},
		{"lanes", must(l.GetNumbers(saiattr.Port, id(port, 1), saiattr.PortLanes)), []uint32{0, 1, 2, 3}, "get port#1 HW_LANE_LIST"},
		{"lane", must(l.GetNumbers(saiattr.Port, id(port, 3), saiattr.PortLanes)), []uint32{8}, "get port#3 HW_LANE_LIST"},
		{"bound", must(l.GetObject(saiattr.Port, id(port, 2), saiattr.PortIngressACL)), aTable, "get port#2 INGRESS_ACL"},
		{"not bound", must(l.GetObject(saiattr.Port, id(port, 1), saiattr.PortIngressACL)), sai.Null, "get port#1 INGRESS_ACL"},
		{"port", must(l.PortStats(id(port, 2))), sai.PortStats{RxOctets: 2000, RxPackets: 2001, TxOctets: 2009, TxPackets: 2010}, "stats port#2"},
		{
			"queues", must(l.GetObjects(saiattr.Port, id(port, 2), saiattr.PortQueues)),
			[]sai.ObjectID{id(queue, 9), id(queue, 10), id(queue, 11), id(queue, 12), id(queue, 13), id(queue, 14), id(queue, 15), id(queue, 16)},
			"get port#2 QOS_QUEUE_LIST",
		},
		{
			"queue", must(l.QueueStats(id(queue, 9))),
			map[sai.QueueStat]uint64{
				sai.QueuePackets: 9000, sai.QueueOctets: 9001, sai.QueueDropped: 9002, sai.QueueOccupancy: 9024,
				sai.QueueWatermark: 9025, sai.QueueSharedWatermark: 9027, sai.QueueMarked: 9034,
			}, "stats queue#9",
		},
		{"policer", must(l.PolicerRed(aPolicer)), uint64(1006), "stats policer#1"},
		{"entries", must(l.GetObjects(saiattr.ACLTable, aTable, saiattr.ACLTableEntries)), []sai.ObjectID{first, second, third}, "get acl_table#1 ENTRY_LIST"},
		{"counter's table", must(l.GetObject(saiattr.ACLCounter, aCounter, saiattr.ACLCounterTable)), aTable, "get acl_counter#2 TABLE_ID"},
		{"entry's counter", must(l.GetObject(saiattr.ACLEntry, third, saiattr.ACLEntryCounter)), counted, "get acl_entry#3 ACTION_COUNTER"},
		{"entry without", must(l.GetObject(saiattr.ACLEntry, first, saiattr.ACLEntryCounter)), sai.Null, "get acl_entry#1 ACTION_COUNTER"},
		{"objects", must(l.Objects(saiattr.ACLCounter)), []sai.ObjectID{counted, aCounter}, ""},
		{"no objects", must(l.Objects(saiattr.TrapGroup)), []sai.ObjectID{}, ""},
		{"hash", must(l.GetObject(saiattr.Switch, l.Switch, saiattr.ECMPHashIPv6)), aHash, "get switch#1 ECMP_HASH_IPV6"},
		{"no hash", must(l.GetObject(saiattr.Switch, l.Switch, saiattr.ECMPHashIPv4)), sai.Null, "get switch#1 ECMP_HASH_IPV4"},
		{"hash fields", must(l.GetNumbers(saiattr.Hash, aHash, saiattr.HashFields)), []uint32{1, 35}, "get hash#1 NATIVE_HASH_FIELD_LIST"},
		{"exists", l.Exists(saiattr.ACLEntry, second), true, "get acl_entry#2 PRIORITY"},
		{"exists with a list", l.Exists(saiattr.Hash, aHash), true, ""},
		{"does not exist", l.Exists(saiattr.ACLEntry, id(entry, 9)), false, ""},
		{"is of another type", l.Exists(saiattr.UDF, first), false, ""},
		{"can compute", can(l.CanCreate(saiattr.ACLEntry, saiattr.ACLEntryCompute)), [2]bool{true, true}, ""},
		{"cannot set", can(l.CanCreate(saiattr.ACLEntry, saiattr.ACLEntrySetLabel)), [2]bool{false, true}, ""},
		{"can sample", can(l.CanCreate(saiattr.ACLEntry, saiattr.ACLEntrySample)), [2]bool{true, true}, ""},
		{"can hash the queue pair", can(l.Takes(saiattr.Hash, saiattr.HashFields, "RDMA_BTH_DEST_QP")), [2]bool{true, true}, ""},
		{"cannot hash the label", can(l.Takes(saiattr.Hash, saiattr.HashFields, "IPV6_FLOW_LABEL")), [2]bool{false, true}, ""},
		{"cannot hash a UDF", can(l.CanCreate(saiattr.Hash, saiattr.HashUDFGroups)), [2]bool{false, true}, ""},
		{"can set the hash of IPv6", can(l.CanSet(saiattr.Switch, saiattr.ECMPHashIPv6)), [2]bool{true, true}, ""},
		{"cannot set that of RDMA", can(l.CanSet(saiattr.Switch, saiattr.ECMPHashIPv6RDMA)), [2]bool{false, true}, ""},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s, -want +got:\n%s", tt.name, diff)
		}
		if tt.call != "" {
			calls = append(calls, tt.call)
		}
	}
	if diff := cmp.Diff(calls, library.Calls()); diff != "" {
		t.Errorf("calls, -want +got:\n%s", diff)
	}
	packets, octets := must(l.Get(saiattr.ACLCounter, aCounter, saiattr.ACLCounterPackets)), must(l.Get(saiattr.ACLCounter, aCounter, saiattr.ACLCounterOctets))
	if packets != 2003 || octets != 2004 {
		t.Errorf("%d packets, %d octets", packets, octets)
	}
	if diff := cmp.Diff([]string{"get acl_counter#2 PACKETS", "get acl_counter#2 BYTES"}, library.Calls()); diff != "" {
		t.Error(diff)
	}
}

// TestManyObjects: more than fit into the first answer.
func TestManyObjects(t *testing.T) {
	library := saitest.New(t)
	l := open(t, library, library.Profile())
	aTable := must(createTable(l))
	var want []sai.ObjectID
	for range 300 {
		want = append(want, must(createCounter(l, aTable)))
	}
	if diff := cmp.Diff(want, must(l.Objects(saiattr.ACLCounter))); diff != "" {
		t.Error(diff)
	}
}

// must returns what a call that cannot fail gives; the test ends where it fails.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestObjectsWhereTheLibraryLeavesTheCount: what the library did not fill in is no object.
func TestObjectsWhereTheLibraryLeavesTheCount(t *testing.T) {
	library := saitest.New(t)
	l := open(t, library, library.Profile("COUNTLESS", "yes"))
	counter := must(createCounter(l, must(createTable(l))))
	for kind, want := range map[saiattr.Kind][]sai.ObjectID{saiattr.ACLCounter: {counter}, saiattr.TrapGroup: {}} {
		if diff := cmp.Diff(want, must(l.Objects(kind))); diff != "" {
			t.Errorf("%s: -want +got\n%s", kind.Name, diff)
		}
	}
}
