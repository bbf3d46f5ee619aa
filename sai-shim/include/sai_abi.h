/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary interface of the Switch Abstraction Interface (OCP SAI), as far as
 * Sluice needs it: numbers and layouts, no text of SAI's own headers. They are
 * those of 1.18 on 64-bit machines, the same from 1.12 on but for what newer
 * versions added. `make sai-abi-check` compares all of it with a system's
 * headers.
 *
 * SAI's documentation has the meaning of attributes. Every pointer of a method
 * table may be missing in an older library: ask sai_query_api_version.
 */
#ifndef SAI_ABI_H
#define SAI_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int32_t sai_status_t;
typedef uint64_t sai_object_id_t;
typedef uint32_t sai_attr_id_t;
typedef uint32_t sai_stat_id_t;
typedef uint32_t sai_switch_profile_id_t;
typedef uint64_t sai_api_version_t; /* major * 10000 + minor * 100 + revision */
typedef size_t sai_size_t;
typedef uint8_t sai_mac_t[6];
typedef uint32_t sai_ip4_t; /* network byte order */
typedef uint8_t sai_ip6_t[16];

/* Enums are as large as int. */
typedef int32_t sai_api_t;
typedef int32_t sai_object_type_t;
typedef int32_t sai_log_level_t;
typedef int32_t sai_acl_action_type_t;
typedef int32_t sai_stats_mode_t;

#define SAI_NULL_OBJECT_ID 0ULL

/* A list: where it is too short the library answers BUFFER_OVERFLOW and the count. */
#define SAI_LIST(element, name) \
	typedef struct { \
		uint32_t count; \
		element *list; \
	} name

SAI_LIST(sai_object_id_t, sai_object_list_t);
SAI_LIST(uint8_t, sai_u8_list_t);
SAI_LIST(uint32_t, sai_u32_list_t);
SAI_LIST(int32_t, sai_s32_list_t);

/* One side of an entry of a QoS map; the map's type selects the member. */
typedef struct {
	uint8_t tc;
	uint8_t dscp;
	uint8_t dot1p;
	uint8_t prio;
	uint8_t pg;
	uint8_t queue_index;
	int32_t color;
	uint8_t mpls_exp;
	uint8_t fc;
} sai_qos_map_params_t;

typedef struct {
	sai_qos_map_params_t key;
	sai_qos_map_params_t value;
} sai_qos_map_t;

typedef struct {
	int32_t addr_family; /* 0: IPv4, 1: IPv6 */
	union {
		sai_ip4_t ip4;
		sai_ip6_t ip6;
	} addr;
} sai_ip_address_t;

/* A match: the packet's field under the mask equals data. */
typedef struct {
	bool enable;
	union {
		uint8_t u8;
		uint16_t u16;
		uint32_t u32;
		uint64_t u64;
		sai_ip4_t ip4;
		sai_ip6_t ip6;
		sai_u8_list_t u8list;
	} mask;
	union {
		bool booldata;
		uint8_t u8;
		uint16_t u16;
		uint32_t u32;
		int32_t s32;
		uint64_t u64;
		sai_ip4_t ip4;
		sai_ip6_t ip6;
		sai_object_id_t oid;
		sai_object_list_t objlist;
		sai_u8_list_t u8list;
	} data;
} sai_acl_field_data_t;

typedef struct {
	bool enable;
	union {
		bool booldata;
		uint8_t u8;
		uint16_t u16;
		uint32_t u32;
		int32_t s32;
		sai_object_id_t oid;
		sai_object_list_t objlist;
		uint64_t room[3]; /* the longest member of those left out here */
	} parameter;
} sai_acl_action_data_t;

/* Actions of a stage, and whether a table must name its own. */
typedef struct {
	bool is_action_list_mandatory;
	sai_s32_list_t action_list;
	int32_t supported_match_type;
} sai_acl_capability_t;

typedef struct {
	uint64_t tv_sec;
	uint32_t tv_nsec;
} sai_timespec_t;

typedef union {
	bool booldata;
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	int32_t s32;
	uint64_t u64;
	sai_mac_t mac;
	sai_object_id_t oid;
	void *ptr;
	sai_ip_address_t ipaddr;
	sai_object_list_t objlist;
	sai_u8_list_t u8list;
	sai_u32_list_t u32list;
	sai_s32_list_t s32list;
	sai_acl_field_data_t aclfield;
	sai_acl_action_data_t aclaction;
	sai_acl_capability_t aclcapability;
	sai_timespec_t timespec;
	uint64_t room[5]; /* the longest member of those left out here */
} sai_attribute_value_t;

typedef struct {
	sai_attr_id_t id;
	sai_attribute_value_t value;
} sai_attribute_t;

typedef struct {
	bool create_implemented;
	bool set_implemented;
	bool get_implemented;
} sai_attr_capability_t;

typedef const char *(*sai_profile_get_value_fn)(sai_switch_profile_id_t profile, const char *variable);

/* *variable NULL: begin again. Returns 0 for a pair, -1 after the last. */
typedef int (*sai_profile_get_next_value_fn)(sai_switch_profile_id_t profile, const char **variable,
					     const char **value);

typedef struct {
	sai_profile_get_value_fn profile_get_value;
	sai_profile_get_next_value_fn profile_get_next_value;
} sai_service_method_table_t;

typedef void (*sai_packet_event_notification_fn)(sai_object_id_t switch_id, sai_size_t buffer_size, const void *buffer,
						 uint32_t attr_count, const sai_attribute_t *attr_list);

