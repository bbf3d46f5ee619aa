// SPDX-License-Identifier: Apache-2.0
#include "acl_rule.h"

#include <arpa/inet.h>
#include <string.h>

#include "bpf/queues.h"
#include "counter.h"
#include "log.h"
#include "mirror.h"
#include "policer.h"
#include "route.h"
#include "udf.h"

#define WHERE(member) offsetof(struct softsai_key, member), sizeof(((struct softsai_key *)0)->member)

/* The place of a field in the key, and the kind of packet that has it. */
static const struct match {
	sai_attr_id_t id;
	uint16_t at, size;
	uint8_t valid;
} matches[] = {
	{ SAI_ACL_ENTRY_ATTR_FIELD_SRC_IPV6, WHERE(src), SOFTSAI_V6 },
	{ SAI_ACL_ENTRY_ATTR_FIELD_DST_IPV6, WHERE(dst), SOFTSAI_V6 },
	{ SAI_ACL_ENTRY_ATTR_FIELD_SRC_IP, offsetof(struct softsai_key, src), 4, SOFTSAI_V4 },
	{ SAI_ACL_ENTRY_ATTR_FIELD_DST_IP, offsetof(struct softsai_key, dst), 4, SOFTSAI_V4 },
	{ SAI_ACL_ENTRY_ATTR_FIELD_L4_SRC_PORT, WHERE(sport), SOFTSAI_L4 },
	{ SAI_ACL_ENTRY_ATTR_FIELD_L4_DST_PORT, WHERE(dport), SOFTSAI_L4 },
	{ SAI_ACL_ENTRY_ATTR_FIELD_INNER_L4_DST_PORT, WHERE(dport), SOFTSAI_L4 | SOFTSAI_TUNNEL },
	{ SAI_ACL_ENTRY_ATTR_FIELD_IP_PROTOCOL, WHERE(proto), SOFTSAI_IP },
	{ SAI_ACL_ENTRY_ATTR_FIELD_IPV6_NEXT_HEADER, WHERE(proto), SOFTSAI_V6 },
	{ SAI_ACL_ENTRY_ATTR_FIELD_DSCP, WHERE(dscp), SOFTSAI_IP },
	{ SAI_ACL_ENTRY_ATTR_FIELD_IPV6_FLOW_LABEL, WHERE(label), SOFTSAI_V6 },
	{ SAI_ACL_ENTRY_ATTR_FIELD_BTH_OPCODE, WHERE(opcode), SOFTSAI_BTH },
	{ SAI_ACL_ENTRY_ATTR_FIELD_AETH_SYNDROME, WHERE(syndrome), SOFTSAI_AETH },
	{ SAI_ACL_ENTRY_ATTR_FIELD_ICMP_TYPE, WHERE(icmp_type), SOFTSAI_ICMP | SOFTSAI_V4 },
	{ SAI_ACL_ENTRY_ATTR_FIELD_ICMP_CODE, WHERE(icmp_code), SOFTSAI_ICMP | SOFTSAI_V4 },
	{ SAI_ACL_ENTRY_ATTR_FIELD_ICMPV6_TYPE, WHERE(icmp_type), SOFTSAI_ICMP | SOFTSAI_V6 },
	{ SAI_ACL_ENTRY_ATTR_FIELD_ICMPV6_CODE, WHERE(icmp_code), SOFTSAI_ICMP | SOFTSAI_V6 },
};

/*
 * Requires the kind of packet that has a field. Ports and BTH are those of the packet itself
 * unless SOFTSAI_TUNNEL is asked for: those of one inside it.
 */
static void add_valid(struct acl_rule *r, uint8_t valid)
{
	r->mask.valid |= valid;
	r->key.valid |= valid;
	if (valid & (SOFTSAI_L4 | SOFTSAI_BTH | SOFTSAI_AETH))
		r->mask.valid |= SOFTSAI_TUNNEL;
}

/* Ands a field into the rule; two fields on one place agree or nothing matches. */
static void add_match(struct acl_rule *r, size_t at, const void *value, const void *mask, size_t size)
{
	uint8_t *m = (uint8_t *)&r->mask + at, *k = (uint8_t *)&r->key + at;
	const uint8_t *v = value, *by = mask;

	for (size_t i = 0; i < size; i++) {
		m[i] |= by[i];
		k[i] = (k[i] & ~by[i]) | (v[i] & by[i]);
	}
}

