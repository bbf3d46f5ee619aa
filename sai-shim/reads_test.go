// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saitest"
)

// TestReads: each question is asked of the right object, and the answer comes
// back whole.
func TestReads(t *testing.T) {
	library := saitest.New(t)
	l := open(t, library, library.Profile("HASH_FIELDS", "0 1 35", "HIDE",
		"SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL SAI_SWITCH_ATTR_ECMP_HASH_IPV6_RDMA SAI_HASH_ATTR_UDF_GROUP_LIST"))
	aTable := must(l.CreateACLTable(sai.ACLTable{}))
	first, second := must(l.CreateACLEntry(sai.ACLEntry{Table: aTable})), must(l.CreateACLEntry(sai.ACLEntry{Table: aTable, Priority: 1}))
	counted := must(l.CreateACLCounter(aTable))
	third := must(l.CreateACLEntry(sai.ACLEntry{Table: aTable, Priority: 2, Counter: counted}))
	aCounter, aPolicer := must(l.CreateACLCounter(aTable)), must(l.CreatePolicer(sai.Policer{Rate: 1, Burst: 1}))
	aHash := must(l.CreateHash([]sai.HashField{sai.HashDstIP, sai.HashBTHDestQP}, nil))
	if err := l.SetHash(sai.ECMPHashIPv6, aHash); err != nil {
		t.Fatal(err)
	}
	if err := l.SetIngressACL(id(port, 2), aTable); err != nil {
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
		{"ports", must(l.Ports()), []sai.ObjectID{id(port, 1), id(port, 2), id(port, 3)}, "get switch#1 PORT_LIST"},
		{"lanes", must(l.Lanes(id(port, 1))), []uint32{0, 1, 2, 3}, "get port#1 HW_LANE_LIST"},
		{"lane", must(l.Lanes(id(port, 3))), []uint32{8}, "get port#3 HW_LANE_LIST"},
		{"speed", must(l.PortSpeed(id(port, 1))), uint32(100000), "get port#1 SPEED"},
		{"bound", must(l.IngressACL(id(port, 2))), aTable, "get port#2 INGRESS_ACL"},
		{"not bound", must(l.IngressACL(id(port, 1))), sai.Null, "get port#1 INGRESS_ACL"},
		{"port", must(l.PortStats(id(port, 2))), sai.PortStats{RxOctets: 2000, RxPackets: 2001, TxOctets: 2009, TxPackets: 2010}, "stats port#2"},
		{
			"queues", must(l.Queues(id(port, 2))),
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
		{"policer", must(l.PolicerStats(aPolicer)), sai.PolicerStats{Packets: 1000, RedPackets: 1006, RedOctets: 1007}, "stats policer#1"},
		{"entries", must(l.ACLEntries(aTable)), []sai.ObjectID{first, second, third}, "get acl_table#1 ENTRY_LIST"},
		{"counter's table", must(l.ACLCounterTable(aCounter)), aTable, "get acl_counter#2 TABLE_ID"},
		{"entry's counter", must(l.ACLEntryCounter(third)), counted, "get acl_entry#3 ACTION_COUNTER"},
		{"entry without", must(l.ACLEntryCounter(first)), sai.Null, "get acl_entry#1 ACTION_COUNTER"},
		{"objects", must(l.Objects(sai.KindACLCounter)), []sai.ObjectID{counted, aCounter}, ""},
		{"no objects", must(l.Objects(sai.KindMirror)), []sai.ObjectID{}, ""},
		{"hash", must(l.HashOf(sai.ECMPHashIPv6)), aHash, "get switch#1 ECMP_HASH_IPV6"},
		{"no hash", must(l.HashOf(sai.ECMPHash)), sai.Null, "get switch#1 ECMP_HASH"},
		{"hash fields", must(l.HashFields(aHash)), []sai.HashField{sai.HashDstIP, sai.HashBTHDestQP}, "get hash#1 NATIVE_HASH_FIELD_LIST"},
		{"exists", l.Exists(sai.KindACLEntry, second), true, "get acl_entry#2 PRIORITY"},
		{"exists with a list", l.Exists(sai.KindHash, aHash), true, ""},
		{"does not exist", l.Exists(sai.KindACLEntry, id(entry, 9)), false, ""},
		{"is of another type", l.Exists(sai.KindUDF, first), false, ""},
		{"can compute", can(l.CanComputeLabel()), [2]bool{true, true}, ""},
		{"cannot set", can(l.CanSetLabel()), [2]bool{false, true}, ""},
		{"can sample", can(l.CanSample()), [2]bool{true, true}, ""},
		{"can hash the queue pair", can(l.CanHash(sai.HashBTHDestQP)), [2]bool{true, true}, ""},
		{"cannot hash the label", can(l.CanHash(sai.HashIPv6FlowLabel)), [2]bool{false, true}, ""},
		{"cannot hash a UDF", can(l.CanHashUDF()), [2]bool{false, true}, ""},
		{"can set the hash of IPv6", can(l.CanSet(sai.ECMPHashIPv6)), [2]bool{true, true}, ""},
		{"cannot set that of RDMA", can(l.CanSet(sai.ECMPHashIPv6RDMA)), [2]bool{false, true}, ""},
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
	packets, octets, err := l.ACLCount(aCounter)
	if packets != 2003 || octets != 2004 || err != nil {
		t.Errorf("%d packets, %d octets, %v", packets, octets, err)
	}
	if diff := cmp.Diff([]string{"get acl_counter#2 PACKETS", "get acl_counter#2 BYTES"}, library.Calls()); diff != "" {
		t.Error(diff)
	}
}

// TestManyObjects: more than fit into the first answer.
func TestManyObjects(t *testing.T) {
	library := saitest.New(t)
	l := open(t, library, library.Profile())
	aTable := must(l.CreateACLTable(sai.ACLTable{}))
	var want []sai.ObjectID
	for range 300 {
		want = append(want, must(l.CreateACLCounter(aTable)))
	}
	if diff := cmp.Diff(want, must(l.Objects(sai.KindACLCounter))); diff != "" {
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