/* Status codes. From -65536 on the attribute's index is added to the code before it is negated. */
enum {
	SAI_STATUS_SUCCESS = 0,
	SAI_STATUS_FAILURE = -1,
	SAI_STATUS_NOT_SUPPORTED = -2,
	SAI_STATUS_NO_MEMORY = -3,
	SAI_STATUS_INSUFFICIENT_RESOURCES = -4,
	SAI_STATUS_INVALID_PARAMETER = -5,
	SAI_STATUS_ITEM_ALREADY_EXISTS = -6,
	SAI_STATUS_ITEM_NOT_FOUND = -7,
	SAI_STATUS_BUFFER_OVERFLOW = -8,
	SAI_STATUS_INVALID_PORT_NUMBER = -9,
	SAI_STATUS_INVALID_PORT_MEMBER = -10,
	SAI_STATUS_UNINITIALIZED = -12,
	SAI_STATUS_TABLE_FULL = -13,
	SAI_STATUS_MANDATORY_ATTRIBUTE_MISSING = -14,
	SAI_STATUS_NOT_IMPLEMENTED = -15,
	SAI_STATUS_ADDR_NOT_FOUND = -16,
	SAI_STATUS_OBJECT_IN_USE = -17,
	SAI_STATUS_INVALID_OBJECT_TYPE = -18,
	SAI_STATUS_INVALID_OBJECT_ID = -19,
	SAI_STATUS_INVALID_ATTRIBUTE_0 = -65536,
	SAI_STATUS_INVALID_ATTRIBUTE_MAX = -131071,
	SAI_STATUS_INVALID_ATTR_VALUE_0 = -131072,
	SAI_STATUS_INVALID_ATTR_VALUE_MAX = -196607,
	SAI_STATUS_ATTR_NOT_IMPLEMENTED_0 = -196608,
	SAI_STATUS_ATTR_NOT_IMPLEMENTED_MAX = -262143,
	SAI_STATUS_UNKNOWN_ATTRIBUTE_0 = -262144,
	SAI_STATUS_UNKNOWN_ATTRIBUTE_MAX = -327679,
	SAI_STATUS_ATTR_NOT_SUPPORTED_0 = -327680,
	SAI_STATUS_ATTR_NOT_SUPPORTED_MAX = -393215,
};

/* APIs, for sai_api_query. */
enum {
	SAI_API_SWITCH = 1,
	SAI_API_PORT = 2,
	SAI_API_NEXT_HOP = 7,
	SAI_API_NEXT_HOP_GROUP = 8,
	SAI_API_ROUTER_INTERFACE = 9,
	SAI_API_ACL = 11,
	SAI_API_HOSTIF = 12,
	SAI_API_MIRROR = 13,
	SAI_API_SAMPLEPACKET = 14,
	SAI_API_POLICER = 17,
	SAI_API_QOS_MAP = 19,
	SAI_API_QUEUE = 20,
	SAI_API_SCHEDULER = 21,
	SAI_API_HASH = 24,
	SAI_API_UDF = 25,
};

/* Object types. */
enum {
	SAI_OBJECT_TYPE_NULL = 0,
	SAI_OBJECT_TYPE_PORT = 1,
	SAI_OBJECT_TYPE_VIRTUAL_ROUTER = 3,
	SAI_OBJECT_TYPE_NEXT_HOP = 4,
	SAI_OBJECT_TYPE_NEXT_HOP_GROUP = 5,
	SAI_OBJECT_TYPE_ROUTER_INTERFACE = 6,
	SAI_OBJECT_TYPE_ACL_TABLE = 7,
	SAI_OBJECT_TYPE_ACL_ENTRY = 8,
	SAI_OBJECT_TYPE_ACL_COUNTER = 9,
	SAI_OBJECT_TYPE_ACL_TABLE_GROUP = 11,
	SAI_OBJECT_TYPE_ACL_TABLE_GROUP_MEMBER = 12,
	SAI_OBJECT_TYPE_MIRROR_SESSION = 14,
	SAI_OBJECT_TYPE_SAMPLEPACKET = 15,
	SAI_OBJECT_TYPE_HOSTIF_TRAP_GROUP = 17,
	SAI_OBJECT_TYPE_POLICER = 18,
	SAI_OBJECT_TYPE_QOS_MAP = 20,
	SAI_OBJECT_TYPE_QUEUE = 21,
	SAI_OBJECT_TYPE_SCHEDULER = 22,
	SAI_OBJECT_TYPE_HASH = 28,
	SAI_OBJECT_TYPE_UDF = 29,
	SAI_OBJECT_TYPE_UDF_MATCH = 30,
	SAI_OBJECT_TYPE_UDF_GROUP = 31,
	SAI_OBJECT_TYPE_SWITCH = 33,
	SAI_OBJECT_TYPE_HOSTIF_TABLE_ENTRY = 35,
	SAI_OBJECT_TYPE_NEXT_HOP_GROUP_MEMBER = 45,
	SAI_OBJECT_TYPE_HOSTIF_USER_DEFINED_TRAP = 56,
};

/* Log levels. */
enum {
	SAI_LOG_LEVEL_NOTICE = 2,
	SAI_LOG_LEVEL_WARN = 3,
	SAI_LOG_LEVEL_CRITICAL = 5,
};

