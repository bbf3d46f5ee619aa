// SPDX-License-Identifier: Apache-2.0

package saiattr

import "strings"

// Form is how the value of an attribute is passed: a member of SAI's
// sai_attribute_value_t, and, of ACL entries, of its fields and actions.
type Form uint8

// The forms.
const (
	Bool Form = iota
	U16
	U32
	U64
	S32 // of an enum
	OID
	IPAddress // IPv4 or IPv6
	U8s       // lists; this one of four octets, which are a number
	U32s
	S32s
	OIDs
	QoSPairs // is read by QoSMap of package sai alone
	FieldU8
	FieldU16
	FieldU32
	FieldIP4
	FieldIP6
	FieldOctets
	ActionU32
	ActionS32
	ActionOID
	Function // a callback, which the shim passes
)

// Attr is an attribute. All attributes are package variables and immutable, so a pointer
// identifies one.
type Attr struct {
	Name string // SAI's
	ID   uint32 // SAI's; a profile may map those of the extension to others
	Form Form
	Mask uint32 // of fields that are numbers: the bits that are compared

	// InPlace: SAI lets one change it while the object is in use, and Sluice does.
	InPlace bool

	values string // of an enum: what the names of its values begin with
	digits int    // of numbers as text: in hexadecimal with as many digits; 0: decimal
}

// IsAction reports whether it is an action of an ACL entry, which may be off. Such a
// value carries an enable flag of its own (sai_acl_action_data_t, saiacl.h).
func (a *Attr) IsAction() bool {
	return a.Form == ActionU32 || a.Form == ActionS32 || a.Form == ActionOID
}

// Kind is a type of objects. The zero Kind is SAI_OBJECT_TYPE_NULL (saitypes.h).
type Kind struct {
	Name   string // SAI's, without SAI_OBJECT_TYPE_, in lower case
	Number int32
	Always *Attr // an attribute that every object of the type has; nil: unknown
}

// String is the name.
func (k Kind) String() string { return k.Name }

// kind returns an object type by its SAI name; always is the attribute that each object
// of the type has.
func kind(name string, always *Attr) Kind {
	return Kind{name, int32(numberOf("SAI_OBJECT_TYPE_" + strings.ToUpper(name))), always}
}

// The types of objects.
var (
	ACLTable   = kind("acl_table", ACLTableStage)
	ACLEntry   = kind("acl_entry", ACLEntryPriority)
	ACLCounter = kind("acl_counter", ACLCounterTable)
	ACLGroup   = kind("acl_table_group", ACLGroupStage)
	ACLMember  = kind("acl_table_group_member", ACLMemberTable)
	Hash       = kind("hash", HashFields)
	UDF        = kind("udf", UDFOffset)
	UDFMatch   = kind("udf_match", UDFMatchPort)
	UDFGroup   = kind("udf_group", UDFGroupType)
	Policer    = kind("policer", PolicerMode)
	UserTrap   = kind("hostif_user_defined_trap", UserTrapType)
	TrapGroup  = kind("hostif_trap_group", TrapGroupPolicer)
	TrapRoute  = kind("hostif_table_entry", TrapRouteTrap)
	Sample     = kind("samplepacket", SampleRate)
	Interface  = kind("router_interface", InterfaceType)
	NextHop    = kind("next_hop", NextHopType)
	HopGroup   = kind("next_hop_group", HopGroupType)
	HopMember  = kind("next_hop_group_member", HopMemberGroup)
	Switch     = kind("switch", nil)
	Port       = kind("port", nil)
	Queue      = kind("queue", nil)
	QoSMap     = kind("qos_map", QoSMapType)
)

// byName are all attributes.
var byName = map[string]*Attr{}

// ByName returns an attribute by SAI's name; nil for one that Sluice has no use for.
// Names are whole, such as SAI_ACL_ENTRY_ATTR_PRIORITY.
func ByName(name string) *Attr { return byName[name] }

// numberOf returns a number of SAI's. A name that the headers lack stops the program at
// once; a test would see it.
func numberOf(name string) uint32 {
	n, ok := numbers[name]
	if !ok {
		panic("saiattr: the headers have no " + name)
	}
	return n
}

// define registers an attribute by its SAI name and form.
func define(name string, f Form, options ...func(*Attr)) *Attr {
	a := &Attr{Name: name, ID: numberOf(name), Form: f}
	for _, option := range options {
		option(a)
	}
	byName[name] = a
	return a
}

