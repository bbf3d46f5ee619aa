/* SPDX-License-Identifier: Apache-2.0 */
#include "value.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The attributes that the library knows, with the types that SAI's documentation gives them. */
static const struct attribute attributes[] = {
#define A(object, attr, kind) SAI_OBJECT_TYPE_##object, SAI_##object##_ATTR_##attr, kind, "SAI_" #object "_ATTR_", #attr
	{ A(SWITCH, PORT_LIST, OIDS) },
	{ A(SWITCH, DEFAULT_VIRTUAL_ROUTER_ID, OID) },
	{ A(SWITCH, ECMP_HASH, OID) },
	{ A(SWITCH, RESTART_WARM, BOOL) },
	{ A(SWITCH, ECMP_DEFAULT_HASH_SEED, U32) },
	{ A(SWITCH, ECMP_HASH_IPV4, OID) },
	{ A(SWITCH, ECMP_HASH_IPV6, OID) },
	{ A(SWITCH, ECMP_HASH_IPV4_RDMA, OID) },
	{ A(SWITCH, ECMP_HASH_IPV6_RDMA, OID) },
	{ A(SWITCH, INIT_SWITCH, BOOL) },
	{ A(SWITCH, QOS_DSCP_TO_TC_MAP, OID) },
	{ A(SWITCH, QOS_TC_TO_QUEUE_MAP, OID) },
	{ A(SWITCH, PACKET_EVENT_NOTIFY, POINTER) },
	{ A(SWITCH, SLUICE_EXTENSION, U64) },
	{ A(SWITCH, FLOW_EVENT2_NOTIFY, POINTER) },
	{ A(SWITCH, FLOW_EVENT_NOTIFY, POINTER) },
	{ A(SWITCH, FLOW_KEY, S32) },
	{ A(SWITCH, STREAM_SEED, U32) },
	{ A(PORT, HW_LANE_LIST, U32S) },
	{ A(PORT, SPEED, U32) },
	{ A(PORT, QOS_QUEUE_LIST, OIDS) },
	{ A(PORT, INGRESS_ACL, OID) },
	{ A(PORT, QOS_DSCP_TO_TC_MAP, OID) },
	{ A(PORT, QOS_TC_TO_QUEUE_MAP, OID) },
	{ A(QUEUE, SCHEDULER_PROFILE_ID, OID) },
	{ A(QUEUE, FLOW_MONITOR_HIGH, U32) },
	{ A(QUEUE, FLOW_MONITOR_LOW, U32) },
	{ A(ACL_TABLE, ACL_STAGE, S32) },
	{ A(ACL_TABLE, ACL_BIND_POINT_TYPE_LIST, S32S) },
	{ A(ACL_TABLE, SIZE, U32) },
	{ A(ACL_TABLE, FIELD_SRC_IPV6, BOOL) },
	{ A(ACL_TABLE, FIELD_DST_IPV6, BOOL) },
	{ A(ACL_TABLE, FIELD_SRC_IP, BOOL) },
	{ A(ACL_TABLE, FIELD_DST_IP, BOOL) },
	{ A(ACL_TABLE, FIELD_L4_SRC_PORT, BOOL) },
	{ A(ACL_TABLE, FIELD_L4_DST_PORT, BOOL) },
	{ A(ACL_TABLE, FIELD_INNER_L4_DST_PORT, BOOL) },
	{ A(ACL_TABLE, FIELD_IP_PROTOCOL, BOOL) },
	{ A(ACL_TABLE, FIELD_ACL_IP_TYPE, BOOL) },
	{ A(ACL_TABLE, FIELD_IPV6_FLOW_LABEL, BOOL) },
	{ A(ACL_TABLE, FIELD_BTH_OPCODE, BOOL) },
	{ A(ACL_TABLE, FIELD_AETH_SYNDROME, BOOL) },
	{ A(ACL_TABLE, FIELD_IPV6_NEXT_HEADER, BOOL) },
	{ A(ACL_TABLE, FIELD_IN_PORT, BOOL) },
	{ A(ACL_TABLE, USER_DEFINED_FIELD_GROUP_MIN, OID) },
	{ A(ACL_TABLE, ENTRY_LIST, OIDS) },
	{ A(ACL_ENTRY, TABLE_ID, OID) },
	{ A(ACL_ENTRY, PRIORITY, U32) },
	{ A(ACL_ENTRY, ADMIN_STATE, BOOL) },
	{ A(ACL_ENTRY, FIELD_SRC_IPV6, FIELD_IP6) },
	{ A(ACL_ENTRY, FIELD_DST_IPV6, FIELD_IP6) },
	{ A(ACL_ENTRY, FIELD_SRC_IP, FIELD_IP4) },
	{ A(ACL_ENTRY, FIELD_DST_IP, FIELD_IP4) },
	{ A(ACL_ENTRY, FIELD_IN_PORT, FIELD_OID) },
	{ A(ACL_ENTRY, FIELD_L4_SRC_PORT, FIELD_U16) },
	{ A(ACL_ENTRY, FIELD_L4_DST_PORT, FIELD_U16) },
	{ A(ACL_ENTRY, FIELD_INNER_L4_DST_PORT, FIELD_U16) },
	{ A(ACL_ENTRY, FIELD_IP_PROTOCOL, FIELD_U8) },
	{ A(ACL_ENTRY, FIELD_ACL_IP_TYPE, FIELD_U32) },
	{ A(ACL_ENTRY, FIELD_IPV6_FLOW_LABEL, FIELD_U32) },
	{ A(ACL_ENTRY, FIELD_BTH_OPCODE, FIELD_U8) },
	{ A(ACL_ENTRY, FIELD_AETH_SYNDROME, FIELD_U8) },
	{ A(ACL_ENTRY, FIELD_IPV6_NEXT_HEADER, FIELD_U8) },
	{ A(ACL_ENTRY, USER_DEFINED_FIELD_GROUP_MIN, FIELD_OCTETS) },
	{ A(ACL_ENTRY, ACTION_REDIRECT, ACTION_OID) },
	{ A(ACL_ENTRY, ACTION_PACKET_ACTION, ACTION_S32) },
	{ A(ACL_ENTRY, ACTION_COUNTER, ACTION_OID) },
	{ A(ACL_ENTRY, ACTION_MIRROR_INGRESS, ACTION_OIDS) },
	{ A(ACL_ENTRY, ACTION_SET_POLICER, ACTION_OID) },
	{ A(ACL_ENTRY, ACTION_SET_TC, ACTION_U8) },
	{ A(ACL_ENTRY, ACTION_SET_DSCP, ACTION_U8) },
	{ A(ACL_ENTRY, ACTION_INGRESS_SAMPLEPACKET_ENABLE, ACTION_OID) },
	{ A(ACL_ENTRY, ACTION_SET_USER_TRAP_ID, ACTION_OID) },
	{ A(ACL_ENTRY, ACTION_SET_IPV6_FLOW_LABEL, ACTION_U32) },
	{ A(ACL_ENTRY, ACTION_COMPUTE_IPV6_FLOW_LABEL, ACTION_S32) },
	{ A(ACL_COUNTER, TABLE_ID, OID) },
	{ A(ACL_COUNTER, ENABLE_PACKET_COUNT, BOOL) },
	{ A(ACL_COUNTER, ENABLE_BYTE_COUNT, BOOL) },
	{ A(ACL_COUNTER, PACKETS, U64) },
	{ A(ACL_COUNTER, BYTES, U64) },
	{ A(ACL_TABLE_GROUP, ACL_STAGE, S32) },
	{ A(ACL_TABLE_GROUP, ACL_BIND_POINT_TYPE_LIST, S32S) },
	{ A(ACL_TABLE_GROUP, TYPE, S32) },
	{ A(ACL_TABLE_GROUP, MEMBER_LIST, OIDS) },
	{ A(ACL_TABLE_GROUP_MEMBER, ACL_TABLE_GROUP_ID, OID) },
	{ A(ACL_TABLE_GROUP_MEMBER, ACL_TABLE_ID, OID) },
	{ A(ACL_TABLE_GROUP_MEMBER, PRIORITY, U32) },
	{ A(ROUTER_INTERFACE, VIRTUAL_ROUTER_ID, OID) },
	{ A(ROUTER_INTERFACE, TYPE, S32) },
	{ A(ROUTER_INTERFACE, PORT_ID, OID) },
	{ A(NEXT_HOP, TYPE, S32) },
	{ A(NEXT_HOP, IP, ADDRESS) },
	{ A(NEXT_HOP, ROUTER_INTERFACE_ID, OID) },
	{ A(NEXT_HOP_GROUP, TYPE, S32) },
	{ A(NEXT_HOP_GROUP_MEMBER, NEXT_HOP_GROUP_ID, OID) },
	{ A(NEXT_HOP_GROUP_MEMBER, NEXT_HOP_ID, OID) },
	{ A(NEXT_HOP_GROUP_MEMBER, CONFIGURED_ROLE, S32) },
	{ A(HASH, NATIVE_HASH_FIELD_LIST, S32S) },
	{ A(HASH, UDF_GROUP_LIST, OIDS) },
	{ A(UDF, MATCH_ID, OID) },
	{ A(UDF, GROUP_ID, OID) },
	{ A(UDF, BASE, S32) },
	{ A(UDF, OFFSET, U16) },
	{ A(UDF, HASH_MASK, U8S) },
	{ A(UDF_MATCH, L4_DST_PORT_TYPE, FIELD_U16) },
	{ A(UDF_GROUP, TYPE, S32) },
	{ A(UDF_GROUP, LENGTH, U16) },
	{ A(MIRROR_SESSION, TYPE, S32) },
	{ A(MIRROR_SESSION, MONITOR_PORT, OID) },
	{ A(MIRROR_SESSION, TRUNCATE_SIZE, U16) },
	{ A(MIRROR_SESSION, SAMPLE_RATE, U32) },
	{ A(MIRROR_SESSION, POLICER, OID) },
	{ A(SAMPLEPACKET, SAMPLE_RATE, U32) },
	{ A(POLICER, METER_TYPE, S32) },
	{ A(POLICER, MODE, S32) },
	{ A(POLICER, COLOR_SOURCE, S32) },
	{ A(POLICER, CBS, U64) },
	{ A(POLICER, CIR, U64) },
	{ A(POLICER, RED_PACKET_ACTION, S32) },
	{ A(SCHEDULER, SCHEDULING_TYPE, S32) },
	{ A(SCHEDULER, METER_TYPE, S32) },
	{ A(SCHEDULER, MAX_BANDWIDTH_RATE, U64) },
	{ A(HOSTIF_TABLE_ENTRY, TYPE, S32) },
	{ A(HOSTIF_TABLE_ENTRY, TRAP_ID, OID) },
	{ A(HOSTIF_TABLE_ENTRY, CHANNEL_TYPE, S32) },
	{ A(HOSTIF_TRAP_GROUP, POLICER, OID) },
	{ A(HOSTIF_USER_DEFINED_TRAP, TYPE, S32) },
	{ A(HOSTIF_USER_DEFINED_TRAP, TRAP_GROUP, OID) },
#undef A
};

