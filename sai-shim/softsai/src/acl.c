// SPDX-License-Identifier: Apache-2.0
#include "acl.h"

#include <stdio.h>
#include <string.h>

#include "acl_rule.h"
#include "acl_view.h"
#include "asic.h"
#include "hide.h"
#include "index.h"
#include "plane.h"

/* Tables */

/* Rows of the tables of attributes, without their braces. */
#define FIELD_OF_TABLE(name) SAI_ACL_TABLE_ATTR_FIELD_##name, PLAIN, sizeof(bool), CREATE, NULL
#define UDF_OF_TABLE(n) \
	SAI_ACL_TABLE_ATTR_USER_DEFINED_FIELD_GROUP_MIN + (n), PLAIN, sizeof(sai_object_id_t), CREATE | REFERENCE, "udf"

static const struct attribute table_attributes[] = {
	{ SAI_ACL_TABLE_ATTR_ACL_STAGE, PLAIN, sizeof(int32_t), CREATE | MUST, NULL },
	{ SAI_ACL_TABLE_ATTR_ACL_BIND_POINT_TYPE_LIST, LIST, sizeof(int32_t), CREATE, NULL },
	{ SAI_ACL_TABLE_ATTR_SIZE, PLAIN, sizeof(uint32_t), CREATE, NULL },
	{ SAI_ACL_TABLE_ATTR_ACL_ACTION_TYPE_LIST, LIST, sizeof(int32_t), CREATE, NULL },
	{ FIELD_OF_TABLE(SRC_IPV6) },
	{ FIELD_OF_TABLE(DST_IPV6) },
	{ FIELD_OF_TABLE(SRC_IP) },
	{ FIELD_OF_TABLE(DST_IP) },
	{ FIELD_OF_TABLE(L4_SRC_PORT) },
	{ FIELD_OF_TABLE(L4_DST_PORT) },
	{ FIELD_OF_TABLE(INNER_L4_DST_PORT) },
	{ FIELD_OF_TABLE(IP_PROTOCOL) },
	{ FIELD_OF_TABLE(IPV6_NEXT_HEADER) },
	{ FIELD_OF_TABLE(DSCP) },
	{ FIELD_OF_TABLE(IPV6_FLOW_LABEL) },
	{ FIELD_OF_TABLE(BTH_OPCODE) },
	{ FIELD_OF_TABLE(AETH_SYNDROME) },
	{ FIELD_OF_TABLE(ICMP_TYPE) },
	{ FIELD_OF_TABLE(ICMP_CODE) },
	{ FIELD_OF_TABLE(ICMPV6_TYPE) },
	{ FIELD_OF_TABLE(ICMPV6_CODE) },
	{ FIELD_OF_TABLE(ACL_IP_TYPE) },
	{ FIELD_OF_TABLE(IN_PORT) },
	{ UDF_OF_TABLE(0) },
	{ UDF_OF_TABLE(1) },
	{ UDF_OF_TABLE(2) },
	{ UDF_OF_TABLE(3) },
	{ SAI_ACL_TABLE_ATTR_ENTRY_LIST, LIST, sizeof(sai_object_id_t), 0, NULL },
	{ SAI_ACL_TABLE_ATTR_AVAILABLE_ACL_ENTRY, PLAIN, sizeof(uint32_t), 0, NULL },
	{ SAI_ACL_TABLE_ATTR_AVAILABLE_ACL_COUNTER, PLAIN, sizeof(uint32_t), 0, NULL },
	{ ATTR_INDEX, PLAIN, sizeof(uint32_t), 0, NULL },
};

static sai_status_t table_check(const struct object *o)
{
	sai_attribute_t attr;

	for (uint32_t i = 0, at = 0; object_next(o, &at, &attr); i++) {
		const sai_s32_list_t *types = &attr.value.s32list;

		if (attr.id == SAI_ACL_TABLE_ATTR_ACL_STAGE && attr.value.s32 != SAI_ACL_STAGE_INGRESS)
			return attribute_status(SAI_STATUS_ATTR_NOT_SUPPORTED_0, i);
		if (attr.id != SAI_ACL_TABLE_ATTR_ACL_BIND_POINT_TYPE_LIST)
			continue;
		for (uint32_t k = 0; k < types->count; k++)
			if (types->list[k] != SAI_ACL_BIND_POINT_TYPE_PORT)
				return attribute_status(SAI_STATUS_ATTR_NOT_SUPPORTED_0, i);
	}
	return SAI_STATUS_SUCCESS;
}

