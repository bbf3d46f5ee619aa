// SPDX-License-Identifier: Apache-2.0
/* Queues as SAI objects, and their statistics. */
#include <errno.h>
#include <string.h>

#include "index.h"
#include "log.h"
#include "qdisc.h"
#include "queue.h"

#define ATTR_BASE_DROPPED 0x7fff0004 /* beside ATTR_BASE_PACKETS, in records only */

static const struct attribute queue_attributes[] = {
	{ SAI_QUEUE_ATTR_TYPE, PLAIN, sizeof(int32_t), 0, NULL },
	{ SAI_QUEUE_ATTR_PORT, PLAIN, sizeof(sai_object_id_t), 0, NULL },
	{ SAI_QUEUE_ATTR_INDEX, PLAIN, sizeof(uint8_t), 0, NULL },
	{ SAI_QUEUE_ATTR_SCHEDULER_PROFILE_ID, PLAIN, sizeof(sai_object_id_t), SET | REFERENCE, NULL },
	{ ATTR_BASE_PACKETS, PLAIN, sizeof(uint64_t), 0, NULL },
	{ ATTR_BASE_BYTES, PLAIN, sizeof(uint64_t), 0, NULL },
	{ ATTR_BASE_DROPPED, PLAIN, sizeof(uint64_t), 0, NULL },
};

static uint32_t ifindex_of(const struct object *o)
{
	return object_number(o->id) >> 8;
}

static uint32_t index_in_port(const struct object *o)
{
	return object_number(o->id) & 0xff;
}

static sai_status_t queue_get(struct object *o, sai_attribute_t *attr)
{
	switch (attr->id) {
	case SAI_QUEUE_ATTR_TYPE:
		attr->value.s32 = SAI_QUEUE_TYPE_UNICAST;
		return SAI_STATUS_SUCCESS;
	case SAI_QUEUE_ATTR_PORT:
		attr->value.oid = object_id(SAI_OBJECT_TYPE_PORT, ifindex_of(o));
		return SAI_STATUS_SUCCESS;
	case SAI_QUEUE_ATTR_INDEX:
		attr->value.u8 = index_in_port(o);
		return SAI_STATUS_SUCCESS;
	}
	return SAI_STATUS_ITEM_NOT_FOUND;
}

static sai_status_t queue_set(struct object *o, sai_attr_id_t id)
{
	const struct object *scheduler = object_find(object_value(o, id)->oid);

	if (scheduler && scheduler->type != &scheduler_type)
		return SAI_STATUS_INVALID_ATTR_VALUE_0;
	return queue_apply_port(ifindex_of(o));
}

const struct type queue_type = {
	.type = SAI_OBJECT_TYPE_QUEUE,
	.name = "queue",
	.attributes = queue_attributes,
	.count = sizeof(queue_attributes) / sizeof(queue_attributes[0]),
	.set = queue_set,
	.get = queue_get,
};

/* A statistic, and the attribute with what it was when it was cleared: 0 for none. */
static bool stat_of(const struct qdisc_stats *s, sai_stat_id_t id, uint64_t *value, sai_attr_id_t *base)
{
	switch (id) {
	case SAI_QUEUE_STAT_PACKETS:
		*value = s->packets;
		*base = ATTR_BASE_PACKETS;
		return true;
	case SAI_QUEUE_STAT_BYTES:
		*value = s->bytes;
		*base = ATTR_BASE_BYTES;
		return true;
	case SAI_QUEUE_STAT_DROPPED_PACKETS:
		*value = s->dropped;
		*base = ATTR_BASE_DROPPED;
		return true;
	case SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES:
		*value = s->backlog;
		*base = 0;
		return true;
	}
	return false;
}

static sai_status_t read_stats(sai_object_id_t id, struct object **o, struct qdisc_stats *s)
{
	int err;

	*o = object_find(id);
	if (!*o || (*o)->type != &queue_type)
		return SAI_STATUS_INVALID_OBJECT_ID;
	err = qdisc_stats(ifindex_of(*o), index_in_port(*o), s);
	if (!err)
		return SAI_STATUS_SUCCESS;
	if (err == -ENODEV || err == -ENOENT) /* the netdev is gone, or somebody took the queue away */
		return SAI_STATUS_ITEM_NOT_FOUND;
	fail("queue %u of the port with index %u: %s", index_in_port(*o), ifindex_of(*o), strerror(-err));
	return SAI_STATUS_FAILURE;
}

sai_status_t queue_stats(sai_object_id_t id, uint32_t n, const sai_stat_id_t *ids, uint64_t *values)
{
	struct qdisc_stats s;
	struct object *o;
	sai_status_t status = read_stats(id, &o, &s);

	for (uint32_t i = 0; i < n && !status; i++) {
		const sai_attribute_value_t *base;
		sai_attr_id_t at;

		if (!stat_of(&s, ids[i], &values[i], &at))
			return SAI_STATUS_NOT_SUPPORTED;
		base = at ? object_value(o, at) : NULL;
		if (base && base->u64 <= values[i]) /* else somebody replaced the qdisc */
			values[i] -= base->u64;
	}
	return status;
}

/* The kernel counts on; what it had is kept beside it. */
sai_status_t queue_clear(sai_object_id_t id, uint32_t n, const sai_stat_id_t *ids)
{
	struct qdisc_stats s;
	struct object *o;
	sai_status_t status = read_stats(id, &o, &s);

	for (uint32_t i = 0; i < n && !status; i++) {
		sai_attribute_t base = {};

		if (!stat_of(&s, ids[i], &base.value.u64, &base.id) || !base.id)
			return SAI_STATUS_NOT_SUPPORTED;
		status = object_store(o, &base);
	}
	return status ? status : object_save(o);
}
