// SPDX-License-Identifier: Apache-2.0
#include "scheduler.h"

#include "log.h"
#include "qdisc.h"

#define MAX_WEIGHT 100

static bool changed; /* a scheduler, since the last commit */

static const struct attribute scheduler_attributes[] = {
	{ SAI_SCHEDULER_ATTR_SCHEDULING_TYPE, PLAIN, sizeof(int32_t), CREATE | SET, NULL },
	{ SAI_SCHEDULER_ATTR_SCHEDULING_WEIGHT, PLAIN, sizeof(uint8_t), CREATE | SET, NULL },
	{ SAI_SCHEDULER_ATTR_METER_TYPE, PLAIN, sizeof(int32_t), CREATE | SET, NULL },
	{ SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_RATE, PLAIN, sizeof(uint64_t), CREATE | SET, NULL },
};

/* Where an attribute was not given, SAI's default: a weight of 1 among others, no limit. */
struct scheduling scheduler_values(const struct object *o)
{
	const sai_attribute_value_t *type = o ? object_value(o, SAI_SCHEDULER_ATTR_SCHEDULING_TYPE) : NULL;
	const sai_attribute_value_t *weight = o ? object_value(o, SAI_SCHEDULER_ATTR_SCHEDULING_WEIGHT) : NULL;
	const sai_attribute_value_t *rate = o ? object_value(o, SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_RATE) : NULL;

	return (struct scheduling){
		.strict = type && type->s32 == SAI_SCHEDULING_TYPE_STRICT,
		.weight = weight ? weight->u8 : 1,
		.max_rate = rate ? rate->u64 : 0,
	};
}

/* WRR and DWRR are the same here: shares are of octets. */
static sai_status_t check(const struct object *o)
{
	const sai_attribute_value_t *type = object_value(o, SAI_SCHEDULER_ATTR_SCHEDULING_TYPE);
	const sai_attribute_value_t *meter = object_value(o, SAI_SCHEDULER_ATTR_METER_TYPE);
	struct scheduling s = scheduler_values(o);

	if (type && type->s32 != SAI_SCHEDULING_TYPE_STRICT && type->s32 != SAI_SCHEDULING_TYPE_WRR &&
	    type->s32 != SAI_SCHEDULING_TYPE_DWRR) {
		fail("scheduler: type %d; STRICT, WRR and DWRR are there", type->s32);
		return SAI_STATUS_NOT_SUPPORTED;
	}
	if (meter && meter->s32 != SAI_METER_TYPE_BYTES) {
		fail("scheduler: only METER_TYPE BYTES is there");
		return SAI_STATUS_NOT_SUPPORTED;
	}
	if (s.weight < 1 || s.weight > MAX_WEIGHT) {
		fail("scheduler: weight %u; 1 to %u is allowed", s.weight, MAX_WEIGHT);
		return SAI_STATUS_INVALID_PARAMETER;
	}
	if (s.max_rate && s.max_rate < QDISC_MIN_RATE) {
		fail("scheduler: MAX_BANDWIDTH_RATE %llu octets a second; 0 for no limit, or at least %u",
		     (unsigned long long)s.max_rate, QDISC_MIN_RATE);
		return SAI_STATUS_INVALID_PARAMETER;
	}
	return SAI_STATUS_SUCCESS;
}

static sai_status_t scheduler_create(struct object *o, bool adopted)
{
	(void)adopted;
	return check(o);
}

static sai_status_t scheduler_set(struct object *o, sai_attr_id_t id)
{
	(void)id;
	if (check(o))
		return SAI_STATUS_INVALID_ATTR_VALUE_0;
	changed = true;
	return SAI_STATUS_SUCCESS;
}

bool scheduler_changed(void)
{
	bool was = changed;

	changed = false;
	return was;
}

const struct type scheduler_type = {
	.type = SAI_OBJECT_TYPE_SCHEDULER,
	.name = "scheduler",
	.attributes = scheduler_attributes,
	.count = sizeof(scheduler_attributes) / sizeof(scheduler_attributes[0]),
	.capability = "queues",
	.create = scheduler_create,
	.set = scheduler_set,
};