const struct attribute *attribute_of(sai_object_type_t type, sai_attr_id_t id)
{
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (attributes[i].type == type && attributes[i].id == id)
			return &attributes[i];
	return NULL;
}

sai_object_type_t type_of(sai_object_id_t id)
{
	return id >> 48;
}

uint32_t number_of(sai_object_id_t id)
{
	return (uint32_t)id;
}

const char *type_name(sai_object_type_t type)
{
	static const char *const names[] = {
		[SAI_OBJECT_TYPE_PORT] = "port",
		[SAI_OBJECT_TYPE_VIRTUAL_ROUTER] = "virtual_router",
		[SAI_OBJECT_TYPE_NEXT_HOP] = "next_hop",
		[SAI_OBJECT_TYPE_NEXT_HOP_GROUP] = "next_hop_group",
		[SAI_OBJECT_TYPE_ROUTER_INTERFACE] = "router_interface",
		[SAI_OBJECT_TYPE_ACL_TABLE] = "acl_table",
		[SAI_OBJECT_TYPE_ACL_ENTRY] = "acl_entry",
		[SAI_OBJECT_TYPE_ACL_COUNTER] = "acl_counter",
		[SAI_OBJECT_TYPE_ACL_TABLE_GROUP] = "acl_table_group",
		[SAI_OBJECT_TYPE_ACL_TABLE_GROUP_MEMBER] = "acl_table_group_member",
		[SAI_OBJECT_TYPE_MIRROR_SESSION] = "mirror_session",
		[SAI_OBJECT_TYPE_SAMPLEPACKET] = "samplepacket",
		[SAI_OBJECT_TYPE_POLICER] = "policer",
		[SAI_OBJECT_TYPE_QUEUE] = "queue",
		[SAI_OBJECT_TYPE_SCHEDULER] = "scheduler",
		[SAI_OBJECT_TYPE_QOS_MAP] = "qos_map",
		[SAI_OBJECT_TYPE_HASH] = "hash",
		[SAI_OBJECT_TYPE_UDF] = "udf",
		[SAI_OBJECT_TYPE_UDF_MATCH] = "udf_match",
		[SAI_OBJECT_TYPE_UDF_GROUP] = "udf_group",
		[SAI_OBJECT_TYPE_SWITCH] = "switch",
		[SAI_OBJECT_TYPE_NEXT_HOP_GROUP_MEMBER] = "next_hop_group_member",
		[SAI_OBJECT_TYPE_HOSTIF_TABLE_ENTRY] = "hostif_table_entry",
		[SAI_OBJECT_TYPE_HOSTIF_TRAP_GROUP] = "hostif_trap_group",
		[SAI_OBJECT_TYPE_HOSTIF_USER_DEFINED_TRAP] = "hostif_user_defined_trap",
	};

	if (type < 0 || (size_t)type >= sizeof(names) / sizeof(names[0]) || !names[type])
		return "object";
	return names[type];
}

