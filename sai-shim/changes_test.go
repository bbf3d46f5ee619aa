// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/sai-shim/saitest"
)

// open opens the recording library with its switch.
func open(t *testing.T, library *saitest.Library, profile map[string]string) *sai.Library {
	t.Helper()
	l, err := sai.Open(library.Path, profile, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := l.CreateSwitch(true); err != nil {
		t.Fatal(err)
	}
	return l
}

// id is an object's, by its type's number in SAI.
func id(kind, number uint64) sai.ObjectID { return sai.ObjectID(kind<<48 | number) }

// Object types of SAI, as the recording library counts them.
const (
	port, table, entry, counter, sample, trapGroup, policer = 1, 7, 8, 9, 15, 17, 18
	queue, hash, udf, udfMatch, udfGroup, trap              = 21, 28, 29, 30, 31, 56
)

// ref is an attribute that is objects.
func ref(a *saiattr.Attr, ids ...sai.ObjectID) saiattr.Value {
	var v []uint64
	for _, id := range ids {
		v = append(v, uint64(id))
	}
	return a.Object(v...)
}

func createTable(l *sai.Library, more ...saiattr.Value) (sai.ObjectID, error) {
	return l.Create(saiattr.ACLTable, append([]saiattr.Value{saiattr.ACLTableStage.Enum("ingress"), saiattr.ACLTableBindPoints.Enum("port")}, more...)...)
}

func createEntry(l *sai.Library, table sai.ObjectID, priority uint64, more ...saiattr.Value) (sai.ObjectID, error) {
	return l.Create(saiattr.ACLEntry, append([]saiattr.Value{ref(saiattr.ACLEntryTable, table), saiattr.ACLEntryPriority.Of(priority), saiattr.ACLEntryAdmin.Is(true)}, more...)...)
}

func createCounter(l *sai.Library, table sai.ObjectID) (sai.ObjectID, error) {
	return l.Create(saiattr.ACLCounter, ref(saiattr.ACLCounterTable, table), saiattr.ACLCounterHasPackets.Is(true), saiattr.ACLCounterHasOctets.Is(true))
}

func createHash(l *sai.Library, fields ...string) (sai.ObjectID, error) {
	return l.Create(saiattr.Hash, saiattr.HashFields.Enum(fields...))
}

func createPolicer(l *sai.Library, meter string, rate, burst uint64, red string) (sai.ObjectID, error) {
	return l.Create(saiattr.Policer, saiattr.PolicerMeter.Enum(meter), saiattr.PolicerMode.Enum("sr-tcm"), saiattr.PolicerColors.Enum("blind"),
		saiattr.PolicerRate.Of(rate), saiattr.PolicerBurst.Of(burst), saiattr.PolicerRed.Enum(red))
}

func createTrap(l *sai.Library, more ...saiattr.Value) (sai.ObjectID, error) {
	return l.Create(saiattr.UserTrap, append([]saiattr.Value{saiattr.UserTrapType.Enum("acl")}, more...)...)
}

// TestEachCallPassesItsObjectAndAttributes: each call passes the right API, object, attributes and values, of each
// form. The calls depend on one another: objects are removed in the end.
func TestEachCallPassesItsObjectAndAttributes(t *testing.T) {
	library := saitest.New(t)
	l := open(t, library, library.Profile())
	if diff := cmp.Diff([]string{"create switch#1 INIT_SWITCH=true", "set switch#1 PACKET_EVENT_NOTIFY=function", "get switch#1 SLUICE_EXTENSION"}, library.Calls()); diff != "" {
		t.Error(diff)
	}
	type made struct {
		id  sai.ObjectID
		err error
	}
	create := func(id sai.ObjectID, err error) made { return made{id, err} }
	set := func(k saiattr.Kind, id sai.ObjectID, v saiattr.Value) made { return made{err: l.Set(k, id, v)} }
	remove := func(k saiattr.Kind, id sai.ObjectID) made { return made{err: l.Remove(k, id)} }
	onSwitch := func(v saiattr.Value) made { return set(saiattr.Switch, l.Switch, v) }
	for _, tt := range []struct {
		name string
		call func() made
		id   sai.ObjectID // that is made
		want string
	}{
		{"UDF match", func() made { return create(l.Create(saiattr.UDFMatch, saiattr.UDFMatchPort.Of(4791))) }, id(udfMatch, 1), "create udf_match#1 L4_DST_PORT_TYPE=4791&0xffff"},
		{
			"UDF group", func() made {
				return create(l.Create(saiattr.UDFGroup, saiattr.UDFGroupType.Enum("generic"), saiattr.UDFGroupLength.Of(4)))
			},
			id(udfGroup, 1), "create udf_group#1 TYPE=0 LENGTH=4",
		},
		{
			"UDF group for hashing", func() made {
				return create(l.Create(saiattr.UDFGroup, saiattr.UDFGroupType.Enum("hash"), saiattr.UDFGroupLength.Of(3)))
			},
			id(udfGroup, 2), "create udf_group#2 TYPE=1 LENGTH=3",
		},
		{
			"UDF for hashing", func() made {
				return create(l.Create(saiattr.UDF, ref(saiattr.UDFMatched, id(udfMatch, 1)), ref(saiattr.UDFOfGroup, id(udfGroup, 2)),
					saiattr.UDFBase.Enum("l4"), saiattr.UDFOffset.Of(13), saiattr.UDFHashMask.Of(0xfffefd)))
			},
			id(udf, 1), "create udf#1 MATCH_ID=udf_match#1 GROUP_ID=udf_group#2 BASE=2 OFFSET=13 HASH_MASK=00fffefd",
		},
		{"table", func() made { return create(createTable(l)) }, id(table, 1), "create acl_table#1 ACL_STAGE=0 ACL_BIND_POINT_TYPE_LIST=[0]"},
		{
			"table of everything", func() made {
				return create(createTable(l, saiattr.ACLTableSize.Of(70000), saiattr.ACLTablePort.Is(true), saiattr.ACLTableInnerPort.Is(true), saiattr.ACLTableLabel.Is(true),
					saiattr.ACLTableSource.Is(true), saiattr.ACLTableDestination.Is(true), saiattr.ACLTableProtocol.Is(true), saiattr.ACLTableNextHeader.Is(true), saiattr.ACLTableIPType.Is(true), ref(saiattr.ACLTableUDF, id(udfGroup, 1))))
			},
			id(table, 2),
			"create acl_table#2 ACL_STAGE=0 ACL_BIND_POINT_TYPE_LIST=[0] SIZE=70000 FIELD_L4_DST_PORT=true FIELD_INNER_L4_DST_PORT=true " +
				"FIELD_IPV6_FLOW_LABEL=true FIELD_SRC_IPV6=true FIELD_DST_IPV6=true FIELD_IP_PROTOCOL=true FIELD_IPV6_NEXT_HEADER=true FIELD_ACL_IP_TYPE=true USER_DEFINED_FIELD_GROUP_MIN=udf_group#1",
		},
		{
			"counter", func() made { return create(createCounter(l, id(table, 2))) },
			id(counter, 1), "create acl_counter#1 TABLE_ID=acl_table#2 ENABLE_PACKET_COUNT=true ENABLE_BYTE_COUNT=true",
		},
		{"trap", func() made { return create(createTrap(l)) }, id(trap, 1), "create hostif_user_defined_trap#1 TYPE=2"},
		{"sample", func() made { return create(l.Create(saiattr.Sample, saiattr.SampleRate.Of(1000))) }, id(sample, 1), "create samplepacket#1 SAMPLE_RATE=1000"},
		{
			"byte policer", func() made { return create(createPolicer(l, "bytes", 50_000_000_000, 5_000_000_000, "copy")) },
			id(policer, 1), "create policer#1 METER_TYPE=1 MODE=0 COLOR_SOURCE=0 CIR=50000000000 CBS=5000000000 RED_PACKET_ACTION=2",
		},
		{
			"packet policer", func() made { return create(createPolicer(l, "packets", 100, 10, "drop")) },
			id(policer, 2), "create policer#2 METER_TYPE=0 MODE=0 COLOR_SOURCE=0 CIR=100 CBS=10 RED_PACKET_ACTION=0",
		},
		{"its rate", func() made { return set(saiattr.Policer, id(policer, 2), saiattr.PolicerRate.Of(5)) }, 0, "set policer#2 CIR=5"},
		{"entry of nothing", func() made { return create(createEntry(l, id(table, 1), 0)) }, id(entry, 1), "create acl_entry#1 TABLE_ID=acl_table#1 PRIORITY=0 ADMIN_STATE=true"},
		{
			"entry of every match", func() made {
				return create(createEntry(l, id(table, 2), 7, saiattr.ACLEntrySource.IP(netip.MustParseAddr("2001:db8::1")), saiattr.ACLEntryDestination.IP(netip.MustParseAddr("2001:db8:f::2")),
					saiattr.ACLEntryPort.Of(4791), saiattr.ACLEntryInnerPort.Of(4791), saiattr.ACLEntryProtocol.Of(17), saiattr.ACLEntryNextHeader.Of(6), saiattr.ACLEntryLabel.Of(0xabcde), saiattr.ACLEntryIPType.Enum("ipv6any"),
					saiattr.ACLEntryUDF.Word(0x123456, 0xffffff)))
			},
			id(entry, 2),
			"create acl_entry#2 TABLE_ID=acl_table#2 PRIORITY=7 ADMIN_STATE=true " +
				"FIELD_SRC_IPV6=2001:db8::1&ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff FIELD_DST_IPV6=2001:db8:f::2&ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff " +
				"FIELD_L4_DST_PORT=4791&0xffff FIELD_INNER_L4_DST_PORT=4791&0xffff FIELD_IP_PROTOCOL=17&0xff FIELD_IPV6_NEXT_HEADER=6&0xff " +
				"FIELD_IPV6_FLOW_LABEL=703710&0xfffff FIELD_ACL_IP_TYPE=5&0xffffffff USER_DEFINED_FIELD_GROUP_MIN=00123456&00ffffff",
		},
		{
			"entry of every action", func() made {
				return create(createEntry(l, id(table, 2), 1, saiattr.ACLEntrySetLabel.Of(0xfffff), saiattr.ACLEntryCompute.As(saiattr.LabelCRC32|saiattr.LabelZeroOnly, ""),
					saiattr.ACLEntryPacket.Enum("copy"), ref(saiattr.ACLEntryTrap, id(trap, 1)), ref(saiattr.ACLEntrySample, id(sample, 1)), ref(saiattr.ACLEntryCounter, id(counter, 1))))
			},
			id(entry, 3),
			"create acl_entry#3 TABLE_ID=acl_table#2 PRIORITY=1 ADMIN_STATE=true ACTION_SET_IPV6_FLOW_LABEL=1048575 ACTION_COMPUTE_IPV6_FLOW_LABEL=257 " +
				"ACTION_PACKET_ACTION=2 ACTION_SET_USER_TRAP_ID=hostif_user_defined_trap#1 " +
				"ACTION_INGRESS_SAMPLEPACKET_ENABLE=samplepacket#1 ACTION_COUNTER=acl_counter#1",
		},
		{
			"entry that computes", func() made {
				return create(createEntry(l, id(table, 1), 0, saiattr.ACLEntryCompute.As(saiattr.LabelDraftLiteral, "")))
			},
			id(entry, 4), "create acl_entry#4 TABLE_ID=acl_table#1 PRIORITY=0 ADMIN_STATE=true ACTION_COMPUTE_IPV6_FLOW_LABEL=0",
		},
		{"it samples", func() made { return set(saiattr.ACLEntry, id(entry, 4), ref(saiattr.ACLEntrySample, id(sample, 1))) }, 0, "set acl_entry#4 ACTION_INGRESS_SAMPLEPACKET_ENABLE=samplepacket#1"},
		{"it does not", func() made { return set(saiattr.ACLEntry, id(entry, 4), saiattr.ACLEntrySample.Disabled()) }, 0, "set acl_entry#4 ACTION_INGRESS_SAMPLEPACKET_ENABLE=disabled"},
		{"bind", func() made { return set(saiattr.Port, id(port, 2), ref(saiattr.PortIngressACL, id(table, 1))) }, 0, "set port#2 INGRESS_ACL=acl_table#1"},
		{"unbind", func() made { return set(saiattr.Port, id(port, 2), ref(saiattr.PortIngressACL, sai.Null)) }, 0, "set port#2 INGRESS_ACL=null"},
		{
			"hash", func() made {
				return create(createHash(l, "SRC_IP", "DST_IP", "IP_PROTOCOL", "L4_SRC_PORT", "L4_DST_PORT"))
			},
			id(hash, 1), "create hash#1 NATIVE_HASH_FIELD_LIST=[0,1,5,7,8]",
		},
		{
			"hash of a UDF", func() made {
				return create(l.Create(saiattr.Hash, saiattr.HashFields.Enum("IPV6_FLOW_LABEL", "RDMA_BTH_DEST_QP"), ref(saiattr.HashUDFGroups, id(udfGroup, 2), id(udfGroup, 1))))
			},
			id(hash, 2), "create hash#2 NATIVE_HASH_FIELD_LIST=[24,35] UDF_GROUP_LIST=[udf_group#2,udf_group#1]",
		},
		{"hash of IPv4", func() made { return onSwitch(ref(saiattr.ECMPHashIPv4, id(hash, 1))) }, 0, "set switch#1 ECMP_HASH_IPV4=hash#1"},
		{"hash of IPv6", func() made { return onSwitch(ref(saiattr.ECMPHashIPv6, id(hash, 1))) }, 0, "set switch#1 ECMP_HASH_IPV6=hash#1"},
		{"hash of RDMA over IPv4", func() made { return onSwitch(ref(saiattr.ECMPHashIPv4RDMA, id(hash, 2))) }, 0, "set switch#1 ECMP_HASH_IPV4_RDMA=hash#2"},
		{"hash of RDMA over IPv6", func() made { return onSwitch(ref(saiattr.ECMPHashIPv6RDMA, id(hash, 2))) }, 0, "set switch#1 ECMP_HASH_IPV6_RDMA=hash#2"},
		{"no hash", func() made { return onSwitch(ref(saiattr.ECMPHashIPv6RDMA, sai.Null)) }, 0, "set switch#1 ECMP_HASH_IPV6_RDMA=null"},
		{"policer of traps", func() made { return create(createPolicer(l, "packets", 100, 10, "drop")) }, id(policer, 3), "create policer#3 METER_TYPE=0 MODE=0 COLOR_SOURCE=0 CIR=100 CBS=10 RED_PACKET_ACTION=0"},
		{"trap group", func() made { return create(l.Create(saiattr.TrapGroup, ref(saiattr.TrapGroupPolicer, id(policer, 3)))) }, id(trapGroup, 1), "create hostif_trap_group#1 POLICER=policer#3"},
		{"trap in it", func() made { return create(createTrap(l, ref(saiattr.UserTrapGroup, id(trapGroup, 1)))) }, id(trap, 2), "create hostif_user_defined_trap#2 TYPE=2 TRAP_GROUP=hostif_trap_group#1"},

		{"remove entry", func() made { return remove(saiattr.ACLEntry, id(entry, 3)) }, 0, "remove acl_entry#3"},
		{"remove counter", func() made { return remove(saiattr.ACLCounter, id(counter, 1)) }, 0, "remove acl_counter#1"},
		{"remove trap", func() made { return remove(saiattr.UserTrap, id(trap, 1)) }, 0, "remove hostif_user_defined_trap#1"},
		{"its trap goes", func() made { return remove(saiattr.UserTrap, id(trap, 2)) }, 0, "remove hostif_user_defined_trap#2"},
		{"the group goes", func() made { return remove(saiattr.TrapGroup, id(trapGroup, 1)) }, 0, "remove hostif_trap_group#1"},
		{"the policer goes", func() made { return remove(saiattr.Policer, id(policer, 3)) }, 0, "remove policer#3"},
		{"remove sample", func() made { return remove(saiattr.Sample, id(sample, 1)) }, 0, "remove samplepacket#1"},
		{"remove last entry", func() made { return remove(saiattr.ACLEntry, id(entry, 2)) }, 0, "remove acl_entry#2"},
		{"remove table", func() made { return remove(saiattr.ACLTable, id(table, 2)) }, 0, "remove acl_table#2"},
		{"free the hash", func() made { return onSwitch(ref(saiattr.ECMPHashIPv4RDMA, sai.Null)) }, 0, "set switch#1 ECMP_HASH_IPV4_RDMA=null"},
		{"remove hash", func() made { return remove(saiattr.Hash, id(hash, 2)) }, 0, "remove hash#2"},
		{"remove UDF", func() made { return remove(saiattr.UDF, id(udf, 1)) }, 0, "remove udf#1"},
		{"remove UDF match", func() made { return remove(saiattr.UDFMatch, id(udfMatch, 1)) }, 0, "remove udf_match#1"},
		{"remove UDF group", func() made { return remove(saiattr.UDFGroup, id(udfGroup, 1)) }, 0, "remove udf_group#1"},
		{"remove switch", func() made { return made{err: l.RemoveSwitch()} }, 0, "remove switch#1"},
	} {
		if got := tt.call(); got.err != nil || got.id != tt.id {
			t.Errorf("%s: %s, %v, want %s", tt.name, got.id, got.err, tt.id)
		}
		if diff := cmp.Diff([]string{tt.want}, library.Calls()); diff != "" {
			t.Errorf("%s, -want +got:\n%s", tt.name, diff)
		}
	}
}
