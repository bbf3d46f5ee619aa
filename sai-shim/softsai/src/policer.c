// SPDX-License-Identifier: Apache-2.0
#include "policer.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "index.h"
#include "log.h"
#include "plane.h"

#define GUARD 0 /* index of the policer before the CPU */

static struct {
	uint64_t rate, burst;	 /* where a policer is missing */
	sai_object_id_t policer; /* SAI_NULL_OBJECT_ID: none */
} guard;

static const struct attribute policer_attributes[] = {
	{ SAI_POLICER_ATTR_METER_TYPE, PLAIN, sizeof(int32_t), CREATE | MUST, NULL },
	{ SAI_POLICER_ATTR_MODE, PLAIN, sizeof(int32_t), CREATE | MUST, NULL },
	{ SAI_POLICER_ATTR_COLOR_SOURCE, PLAIN, sizeof(int32_t), CREATE, NULL },
	{ SAI_POLICER_ATTR_CBS, PLAIN, sizeof(uint64_t), CREATE | SET, NULL },
	{ SAI_POLICER_ATTR_CIR, PLAIN, sizeof(uint64_t), CREATE | SET, NULL },
	{ SAI_POLICER_ATTR_PBS, PLAIN, sizeof(uint64_t), CREATE | SET, NULL },
	{ SAI_POLICER_ATTR_GREEN_PACKET_ACTION, PLAIN, sizeof(int32_t), CREATE | SET, NULL },
	{ SAI_POLICER_ATTR_YELLOW_PACKET_ACTION, PLAIN, sizeof(int32_t), CREATE | SET, NULL },
	{ SAI_POLICER_ATTR_RED_PACKET_ACTION, PLAIN, sizeof(int32_t), CREATE | SET, NULL },
	{ ATTR_INDEX, PLAIN, sizeof(uint32_t), 0, NULL },
};

uint32_t policer_index(const struct object *policer)
{
	return index_of(policer);
}

static uint64_t number(const struct object *o, sai_attr_id_t id)
{
	const sai_attribute_value_t *v = object_value(o, id);

	return v ? v->u64 : 0;
}

bool packet_actions(int32_t action, uint32_t *actions)
{
	switch (action) {
	case SAI_PACKET_ACTION_FORWARD:
		return true;
	case SAI_PACKET_ACTION_DROP:
	case SAI_PACKET_ACTION_DENY:
		*actions |= SOFTSAI_DROP;
		return true;
	case SAI_PACKET_ACTION_COPY:
	case SAI_PACKET_ACTION_LOG:
		*actions |= SOFTSAI_COPY;
		return true;
	case SAI_PACKET_ACTION_TRAP:
		*actions |= SOFTSAI_COPY | SOFTSAI_DROP;
		return true;
	}
	return false;
}

static bool action(const struct object *o, sai_attr_id_t id, uint32_t *to)
{
	const sai_attribute_value_t *v = object_value(o, id);

	*to = 0;
	return packet_actions(v ? v->s32 : SAI_PACKET_ACTION_FORWARD, to);
}

static bool compile(const struct object *o, struct softsai_policer *p)
{
	const sai_attribute_value_t *source = object_value(o, SAI_POLICER_ATTR_COLOR_SOURCE);

	p->packets = object_value(o, SAI_POLICER_ATTR_METER_TYPE)->s32 == SAI_METER_TYPE_PACKETS;
	p->rate = number(o, SAI_POLICER_ATTR_CIR);
	p->burst = number(o, SAI_POLICER_ATTR_CBS);
	p->excess = number(o, SAI_POLICER_ATTR_PBS);
	if (object_value(o, SAI_POLICER_ATTR_MODE)->s32 != SAI_POLICER_MODE_SR_TCM ||
	    (source && source->s32 != SAI_POLICER_COLOR_SOURCE_BLIND)) {
		fail("policer: only single rate, three colors, color-blind is there");
		return false;
	}
	if (!p->rate || !p->burst || p->rate > SOFTSAI_MAX_RATE || p->burst > SOFTSAI_MAX_BURST ||
	    p->excess > SOFTSAI_MAX_BURST) {
		fail("policer: CIR %llu, CBS %llu, PBS %llu: CIR and CBS are not 0, CIR is at most %llu, CBS and PBS %llu",
		     (unsigned long long)p->rate, (unsigned long long)p->burst, (unsigned long long)p->excess,
		     SOFTSAI_MAX_RATE, SOFTSAI_MAX_BURST);
		return false;
	}
	return action(o, SAI_POLICER_ATTR_GREEN_PACKET_ACTION, &p->action[0]) &&
	       action(o, SAI_POLICER_ATTR_YELLOW_PACKET_ACTION, &p->action[1]) &&
	       action(o, SAI_POLICER_ATTR_RED_PACKET_ACTION, &p->action[2]);
}

static sai_status_t write_policer(uint32_t index, const struct softsai_policer *p)
{
	int err = bpf_map_update_elem(plane_map(MAP_POLICERS), &index, p, BPF_F_LOCK);

	if (!err)
		return SAI_STATUS_SUCCESS;
	fail("policer: %s", strerror(-err));
	return SAI_STATUS_FAILURE;
}