static sai_status_t table_create(struct object *o, bool adopted)
{
	struct acl_table *t = o->state;
	sai_status_t status = table_check(o);

	if (!status)
		status = index_take(o, POOL_TABLES, 1, 1 + SOFTSAI_TABLES, adopted);
	t->number = index_of(o);
	return status;
}

static sai_status_t table_remove(struct object *o)
{
	index_release(o, POOL_TABLES);
	return SAI_STATUS_SUCCESS;
}

struct entries {
	const struct object *table;
	sai_object_id_t *ids;
	uint32_t count, room;
};

static void collect(struct object *entry, void *arg)
{
	struct entries *e = arg;

	if (object_value(entry, SAI_ACL_ENTRY_ATTR_TABLE_ID)->oid != e->table->id)
		return;
	if (e->count < e->room)
		e->ids[e->count] = entry->id;
	e->count++;
}

static sai_status_t entry_list(const struct object *table, sai_object_list_t *list)
{
	struct entries e = { .table = table, .ids = list->list, .room = list->list ? list->count : 0 };

	object_each(SAI_OBJECT_TYPE_ACL_ENTRY, collect, &e);
	list->count = e.count;
	return e.count > e.room ? SAI_STATUS_BUFFER_OVERFLOW : SAI_STATUS_SUCCESS;
}

static uint32_t available(sai_object_type_t type)
{
	uint32_t n = object_count(type);

	return n < plane_entries() ? plane_entries() - n : 0;
}

static sai_status_t table_get(struct object *o, sai_attribute_t *attr)
{
	switch (attr->id) {
	case SAI_ACL_TABLE_ATTR_ENTRY_LIST:
		return entry_list(o, &attr->value.objlist);
	case SAI_ACL_TABLE_ATTR_AVAILABLE_ACL_ENTRY:
		attr->value.u32 = available(SAI_OBJECT_TYPE_ACL_ENTRY);
		return SAI_STATUS_SUCCESS;
	case SAI_ACL_TABLE_ATTR_AVAILABLE_ACL_COUNTER:
		attr->value.u32 = available(SAI_OBJECT_TYPE_ACL_COUNTER);
		return SAI_STATUS_SUCCESS;
	}
	return SAI_STATUS_ITEM_NOT_FOUND;
}

const struct type acl_table_type = {
	.type = SAI_OBJECT_TYPE_ACL_TABLE,
	.name = "ACL table",
	.attributes = table_attributes,
	.count = sizeof(table_attributes) / sizeof(table_attributes[0]),
	.room = sizeof(struct acl_table),
	.create = table_create,
	.get = table_get,
	.remove = table_remove,
};

/* Entries */

#define FIELD_OF_ENTRY(name, size) SAI_ACL_ENTRY_ATTR_FIELD_##name, FIELD, size, CREATE | SET, NULL
#define UDF_OF_ENTRY(n) \
	SAI_ACL_ENTRY_ATTR_USER_DEFINED_FIELD_GROUP_MIN + (n), FIELD_LIST, sizeof(uint8_t), CREATE | SET, "udf"
#define ACTION_OF_ENTRY(name, size, more, capability) \
	SAI_ACL_ENTRY_ATTR_ACTION_##name, ACTION, size, CREATE | SET | (more), capability
#define OID sizeof(sai_object_id_t)