// inPlace marks an attribute that Sluice changes while the object is in use.
func inPlace(a *Attr) { a.InPlace = true }

// of names an enum, by the prefix of its values.
func of(prefix string) func(*Attr) { return func(a *Attr) { a.values = prefix } }

// masked gives a match its mask.
func masked(mask uint32) func(*Attr) { return func(a *Attr) { a.Mask = mask } }

// hex has values shown in hexadecimal with so many digits.
func hex(digits int) func(*Attr) { return func(a *Attr) { a.digits = digits } }

// Values of [ACLEntryCompute]: an algorithm, and flags.
var (
	LabelDraftLiteral = uint64(numberOf("SAI_SLUICE_FLOW_LABEL_DRAFT_LITERAL"))
	LabelCRC32        = uint64(numberOf("SAI_SLUICE_FLOW_LABEL_CRC32"))
	LabelZeroOnly     = uint64(numberOf("SAI_SLUICE_FLOW_LABEL_ZERO_ONLY"))
	LabelOuter        = uint64(numberOf("SAI_SLUICE_FLOW_LABEL_OUTER"))
)

// The attributes of tables.
var (
	ACLTableStage      = define("SAI_ACL_TABLE_ATTR_ACL_STAGE", S32, of("SAI_ACL_STAGE_"))
	ACLTableBindPoints = define("SAI_ACL_TABLE_ATTR_ACL_BIND_POINT_TYPE_LIST", S32s, of("SAI_ACL_BIND_POINT_TYPE_"))
	// a request: 0 is the library's choice
	ACLTableSize         = define("SAI_ACL_TABLE_ATTR_SIZE", U32)
	ACLTablePort         = define("SAI_ACL_TABLE_ATTR_FIELD_L4_DST_PORT", Bool)
	ACLTableInnerPort    = define("SAI_ACL_TABLE_ATTR_FIELD_INNER_L4_DST_PORT", Bool)
	ACLTableProtocol     = define("SAI_ACL_TABLE_ATTR_FIELD_IP_PROTOCOL", Bool)
	ACLTableNextHeader   = define("SAI_ACL_TABLE_ATTR_FIELD_IPV6_NEXT_HEADER", Bool)
	ACLTableIPType       = define("SAI_ACL_TABLE_ATTR_FIELD_ACL_IP_TYPE", Bool)
	ACLTableOpcode       = define("SAI_ACL_TABLE_ATTR_FIELD_BTH_OPCODE", Bool)
	ACLTableLabel        = define("SAI_ACL_TABLE_ATTR_FIELD_IPV6_FLOW_LABEL", Bool)
	ACLTableSource       = define("SAI_ACL_TABLE_ATTR_FIELD_SRC_IPV6", Bool)
	ACLTableDestination  = define("SAI_ACL_TABLE_ATTR_FIELD_DST_IPV6", Bool)
	ACLTableSource4      = define("SAI_ACL_TABLE_ATTR_FIELD_SRC_IP", Bool)
	ACLTableDestination4 = define("SAI_ACL_TABLE_ATTR_FIELD_DST_IP", Bool)
	ACLTableSourcePort   = define("SAI_ACL_TABLE_ATTR_FIELD_L4_SRC_PORT", Bool)
	ACLTableRoom         = define("SAI_ACL_TABLE_ATTR_AVAILABLE_ACL_ENTRY", U32)
	ACLTableUDF          = define("SAI_ACL_TABLE_ATTR_USER_DEFINED_FIELD_GROUP_MIN", OID)
	ACLTableEntries      = define("SAI_ACL_TABLE_ATTR_ENTRY_LIST", OIDs)
)