/* Switch attributes. */
enum {
	SAI_SWITCH_ATTR_NUMBER_OF_ACTIVE_PORTS = 0,
	SAI_SWITCH_ATTR_PORT_LIST = 2,
	SAI_SWITCH_ATTR_CPU_PORT = 4,
	SAI_SWITCH_ATTR_NUMBER_OF_UNICAST_QUEUES = 13,
	SAI_SWITCH_ATTR_ACL_ENTRY_MINIMUM_PRIORITY = 25,
	SAI_SWITCH_ATTR_ACL_ENTRY_MAXIMUM_PRIORITY = 26,
	SAI_SWITCH_ATTR_DEFAULT_VIRTUAL_ROUTER_ID = 39,
	SAI_SWITCH_ATTR_ECMP_HASH = 69,
	SAI_SWITCH_ATTR_RESTART_WARM = 71,
	SAI_SWITCH_ATTR_SRC_MAC_ADDRESS = 83,
	SAI_SWITCH_ATTR_ECMP_DEFAULT_HASH_SEED = 90,
	SAI_SWITCH_ATTR_ECMP_HASH_IPV4 = 93,
	SAI_SWITCH_ATTR_ECMP_HASH_IPV6 = 95,
	SAI_SWITCH_ATTR_QOS_DSCP_TO_TC_MAP = 107,
	SAI_SWITCH_ATTR_QOS_TC_TO_QUEUE_MAP = 109,
	SAI_SWITCH_ATTR_SWITCH_PROFILE_ID = 113,
	SAI_SWITCH_ATTR_SWITCH_HARDWARE_INFO = 114,
	SAI_SWITCH_ATTR_INIT_SWITCH = 116,
	SAI_SWITCH_ATTR_PACKET_EVENT_NOTIFY = 121,
	SAI_SWITCH_ATTR_ACL_STAGE_INGRESS = 124,
	SAI_SWITCH_ATTR_ECMP_HASH_IPV4_RDMA = 247,
	SAI_SWITCH_ATTR_ECMP_HASH_IPV6_RDMA = 248,
	SAI_SWITCH_ATTR_CUSTOM_RANGE_START = 0x10000000,
};

/* Port attributes. */
enum {
	SAI_PORT_ATTR_TYPE = 0,
	SAI_PORT_ATTR_OPER_STATUS = 1,
	SAI_PORT_ATTR_QOS_NUMBER_OF_QUEUES = 4,
	SAI_PORT_ATTR_QOS_QUEUE_LIST = 5,
	SAI_PORT_ATTR_OPER_SPEED = 29,
	SAI_PORT_ATTR_HW_LANE_LIST = 30,
	SAI_PORT_ATTR_SPEED = 31,
	SAI_PORT_ATTR_ADMIN_STATE = 34,
	SAI_PORT_ATTR_MTU = 54,
	SAI_PORT_ATTR_INGRESS_ACL = 59,
	SAI_PORT_ATTR_EGRESS_ACL = 60,
	SAI_PORT_ATTR_INGRESS_MIRROR_SESSION = 64,
	SAI_PORT_ATTR_EGRESS_MIRROR_SESSION = 65,
	SAI_PORT_ATTR_INGRESS_SAMPLEPACKET_ENABLE = 66,
	SAI_PORT_ATTR_QOS_DSCP_TO_TC_MAP = 74,
	SAI_PORT_ATTR_QOS_TC_TO_QUEUE_MAP = 76,
};

/* Port statistics. */
enum {
	SAI_PORT_STAT_IF_IN_OCTETS = 0,
	SAI_PORT_STAT_IF_IN_UCAST_PKTS = 1,
	SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS = 2,
	SAI_PORT_STAT_IF_IN_DISCARDS = 3,
	SAI_PORT_STAT_IF_IN_ERRORS = 4,
	SAI_PORT_STAT_IF_OUT_OCTETS = 9,
	SAI_PORT_STAT_IF_OUT_UCAST_PKTS = 10,
	SAI_PORT_STAT_IF_OUT_DISCARDS = 12,
	SAI_PORT_STAT_IF_OUT_ERRORS = 13,
};

enum {
	SAI_PORT_OPER_STATUS_UP = 1,
	SAI_PORT_OPER_STATUS_DOWN = 2,
};

/* Queue attributes. */
enum {
	SAI_QUEUE_ATTR_TYPE = 0,
	SAI_QUEUE_TYPE_UNICAST = 1,
	SAI_QUEUE_ATTR_PORT = 1,
	SAI_QUEUE_ATTR_INDEX = 2,
	SAI_QUEUE_ATTR_SCHEDULER_PROFILE_ID = 6,
};

/* Queue statistics. */
enum {
	SAI_QUEUE_STAT_PACKETS = 0,
	SAI_QUEUE_STAT_BYTES = 1,
	SAI_QUEUE_STAT_DROPPED_PACKETS = 2,
	SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES = 24,
	SAI_QUEUE_STAT_WATERMARK_BYTES = 25,
	SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES = 27,
	SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS = 34,
};

/* ACL table attributes. */
enum {
	SAI_ACL_TABLE_ATTR_ACL_STAGE = 0,
	SAI_ACL_TABLE_ATTR_ACL_BIND_POINT_TYPE_LIST = 1,
	SAI_ACL_TABLE_ATTR_SIZE = 2,
	SAI_ACL_TABLE_ATTR_ACL_ACTION_TYPE_LIST = 3,
	SAI_ACL_TABLE_ATTR_FIELD_SRC_IPV6 = 0x1000,
	SAI_ACL_TABLE_ATTR_FIELD_DST_IPV6 = 0x1001,
	SAI_ACL_TABLE_ATTR_FIELD_SRC_IP = 0x1006,
	SAI_ACL_TABLE_ATTR_FIELD_DST_IP = 0x1007,
	SAI_ACL_TABLE_ATTR_FIELD_IN_PORT = 0x100c,
	SAI_ACL_TABLE_ATTR_FIELD_L4_SRC_PORT = 0x1015,
	SAI_ACL_TABLE_ATTR_FIELD_L4_DST_PORT = 0x1016,
	SAI_ACL_TABLE_ATTR_FIELD_INNER_L4_DST_PORT = 0x1018,
	SAI_ACL_TABLE_ATTR_FIELD_IP_PROTOCOL = 0x101b,
	SAI_ACL_TABLE_ATTR_FIELD_DSCP = 0x101e,
	SAI_ACL_TABLE_ATTR_FIELD_ACL_IP_TYPE = 0x1024,
	SAI_ACL_TABLE_ATTR_FIELD_IPV6_FLOW_LABEL = 0x1026,
	SAI_ACL_TABLE_ATTR_FIELD_ICMP_TYPE = 0x1028,
	SAI_ACL_TABLE_ATTR_FIELD_ICMP_CODE = 0x1029,
	SAI_ACL_TABLE_ATTR_FIELD_ICMPV6_TYPE = 0x102a,
	SAI_ACL_TABLE_ATTR_FIELD_ICMPV6_CODE = 0x102b,
	SAI_ACL_TABLE_ATTR_FIELD_BTH_OPCODE = 0x104d,
	SAI_ACL_TABLE_ATTR_FIELD_AETH_SYNDROME = 0x104e,
	SAI_ACL_TABLE_ATTR_USER_DEFINED_FIELD_GROUP_MIN = 0x104f,
	SAI_ACL_TABLE_ATTR_FIELD_IPV6_NEXT_HEADER = 0x1150,
	SAI_ACL_TABLE_ATTR_ENTRY_LIST = 0x2000,
	SAI_ACL_TABLE_ATTR_AVAILABLE_ACL_ENTRY = 0x2001,
	SAI_ACL_TABLE_ATTR_AVAILABLE_ACL_COUNTER = 0x2002,
	SAI_ACL_TABLE_ATTR_CUSTOM_RANGE_START = 0x10000000,
};