static const struct attribute entry_attributes[] = {
	{ SAI_ACL_ENTRY_ATTR_TABLE_ID, PLAIN, OID, CREATE | MUST | REFERENCE, NULL },
	{ SAI_ACL_ENTRY_ATTR_PRIORITY, PLAIN, sizeof(uint32_t), CREATE | SET, NULL },
	{ SAI_ACL_ENTRY_ATTR_ADMIN_STATE, PLAIN, sizeof(bool), CREATE | SET, NULL },
	{ FIELD_OF_ENTRY(SRC_IPV6, 16) },
	{ FIELD_OF_ENTRY(DST_IPV6, 16) },
	{ FIELD_OF_ENTRY(SRC_IP, 4) },
	{ FIELD_OF_ENTRY(DST_IP, 4) },
	{ FIELD_OF_ENTRY(L4_SRC_PORT, 2) },
	{ FIELD_OF_ENTRY(L4_DST_PORT, 2) },
	{ FIELD_OF_ENTRY(INNER_L4_DST_PORT, 2) },
	{ FIELD_OF_ENTRY(IP_PROTOCOL, 1) },
	{ FIELD_OF_ENTRY(IPV6_NEXT_HEADER, 1) },
	{ FIELD_OF_ENTRY(DSCP, 1) },
	{ FIELD_OF_ENTRY(IPV6_FLOW_LABEL, 4) },
	{ FIELD_OF_ENTRY(BTH_OPCODE, 1) },
	{ FIELD_OF_ENTRY(AETH_SYNDROME, 1) },
	{ FIELD_OF_ENTRY(ICMP_TYPE, 1) },
	{ FIELD_OF_ENTRY(ICMP_CODE, 1) },
	{ FIELD_OF_ENTRY(ICMPV6_TYPE, 1) },
	{ FIELD_OF_ENTRY(ICMPV6_CODE, 1) },
	{ FIELD_OF_ENTRY(ACL_IP_TYPE, 4) },
	{ FIELD_OF_ENTRY(IN_PORT, OID) },
	{ UDF_OF_ENTRY(0) },
	{ UDF_OF_ENTRY(1) },
	{ UDF_OF_ENTRY(2) },
	{ UDF_OF_ENTRY(3) },
	{ ACTION_OF_ENTRY(REDIRECT, OID, REFERENCE, "redirect") },
	{ ACTION_OF_ENTRY(PACKET_ACTION, sizeof(int32_t), 0, NULL) },
	{ ACTION_OF_ENTRY(COUNTER, OID, REFERENCE, NULL) },
	{ ACTION_OF_ENTRY(SET_POLICER, OID, REFERENCE, "policer") },
	{ ACTION_OF_ENTRY(SET_DSCP, sizeof(uint8_t), 0, NULL) },
	{ ACTION_OF_ENTRY(SET_TC, sizeof(uint8_t), 0, "queues") },
	{ ACTION_OF_ENTRY(INGRESS_SAMPLEPACKET_ENABLE, OID, REFERENCE, "sample") },
	{ ACTION_OF_ENTRY(SET_USER_TRAP_ID, OID, REFERENCE, "trap") },
	{ SAI_ACL_ENTRY_ATTR_ACTION_MIRROR_INGRESS, ACTION_LIST, OID, CREATE | SET | REFERENCE, "mirror" },
	{ ACTION_OF_ENTRY(SET_IPV6_FLOW_LABEL, sizeof(uint32_t), 0, "rewrite") },
	{ ACTION_OF_ENTRY(COMPUTE_IPV6_FLOW_LABEL, sizeof(int32_t), 0, "compute") },
	{ ATTR_INDEX, PLAIN, sizeof(uint32_t), 0, NULL },
};

/* The rule of an entry in the data plane. */
struct entry_state {
	bool inserted;
	int shape; /* which has the mask */
	struct softsai_key key;
};

static struct acl_table *table_of(const struct object *entry)
{
	sai_object_id_t id = object_value(entry, SAI_ACL_ENTRY_ATTR_TABLE_ID)->oid;
	struct object *table = object_find_of(id, SAI_OBJECT_TYPE_ACL_TABLE);

	return table ? table->state : NULL;
}

static bool enabled(const struct object *entry)
{
	const sai_attribute_value_t *v = object_value(entry, SAI_ACL_ENTRY_ATTR_ADMIN_STATE);

	return !v || v->booldata;
}

static sai_status_t insert(struct object *o, const struct acl_rule *rule, bool adopted)
{
	int shape = adopted ? index_of(o) : -1;
	sai_status_t status = acl_insert(table_of(o), rule, &shape, adopted);

	if (status)
		return status;
	if (index_of(o) != shape)
		status = index_store(o, shape);
	if (status) {
		acl_delete(table_of(o), rule, shape);
		return status;
	}
	*(struct entry_state *)o->state = (struct entry_state){ true, shape, rule->key };
	return SAI_STATUS_SUCCESS;
}

static sai_status_t withdraw(struct object *o)
{
	struct entry_state *s = o->state;
	struct acl_rule rule = { .key = s->key };

	if (!s->inserted)
		return SAI_STATUS_SUCCESS;
	s->inserted = false;
	acl_delete(table_of(o), &rule, s->shape);
	return SAI_STATUS_SUCCESS;
}

static sai_status_t entry_create(struct object *o, bool adopted)
{
	struct acl_rule rule;
	sai_status_t status;

	if (!table_of(o))
		return SAI_STATUS_INVALID_OBJECT_ID;
	status = acl_compile(o, &rule);
	if (!adopted)
		asic_wait();
	if (!status && enabled(o))
		status = insert(o, &rule, adopted);
	return status;
}

static sai_status_t entry_remove(struct object *o)
{
	asic_wait();
	return withdraw(o);
}