void print_object(FILE *out, sai_object_id_t id)
{
	if (id == SAI_NULL_OBJECT_ID)
		fputs("null", out);
	else
		fprintf(out, "%s#%u", type_name(type_of(id)), number_of(id));
}

static void print_octets(FILE *out, const sai_u8_list_t *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		fprintf(out, "%02x", list->list[i]);
}

static void print_list(FILE *out, enum kind kind, const sai_u8_list_t *list)
{
	const void *at = list->list;

	fputc('[', out);
	for (uint32_t i = 0; i < list->count; i++) {
		if (i)
			fputc(',', out);
		if (kind == OIDS || kind == ACTION_OIDS)
			print_object(out, ((const sai_object_id_t *)at)[i]);
		else if (kind == U32S)
			fprintf(out, "%u", ((const uint32_t *)at)[i]);
		else
			fprintf(out, "%d", ((const int32_t *)at)[i]);
	}
	fputc(']', out);
}

static void print_address(FILE *out, int family, const void *data, const void *mask)
{
	char text[INET6_ADDRSTRLEN];

	fputs(inet_ntop(family, data, text, sizeof(text)), out);
	if (mask)
		fprintf(out, "&%s", inet_ntop(family, mask, text, sizeof(text)));
}

static void print_value(FILE *out, enum kind kind, const sai_attribute_value_t *v)
{
	const sai_acl_field_data_t *f = &v->aclfield;
	const sai_acl_action_data_t *a = &v->aclaction;

	if ((kind >= FIELD_U8 && kind <= FIELD_OCTETS && !f->enable) || (kind >= ACTION_U8 && !a->enable)) {
		fputs("disabled", out);
		return;
	}
	switch (kind) {
	case BOOL:
		fputs(v->booldata ? "true" : "false", out);
		break;
	case U8:
		fprintf(out, "%u", v->u8);
		break;
	case U16:
		fprintf(out, "%u", v->u16);
		break;
	case U32:
		fprintf(out, "%u", v->u32);
		break;
	case S32:
		fprintf(out, "%d", v->s32);
		break;
	case U64:
		fprintf(out, "%" PRIu64, v->u64);
		break;
	case OID:
		print_object(out, v->oid);
		break;
	case POINTER:
		fputs(v->ptr ? "function" : "null", out);
		break;
	case ADDRESS:
		print_address(out, v->ipaddr.addr_family ? AF_INET6 : AF_INET, &v->ipaddr.addr, NULL);
		break;
	case U8S:
		print_octets(out, &v->u8list);
		break;
	case OIDS:
	case U32S:
	case S32S:
		print_list(out, kind, &v->u8list);
		break;
	case FIELD_U8:
		fprintf(out, "%u&%#x", f->data.u8, f->mask.u8);
		break;
	case FIELD_U16:
		fprintf(out, "%u&%#x", f->data.u16, f->mask.u16);
		break;
	case FIELD_U32:
		fprintf(out, "%u&%#x", f->data.u32, f->mask.u32);
		break;
	case FIELD_IP4:
		print_address(out, AF_INET, &f->data.ip4, &f->mask.ip4);
		break;
	case FIELD_IP6:
		print_address(out, AF_INET6, &f->data.ip6, &f->mask.ip6);
		break;
	case FIELD_OID:
		print_object(out, f->data.oid);
		break;
	case FIELD_OCTETS:
		print_octets(out, &f->data.u8list);
		fputc('&', out);
		print_octets(out, &f->mask.u8list);
		break;
	case ACTION_U8:
		fprintf(out, "%u", a->parameter.u8);
		break;
	case ACTION_U32:
		fprintf(out, "%u", a->parameter.u32);
		break;
	case ACTION_S32:
		fprintf(out, "%d", a->parameter.s32);
		break;
	case ACTION_OID:
		print_object(out, a->parameter.oid);
		break;
	case ACTION_OIDS:
		print_list(out, kind, (const sai_u8_list_t *)&a->parameter.objlist);
		break;
	}
}

