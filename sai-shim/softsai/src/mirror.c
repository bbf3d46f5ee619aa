// SPDX-License-Identifier: Apache-2.0
/* Copies elsewhere: sampling to the CPU, and mirroring to a port of the switch. */
#include "mirror.h"

#include <string.h>

#include "bpf/handover.h"
#include "egress.h"
#include "log.h"
#include "queue.h"

static const struct attribute sample_attributes[] = {
	{ SAI_SAMPLEPACKET_ATTR_SAMPLE_RATE, PLAIN, sizeof(uint32_t), CREATE | SET | MUST, NULL },
	{ SAI_SAMPLEPACKET_ATTR_TYPE, PLAIN, sizeof(int32_t), CREATE, NULL },
	{ SAI_SAMPLEPACKET_ATTR_MODE, PLAIN, sizeof(int32_t), CREATE, NULL },
};

static int32_t enum_of(const struct object *o, sai_attr_id_t id, int32_t otherwise)
{
	const sai_attribute_value_t *v = object_value(o, id);

	return v ? v->s32 : otherwise;
}

/* One packet of SAMPLE_RATE goes to the CPU; samples differ only in the entry that asks for them. */
static sai_status_t sample_create(struct object *o, bool adopted)
{
	(void)adopted;
	if (!object_value(o, SAI_SAMPLEPACKET_ATTR_SAMPLE_RATE)->u32)
		return SAI_STATUS_INVALID_PARAMETER;
	if (enum_of(o, SAI_SAMPLEPACKET_ATTR_TYPE, SAI_SAMPLEPACKET_TYPE_SLOW_PATH) !=
		    SAI_SAMPLEPACKET_TYPE_SLOW_PATH ||
	    enum_of(o, SAI_SAMPLEPACKET_ATTR_MODE, SAI_SAMPLEPACKET_MODE_EXCLUSIVE) != SAI_SAMPLEPACKET_MODE_EXCLUSIVE)
		return SAI_STATUS_NOT_SUPPORTED;
	return SAI_STATUS_SUCCESS;
}

struct sampling {
	sai_object_id_t sample;
	sai_status_t status;
};

/* An entry has the rate of its sample object in it. */
static void resample(struct object *entry, void *arg)
{
	const sai_attribute_value_t *v = object_value(entry, SAI_ACL_ENTRY_ATTR_ACTION_INGRESS_SAMPLEPACKET_ENABLE);
	struct sampling *s = arg;

	if (!s->status && v && v->aclaction.enable && v->aclaction.parameter.oid == s->sample)
		s->status = entry->type->set(entry, SAI_ACL_ENTRY_ATTR_ACTION_INGRESS_SAMPLEPACKET_ENABLE);
}

static sai_status_t sample_set(struct object *o, sai_attr_id_t id)
{
	struct sampling s = { .sample = o->id };

	(void)id;
	if (!object_value(o, SAI_SAMPLEPACKET_ATTR_SAMPLE_RATE)->u32)
		return SAI_STATUS_INVALID_ATTR_VALUE_0;
	object_each(SAI_OBJECT_TYPE_ACL_ENTRY, resample, &s);
	return s.status;
}

const struct type samplepacket_type = {
	.type = SAI_OBJECT_TYPE_SAMPLEPACKET,
	.name = "samplepacket",
	.attributes = sample_attributes,
	.count = sizeof(sample_attributes) / sizeof(sample_attributes[0]),
	.capability = "sample",
	.create = sample_create,
	.set = sample_set,
};

static const struct attribute mirror_attributes[] = {
	{ SAI_MIRROR_SESSION_ATTR_TYPE, PLAIN, sizeof(int32_t), CREATE | MUST, NULL },
	{ SAI_MIRROR_SESSION_ATTR_MONITOR_PORT, PLAIN, sizeof(sai_object_id_t), CREATE | MUST | REFERENCE, NULL },
	{ SAI_MIRROR_SESSION_ATTR_TRUNCATE_SIZE, PLAIN, sizeof(uint16_t), CREATE, NULL },
};

#define SHORTEST_COPY 64

uint16_t mirror_truncate(const struct object *session)
{
	const sai_attribute_value_t *v = object_value(session, SAI_MIRROR_SESSION_ATTR_TRUNCATE_SIZE);

	return v ? v->u16 : 0;
}

static uint32_t monitor(const struct object *session)
{
	return object_number(object_value(session, SAI_MIRROR_SESSION_ATTR_MONITOR_PORT)->oid);
}

/* Copies are cut where they leave. */
static sai_status_t truncate_at(const struct object *session)
{
	uint16_t size = mirror_truncate(session);
	int err;

	if (!size)
		return SAI_STATUS_SUCCESS;
	if (size < SHORTEST_COPY || size > SOFTSAI_MAX_COPY) {
		fail("mirror session: TRUNCATE_SIZE %u; 0, or %d to %u, is allowed", size, SHORTEST_COPY,
		     SOFTSAI_MAX_COPY);
		return SAI_STATUS_INVALID_PARAMETER;
	}
	err = egress_attach(monitor(session));
	if (!err)
		return SAI_STATUS_SUCCESS;
	fail("mirror session: the port with index %u cannot cut copies: %s", monitor(session), strerror(-err));
	return SAI_STATUS_FAILURE;
}

static sai_status_t mirror_create(struct object *o, bool adopted)
{
	sai_object_id_t port = object_value(o, SAI_MIRROR_SESSION_ATTR_MONITOR_PORT)->oid;

	(void)adopted;
	if (object_value(o, SAI_MIRROR_SESSION_ATTR_TYPE)->s32 != SAI_MIRROR_SESSION_TYPE_LOCAL) {
		fail("mirror session: only type LOCAL, to a port of this switch, is there");
		return SAI_STATUS_NOT_SUPPORTED;
	}
	if (!object_find_of(port, SAI_OBJECT_TYPE_PORT))
		return SAI_STATUS_INVALID_OBJECT_ID;
	return truncate_at(o);
}

struct others {
	const struct object *session;
	uint32_t truncating; /* by the same port */
};

static void count_other(struct object *o, void *arg)
{
	struct others *others = arg;

	others->truncating += o != others->session && mirror_truncate(o) && monitor(o) == monitor(others->session);
}

static sai_status_t mirror_remove(struct object *o)
{
	struct others others = { .session = o };

	object_each(SAI_OBJECT_TYPE_MIRROR_SESSION, count_other, &others);
	if (mirror_truncate(o) && !others.truncating && !queue_count(monitor(o)))
		egress_detach(monitor(o));
	return SAI_STATUS_SUCCESS;
}

const struct type mirror_type = {
	.type = SAI_OBJECT_TYPE_MIRROR_SESSION,
	.name = "mirror session",
	.attributes = mirror_attributes,
	.count = sizeof(mirror_attributes) / sizeof(mirror_attributes[0]),
	.capability = "mirror",
	.create = mirror_create,
	.remove = mirror_remove,
};
