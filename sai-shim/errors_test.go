// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/sai-shim/saitest"
)

// TestStatusesNameCallObjectAndAttribute: each status is an error that names call, object and, by the
// index in the status, the attribute; and has one reason at most.
func TestStatusesNameCallObjectAndAttribute(t *testing.T) {
	library := saitest.New(t)
	reasons := []error{sai.ErrNotSupported, sai.ErrNoRoom, sai.ErrNotFound, sai.ErrInUse}
	for _, tt := range []struct {
		status int
		want   sai.Error
		reason error // nil: none of them
	}{
		{-1, sai.Error{}, nil},
		{-2, sai.Error{}, sai.ErrNotSupported},
		{-3, sai.Error{}, sai.ErrNoRoom},
		{-4, sai.Error{}, sai.ErrNoRoom},
		{-5, sai.Error{}, nil},
		{-6, sai.Error{}, nil},
		{-7, sai.Error{}, sai.ErrNotFound},
		{-12, sai.Error{}, nil},
		{-13, sai.Error{}, sai.ErrNoRoom},
		{-14, sai.Error{}, nil},
		{-15, sai.Error{}, sai.ErrNotSupported},
		{-17, sai.Error{}, sai.ErrInUse},
		{-19, sai.Error{}, sai.ErrNotFound},
		{-99, sai.Error{}, nil},
		{-65536, sai.Error{Attribute: "SAI_ACL_COUNTER_ATTR_TABLE_ID"}, sai.ErrNotSupported},
		{-131072 - 1, sai.Error{Attribute: "SAI_ACL_COUNTER_ATTR_ENABLE_PACKET_COUNT"}, sai.ErrNotSupported},
		{-196608 - 2, sai.Error{Attribute: "SAI_ACL_COUNTER_ATTR_ENABLE_BYTE_COUNT"}, sai.ErrNotSupported},
		{-262144 - 1, sai.Error{Attribute: "SAI_ACL_COUNTER_ATTR_ENABLE_PACKET_COUNT"}, sai.ErrNotSupported},
		{-327680 - 2, sai.Error{Attribute: "SAI_ACL_COUNTER_ATTR_ENABLE_BYTE_COUNT"}, sai.ErrNotSupported},
		{-327680 - 3, sai.Error{}, sai.ErrNotSupported}, // an index after the last attribute
		{-393215, sai.Error{}, sai.ErrNotSupported},
	} {
		l := must(sai.Open(library.Path, library.Profile("FAIL", fmt.Sprintf("create acl_counter 0 %d", tt.status)), nil))
		if err := l.CreateSwitch(true); err != nil {
			t.Fatal(err)
		}
		_, err := createCounter(l, must(createTable(l)))
		if closing := l.Close(); closing != nil {
			t.Error(closing)
		}
		var got *sai.Error
		if !errors.As(err, &got) {
			t.Errorf("%d: %v", tt.status, err)
			continue
		}
		tt.want.Call, tt.want.Object, tt.want.Status = "create", "acl_counter", sai.Status(tt.status)
		if diff := cmp.Diff(&tt.want, got); diff != "" {
			t.Errorf("%d, -want +got:\n%s", tt.status, diff)
		}
		for _, reason := range reasons {
			if errors.Is(err, reason) != (reason == tt.reason) {
				t.Errorf("%v is %v: %v", err, reason, errors.Is(err, reason))
			}
		}
	}
}