/* ACL entry attributes. */
enum {
	SAI_ACL_ENTRY_ATTR_TABLE_ID = 0,
	SAI_ACL_ENTRY_ATTR_PRIORITY = 1,
	SAI_ACL_ENTRY_ATTR_ADMIN_STATE = 2,
	SAI_ACL_ENTRY_ATTR_FIELD_SRC_IPV6 = 0x1000,
	SAI_ACL_ENTRY_ATTR_FIELD_DST_IPV6 = 0x1001,
	SAI_ACL_ENTRY_ATTR_FIELD_SRC_IP = 0x1006,
	SAI_ACL_ENTRY_ATTR_FIELD_DST_IP = 0x1007,
	SAI_ACL_ENTRY_ATTR_FIELD_IN_PORTS = 0x100a,
	SAI_ACL_ENTRY_ATTR_FIELD_IN_PORT = 0x100c,
	SAI_ACL_ENTRY_ATTR_FIELD_L4_SRC_PORT = 0x1015,
	SAI_ACL_ENTRY_ATTR_FIELD_L4_DST_PORT = 0x1016,
	SAI_ACL_ENTRY_ATTR_FIELD_INNER_L4_DST_PORT = 0x1018,
	SAI_ACL_ENTRY_ATTR_FIELD_IP_PROTOCOL = 0x101b,
	SAI_ACL_ENTRY_ATTR_FIELD_DSCP = 0x101e,
	SAI_ACL_ENTRY_ATTR_FIELD_ACL_IP_TYPE = 0x1024,
	SAI_ACL_ENTRY_ATTR_FIELD_IPV6_FLOW_LABEL = 0x1026,
	SAI_ACL_ENTRY_ATTR_FIELD_ICMP_TYPE = 0x1028,
	SAI_ACL_ENTRY_ATTR_FIELD_ICMP_CODE = 0x1029,
	SAI_ACL_ENTRY_ATTR_FIELD_ICMPV6_TYPE = 0x102a,
	SAI_ACL_ENTRY_ATTR_FIELD_ICMPV6_CODE = 0x102b,
	SAI_ACL_ENTRY_ATTR_FIELD_BTH_OPCODE = 0x104d,
	SAI_ACL_ENTRY_ATTR_FIELD_AETH_SYNDROME = 0x104e,
	SAI_ACL_ENTRY_ATTR_USER_DEFINED_FIELD_GROUP_MIN = 0x104f,
	SAI_ACL_ENTRY_ATTR_FIELD_IPV6_NEXT_HEADER = 0x1150,
	SAI_ACL_ENTRY_ATTR_ACTION_START = 0x2000,
	SAI_ACL_ENTRY_ATTR_ACTION_REDIRECT = 0x2000,
	SAI_ACL_ENTRY_ATTR_ACTION_PACKET_ACTION = 0x2003,
	SAI_ACL_ENTRY_ATTR_ACTION_COUNTER = 0x2005,
	SAI_ACL_ENTRY_ATTR_ACTION_MIRROR_INGRESS = 0x2006,
	SAI_ACL_ENTRY_ATTR_ACTION_MIRROR_EGRESS = 0x2007,
	SAI_ACL_ENTRY_ATTR_ACTION_SET_POLICER = 0x2008,
	SAI_ACL_ENTRY_ATTR_ACTION_SET_TC = 0x200a,
	SAI_ACL_ENTRY_ATTR_ACTION_SET_DSCP = 0x2016,
	SAI_ACL_ENTRY_ATTR_ACTION_SET_ECN = 0x2017,
	SAI_ACL_ENTRY_ATTR_ACTION_INGRESS_SAMPLEPACKET_ENABLE = 0x201a,
	SAI_ACL_ENTRY_ATTR_ACTION_SET_USER_TRAP_ID = 0x201e,
	SAI_ACL_ENTRY_ATTR_ACTION_SET_ECMP_HASH_ID = 0x2030,
	SAI_ACL_ENTRY_ATTR_CUSTOM_RANGE_START = 0x10000000,
};

/* ACL counter attributes. */
enum {
	SAI_ACL_COUNTER_ATTR_TABLE_ID = 0,
	SAI_ACL_COUNTER_ATTR_ENABLE_PACKET_COUNT = 1,
	SAI_ACL_COUNTER_ATTR_ENABLE_BYTE_COUNT = 2,
	SAI_ACL_COUNTER_ATTR_PACKETS = 3,
	SAI_ACL_COUNTER_ATTR_BYTES = 4,
};

