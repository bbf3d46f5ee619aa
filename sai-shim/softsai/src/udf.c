// SPDX-License-Identifier: Apache-2.0
#include "udf.h"

#include <string.h>

#include "log.h"
#include "value.h"

#define WORD_AT 12
#define WORD_LEN 4
#define ROCE_PORT 4791

static const struct attribute match_attributes[] = {
	{ SAI_UDF_MATCH_ATTR_L2_TYPE, FIELD, sizeof(uint16_t), CREATE, NULL },
	{ SAI_UDF_MATCH_ATTR_L3_TYPE, FIELD, sizeof(uint8_t), CREATE, NULL },
	{ SAI_UDF_MATCH_ATTR_PRIORITY, PLAIN, sizeof(uint8_t), CREATE, NULL },
	{ SAI_UDF_MATCH_ATTR_L4_DST_PORT_TYPE, FIELD, sizeof(uint16_t), CREATE, NULL },
};

/* Matches are at least as wide as RoCEv2 over either IP version. */
static sai_status_t match_create(struct object *o, bool adopted)
{
	sai_attribute_t attr;

	(void)adopted;
	for (uint32_t i = 0, at = 0; object_next(o, &at, &attr); i++) {
		const sai_acl_field_data_t *f = &attr.value.aclfield;
		bool good = true;

		switch (attr.id) {
		case SAI_UDF_MATCH_ATTR_L2_TYPE:
			good = !f->enable || (f->data.u16 & f->mask.u16) == (0x86dd & f->mask.u16) ||
			       (f->data.u16 & f->mask.u16) == (0x0800 & f->mask.u16);
			break;
		case SAI_UDF_MATCH_ATTR_L3_TYPE:
			good = !f->enable || (f->data.u8 & f->mask.u8) == (17 & f->mask.u8);
			break;
		case SAI_UDF_MATCH_ATTR_L4_DST_PORT_TYPE:
			good = !f->enable || (f->data.u16 & f->mask.u16) == (ROCE_PORT & f->mask.u16);
			break;
		}
		if (!good)
			return attribute_status(SAI_STATUS_ATTR_NOT_SUPPORTED_0, i);
	}
	return SAI_STATUS_SUCCESS;
}

const struct type udf_match_type = {
	.type = SAI_OBJECT_TYPE_UDF_MATCH,
	.name = "UDF match",
	.attributes = match_attributes,
	.count = sizeof(match_attributes) / sizeof(match_attributes[0]),
	.capability = "udf",
	.create = match_create,
};

static const struct attribute group_attributes[] = {
	{ SAI_UDF_GROUP_ATTR_UDF_LIST, LIST, sizeof(sai_object_id_t), 0, NULL },
	{ SAI_UDF_GROUP_ATTR_TYPE, PLAIN, sizeof(int32_t), CREATE, NULL },
	{ SAI_UDF_GROUP_ATTR_LENGTH, PLAIN, sizeof(uint16_t), CREATE | MUST, NULL },
};

static uint16_t group_length(const struct object *group)
{
	return object_value(group, SAI_UDF_GROUP_ATTR_LENGTH)->u16;
}

static sai_status_t group_create(struct object *o, bool adopted)
{
	(void)adopted;
	if (group_length(o) >= 1 && group_length(o) <= WORD_LEN)
		return SAI_STATUS_SUCCESS;
	fail("UDF group: length %u; 1 to %d octets are allowed", group_length(o), WORD_LEN);
	return SAI_STATUS_NOT_SUPPORTED;
}

/* A group's state: the place of its UDFs, the same for all. */
struct place {
	uint32_t udfs;
	uint32_t offset; /* from the UDP header */
};

/* The UDFs of a group. All are of one place: see udf_create. */
struct members {
	const struct object *group;
	sai_object_id_t ids[8];
	uint32_t count;
};

static void collect(struct object *udf, void *arg)
{
	struct members *m = arg;

	if (object_value(udf, SAI_UDF_ATTR_GROUP_ID)->oid == m->group->id && m->count < 8)
		m->ids[m->count++] = udf->id;
}

static struct members members_of(const struct object *group)
{
	struct members m = { .group = group };

	object_each(SAI_OBJECT_TYPE_UDF, collect, &m);
	return m;
}