// TestErrorsReadAsOneLine: the line that the operator reads.
func TestErrorsReadAsOneLine(t *testing.T) {
	library := saitest.New(t)
	l := open(t, library, library.Profile(
		"HIDE", "SAI_ACL_ENTRY_ATTR_ACTION_SET_USER_TRAP_ID SAI_SAMPLEPACKET_ATTR_SAMPLE_RATE SAI_SWITCH_ATTR_ECMP_HASH_IPV6_RDMA",
		"HASH_FIELDS", "0 1",
		"FAIL", "query policer 0 -15; stats port 0 -1; get port 0 -196608",
	))
	aTable := must(createTable(l))
	anEntry := must(createEntry(l, aTable, 0))
	for _, tt := range []struct {
		err    error
		want   string
		reason error
	}{
		{
			second(createEntry(l, aTable, 0, saiattr.ACLEntryIPType.Enum("ipv6any"), ref(saiattr.ACLEntryTrap, id(trap, 1)))),
			"SAI create acl_entry: SAI_ACL_ENTRY_ATTR_ACTION_SET_USER_TRAP_ID: ATTR_NOT_SUPPORTED", sai.ErrNotSupported,
		},
		{second(createHash(l, "RDMA_BTH_DEST_QP")), "SAI create hash: SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST: INVALID_ATTR_VALUE", sai.ErrNotSupported},
		{l.Set(saiattr.Switch, l.Switch, ref(saiattr.ECMPHashIPv6RDMA, sai.Null)), "SAI set switch: SAI_SWITCH_ATTR_ECMP_HASH_IPV6_RDMA: ATTR_NOT_SUPPORTED", sai.ErrNotSupported},
		{second(l.Create(saiattr.Sample, saiattr.SampleRate.Of(1))), "SAI create samplepacket: SAI_SAMPLEPACKET_ATTR_SAMPLE_RATE: ATTR_NOT_SUPPORTED", sai.ErrNotSupported},
		{second(createPolicer(l, "packets", 1, 1, "drop")), "SAI create policer: NOT_IMPLEMENTED", sai.ErrNotSupported},
		{l.Remove(saiattr.Policer, id(policer, 1)), "SAI remove policer: NOT_IMPLEMENTED", sai.ErrNotSupported},
		{second(l.PolicerRed(id(policer, 1))), "SAI get stats of policer: NOT_IMPLEMENTED", sai.ErrNotSupported},
		{second(l.PortStats(id(port, 1))), "SAI get stats of port: FAILURE", nil},
		{second(l.QueueStats(id(queue, 404))), "SAI get stats of queue: ITEM_NOT_FOUND", sai.ErrNotFound},
		{second(l.GetObject(saiattr.Port, id(port, 1), saiattr.PortIngressACL)), "SAI get port: SAI_PORT_ATTR_INGRESS_ACL: ATTR_NOT_IMPLEMENTED", sai.ErrNotSupported},
		{second(l.GetNumbers(saiattr.Port, id(port, 1), saiattr.PortLanes)), "SAI get port: SAI_PORT_ATTR_HW_LANE_LIST: ATTR_NOT_IMPLEMENTED", sai.ErrNotSupported},
		{l.Remove(saiattr.ACLTable, aTable), "SAI remove acl_table: OBJECT_IN_USE", sai.ErrInUse},
		{l.Remove(saiattr.ACLEntry, anEntry), "", nil},
		{l.Remove(saiattr.ACLEntry, anEntry), "SAI remove acl_entry: ITEM_NOT_FOUND", sai.ErrNotFound},
		{l.Set(saiattr.Queue, id(queue, 404), saiattr.QueueLow.Of(0)), "SAI set queue: SAI_QUEUE_ATTR_FLOW_MONITOR_LOW: ITEM_NOT_FOUND", sai.ErrNotFound},
		{second(l.GetObjects(saiattr.ACLTable, id(table, 404), saiattr.ACLTableEntries)), "SAI get acl_table: SAI_ACL_TABLE_ATTR_ENTRY_LIST: ITEM_NOT_FOUND", sai.ErrNotFound},
	} {
		if got := fmt.Sprint(tt.err); got != tt.want && tt.err != nil || tt.err == nil && tt.want != "" || tt.reason != nil && !errors.Is(tt.err, tt.reason) {
			t.Errorf("%v, want %s (%v)", tt.err, tt.want, tt.reason)
		}
	}
	if l.Exists(saiattr.ACLEntry, anEntry) {
		t.Error("the entry that was removed exists")
	}
}