/* ACL table groups and their members. */
enum {
	SAI_ACL_TABLE_GROUP_ATTR_ACL_STAGE = 0,
	SAI_ACL_TABLE_GROUP_ATTR_ACL_BIND_POINT_TYPE_LIST = 1,
	SAI_ACL_TABLE_GROUP_ATTR_TYPE = 2,
	SAI_ACL_TABLE_GROUP_ATTR_MEMBER_LIST = 3,
	SAI_ACL_TABLE_GROUP_TYPE_SEQUENTIAL = 0,
	SAI_ACL_TABLE_GROUP_TYPE_PARALLEL = 1,
	SAI_ACL_TABLE_GROUP_MEMBER_ATTR_ACL_TABLE_GROUP_ID = 0,
	SAI_ACL_TABLE_GROUP_MEMBER_ATTR_ACL_TABLE_ID = 1,
	SAI_ACL_TABLE_GROUP_MEMBER_ATTR_PRIORITY = 2,
};

/* ACL stages, bind points, actions. */
enum {
	SAI_ACL_BIND_POINT_TYPE_PORT = 0,
	SAI_ACL_IP_TYPE_ANY = 0,
	SAI_ACL_STAGE_INGRESS = 0,
	SAI_ACL_IP_TYPE_IP = 1,
	SAI_ACL_IP_TYPE_IPV4ANY = 3,
	SAI_ACL_IP_TYPE_IPV6ANY = 5,
};

/* Packet actions. */
enum {
	SAI_PACKET_ACTION_DROP = 0,
	SAI_PACKET_ACTION_FORWARD = 1,
	SAI_PACKET_ACTION_COPY = 2,
	SAI_PACKET_ACTION_COPY_CANCEL = 3,
	SAI_PACKET_ACTION_TRAP = 4,
	SAI_PACKET_ACTION_LOG = 5,
	SAI_PACKET_ACTION_DENY = 6,
};

/* Hash attributes. */
enum {
	SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST = 0,
	SAI_HASH_ATTR_UDF_GROUP_LIST = 1,
};

/* Native hash fields. */
enum {
	SAI_NATIVE_HASH_FIELD_SRC_IP = 0,
	SAI_NATIVE_HASH_FIELD_DST_IP = 1,
	SAI_NATIVE_HASH_FIELD_IP_PROTOCOL = 5,
	SAI_NATIVE_HASH_FIELD_L4_SRC_PORT = 7,
	SAI_NATIVE_HASH_FIELD_L4_DST_PORT = 8,
	SAI_NATIVE_HASH_FIELD_IPV6_FLOW_LABEL = 24,
	SAI_NATIVE_HASH_FIELD_RDMA_BTH_OPCODE = 34,
	SAI_NATIVE_HASH_FIELD_RDMA_BTH_DEST_QP = 35,
};

/* UDF match attributes. */
enum {
	SAI_UDF_MATCH_ATTR_L2_TYPE = 0,
	SAI_UDF_MATCH_ATTR_L3_TYPE = 1,
	SAI_UDF_MATCH_ATTR_PRIORITY = 3,
	SAI_UDF_MATCH_ATTR_L4_DST_PORT_TYPE = 4,
};

/* UDF group attributes. */
enum {
	SAI_UDF_GROUP_ATTR_UDF_LIST = 0,
	SAI_UDF_GROUP_ATTR_TYPE = 1,
	SAI_UDF_GROUP_ATTR_LENGTH = 2,
};

/* UDF attributes. */
enum {
	SAI_UDF_ATTR_MATCH_ID = 0,
	SAI_UDF_ATTR_GROUP_ID = 1,
	SAI_UDF_ATTR_BASE = 2,
	SAI_UDF_ATTR_OFFSET = 3,
	SAI_UDF_ATTR_HASH_MASK = 4,
};

/* UDF group types and bases. */
enum {
	SAI_UDF_GROUP_TYPE_GENERIC = 0,
	SAI_UDF_GROUP_TYPE_HASH = 1,
	SAI_UDF_BASE_L4 = 2,
};

/* Mirror sessions. */
enum {
	SAI_MIRROR_SESSION_ATTR_TYPE = 0,
	SAI_MIRROR_SESSION_TYPE_LOCAL = 0,
	SAI_MIRROR_SESSION_ATTR_MONITOR_PORT = 1,
	SAI_MIRROR_SESSION_ATTR_TRUNCATE_SIZE = 2,
	SAI_MIRROR_SESSION_ATTR_SAMPLE_RATE = 3,
	SAI_MIRROR_SESSION_ATTR_POLICER = 22,
};

/* Sample packets. */
enum {
	SAI_SAMPLEPACKET_ATTR_SAMPLE_RATE = 0,
	SAI_SAMPLEPACKET_MODE_EXCLUSIVE = 0,
	SAI_SAMPLEPACKET_TYPE_SLOW_PATH = 0,
	SAI_SAMPLEPACKET_ATTR_TYPE = 1,
	SAI_SAMPLEPACKET_ATTR_MODE = 2,
};

/* Meter types. */
enum {
	SAI_METER_TYPE_PACKETS = 0,
	SAI_METER_TYPE_BYTES = 1,
};

/* Router interfaces and next hops. */
enum {
	SAI_ROUTER_INTERFACE_ATTR_VIRTUAL_ROUTER_ID = 0,
	SAI_ROUTER_INTERFACE_ATTR_TYPE = 1,
	SAI_ROUTER_INTERFACE_ATTR_PORT_ID = 2,
	SAI_ROUTER_INTERFACE_TYPE_PORT = 0,
	SAI_NEXT_HOP_ATTR_TYPE = 0,
	SAI_NEXT_HOP_ATTR_IP = 1,
	SAI_NEXT_HOP_ATTR_ROUTER_INTERFACE_ID = 2,
	SAI_NEXT_HOP_TYPE_IP = 0,
};

