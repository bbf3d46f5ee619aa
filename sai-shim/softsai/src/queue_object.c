// SPDX-License-Identifier: Apache-2.0
#include "queue_object.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "asic.h"
#include "index.h"
#include "log.h"
#include "qdisc.h"
#include "queue.h"
#include "slots.h"

#define ATTR_BASE_DROPPED 0x7fff0004 /* beside ATTR_BASE_PACKETS, in records only */

static const struct attribute queue_attributes[] = {
	{ SAI_QUEUE_ATTR_TYPE, PLAIN, sizeof(int32_t), 0, NULL },
	{ SAI_QUEUE_ATTR_PORT, PLAIN, sizeof(sai_object_id_t), 0, NULL },
	{ SAI_QUEUE_ATTR_INDEX, PLAIN, sizeof(uint8_t), 0, NULL },
	{ SAI_QUEUE_ATTR_SCHEDULER_PROFILE_ID, PLAIN, sizeof(sai_object_id_t), SET | REFERENCE, NULL },
	{ SAI_QUEUE_ATTR_FLOW_MONITOR_HIGH, PLAIN, sizeof(uint32_t), SET, "flows" },
	{ SAI_QUEUE_ATTR_FLOW_MONITOR_LOW, PLAIN, sizeof(uint32_t), SET, "flows" },
	{ ATTR_BASE_PACKETS, PLAIN, sizeof(uint64_t), 0, NULL },
	{ ATTR_BASE_BYTES, PLAIN, sizeof(uint64_t), 0, NULL },
	{ ATTR_BASE_DROPPED, PLAIN, sizeof(uint64_t), 0, NULL },
};

static sai_status_t queue_get(struct object *o, sai_attribute_t *attr)
{
	switch (attr->id) {
	case SAI_QUEUE_ATTR_TYPE:
		attr->value.s32 = SAI_QUEUE_TYPE_UNICAST;
		return SAI_STATUS_SUCCESS;
	case SAI_QUEUE_ATTR_PORT:
		attr->value.oid = object_id(SAI_OBJECT_TYPE_PORT, queue_ifindex(o->id));
		return SAI_STATUS_SUCCESS;
	case SAI_QUEUE_ATTR_INDEX:
		attr->value.u8 = queue_index(o->id);
		return SAI_STATUS_SUCCESS;
	}
	return SAI_STATUS_ITEM_NOT_FOUND;
}

static uint32_t mark_of(const struct object *o, sai_attr_id_t id)
{
	const sai_attribute_value_t *v = object_value(o, id);

	return v ? v->u32 : 0;
}

/* Gives the queue the marks that its object has. */
static sai_status_t apply_marks(const struct object *o)
{
	uint32_t high = mark_of(o, SAI_QUEUE_ATTR_FLOW_MONITOR_HIGH), low = mark_of(o, SAI_QUEUE_ATTR_FLOW_MONITOR_LOW);

	if (high && low >= high) {
		fail("queue %u of the port with index %u: FLOW_MONITOR_LOW %u is not below FLOW_MONITOR_HIGH %u",
		     queue_index(o->id), queue_ifindex(o->id), low, high);
		return SAI_STATUS_INVALID_ATTR_VALUE_0;
	}
	return slots_set_marks(queue_ifindex(o->id), queue_index(o->id), high, low ? low : high / 2);
}

static sai_status_t queue_set(struct object *o, sai_attr_id_t id)
{
	sai_object_id_t scheduler = object_value(o, id)->oid;

	if (id == SAI_QUEUE_ATTR_FLOW_MONITOR_HIGH || id == SAI_QUEUE_ATTR_FLOW_MONITOR_LOW)
		return apply_marks(o);
	if (scheduler != SAI_NULL_OBJECT_ID && !object_find_of(scheduler, SAI_OBJECT_TYPE_SCHEDULER))
		return SAI_STATUS_INVALID_ATTR_VALUE_0;
	queue_change(queue_ifindex(o->id));
	return SAI_STATUS_SUCCESS;
}

static void apply_stored_marks(struct object *o, void *arg)
{
	sai_status_t *status = arg;

	if (!*status)
		*status = apply_marks(o);
}

sai_status_t queue_apply_marks(void)
{
	sai_status_t status = SAI_STATUS_SUCCESS;

	object_each(SAI_OBJECT_TYPE_QUEUE, apply_stored_marks, &status);
	return status;
}

/* The statistics that the ASIC read last. */
struct queue_state {
	struct qdisc_stats last;
	uint64_t at; /* ns; 0: none were read */
};

const struct type queue_type = {
	.type = SAI_OBJECT_TYPE_QUEUE,
	.name = "queue",
	.room = sizeof(struct queue_state),
	.attributes = queue_attributes,
	.count = sizeof(queue_attributes) / sizeof(queue_attributes[0]),
	.built_in = true,
	.set = queue_set,
	.get = queue_get,
};

sai_status_t queue_make(void)
{
	sai_status_t status = SAI_STATUS_SUCCESS;
	struct queue_port port;

	for (size_t i = 0; queue_port(i, &port); i++) {
		if (!queue_count(port.ifindex) || object_find(queue_id(port.ifindex, 0)))
			continue;
		for (uint32_t n = 0; n < SOFTSAI_QUEUES && !status; n++)
			status = object_build(&queue_type, queue_id(port.ifindex, n), 0, NULL);
	}
	return status;
}

/* A statistic, and the attribute with its value when it was cleared: 0 for none. */
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

static int refresh(struct object *o, struct qdisc_stats *s)
{
	struct queue_state *state = o->state;
	struct timespec t;
	uint64_t now;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = t.tv_sec * 1000000000ULL + t.tv_nsec;
	if (!state->at || now - state->at >= asic_queue_age()) {
		err = qdisc_stats(queue_ifindex(o->id), queue_index(o->id), &state->last);
		state->at = err ? 0 : now;
	}
	*s = state->last;
	return err;
}

static sai_status_t read_stats(sai_object_id_t id, struct object **o, struct qdisc_stats *s)
{
	int err;

	*o = object_find(id);
	if (!*o || (*o)->type != &queue_type)
		return SAI_STATUS_INVALID_OBJECT_ID;
	err = refresh(*o, s);
	if (!err)
		return SAI_STATUS_SUCCESS;
	if (err == -ENODEV || err == -ENOENT) /* the netdev is gone, or another owner removed the queue */
		return SAI_STATUS_ITEM_NOT_FOUND;
	fail("queue %u of the port with index %u: %s", queue_index((*o)->id), queue_ifindex((*o)->id), strerror(-err));
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
		if (base && base->u64 <= values[i]) /* else another owner replaced the qdisc */
			values[i] -= base->u64;
	}
	return status;
}

/* The kernel counts on; its value is kept beside it. */
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