// TestSomeQueueStats: a library that has some statistics of queues gives those, and
// is not asked for the others again.
func TestSomeQueueStats(t *testing.T) {
	library := saitest.New(t)
	for _, tt := range []struct {
		fail   string
		want   map[sai.QueueStat]uint64
		reason error
		calls  [2]int // that go well
	}{
		{"stats queue 0 -2 2", map[sai.QueueStat]uint64{ // all together, and the first alone
			sai.QueueOctets: 1001, sai.QueueDropped: 1002, sai.QueueOccupancy: 1024,
			sai.QueueWatermark: 1025, sai.QueueSharedWatermark: 1027, sai.QueueMarked: 1034,
		}, nil, [2]int{6, 1}},
		{"stats queue 0 -2 8", nil, sai.ErrNotSupported, [2]int{}},
	} {
		t.Run(tt.fail, func(t *testing.T) {
			l := open(t, library, library.Profile("FAIL", tt.fail))
			queues := must(l.GetObjects(saiattr.Port, id(port, 1), saiattr.PortQueues))
			library.Calls()
			for _, calls := range tt.calls {
				got, err := l.QueueStats(queues[0])
				if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, tt.reason) {
					t.Error(err, diff)
				}
				if got := len(library.Calls()); got != calls {
					t.Errorf("%d calls, want %d", got, calls)
				}
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

// TestListsLongerThanTheirRoomAreReadWhole: lists longer than the first room come whole, and a library that
// never has enough room is an error, not an endless loop.
func TestListsLongerThanTheirRoomAreReadWhole(t *testing.T) {
	library := saitest.New(t)
	l := open(t, library, library.Profile("PORTS", strings.TrimSpace(strings.Repeat("1 ", 300)), "FAIL", "get hash 0 -8"))
	ports := must(l.GetObjects(saiattr.Switch, l.Switch, saiattr.SwitchPorts))
	if len(ports) != 300 || !slices.IsSorted(ports) || ports[299] != id(port, 300) {
		t.Errorf("%d ports", len(ports))
	}
	aTable := must(createTable(l))
	if entries := must(l.GetObjects(saiattr.ACLTable, aTable, saiattr.ACLTableEntries)); len(entries) != 0 {
		t.Errorf("%v", entries)
	}
	for range 65 {
		must(createEntry(l, aTable, 0))
	}
	if entries := must(l.GetObjects(saiattr.ACLTable, aTable, saiattr.ACLTableEntries)); len(entries) != 65 || entries[64] != id(entry, 65) {
		t.Errorf("%v", entries)
	}
	if _, err := l.GetNumbers(saiattr.Hash, must(createHash(l)), saiattr.HashFields); !refused(err, "get", "hash", "SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST", "BUFFER_OVERFLOW") {
		t.Errorf("%v", err)
	}
}

// refused reports whether an error is the refusal of this call, by this status of SAI, without
// a detail.
func refused(err error, call, object, attribute, status string) bool {
	e := new(sai.Error)
	return errors.As(err, &e) && *e == sai.Error{Call: call, Object: object, Attribute: attribute, Status: e.Status} && e.Status.String() == status
}

// fields is a list of n hash fields.
func fields(n int) saiattr.Value {
	v := saiattr.HashFields.Enum()
	v.List = make([]uint64, n)
	return v
}

// TestListsThatAreTooLong: what the shim has no room for never reaches the
// library, and leaves nothing for the next call.
func TestListsThatAreTooLong(t *testing.T) {
	library := saitest.New(t)
	l := open(t, library, library.Profile())
	library.Calls()
	_, err := l.Create(saiattr.Hash, fields(1025))
	if !refused(err, "create", "hash", "", "INSUFFICIENT_RESOURCES") || !errors.Is(err, sai.ErrNoRoom) {
		t.Errorf("%v", err)
	}
	must(createHash(l, "DST_IP"))
	if diff := cmp.Diff([]string{"create hash#1 NATIVE_HASH_FIELD_LIST=[1]"}, library.Calls()); diff != "" {
		t.Error(diff)
	}
	must(l.Create(saiattr.Hash, fields(1024)))
}

func TestParseObjectID(t *testing.T) {
	for text, want := range map[string]sai.ObjectID{"oid:0x1000000000003": id(port, 3), "oid:0x0": sai.Null, id(trap, 7).String(): id(trap, 7)} {
		if got, err := sai.ParseObjectID(text); err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "oid:", "oid:0x", "0x1", "oid:1x", "oid:-1", "oid:0x10000000000000000"} {
		if got, err := sai.ParseObjectID(text); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}