static sai_status_t entry_set(struct object *o, sai_attr_id_t id)
{
	struct entry_state *s = o->state;
	struct acl_rule rule, old = { .key = s->key };
	struct entry_state before = *s;
	sai_status_t status = acl_compile(o, &rule);

	(void)id;
	asic_wait();
	if (status) /* one attribute was set, whatever its place among the others */
		return status > SAI_STATUS_INVALID_ATTR_VALUE_0 ? status : SAI_STATUS_INVALID_ATTR_VALUE_0;
	if (!enabled(o))
		return withdraw(o);
	if (!s->inserted)
		return insert(o, &rule, false);
	if (memcmp(&s->key, &rule.key, sizeof(rule.key)) == 0 &&
	    memcmp(&table_of(o)->shapes[s->shape].mask, &rule.mask, sizeof(rule.mask)) == 0)
		return acl_update(table_of(o), &rule, s->shape);
	status = insert(o, &rule, false); /* first the new, then the old: no packet meets neither */
	if (!status)
		acl_delete(table_of(o), &old, before.shape);
	return status;
}

const struct type acl_entry_type = {
	.type = SAI_OBJECT_TYPE_ACL_ENTRY,
	.name = "ACL entry",
	.attributes = entry_attributes,
	.count = sizeof(entry_attributes) / sizeof(entry_attributes[0]),
	.room = sizeof(struct entry_state),
	.create = entry_create,
	.set = entry_set,
	.remove = entry_remove,
};

uint32_t acl_action_types(int32_t *list, uint32_t room)
{
	uint32_t n = 0;

	for (size_t i = 0; i < acl_entry_type.count; i++) {
		const struct attribute *a = &acl_entry_type.attributes[i];

		if ((a->form != ACTION && a->form != ACTION_LIST) || hidden(a->capability) ||
		    a->id >= SAI_ACL_ENTRY_ATTR_CUSTOM_RANGE_START)
			continue;
		if (n < room) /* numbered as the attributes are, from ACTION_START on */
			list[n] = a->id - SAI_ACL_ENTRY_ATTR_ACTION_START;
		n++;
	}
	return n;
}

/* Audit */

#define AUDITED 4096 /* entries that are compared with the map in one audit */
#define PIECE 256    /* of these in one call: 1 ms */

struct comparison {
	struct drift_list *drifts; /* NULL: mend */
	uint32_t bad;
	sai_status_t status;
};

static void audit_table(struct object *o, void *arg)
{
	struct acl_table *t = o->state;
	struct comparison *a = arg;
	char place[32];

	if (acl_view_good(t))
		return;
	snprintf(place, sizeof(place), "table %u", t->number);
	if (a->drifts)
		drift_add(a->drifts, "ACL table", place, true, "its element of the BPF map soft_views is another");
	else
		acl_view_renew(t);
}

static void audit_entry(struct object *o, void *arg)
{
	const struct entry_state *s = o->state;
	struct comparison *a = arg;
	struct acl_rule rule;

	if (!s->inserted || acl_compile(o, &rule) || acl_rule_good(table_of(o), &rule, s->shape))
		return;
	a->bad++;
	if (!a->drifts && !a->status)
		a->status = acl_rule_renew(table_of(o), &rule, s->shape);
}

/* The audit of entries that goes on. */
static struct {
	sai_object_id_t after; /* the last entry that was compared; SAI_NULL_OBJECT_ID: none, or all were */
	uint32_t compared, bad;
	bool done;
} entries_audit;

void acl_audit_begin(void)
{
	entries_audit.compared = entries_audit.bad = 0;
	entries_audit.done = false;
}

void acl_audit_tables(struct drift_list *l)
{
	struct comparison a = { .drifts = l };

	object_each(SAI_OBJECT_TYPE_ACL_TABLE, audit_table, &a);
}

bool acl_audit_entries(struct drift_list *l)
{
	struct comparison a = { .drifts = l };

	for (uint32_t i = 0; i < PIECE && !entries_audit.done; i++) {
		struct object *o = object_after(SAI_OBJECT_TYPE_ACL_ENTRY, entries_audit.after);

		entries_audit.after = o ? o->id : SAI_NULL_OBJECT_ID;
		if (o)
			audit_entry(o, &a);
		entries_audit.done = !o || ++entries_audit.compared == AUDITED;
	}
	entries_audit.bad += a.bad;
	if (entries_audit.done && entries_audit.bad)
		drift_add(l, "ACL entries", "soft_entries", true, "%u elements of the BPF map are gone or others",
			  entries_audit.bad);
	return entries_audit.done;
}

sai_status_t acl_mend(void)
{
	struct comparison a = {};

	object_each(SAI_OBJECT_TYPE_ACL_TABLE, audit_table, &a);
	object_each(SAI_OBJECT_TYPE_ACL_ENTRY, audit_entry, &a);
	return a.status;
}