// The attributes of entries.
var (
	ACLEntryTable     = define("SAI_ACL_ENTRY_ATTR_TABLE_ID", OID)
	ACLEntryPriority  = define("SAI_ACL_ENTRY_ATTR_PRIORITY", U32) // the highest wins
	ACLEntryAdmin     = define("SAI_ACL_ENTRY_ATTR_ADMIN_STATE", Bool)
	ACLEntryPort      = define("SAI_ACL_ENTRY_ATTR_FIELD_L4_DST_PORT", FieldU16, masked(0xffff))
	ACLEntryInnerPort = define("SAI_ACL_ENTRY_ATTR_FIELD_INNER_L4_DST_PORT", FieldU16, masked(0xffff))
	ACLEntryOpcode    = define("SAI_ACL_ENTRY_ATTR_FIELD_BTH_OPCODE", FieldU8, masked(0xff), hex(2))
	// of IPv4
	ACLEntryProtocol = define("SAI_ACL_ENTRY_ATTR_FIELD_IP_PROTOCOL", FieldU8, masked(0xff))
	// of IPv6
	ACLEntryNextHeader   = define("SAI_ACL_ENTRY_ATTR_FIELD_IPV6_NEXT_HEADER", FieldU8, masked(0xff))
	ACLEntryIPType       = define("SAI_ACL_ENTRY_ATTR_FIELD_ACL_IP_TYPE", FieldU32, masked(0xffffffff), of("SAI_ACL_IP_TYPE_"))
	ACLEntryLabel        = define("SAI_ACL_ENTRY_ATTR_FIELD_IPV6_FLOW_LABEL", FieldU32, masked(0xfffff), hex(5))
	ACLEntrySource       = define("SAI_ACL_ENTRY_ATTR_FIELD_SRC_IPV6", FieldIP6)
	ACLEntryDestination  = define("SAI_ACL_ENTRY_ATTR_FIELD_DST_IPV6", FieldIP6)
	ACLEntrySource4      = define("SAI_ACL_ENTRY_ATTR_FIELD_SRC_IP", FieldIP4)
	ACLEntryDestination4 = define("SAI_ACL_ENTRY_ATTR_FIELD_DST_IP", FieldIP4)
	ACLEntrySourcePort   = define("SAI_ACL_ENTRY_ATTR_FIELD_L4_SRC_PORT", FieldU16, masked(0xffff))
	ACLEntryRedirect     = define("SAI_ACL_ENTRY_ATTR_ACTION_REDIRECT", ActionOID, inPlace)
	ACLEntryUDF          = define("SAI_ACL_ENTRY_ATTR_USER_DEFINED_FIELD_GROUP_MIN", FieldOctets, hex(6))
	ACLEntrySetLabel     = define("SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL", ActionU32, inPlace, hex(5))
	ACLEntryCompute      = define("SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL", ActionS32, inPlace)
	ACLEntryPacket       = define("SAI_ACL_ENTRY_ATTR_ACTION_PACKET_ACTION", ActionS32, of("SAI_PACKET_ACTION_"))
	ACLEntryTrap         = define("SAI_ACL_ENTRY_ATTR_ACTION_SET_USER_TRAP_ID", ActionOID)
	ACLEntrySample       = define("SAI_ACL_ENTRY_ATTR_ACTION_INGRESS_SAMPLEPACKET_ENABLE", ActionOID, inPlace)
	ACLEntryPolicer      = define("SAI_ACL_ENTRY_ATTR_ACTION_SET_POLICER", ActionOID, inPlace)
	ACLEntryCounter      = define("SAI_ACL_ENTRY_ATTR_ACTION_COUNTER", ActionOID)
)