void print_attribute(FILE *out, sai_object_type_t type, const sai_attribute_t *a)
{
	const struct attribute *known = attribute_of(type, a->id);
	uint64_t words[2];

	if (known) {
		fprintf(out, " %s=", known->name);
		print_value(out, known->kind, &a->value);
		return;
	}
	memcpy(words, &a->value, sizeof(words));
	fprintf(out, " %#x=%#" PRIx64 "/%#" PRIx64, a->id, words[0], words[1]);
}

size_t list_in(const struct attribute *known, const sai_attribute_value_t *value, sai_u8_list_t **list)
{
	*list = (sai_u8_list_t *)&value->u8list; /* all lists are laid out alike */
	if (!known)
		return 0;
	switch (known->kind) {
	case OIDS:
		return sizeof(sai_object_id_t);
	case U8S:
		return sizeof(uint8_t);
	case U32S:
	case S32S:
		return sizeof(uint32_t);
	case ACTION_OIDS:
		*list = (sai_u8_list_t *)&value->aclaction.parameter.objlist;
		return sizeof(sai_object_id_t);
	default:
		return 0;
	}
}

uint32_t references(const struct attribute *known, const sai_attribute_value_t *value, const sai_object_id_t **ids)
{
	sai_u8_list_t *list;

	if (!known)
		return 0;
	switch (known->kind) {
	case OID:
		*ids = &value->oid;
		break;
	case FIELD_OID:
		*ids = &value->aclfield.data.oid;
		break;
	case ACTION_OID:
		*ids = &value->aclaction.parameter.oid;
		break;
	case OIDS:
	case ACTION_OIDS:
		list_in(known, value, &list);
		*ids = (const sai_object_id_t *)(const void *)list->list;
		return list->count;
	default:
		return 0;
	}
	return **ids != SAI_NULL_OBJECT_ID;
}

sai_attribute_value_t copy_value(const struct attribute *known, const sai_attribute_value_t *value)
{
	sai_attribute_value_t copy = *value;
	sai_u8_list_t *list;
	size_t size = list_in(known, &copy, &list);

	if (size && list->count) {
		void *elements = malloc(list->count * size);

		if (!elements)
			abort();
		memcpy(elements, list->list, list->count * size);
		list->list = elements;
	}
	return copy;
}

void free_value(const struct attribute *known, sai_attribute_value_t *value)
{
	sai_u8_list_t *list;

	if (list_in(known, value, &list) && list->count)
		free(list->list);
}