static void add_field(struct acl_rule *r, const struct match *m, const sai_acl_field_data_t *f)
{
	union {
		uint8_t octets[16];
		uint16_t u16;
		uint32_t u32;
	} value = {}, mask = {};

	memcpy(&value, &f->data, m->size);
	memcpy(&mask, &f->mask, m->size);
	/* Addresses are in network order; numbers come in host order. */
	if (m->size == sizeof(uint16_t)) {
		value.u16 = htons(value.u16);
		mask.u16 = htons(mask.u16);
	} else if (m->id == SAI_ACL_ENTRY_ATTR_FIELD_IPV6_FLOW_LABEL) {
		value.u32 = htonl(value.u32 & 0xfffff);
		mask.u32 = htonl(mask.u32 & 0xfffff);
	}
	add_match(r, m->at, &value, &mask, m->size);
	if (memcmp(&mask, &(typeof(mask)){}, sizeof(mask)) != 0)
		add_valid(r, m->valid);
}

static bool add_udf(const struct object *o, struct acl_rule *r, sai_attr_id_t id, const sai_acl_field_data_t *f)
{
	const struct object *table = object_find(object_value(o, SAI_ACL_ENTRY_ATTR_TABLE_ID)->oid), *group;
	const sai_attribute_value_t *v = table ? object_value(table, id) : NULL;
	uint32_t offset, length;

	group = v ? object_find(v->oid) : NULL;
	if (!group || !udf_group_range(group, &offset, &length))
		return false;
	if (f->data.u8list.count != length || f->mask.u8list.count != length)
		return false;
	add_match(r, offsetof(struct softsai_key, bth) + offset, f->data.u8list.list, f->mask.u8list.list, length);
	add_valid(r, SOFTSAI_BTH);
	return true;
}

static bool add_ip_type(struct acl_rule *r, const sai_acl_field_data_t *f)
{
	switch (f->data.s32) {
	case SAI_ACL_IP_TYPE_ANY:
		return true;
	case SAI_ACL_IP_TYPE_IP:
		add_valid(r, SOFTSAI_IP);
		return true;
	case SAI_ACL_IP_TYPE_IPV4ANY:
		add_valid(r, SOFTSAI_V4);
		return true;
	case SAI_ACL_IP_TYPE_IPV6ANY:
		add_valid(r, SOFTSAI_V6);
		return true;
	}
	return false;
}

static bool add_in_port(struct acl_rule *r, const sai_acl_field_data_t *f)
{
	const struct object *port = object_find_of(f->data.oid, SAI_OBJECT_TYPE_PORT);
	uint32_t ifindex = port ? object_number(port->id) : 0, all = UINT32_MAX;

	add_match(r, offsetof(struct softsai_key, in_port), &ifindex, &all, sizeof(ifindex));
	return port;
}

static bool is_udf(sai_attr_id_t id)
{
	return id >= SAI_ACL_ENTRY_ATTR_USER_DEFINED_FIELD_GROUP_MIN &&
	       id < SAI_ACL_ENTRY_ATTR_USER_DEFINED_FIELD_GROUP_MIN + ACL_UDF_GROUPS;
}

/* A field matches only where the table has it. */
static bool in_table(const struct object *o, sai_attr_id_t id)
{
	const struct object *table = object_find(object_value(o, SAI_ACL_ENTRY_ATTR_TABLE_ID)->oid);
	const sai_attribute_value_t *v = table ? object_value(table, id) : NULL;

	return v && (is_udf(id) ? v->oid != SAI_NULL_OBJECT_ID : v->booldata);
}

static bool add_any_field(const struct object *o, struct acl_rule *r, const sai_attribute_t *attr)
{
	const sai_acl_field_data_t *f = &attr->value.aclfield;

	if (!f->enable)
		return true;
	if (!in_table(o, attr->id))
		return false;
	if (is_udf(attr->id))
		return add_udf(o, r, attr->id, f);
	if (attr->id == SAI_ACL_ENTRY_ATTR_FIELD_ACL_IP_TYPE)
		return add_ip_type(r, f);
	if (attr->id == SAI_ACL_ENTRY_ATTR_FIELD_IN_PORT)
		return add_in_port(r, f);
	for (size_t i = 0; i < sizeof(matches) / sizeof(matches[0]); i++) {
		if (matches[i].id == attr->id) {
			add_field(r, &matches[i], f);
			return true;
		}
	}
	return false;
}

static bool sample(const struct object *o, struct softsai_entry *e)
{
	const sai_attribute_value_t *rate = o ? object_value(o, SAI_SAMPLEPACKET_ATTR_SAMPLE_RATE) : NULL;

	if (!rate)
		return false;
	e->sample = rate->u32;
	e->actions |= SOFTSAI_SAMPLE;
	return true;
}

static bool mirror(const sai_object_list_t *list, struct softsai_entry *e)
{
	const struct object *session = list->count == 1 ? object_find_of(list->list[0], SAI_OBJECT_TYPE_MIRROR_SESSION)
							: NULL;
	const sai_attribute_value_t *port = session ? object_value(session, SAI_MIRROR_SESSION_ATTR_MONITOR_PORT)
						    : NULL;

	if (!port)
		return false;
	e->mirror = object_number(port->oid);
	e->truncate = mirror_truncate(session);
	e->actions |= SOFTSAI_MIRROR;
	return true;
}