// The attributes of other objects.
var (
	ACLCounterTable      = define("SAI_ACL_COUNTER_ATTR_TABLE_ID", OID)
	ACLCounterPackets    = define("SAI_ACL_COUNTER_ATTR_PACKETS", U64)
	ACLCounterOctets     = define("SAI_ACL_COUNTER_ATTR_BYTES", U64)
	ACLCounterHasPackets = define("SAI_ACL_COUNTER_ATTR_ENABLE_PACKET_COUNT", Bool)
	ACLCounterHasOctets  = define("SAI_ACL_COUNTER_ATTR_ENABLE_BYTE_COUNT", Bool)

	// Groups of tables, for libraries that bind tables in groups only, and for ports that
	// carry one.
	ACLGroupStage      = define("SAI_ACL_TABLE_GROUP_ATTR_ACL_STAGE", S32, of("SAI_ACL_STAGE_"))
	ACLGroupBindPoints = define("SAI_ACL_TABLE_GROUP_ATTR_ACL_BIND_POINT_TYPE_LIST", S32s, of("SAI_ACL_BIND_POINT_TYPE_"))
	ACLGroupType       = define("SAI_ACL_TABLE_GROUP_ATTR_TYPE", S32, of("SAI_ACL_TABLE_GROUP_TYPE_"))
	ACLGroupMembers    = define("SAI_ACL_TABLE_GROUP_ATTR_MEMBER_LIST", OIDs)
	ACLMemberGroup     = define("SAI_ACL_TABLE_GROUP_MEMBER_ATTR_ACL_TABLE_GROUP_ID", OID)
	ACLMemberTable     = define("SAI_ACL_TABLE_GROUP_MEMBER_ATTR_ACL_TABLE_ID", OID)
	ACLMemberPriority  = define("SAI_ACL_TABLE_GROUP_MEMBER_ATTR_PRIORITY", U32)

	// The way of a trap's packets to the CPU.
	TrapRouteType    = define("SAI_HOSTIF_TABLE_ENTRY_ATTR_TYPE", S32, of("SAI_HOSTIF_TABLE_ENTRY_TYPE_"))
	TrapRouteTrap    = define("SAI_HOSTIF_TABLE_ENTRY_ATTR_TRAP_ID", OID)
	TrapRouteChannel = define("SAI_HOSTIF_TABLE_ENTRY_ATTR_CHANNEL_TYPE", S32, of("SAI_HOSTIF_TABLE_ENTRY_CHANNEL_TYPE_"))

	UserTrapType     = define("SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TYPE", S32, of("SAI_HOSTIF_USER_DEFINED_TRAP_TYPE_"))
	UserTrapGroup    = define("SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TRAP_GROUP", OID)
	TrapGroupPolicer = define("SAI_HOSTIF_TRAP_GROUP_ATTR_POLICER", OID)

	PolicerMeter  = define("SAI_POLICER_ATTR_METER_TYPE", S32, of("SAI_METER_TYPE_"))
	PolicerMode   = define("SAI_POLICER_ATTR_MODE", S32, of("SAI_POLICER_MODE_"))
	PolicerColors = define("SAI_POLICER_ATTR_COLOR_SOURCE", S32, of("SAI_POLICER_COLOR_SOURCE_"))
	PolicerRate   = define("SAI_POLICER_ATTR_CIR", U64, inPlace) // packets or octets a second
	PolicerBurst  = define("SAI_POLICER_ATTR_CBS", U64, inPlace) // packets or octets
	PolicerGreen  = define("SAI_POLICER_ATTR_GREEN_PACKET_ACTION", S32, of("SAI_PACKET_ACTION_"))
	PolicerRed    = define("SAI_POLICER_ATTR_RED_PACKET_ACTION", S32, of("SAI_PACKET_ACTION_"))

	SampleRate = define("SAI_SAMPLEPACKET_ATTR_SAMPLE_RATE", U32, inPlace) // one of so many packets

	InterfaceRouter = define("SAI_ROUTER_INTERFACE_ATTR_VIRTUAL_ROUTER_ID", OID)
	InterfaceType   = define("SAI_ROUTER_INTERFACE_ATTR_TYPE", S32, of("SAI_ROUTER_INTERFACE_TYPE_"))
	InterfacePort   = define("SAI_ROUTER_INTERFACE_ATTR_PORT_ID", OID)
	NextHopType     = define("SAI_NEXT_HOP_ATTR_TYPE", S32, of("SAI_NEXT_HOP_TYPE_"))
	NextHopAddress  = define("SAI_NEXT_HOP_ATTR_IP", IPAddress)
	NextHopOf       = define("SAI_NEXT_HOP_ATTR_ROUTER_INTERFACE_ID", OID)
	HopGroupType    = define("SAI_NEXT_HOP_GROUP_ATTR_TYPE", S32, of("SAI_NEXT_HOP_GROUP_TYPE_"))
	HopMemberGroup  = define("SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_GROUP_ID", OID)
	// a next hop, or a group
	HopMemberHop  = define("SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_ID", OID)
	HopMemberRole = define("SAI_NEXT_HOP_GROUP_MEMBER_ATTR_CONFIGURED_ROLE", S32, of("SAI_NEXT_HOP_GROUP_MEMBER_CONFIGURED_ROLE_"))

	UDFMatchPort   = define("SAI_UDF_MATCH_ATTR_L4_DST_PORT_TYPE", FieldU16, masked(0xffff))
	UDFGroupType   = define("SAI_UDF_GROUP_ATTR_TYPE", S32, of("SAI_UDF_GROUP_TYPE_"))
	UDFGroupLength = define("SAI_UDF_GROUP_ATTR_LENGTH", U16) // octets
	UDFMatched     = define("SAI_UDF_ATTR_MATCH_ID", OID)
	UDFOfGroup     = define("SAI_UDF_ATTR_GROUP_ID", OID)
	UDFBase        = define("SAI_UDF_ATTR_BASE", S32, of("SAI_UDF_BASE_"))
	UDFOffset      = define("SAI_UDF_ATTR_OFFSET", U16) // octets from the base
	// SAI's default is two octets, whatever the group's length
	UDFHashMask   = define("SAI_UDF_ATTR_HASH_MASK", U8s, hex(8))
	HashFields    = define("SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST", S32s, of("SAI_NATIVE_HASH_FIELD_"))
	HashUDFGroups = define("SAI_HASH_ATTR_UDF_GROUP_LIST", OIDs)

	PortIngressACL = define("SAI_PORT_ATTR_INGRESS_ACL", OID, inPlace)
	PortLanes      = define("SAI_PORT_ATTR_HW_LANE_LIST", U32s)
	PortQueues     = define("SAI_PORT_ATTR_QOS_QUEUE_LIST", OIDs)
	QueueLow       = define("SAI_QUEUE_ATTR_FLOW_MONITOR_LOW", U32)  // octets
	QueueHigh      = define("SAI_QUEUE_ATTR_FLOW_MONITOR_HIGH", U32) // octets

	// How packets get to queues: traffic class by DSCP, and queue by class. A port without a map has
	// the switch's.
	PortDSCPToClass    = define("SAI_PORT_ATTR_QOS_DSCP_TO_TC_MAP", OID)
	PortClassToQueue   = define("SAI_PORT_ATTR_QOS_TC_TO_QUEUE_MAP", OID)
	SwitchDSCPToClass  = define("SAI_SWITCH_ATTR_QOS_DSCP_TO_TC_MAP", OID)
	SwitchClassToQueue = define("SAI_SWITCH_ATTR_QOS_TC_TO_QUEUE_MAP", OID)
	QoSMapType         = define("SAI_QOS_MAP_ATTR_TYPE", S32)
	QoSMapPairs        = define("SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST", QoSPairs)

	SwitchInit       = define("SAI_SWITCH_ATTR_INIT_SWITCH", Bool)
	SwitchPorts      = define("SAI_SWITCH_ATTR_PORT_LIST", OIDs)
	SwitchPackets    = define("SAI_SWITCH_ATTR_PACKET_EVENT_NOTIFY", Function)
	SwitchCPUPort    = define("SAI_SWITCH_ATTR_CPU_PORT", OID)
	SwitchRouter     = define("SAI_SWITCH_ATTR_DEFAULT_VIRTUAL_ROUTER_ID", OID)
	SwitchFlowKey    = define("SAI_SWITCH_ATTR_FLOW_KEY", S32, of("SAI_SLUICE_FLOW_KEY_"))
	SwitchStreamSeed = define("SAI_SWITCH_ATTR_STREAM_SEED", U32)
	SwitchHashSeed   = define("SAI_SWITCH_ATTR_ECMP_DEFAULT_HASH_SEED", U32, inPlace)

	SwitchReloadPorts = define("SAI_SWITCH_ATTR_RELOAD_PORTS", Bool)
	SwitchRestartWarm = define("SAI_SWITCH_ATTR_RESTART_WARM", Bool)

	// Uses of a hash. Those of RDMA came with SAI 1.16. ECMPHash is the default one, which
	// is only read: its own list of fields can be set.
	ECMPHash         = define("SAI_SWITCH_ATTR_ECMP_HASH", OID)
	ECMPHashIPv4     = define("SAI_SWITCH_ATTR_ECMP_HASH_IPV4", OID)
	ECMPHashIPv6     = define("SAI_SWITCH_ATTR_ECMP_HASH_IPV6", OID)
	ECMPHashIPv4RDMA = define("SAI_SWITCH_ATTR_ECMP_HASH_IPV4_RDMA", OID)
	ECMPHashIPv6RDMA = define("SAI_SWITCH_ATTR_ECMP_HASH_IPV6_RDMA", OID)
)
