// SPDX-License-Identifier: Apache-2.0
#include "trap.h"

#include <stdatomic.h>
#include <time.h>

#include "log.h"
#include "plane.h"
#include "policer.h"
#include "reader.h"

static const struct attribute group_attributes[] = {
	{ SAI_HOSTIF_TRAP_GROUP_ATTR_QUEUE, PLAIN, sizeof(uint32_t), CREATE | SET, NULL },
	{ SAI_HOSTIF_TRAP_GROUP_ATTR_POLICER, PLAIN, sizeof(sai_object_id_t), CREATE | REFERENCE, "policer" },
};

static const struct object *policer_of(const struct object *group)
{
	const sai_attribute_value_t *v = object_value(group, SAI_HOSTIF_TRAP_GROUP_ATTR_POLICER);

	return v ? object_find(v->oid) : NULL;
}

static sai_status_t group_create(struct object *o, bool adopted)
{
	const struct object *policer = policer_of(o);

	(void)adopted;
	if (!policer)
		return SAI_STATUS_SUCCESS;
	if (policer_guards()) {
		fail("trap group: another one polices packets to the CPU already");
		return SAI_STATUS_INSUFFICIENT_RESOURCES;
	}
	return policer_guard_by(policer);
}

static sai_status_t group_remove(struct object *o)
{
	return policer_of(o) ? policer_guard_by(NULL) : SAI_STATUS_SUCCESS;
}

/*
 * There is one way to the CPU, so a group orders nothing, and the policer of one
 * polices all that goes there.
 */
const struct type trap_group_type = {
	.type = SAI_OBJECT_TYPE_HOSTIF_TRAP_GROUP,
	.name = "trap group",
	.attributes = group_attributes,
	.count = sizeof(group_attributes) / sizeof(group_attributes[0]),
	.capability = "trap",
	.create = group_create,
	.remove = group_remove,
};

static const struct attribute trap_attributes[] = {
	{ SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TYPE, PLAIN, sizeof(int32_t), CREATE | MUST, NULL },
	{ SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TRAP_PRIORITY, PLAIN, sizeof(uint32_t), CREATE, NULL },
	{ SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TRAP_GROUP, PLAIN, sizeof(sai_object_id_t), CREATE | REFERENCE, NULL },
};

static sai_status_t trap_create(struct object *o, bool adopted)
{
	int32_t type = object_value(o, SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TYPE)->s32;

	(void)adopted;
	return type == SAI_HOSTIF_USER_DEFINED_TRAP_TYPE_ACL ? SAI_STATUS_SUCCESS : SAI_STATUS_NOT_SUPPORTED;
}

const struct type trap_type = {
	.type = SAI_OBJECT_TYPE_HOSTIF_USER_DEFINED_TRAP,
	.name = "user-defined trap",
	.attributes = trap_attributes,
	.count = sizeof(trap_attributes) / sizeof(trap_attributes[0]),
	.capability = "trap",
	.create = trap_create,
};

/* Each wakeup of a thread costs more than a packet: those of 4 ms come together. */
static struct reader reader = { .what = "packets to the CPU", .gather = 4000000 };
static sai_object_id_t switch_id;
static _Atomic(sai_packet_event_notification_fn) event;

void trap_notify(void *function)
{
	atomic_store(&event, (sai_packet_event_notification_fn)function);
}

/* Returns a time of CLOCK_MONOTONIC, in ns, as one since 1970. */
static sai_timespec_t time_of(uint64_t monotonic)
{
	struct timespec now, real;
	int64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	clock_gettime(CLOCK_REALTIME, &real);
	ns = (int64_t)monotonic + (real.tv_sec - now.tv_sec) * 1000000000ll + real.tv_nsec - now.tv_nsec;
	return (sai_timespec_t){ ns / 1000000000, ns % 1000000000 };
}

static int deliver(void *context, void *data, size_t size)
{
	sai_packet_event_notification_fn notify = atomic_load(&event);
	const struct softsai_copy *c = data;
	uint32_t n = 3;
	sai_attribute_t attrs[4] = {
		{ .id = SAI_HOSTIF_PACKET_ATTR_INGRESS_PORT },
		{ .id = SAI_HOSTIF_PACKET_ATTR_HOSTIF_TRAP_ID },
		{ .id = SAI_HOSTIF_PACKET_ATTR_TIMESTAMP },
		{ .id = SAI_HOSTIF_PACKET_ATTR_EGRESS_PORT_OR_LAG },
	};

	(void)context;
	if (!notify || size < sizeof(*c) || c->captured > sizeof(c->data))
		return 0;
	attrs[0].value.oid = object_id(SAI_OBJECT_TYPE_PORT, c->ifindex);
	if (c->trap)
		attrs[1].value.oid = object_id(SAI_OBJECT_TYPE_HOSTIF_USER_DEFINED_TRAP, c->trap);
	attrs[2].value.timespec = time_of(c->at);
	if (c->egress) {
		attrs[3].value.oid = object_id(SAI_OBJECT_TYPE_PORT, c->egress);
		n++;
	}
	notify(switch_id, c->captured, c->data, n, attrs);
	return 0;
}

sai_status_t trap_start(sai_object_id_t id)
{
	sai_status_t status;

	switch_id = id;
	status = reader_open(&reader, plane_map(MAP_CPU), deliver);
	return status ? status : reader_start(&reader);
}

void trap_stop(void)
{
	trap_notify(NULL);
	reader_stop(&reader);
}