/* The algorithm, and which labels are written: sai_sluice_ext.h. */
static bool compute(int32_t parameter, struct softsai_entry *e)
{
	const int32_t flags = SAI_SLUICE_FLOW_LABEL_ZERO_ONLY | SAI_SLUICE_FLOW_LABEL_OUTER;

	if (parameter & SAI_SLUICE_FLOW_LABEL_ZERO_ONLY)
		e->actions |= SOFTSAI_ZERO_ONLY;
	if (parameter & SAI_SLUICE_FLOW_LABEL_OUTER)
		e->actions |= SOFTSAI_OUTER;
	e->algorithm = parameter & ~flags;
	return (parameter & ~flags) >> 1 == 0;
}

static bool add_action(struct softsai_entry *e, const sai_attribute_t *attr)
{
	const sai_acl_action_data_t *a = &attr->value.aclaction;
	const struct object *o;

	if (!a->enable)
		return true;
	switch (attr->id) {
	case SAI_ACL_ENTRY_ATTR_ACTION_PACKET_ACTION:
		return packet_actions(a->parameter.s32, &e->actions);
	case SAI_ACL_ENTRY_ATTR_ACTION_REDIRECT:
		o = redirect_target(a->parameter.oid);
		e->hop = o ? next_hop_index(o) : 0;
		e->actions |= SOFTSAI_REDIRECT;
		return o;
	case SAI_ACL_ENTRY_ATTR_ACTION_COUNTER:
		o = object_find_of(a->parameter.oid, SAI_OBJECT_TYPE_ACL_COUNTER);
		e->counter = o ? counter_index(o) : 0;
		e->actions |= SOFTSAI_COUNT;
		return o;
	case SAI_ACL_ENTRY_ATTR_ACTION_SET_POLICER:
		o = object_find_of(a->parameter.oid, SAI_OBJECT_TYPE_POLICER);
		e->policer = o ? policer_index(o) : 0;
		e->actions |= SOFTSAI_POLICE;
		return o;
	case SAI_ACL_ENTRY_ATTR_ACTION_SET_USER_TRAP_ID:
		o = object_find_of(a->parameter.oid, SAI_OBJECT_TYPE_HOSTIF_USER_DEFINED_TRAP);
		e->trap = o ? object_number(o->id) : 0;
		return o;
	case SAI_ACL_ENTRY_ATTR_ACTION_INGRESS_SAMPLEPACKET_ENABLE:
		return sample(object_find_of(a->parameter.oid, SAI_OBJECT_TYPE_SAMPLEPACKET), e);
	case SAI_ACL_ENTRY_ATTR_ACTION_MIRROR_INGRESS:
		return mirror(&a->parameter.objlist, e);
	case SAI_ACL_ENTRY_ATTR_ACTION_SET_DSCP:
		e->dscp = a->parameter.u8;
		e->actions |= SOFTSAI_SET_DSCP;
		return e->dscp < 64;
	case SAI_ACL_ENTRY_ATTR_ACTION_SET_TC:
		e->tc = a->parameter.u8;
		e->actions |= SOFTSAI_SET_TC;
		return e->tc < SOFTSAI_QUEUES;
	case SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL:
		e->label = a->parameter.u32;
		e->actions |= SOFTSAI_SET_LABEL;
		return e->label <= 0xfffff;
	case SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL:
		e->actions |= SOFTSAI_COMPUTE;
		return compute(a->parameter.s32, e);
	}
	return false;
}

sai_status_t acl_compile(const struct object *o, struct acl_rule *rule)
{
	const sai_attribute_value_t *priority = object_value(o, SAI_ACL_ENTRY_ATTR_PRIORITY);
	sai_attribute_t attr;
	bool good;

	memset(rule, 0, sizeof(*rule));
	for (uint32_t i = 0, at = 0; object_next(o, &at, &attr); i++) {
		const struct attribute *a = type_attribute(o->type, attr.id);

		if (a && (a->form == FIELD || a->form == FIELD_LIST))
			good = add_any_field(o, rule, &attr);
		else if (a && (a->form == ACTION || a->form == ACTION_LIST))
			good = add_action(&rule->entry, &attr);
		else
			continue;
		if (!good)
			return attribute_status(SAI_STATUS_INVALID_ATTR_VALUE_0, i);
	}
	rule->entry.priority = priority ? priority->u32 : 0;
	if ((rule->entry.actions & SOFTSAI_COMPUTE) && (rule->entry.actions & SOFTSAI_SET_LABEL)) {
		fail("ACL entry: it can compute a flow label or set one, not both");
		return SAI_STATUS_INVALID_PARAMETER;
	}
	return SAI_STATUS_SUCCESS;
}
