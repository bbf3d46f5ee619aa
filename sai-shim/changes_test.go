// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saitest"
)

// open opens the recording library with its switch.
func open(t *testing.T, library *saitest.Library, profile map[string]string) *sai.Library {
	t.Helper()
	l, err := sai.Open(library.Path, profile)
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
	port, table, entry, counter, mirror, sample, policer, queue = 1, 7, 8, 9, 14, 15, 18, 21
	scheduler, hash, udf, udfMatch, udfGroup, trapGroup, trap   = 22, 28, 29, 30, 31, 17, 56
)

// TestChanges: each method passes the right API, object, attributes and values.
// The calls depend on one another: objects are removed in the end.
func TestChanges(t *testing.T) {
	library := saitest.New(t)
	l := open(t, library, library.Profile())
	if diff := cmp.Diff([]string{"create switch#1 INIT_SWITCH=true", "set switch#1 PACKET_EVENT_NOTIFY=function", "get switch#1 SLUICE_EXTENSION"}, library.Calls()); diff != "" {
		t.Error(diff)
	}
	made := func(want sai.ObjectID) func(sai.ObjectID, error) error {
		return func(got sai.ObjectID, err error) error {
			if got != want {
				t.Errorf("made %s, want %s", got, want)
			}
			return err
		}
	}
	p16 := func(v uint16) *uint16 { return &v }
	p8 := func(v uint8) *uint8 { return &v }
	p32 := func(v uint32) *uint32 { return &v }
	for _, tt := range []struct {
		name string
		call func() error
		want string
	}{
		{"UDF match", func() error { return made(id(udfMatch, 1))(l.CreateUDFMatch(4791)) }, "create udf_match#1 L4_DST_PORT_TYPE=4791&0xffff"},
		{"UDF group", func() error { return made(id(udfGroup, 1))(l.CreateUDFGroup(false, 4)) }, "create udf_group#1 TYPE=0 LENGTH=4"},
		{"UDF group for hashing", func() error { return made(id(udfGroup, 2))(l.CreateUDFGroup(true, 3)) }, "create udf_group#2 TYPE=1 LENGTH=3"},
		{
			"UDF", func() error { return made(id(udf, 1))(l.CreateUDF(id(udfMatch, 1), id(udfGroup, 1), 12, nil)) },
			"create udf#1 MATCH_ID=udf_match#1 GROUP_ID=udf_group#1 BASE=2 OFFSET=12",
		},
		{
			"UDF for hashing", func() error {
				return made(id(udf, 2))(l.CreateUDF(id(udfMatch, 1), id(udfGroup, 2), 13, []byte{0, 255, 254}))
			},
			"create udf#2 MATCH_ID=udf_match#1 GROUP_ID=udf_group#2 BASE=2 OFFSET=13 HASH_MASK=00fffe",
		},
		{"table", func() error { return made(id(table, 1))(l.CreateACLTable(sai.ACLTable{})) }, "create acl_table#1 ACL_STAGE=0 ACL_BIND_POINT_TYPE_LIST=[0]"},
		{
			"table of everything", func() error {
				return made(id(table, 2))(l.CreateACLTable(sai.ACLTable{
					Size: 70000, SrcIPv6: true, DstIPv6: true, SrcIP: true, DstIP: true, L4SrcPort: true, L4DstPort: true, IPProtocol: true,
					IPv6NextHeader: true, IPv6FlowLabel: true, IPType: true, BTHOpcode: true, AETHSyndrome: true, InPort: true, UDFGroup: id(udfGroup, 1),
				}))
			},
			"create acl_table#2 ACL_STAGE=0 ACL_BIND_POINT_TYPE_LIST=[0] SIZE=70000 FIELD_L4_DST_PORT=true FIELD_L4_SRC_PORT=true " +
				"FIELD_IPV6_FLOW_LABEL=true FIELD_SRC_IPV6=true FIELD_DST_IPV6=true FIELD_SRC_IP=true FIELD_DST_IP=true FIELD_IP_PROTOCOL=true " +
				"FIELD_IPV6_NEXT_HEADER=true FIELD_ACL_IP_TYPE=true FIELD_BTH_OPCODE=true FIELD_AETH_SYNDROME=true FIELD_IN_PORT=true USER_DEFINED_FIELD_GROUP_MIN=udf_group#1",
		},
		{
			"counter", func() error { return made(id(counter, 1))(l.CreateACLCounter(id(table, 2))) },
			"create acl_counter#1 TABLE_ID=acl_table#2 ENABLE_PACKET_COUNT=true ENABLE_BYTE_COUNT=true",
		},
		{"trap", func() error { return made(id(trap, 1))(l.CreateUserTrap(sai.Null)) }, "create hostif_user_defined_trap#1 TYPE=2"},
		{"sample", func() error { return made(id(sample, 1))(l.CreateSample(1000)) }, "create samplepacket#1 SAMPLE_RATE=1000"},
		{
			"byte policer", func() error {
				return made(id(policer, 1))(l.CreatePolicer(sai.Policer{Rate: 50_000_000_000, Burst: 5_000_000_000, Red: sai.Copy}))
			},
			"create policer#1 METER_TYPE=1 MODE=0 COLOR_SOURCE=0 CIR=50000000000 CBS=5000000000 RED_PACKET_ACTION=2",
		},
		{
			"packet policer", func() error {
				return made(id(policer, 2))(l.CreatePolicer(sai.Policer{Packets: true, Rate: 100, Burst: 10, Red: sai.CopyCancel}))
			},
			"create policer#2 METER_TYPE=0 MODE=0 COLOR_SOURCE=0 CIR=100 CBS=10 RED_PACKET_ACTION=3",
		},
		{"mirror", func() error { return made(id(mirror, 1))(l.CreateMirror(sai.Mirror{Port: id(port, 3)})) }, "create mirror_session#1 TYPE=0 MONITOR_PORT=port#3"},
		{
			"sampled mirror", func() error {
				return made(id(mirror, 2))(l.CreateMirror(sai.Mirror{Port: id(port, 3), Truncate: 128, SampleRate: 20, Policer: id(policer, 2)}))
			},
			"create mirror_session#2 TYPE=0 MONITOR_PORT=port#3 TRUNCATE_SIZE=128 SAMPLE_RATE=20 POLICER=policer#2",
		},
		{
			"entry of nothing", func() error { return made(id(entry, 1))(l.CreateACLEntry(sai.ACLEntry{Table: id(table, 1)})) },
			"create acl_entry#1 TABLE_ID=acl_table#1 PRIORITY=0 ADMIN_STATE=true",
		},
		{
			"entry of every match", func() error {
				return made(id(entry, 2))(l.CreateACLEntry(sai.ACLEntry{
					Table: id(table, 2), Priority: 7, SrcIPv6: netip.MustParseAddr("2001:db8::1"), DstIPv6: netip.MustParseAddr("2001:db8:f::2"),
					SrcIP: netip.MustParseAddr("192.0.2.1"), DstIP: netip.MustParseAddr("192.0.2.254"), L4SrcPort: p16(49152), L4DstPort: p16(4791),
					IPProtocol: p8(17), IPv6NextHeader: p8(6), IPv6FlowLabel: p32(0xabcde), OnlyIPv6: true, BTHOpcode: p8(0x81), AETHSyndrome: p8(0x60),
					InPort: id(port, 2), UDF: &sai.UDFValue{Value: 0x123456, Mask: 0xffffff},
				}))
			},
			"create acl_entry#2 TABLE_ID=acl_table#2 PRIORITY=7 ADMIN_STATE=true " +
				"FIELD_SRC_IPV6=2001:db8::1&ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff FIELD_DST_IPV6=2001:db8:f::2&ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff " +
				"FIELD_SRC_IP=192.0.2.1&255.255.255.255 FIELD_DST_IP=192.0.2.254&255.255.255.255 FIELD_L4_SRC_PORT=49152&0xffff FIELD_L4_DST_PORT=4791&0xffff " +
				"FIELD_IP_PROTOCOL=17&0xff FIELD_IPV6_NEXT_HEADER=6&0xff FIELD_BTH_OPCODE=129&0xff FIELD_AETH_SYNDROME=96&0xff FIELD_IN_PORT=port#2 " +
				"FIELD_IPV6_FLOW_LABEL=703710&0xfffff FIELD_ACL_IP_TYPE=5&0xffffffff USER_DEFINED_FIELD_GROUP_MIN=00123456&00ffffff",
		},
		{
			"entry of every action", func() error {
				return made(id(entry, 3))(l.CreateACLEntry(sai.ACLEntry{
					Table: id(table, 2), Priority: 1, Counter: id(counter, 1), SetLabel: p32(0xfffff),
					ComputeLabel: &sai.ComputeLabel{Algorithm: sai.CRC32, ZeroOnly: true}, CopyToCPU: true, UserTrap: id(trap, 1),
					Policer: id(policer, 1), Mirror: id(mirror, 2), Sample: id(sample, 1), TC: p8(6), DSCP: p8(46),
				}))
			},
			"create acl_entry#3 TABLE_ID=acl_table#2 PRIORITY=1 ADMIN_STATE=true ACTION_SET_IPV6_FLOW_LABEL=1048575 ACTION_COMPUTE_IPV6_FLOW_LABEL=257 " +
				"ACTION_PACKET_ACTION=2 ACTION_SET_USER_TRAP_ID=hostif_user_defined_trap#1 ACTION_SET_POLICER=policer#1 ACTION_MIRROR_INGRESS=[mirror_session#2] " +
				"ACTION_INGRESS_SAMPLEPACKET_ENABLE=samplepacket#1 ACTION_SET_TC=6 ACTION_SET_DSCP=46 ACTION_COUNTER=acl_counter#1",
		},
		{
			"entry that computes", func() error {
				return made(id(entry, 4))(l.CreateACLEntry(sai.ACLEntry{Table: id(table, 1), ComputeLabel: &sai.ComputeLabel{Algorithm: sai.DraftLiteral}}))
			},
			"create acl_entry#4 TABLE_ID=acl_table#1 PRIORITY=0 ADMIN_STATE=true ACTION_COMPUTE_IPV6_FLOW_LABEL=0",
		},
		{"bind", func() error { return l.SetIngressACL(id(port, 2), id(table, 1)) }, "set port#2 INGRESS_ACL=acl_table#1"},
		{"unbind", func() error { return l.SetIngressACL(id(port, 2), sai.Null) }, "set port#2 INGRESS_ACL=null"},
		{
			"hash", func() error {
				return made(id(hash, 1))(l.CreateHash([]sai.HashField{sai.HashSrcIP, sai.HashDstIP, sai.HashIPProtocol, sai.HashL4SrcPort, sai.HashL4DstPort}, nil))
			},
			"create hash#1 NATIVE_HASH_FIELD_LIST=[0,1,5,7,8]",
		},
		{
			"hash of a UDF", func() error {
				return made(id(hash, 2))(l.CreateHash([]sai.HashField{sai.HashIPv6FlowLabel, sai.HashBTHDestQP}, []sai.ObjectID{id(udfGroup, 2), id(udfGroup, 1)}))
			},
			"create hash#2 NATIVE_HASH_FIELD_LIST=[24,35] UDF_GROUP_LIST=[udf_group#2,udf_group#1]",
		},
		{"hash of IPv4", func() error { return l.SetHash(sai.ECMPHashIPv4, id(hash, 1)) }, "set switch#1 ECMP_HASH_IPV4=hash#1"},
		{"hash of IPv6", func() error { return l.SetHash(sai.ECMPHashIPv6, id(hash, 1)) }, "set switch#1 ECMP_HASH_IPV6=hash#1"},
		{"hash of RDMA over IPv4", func() error { return l.SetHash(sai.ECMPHashIPv4RDMA, id(hash, 2)) }, "set switch#1 ECMP_HASH_IPV4_RDMA=hash#2"},
		{"hash of RDMA over IPv6", func() error { return l.SetHash(sai.ECMPHashIPv6RDMA, id(hash, 2)) }, "set switch#1 ECMP_HASH_IPV6_RDMA=hash#2"},
		{"no hash", func() error { return l.SetHash(sai.ECMPHashIPv6RDMA, sai.Null) }, "set switch#1 ECMP_HASH_IPV6_RDMA=null"},
		{
			"scheduler", func() error { return made(id(scheduler, 1))(l.CreateScheduler(12_500_000_000)) },
			"create scheduler#1 SCHEDULING_TYPE=0 METER_TYPE=1 MAX_BANDWIDTH_RATE=12500000000",
		},
		{"slower", func() error { return l.SetSchedulerRate(id(scheduler, 1), 1) }, "set scheduler#1 MAX_BANDWIDTH_RATE=1"},
		{"queue under it", func() error { return l.SetQueueScheduler(id(queue, 9), id(scheduler, 1)) }, "set queue#9 SCHEDULER_PROFILE_ID=scheduler#1"},
		{"queue without", func() error { return l.SetQueueScheduler(id(queue, 9), sai.Null) }, "set queue#9 SCHEDULER_PROFILE_ID=null"},

		{"remove entry", func() error { return l.RemoveACLEntry(id(entry, 3)) }, "remove acl_entry#3"},
		{"remove counter", func() error { return l.RemoveACLCounter(id(counter, 1)) }, "remove acl_counter#1"},
		{"remove trap", func() error { return l.RemoveUserTrap(id(trap, 1)) }, "remove hostif_user_defined_trap#1"},
		{"policer of traps", func() error {
			return made(id(policer, 3))(l.CreatePolicer(sai.Policer{Packets: true, Rate: 100, Burst: 10}))
		}, "create policer#3 METER_TYPE=0 MODE=0 COLOR_SOURCE=0 CIR=100 CBS=10 RED_PACKET_ACTION=0"},
		{"trap group", func() error { return made(id(trapGroup, 1))(l.CreateTrapGroup(id(policer, 3))) }, "create hostif_trap_group#1 POLICER=policer#3"},
		{"trap in it", func() error { return made(id(trap, 2))(l.CreateUserTrap(id(trapGroup, 1))) }, "create hostif_user_defined_trap#2 TYPE=2 TRAP_GROUP=hostif_trap_group#1"},
		{"its trap goes", func() error { return l.RemoveUserTrap(id(trap, 2)) }, "remove hostif_user_defined_trap#2"},
		{"the group goes", func() error { return l.RemoveTrapGroup(id(trapGroup, 1)) }, "remove hostif_trap_group#1"},
		{"the policer goes", func() error { return l.RemovePolicer(id(policer, 3)) }, "remove policer#3"},
		{"remove sample", func() error { return l.RemoveSample(id(sample, 1)) }, "remove samplepacket#1"},
		{"remove mirror", func() error { return l.RemoveMirror(id(mirror, 2)) }, "remove mirror_session#2"},
		{"remove policer", func() error { return l.RemovePolicer(id(policer, 2)) }, "remove policer#2"},
		{"remove last entry", func() error { return l.RemoveACLEntry(id(entry, 2)) }, "remove acl_entry#2"},
		{"remove table", func() error { return l.RemoveACLTable(id(table, 2)) }, "remove acl_table#2"},
		{"free the hash", func() error { return l.SetHash(sai.ECMPHashIPv4RDMA, sai.Null) }, "set switch#1 ECMP_HASH_IPV4_RDMA=null"},
		{"remove hash", func() error { return l.RemoveHash(id(hash, 2)) }, "remove hash#2"},
		{"remove UDF", func() error { return l.RemoveUDF(id(udf, 1)) }, "remove udf#1"},
		{"remove UDF of the hash", func() error { return l.RemoveUDF(id(udf, 2)) }, "remove udf#2"},
		{"remove UDF match", func() error { return l.RemoveUDFMatch(id(udfMatch, 1)) }, "remove udf_match#1"},
		{"remove UDF group", func() error { return l.RemoveUDFGroup(id(udfGroup, 1)) }, "remove udf_group#1"},
		{"remove scheduler", func() error { return l.RemoveScheduler(id(scheduler, 1)) }, "remove scheduler#1"},
		{"remove switch", func() error { return l.RemoveSwitch() }, "remove switch#1"},
	} {
		if err := tt.call(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff([]string{tt.want}, library.Calls()); diff != "" {
			t.Errorf("%s, -want +got:\n%s", tt.name, diff)
		}
	}
}