/* Groups of next hops. PROTECTION was 1 before SAI 1.7. */
enum {
	SAI_NEXT_HOP_GROUP_ATTR_TYPE = 2,
	SAI_NEXT_HOP_GROUP_ATTR_SET_SWITCHOVER = 3,
	SAI_NEXT_HOP_GROUP_TYPE_ECMP = 0,
	SAI_NEXT_HOP_GROUP_TYPE_PROTECTION = 3,
	SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_GROUP_ID = 0,
	SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_ID = 1,
	SAI_NEXT_HOP_GROUP_MEMBER_ATTR_CONFIGURED_ROLE = 3,
	SAI_NEXT_HOP_GROUP_MEMBER_CONFIGURED_ROLE_PRIMARY = 0,
	SAI_NEXT_HOP_GROUP_MEMBER_CONFIGURED_ROLE_STANDBY = 1,
};

/* QoS maps. */
enum {
	SAI_QOS_MAP_ATTR_TYPE = 0,
	SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST = 1,
};

/* Policers. */
enum {
	SAI_POLICER_ATTR_METER_TYPE = 0,
	SAI_POLICER_COLOR_SOURCE_BLIND = 0,
	SAI_POLICER_MODE_SR_TCM = 0,
	SAI_POLICER_STAT_PACKETS = 0,
	SAI_POLICER_ATTR_MODE = 1,
	SAI_POLICER_STAT_ATTR_BYTES = 1,
	SAI_POLICER_ATTR_COLOR_SOURCE = 2,
	SAI_POLICER_STAT_GREEN_PACKETS = 2,
	SAI_POLICER_ATTR_CBS = 3,
	SAI_POLICER_STAT_GREEN_BYTES = 3,
	SAI_POLICER_ATTR_CIR = 4,
	SAI_POLICER_STAT_YELLOW_PACKETS = 4,
	SAI_POLICER_ATTR_PBS = 5,
	SAI_POLICER_STAT_YELLOW_BYTES = 5,
	SAI_POLICER_STAT_RED_PACKETS = 6,
	SAI_POLICER_ATTR_GREEN_PACKET_ACTION = 7,
	SAI_POLICER_STAT_RED_BYTES = 7,
	SAI_POLICER_ATTR_YELLOW_PACKET_ACTION = 8,
	SAI_POLICER_ATTR_RED_PACKET_ACTION = 9,
};

/* Schedulers. */
enum {
	SAI_SCHEDULER_ATTR_SCHEDULING_TYPE = 0,
	SAI_SCHEDULER_ATTR_SCHEDULING_WEIGHT = 1,
	SAI_SCHEDULER_ATTR_METER_TYPE = 2,
	SAI_SCHEDULER_ATTR_MIN_BANDWIDTH_RATE = 3,
	SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_RATE = 5,
	SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_BURST_RATE = 6,
};

enum {
	SAI_SCHEDULING_TYPE_STRICT = 0,
	SAI_SCHEDULING_TYPE_WRR = 1,
	SAI_SCHEDULING_TYPE_DWRR = 2,
};

/* Host interface: traps, and attributes of packets. */
enum {
	SAI_HOSTIF_PACKET_ATTR_HOSTIF_TRAP_ID = 0,
	SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TYPE = 0,
	SAI_HOSTIF_PACKET_ATTR_INGRESS_PORT = 1,
	SAI_HOSTIF_TRAP_GROUP_ATTR_QUEUE = 1,
	SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TRAP_PRIORITY = 1,
	SAI_HOSTIF_PACKET_ATTR_INGRESS_LAG = 2,
	SAI_HOSTIF_PACKET_ATTR_EGRESS_PORT_OR_LAG = 4,
	SAI_HOSTIF_PACKET_ATTR_TIMESTAMP = 6,
	SAI_HOSTIF_TRAP_GROUP_ATTR_POLICER = 2,
	SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TRAP_GROUP = 2,
	SAI_HOSTIF_USER_DEFINED_TRAP_TYPE_ACL = 2,
	SAI_HOSTIF_TABLE_ENTRY_ATTR_TYPE = 0,
	SAI_HOSTIF_TABLE_ENTRY_ATTR_TRAP_ID = 2,
	SAI_HOSTIF_TABLE_ENTRY_ATTR_CHANNEL_TYPE = 3,
	SAI_HOSTIF_TABLE_ENTRY_TYPE_TRAP_ID = 3,
	SAI_HOSTIF_TABLE_ENTRY_CHANNEL_TYPE_CB = 0,
};

/* Modes of reading statistics. */
enum {
	SAI_STATS_MODE_READ = 1,
	SAI_STATS_MODE_BULK_READ = 1 << 2,
};

/* Methods. Those of one kind have the same shape in every API. */
typedef sai_status_t (*sai_create_switch_fn)(sai_object_id_t *id, uint32_t attr_count,
					     const sai_attribute_t *attr_list);
typedef sai_status_t (*sai_create_fn)(sai_object_id_t *id, sai_object_id_t switch_id, uint32_t attr_count,
				      const sai_attribute_t *attr_list);
typedef sai_status_t (*sai_remove_fn)(sai_object_id_t id);
typedef sai_status_t (*sai_set_fn)(sai_object_id_t id, const sai_attribute_t *attr);
typedef sai_status_t (*sai_get_fn)(sai_object_id_t id, uint32_t attr_count, sai_attribute_t *attr_list);
typedef sai_status_t (*sai_stats_fn)(sai_object_id_t id, uint32_t count, const sai_stat_id_t *ids, uint64_t *counters);
typedef sai_status_t (*sai_stats_ext_fn)(sai_object_id_t id, uint32_t count, const sai_stat_id_t *ids,
					 sai_stats_mode_t mode, uint64_t *counters);
typedef sai_status_t (*sai_clear_stats_fn)(sai_object_id_t id, uint32_t count, const sai_stat_id_t *ids);
typedef void (*sai_unused_fn)(void);