static sai_status_t group_get(struct object *o, sai_attribute_t *attr)
{
	struct members m;

	if (attr->id != SAI_UDF_GROUP_ATTR_UDF_LIST)
		return SAI_STATUS_ITEM_NOT_FOUND;
	m = members_of(o);
	return value_fill(&attr->value.objlist, m.ids, m.count, sizeof(m.ids[0]));
}

const struct type udf_group_type = {
	.type = SAI_OBJECT_TYPE_UDF_GROUP,
	.name = "UDF group",
	.attributes = group_attributes,
	.count = sizeof(group_attributes) / sizeof(group_attributes[0]),
	.room = sizeof(struct place),
	.capability = "udf",
	.create = group_create,
	.get = group_get,
};

static const struct attribute udf_attributes[] = {
	{ SAI_UDF_ATTR_MATCH_ID, PLAIN, sizeof(sai_object_id_t), CREATE | MUST | REFERENCE, NULL },
	{ SAI_UDF_ATTR_GROUP_ID, PLAIN, sizeof(sai_object_id_t), CREATE | MUST | REFERENCE, NULL },
	{ SAI_UDF_ATTR_BASE, PLAIN, sizeof(int32_t), CREATE, NULL },
	{ SAI_UDF_ATTR_OFFSET, PLAIN, sizeof(uint16_t), CREATE | MUST, NULL },
	{ SAI_UDF_ATTR_HASH_MASK, LIST, sizeof(uint8_t), CREATE, NULL },
};

/* UDFs of one group may differ in their match, not in their place. */
static sai_status_t udf_create(struct object *o, bool adopted)
{
	const sai_attribute_value_t *base = object_value(o, SAI_UDF_ATTR_BASE);
	const struct object *group = object_find(object_value(o, SAI_UDF_ATTR_GROUP_ID)->oid);
	uint16_t offset = object_value(o, SAI_UDF_ATTR_OFFSET)->u16;
	struct place *place;

	(void)adopted;
	if (group->type != &udf_group_type)
		return SAI_STATUS_INVALID_OBJECT_ID;
	if (!base || base->s32 != SAI_UDF_BASE_L4 || offset < WORD_AT ||
	    offset + group_length(group) > WORD_AT + WORD_LEN) {
		fail("UDF: only octets %d to %d from the UDP header (base L4) can be matched", WORD_AT,
		     WORD_AT + WORD_LEN - 1);
		return SAI_STATUS_NOT_SUPPORTED;
	}
	place = group->state;
	if (place->udfs && place->offset != offset) {
		fail("UDF: its group has another offset already");
		return SAI_STATUS_NOT_SUPPORTED;
	}
	place->udfs++;
	place->offset = offset;
	return SAI_STATUS_SUCCESS;
}

static sai_status_t udf_remove(struct object *o)
{
	struct place *place = object_find(object_value(o, SAI_UDF_ATTR_GROUP_ID)->oid)->state;

	place->udfs--;
	return SAI_STATUS_SUCCESS;
}

const struct type udf_type = {
	.type = SAI_OBJECT_TYPE_UDF,
	.name = "UDF",
	.attributes = udf_attributes,
	.count = sizeof(udf_attributes) / sizeof(udf_attributes[0]),
	.capability = "udf",
	.create = udf_create,
	.remove = udf_remove,
};

bool udf_group_range(const struct object *group, uint32_t *offset, uint32_t *length)
{
	const struct place *place;

	if (group->type != &udf_group_type)
		return false;
	place = group->state;
	if (!place->udfs)
		return false;
	*offset = place->offset - WORD_AT;
	*length = group_length(group);
	return true;
}

bool udf_group_hash_mask(const struct object *group, uint32_t *mask)
{
	const sai_attribute_value_t *v;
	uint32_t offset, length;
	struct members m;
	uint8_t octet;

	*mask = 0;
	if (!udf_group_range(group, &offset, &length))
		return false;
	m = members_of(group);
	v = object_value(object_find(m.ids[0]), SAI_UDF_ATTR_HASH_MASK);
	for (uint32_t i = 0; i < length; i++) {
		octet = v && i < v->u8list.count ? v->u8list.list[i] : 0xff;
		*mask |= (uint32_t)octet << 8 * (WORD_LEN - 1 - offset - i);
	}
	return true;
}