static sai_status_t read_policer(uint32_t index, struct softsai_policer *p)
{
	int err = bpf_map_lookup_elem_flags(plane_map(MAP_POLICERS), &index, p, BPF_F_LOCK);

	return err ? SAI_STATUS_FAILURE : SAI_STATUS_SUCCESS;
}

static sai_status_t policer_create(struct object *o, bool adopted)
{
	struct softsai_policer p = {};
	sai_status_t status;

	if (!compile(o, &p))
		return SAI_STATUS_NOT_SUPPORTED;
	status = index_take(o, POOL_POLICERS, 1, SOFTSAI_POLICERS, adopted);
	if (status || adopted)
		return status;
	p.tokens = p.burst;
	p.spare = p.excess;
	return write_policer(index_of(o), &p);
}

/* Buckets and counts stay; octets above the new size of the bucket are lost. */
static sai_status_t change(uint32_t index, const struct object *o)
{
	struct softsai_policer p;
	sai_status_t status = read_policer(index, &p);

	if (status)
		return status;
	if (!compile(o, &p))
		return SAI_STATUS_INVALID_ATTR_VALUE_0;
	if (p.tokens > p.burst)
		p.tokens = p.burst;
	if (p.spare > p.excess)
		p.spare = p.excess;
	return write_policer(index, &p);
}

static sai_status_t policer_set(struct object *o, sai_attr_id_t id)
{
	sai_status_t status = change(index_of(o), o);

	(void)id;
	return status || o->id != guard.policer ? status : change(GUARD, o);
}

static sai_status_t policer_remove(struct object *o)
{
	struct softsai_policer nothing = {};

	index_release(o, POOL_POLICERS);
	return write_policer(index_of(o), &nothing);
}

const struct type policer_type = {
	.type = SAI_OBJECT_TYPE_POLICER,
	.name = "policer",
	.attributes = policer_attributes,
	.count = sizeof(policer_attributes) / sizeof(policer_attributes[0]),
	.capability = "policer",
	.create = policer_create,
	.set = policer_set,
	.remove = policer_remove,
};

sai_status_t policer_guard_cpu(uint64_t rate, uint64_t burst)
{
	struct softsai_policer p = { .packets = 1, .rate = rate, .burst = burst, .tokens = burst };

	guard.rate = rate;
	guard.burst = burst;
	guard.policer = SAI_NULL_OBJECT_ID;
	p.action[2] = SOFTSAI_DROP;
	return write_policer(GUARD, &p);
}

bool policer_guards(void)
{
	return guard.policer != SAI_NULL_OBJECT_ID;
}

sai_status_t policer_guard_by(const struct object *policer)
{
	struct softsai_policer p = {};

	if (!policer)
		return policer_guard_cpu(guard.rate, guard.burst);
	if (policer->type->type != SAI_OBJECT_TYPE_POLICER || !compile(policer, &p) || !p.packets) {
		fail("trap group: its policer has to count packets");
		return SAI_STATUS_INVALID_ATTR_VALUE_0;
	}
	p.tokens = p.burst;
	p.spare = p.excess;
	guard.policer = policer->id;
	return write_policer(GUARD, &p);
}

static bool stat_of(const struct softsai_policer *p, sai_stat_id_t id, uint64_t *value)
{
	switch (id) {
	case SAI_POLICER_STAT_PACKETS:
		*value = p->count[0] + p->count[1] + p->count[2];
		return true;
	case SAI_POLICER_STAT_ATTR_BYTES:
		*value = p->bytes[0] + p->bytes[1] + p->bytes[2];
		return true;
	case SAI_POLICER_STAT_GREEN_PACKETS:
		*value = p->count[0];
		return true;
	case SAI_POLICER_STAT_GREEN_BYTES:
		*value = p->bytes[0];
		return true;
	case SAI_POLICER_STAT_YELLOW_PACKETS:
		*value = p->count[1];
		return true;
	case SAI_POLICER_STAT_YELLOW_BYTES:
		*value = p->bytes[1];
		return true;
	case SAI_POLICER_STAT_RED_PACKETS:
		*value = p->count[2];
		return true;
	case SAI_POLICER_STAT_RED_BYTES:
		*value = p->bytes[2];
		return true;
	}
	return false;
}

sai_status_t policer_stats(sai_object_id_t id, uint32_t n, const sai_stat_id_t *ids, uint64_t *values)
{
	struct object *o = object_find(id);
	struct softsai_policer p;
	sai_status_t status;

	if (!o || o->type != &policer_type)
		return SAI_STATUS_INVALID_OBJECT_ID;
	status = read_policer(o->id == guard.policer ? GUARD : index_of(o), &p);
	for (uint32_t i = 0; i < n && !status; i++)
		if (!stat_of(&p, ids[i], &values[i]))
			status = SAI_STATUS_NOT_SUPPORTED;
	return status;
}

sai_status_t policer_clear(sai_object_id_t id)
{
	struct object *o = object_find(id);
	struct softsai_policer p;
	sai_status_t status;
	uint32_t index;

	if (!o || o->type != &policer_type)
		return SAI_STATUS_INVALID_OBJECT_ID;
	index = o->id == guard.policer ? GUARD : index_of(o);
	status = read_policer(index, &p);
	if (status)
		return status;
	memset(p.count, 0, sizeof(p.count));
	memset(p.bytes, 0, sizeof(p.bytes));
	return write_policer(index, &p);
}