/* Method tables, in their order. Newer versions only append. */
typedef struct {
	sai_create_fn create_acl_table;
	sai_remove_fn remove_acl_table;
	sai_set_fn set_acl_table_attribute;
	sai_get_fn get_acl_table_attribute;
	sai_create_fn create_acl_entry;
	sai_remove_fn remove_acl_entry;
	sai_set_fn set_acl_entry_attribute;
	sai_get_fn get_acl_entry_attribute;
	sai_create_fn create_acl_counter;
	sai_remove_fn remove_acl_counter;
	sai_set_fn set_acl_counter_attribute;
	sai_get_fn get_acl_counter_attribute;
	sai_unused_fn create_acl_range;
	sai_unused_fn remove_acl_range;
	sai_unused_fn set_acl_range_attribute;
	sai_unused_fn get_acl_range_attribute;
	sai_create_fn create_acl_table_group;
	sai_remove_fn remove_acl_table_group;
	sai_set_fn set_acl_table_group_attribute;
	sai_get_fn get_acl_table_group_attribute;
	sai_create_fn create_acl_table_group_member;
	sai_remove_fn remove_acl_table_group_member;
	sai_set_fn set_acl_table_group_member_attribute;
	sai_get_fn get_acl_table_group_member_attribute;
	sai_unused_fn create_acl_table_chain_group;
	sai_unused_fn remove_acl_table_chain_group;
	sai_unused_fn set_acl_table_chain_group_attribute;
	sai_unused_fn get_acl_table_chain_group_attribute;
} sai_acl_api_t;

typedef struct {
	sai_create_fn create_router_interface;
	sai_remove_fn remove_router_interface;
	sai_set_fn set_router_interface_attribute;
	sai_get_fn get_router_interface_attribute;
	sai_stats_fn get_router_interface_stats;
	sai_stats_ext_fn get_router_interface_stats_ext;
	sai_clear_stats_fn clear_router_interface_stats;
	sai_unused_fn create_router_interfaces;
	sai_unused_fn remove_router_interfaces;
	sai_unused_fn set_router_interfaces_attribute;
	sai_unused_fn get_router_interfaces_attribute;
} sai_router_interface_api_t;

typedef struct {
	sai_create_fn create_next_hop;
	sai_remove_fn remove_next_hop;
	sai_set_fn set_next_hop_attribute;
	sai_get_fn get_next_hop_attribute;
	sai_unused_fn create_next_hops;
	sai_unused_fn remove_next_hops;
	sai_unused_fn set_next_hops_attribute;
	sai_unused_fn get_next_hops_attribute;
} sai_next_hop_api_t;

typedef struct {
	sai_create_fn create_next_hop_group;
	sai_remove_fn remove_next_hop_group;
	sai_set_fn set_next_hop_group_attribute;
	sai_get_fn get_next_hop_group_attribute;
	sai_create_fn create_next_hop_group_member;
	sai_remove_fn remove_next_hop_group_member;
	sai_set_fn set_next_hop_group_member_attribute;
	sai_get_fn get_next_hop_group_member_attribute;
} sai_next_hop_group_api_t;

typedef struct {
	sai_create_fn create_hash;
	sai_remove_fn remove_hash;
	sai_set_fn set_hash_attribute;
	sai_get_fn get_hash_attribute;
	sai_unused_fn create_fine_grained_hash_field;
	sai_unused_fn remove_fine_grained_hash_field;
	sai_unused_fn set_fine_grained_hash_field_attribute;
	sai_unused_fn get_fine_grained_hash_field_attribute;
} sai_hash_api_t;

typedef struct {
	sai_create_fn create_udf;
	sai_remove_fn remove_udf;
	sai_set_fn set_udf_attribute;
	sai_get_fn get_udf_attribute;
	sai_create_fn create_udf_match;
	sai_remove_fn remove_udf_match;
	sai_set_fn set_udf_match_attribute;
	sai_get_fn get_udf_match_attribute;
	sai_create_fn create_udf_group;
	sai_remove_fn remove_udf_group;
	sai_set_fn set_udf_group_attribute;
	sai_get_fn get_udf_group_attribute;
} sai_udf_api_t;

typedef struct {
	sai_create_fn create_mirror_session;
	sai_remove_fn remove_mirror_session;
	sai_set_fn set_mirror_session_attribute;
	sai_get_fn get_mirror_session_attribute;
} sai_mirror_api_t;

typedef struct {
	sai_create_switch_fn create_switch;
	sai_remove_fn remove_switch;
	sai_set_fn set_switch_attribute;
	sai_get_fn get_switch_attribute;
	sai_stats_fn get_switch_stats;
	sai_stats_ext_fn get_switch_stats_ext;
	sai_clear_stats_fn clear_switch_stats;
	sai_unused_fn switch_mdio_read;
	sai_unused_fn switch_mdio_write;
	sai_unused_fn create_switch_tunnel;
	sai_unused_fn remove_switch_tunnel;
	sai_unused_fn set_switch_tunnel_attribute;
	sai_unused_fn get_switch_tunnel_attribute;
	sai_unused_fn switch_mdio_cl22_read;
	sai_unused_fn switch_mdio_cl22_write;
} sai_switch_api_t;

typedef struct {
	sai_create_fn create_hostif;
	sai_remove_fn remove_hostif;
	sai_set_fn set_hostif_attribute;
	sai_get_fn get_hostif_attribute;
	sai_create_fn create_hostif_table_entry;
	sai_remove_fn remove_hostif_table_entry;
	sai_set_fn set_hostif_table_entry_attribute;
	sai_get_fn get_hostif_table_entry_attribute;
	sai_create_fn create_hostif_trap_group;
	sai_remove_fn remove_hostif_trap_group;
	sai_set_fn set_hostif_trap_group_attribute;
	sai_get_fn get_hostif_trap_group_attribute;
	sai_create_fn create_hostif_trap;
	sai_remove_fn remove_hostif_trap;
	sai_set_fn set_hostif_trap_attribute;
	sai_get_fn get_hostif_trap_attribute;
	sai_create_fn create_hostif_user_defined_trap;
	sai_remove_fn remove_hostif_user_defined_trap;
	sai_set_fn set_hostif_user_defined_trap_attribute;
	sai_get_fn get_hostif_user_defined_trap_attribute;
	sai_unused_fn recv_hostif_packet;
	sai_unused_fn send_hostif_packet;
	sai_unused_fn allocate_hostif_packet;
	sai_unused_fn free_hostif_packet;
} sai_hostif_api_t;

typedef struct {
	sai_create_fn create_queue;
	sai_remove_fn remove_queue;
	sai_set_fn set_queue_attribute;
	sai_get_fn get_queue_attribute;
	sai_stats_fn get_queue_stats;
	sai_stats_ext_fn get_queue_stats_ext;
	sai_clear_stats_fn clear_queue_stats;
	sai_unused_fn set_queues_attribute;
	sai_unused_fn get_queues_attribute;
} sai_queue_api_t;

typedef struct {
	sai_create_fn create_policer;
	sai_remove_fn remove_policer;
	sai_set_fn set_policer_attribute;
	sai_get_fn get_policer_attribute;
	sai_stats_fn get_policer_stats;
	sai_stats_ext_fn get_policer_stats_ext;
	sai_clear_stats_fn clear_policer_stats;
} sai_policer_api_t;

typedef struct {
	sai_create_fn create_qos_map;
	sai_remove_fn remove_qos_map;
	sai_set_fn set_qos_map_attribute;
	sai_get_fn get_qos_map_attribute;
} sai_qos_map_api_t;

typedef struct {
	sai_create_fn create_scheduler;
	sai_remove_fn remove_scheduler;
	sai_set_fn set_scheduler_attribute;
	sai_get_fn get_scheduler_attribute;
} sai_scheduler_api_t;

typedef struct {
	sai_create_fn create_port;
	sai_remove_fn remove_port;
	sai_set_fn set_port_attribute;
	sai_get_fn get_port_attribute;
	sai_stats_fn get_port_stats;
	sai_stats_ext_fn get_port_stats_ext;
	sai_clear_stats_fn clear_port_stats;
	sai_unused_fn clear_port_all_stats;
	sai_unused_fn create_port_pool;
	sai_unused_fn remove_port_pool;
	sai_unused_fn set_port_pool_attribute;
	sai_unused_fn get_port_pool_attribute;
	sai_unused_fn get_port_pool_stats;
	sai_unused_fn get_port_pool_stats_ext;
	sai_unused_fn clear_port_pool_stats;
	sai_unused_fn create_port_connector;
	sai_unused_fn remove_port_connector;
	sai_unused_fn set_port_connector_attribute;
	sai_unused_fn get_port_connector_attribute;
	sai_unused_fn create_port_serdes;
	sai_unused_fn remove_port_serdes;
	sai_unused_fn set_port_serdes_attribute;
	sai_unused_fn get_port_serdes_attribute;
	sai_unused_fn create_ports;
	sai_unused_fn remove_ports;
	sai_unused_fn set_ports_attribute;
	sai_unused_fn get_ports_attribute;
	sai_unused_fn create_port_serdess;
	sai_unused_fn remove_port_serdess;
	sai_unused_fn set_port_serdess_attribute;
	sai_unused_fn get_port_serdess_attribute;
	sai_unused_fn create_port_llr_profile;
	sai_unused_fn remove_port_llr_profile;
	sai_unused_fn set_port_llr_profile_attribute;
	sai_unused_fn get_port_llr_profile_attribute;
} sai_port_api_t;

typedef struct {
	sai_create_fn create_samplepacket;
	sai_remove_fn remove_samplepacket;
	sai_set_fn set_samplepacket_attribute;
	sai_get_fn get_samplepacket_attribute;
} sai_samplepacket_api_t;

typedef struct {
	union {
		sai_object_id_t object_id;
		uint64_t room[8]; /* the longest member of those left out here */
	} key;
} sai_object_key_t;

/* Functions that a library exports. All but the first three may be missing. */
sai_status_t sai_api_initialize(uint64_t flags, const sai_service_method_table_t *services);
sai_status_t sai_api_query(sai_api_t api, void **method_table);
sai_status_t sai_api_uninitialize(void);
sai_status_t sai_query_api_version(sai_api_version_t *version);
sai_status_t sai_log_set(sai_api_t api, sai_log_level_t level);
sai_object_type_t sai_object_type_query(sai_object_id_t id);
sai_object_id_t sai_switch_id_query(sai_object_id_t id);
sai_status_t sai_query_attribute_capability(sai_object_id_t switch_id, sai_object_type_t object_type, sai_attr_id_t id,
					    sai_attr_capability_t *capability);
sai_status_t sai_query_attribute_enum_values_capability(sai_object_id_t switch_id, sai_object_type_t object_type,
							sai_attr_id_t id, sai_s32_list_t *values);
sai_status_t sai_get_object_key(sai_object_id_t switch_id, sai_object_type_t object_type, uint32_t *count,
				sai_object_key_t *keys);

/*
 * Since SAI 1.10. Counter j of object i is counters[i * number_of_counters + j]. The statuses
 * of objects count where the call does not answer SUCCESS.
 */
sai_status_t sai_bulk_object_get_stats(sai_object_id_t switch_id, sai_object_type_t object_type, uint32_t object_count,
				       const sai_object_key_t *object_key, uint32_t number_of_counters,
				       const sai_stat_id_t *counter_ids, sai_stats_mode_t mode,
				       sai_status_t *object_statuses, uint64_t *counters);

#endif
