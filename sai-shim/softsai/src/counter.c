// SPDX-License-Identifier: Apache-2.0
#include "counter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>

#include "asic.h"
#include "index.h"
#include "plane.h"

static const struct attribute counter_attributes[] = {
	{ SAI_ACL_COUNTER_ATTR_TABLE_ID, PLAIN, sizeof(sai_object_id_t), CREATE | MUST | REFERENCE, NULL },
	{ SAI_ACL_COUNTER_ATTR_ENABLE_PACKET_COUNT, PLAIN, sizeof(bool), CREATE, NULL },
	{ SAI_ACL_COUNTER_ATTR_ENABLE_BYTE_COUNT, PLAIN, sizeof(bool), CREATE, NULL },
	{ SAI_ACL_COUNTER_ATTR_PACKETS, PLAIN, sizeof(uint64_t), CREATE | SET, NULL },
	{ SAI_ACL_COUNTER_ATTR_BYTES, PLAIN, sizeof(uint64_t), CREATE | SET, NULL },
	{ ATTR_INDEX, PLAIN, sizeof(uint32_t), 0, NULL },
	{ ATTR_BASE_PACKETS, PLAIN, sizeof(uint64_t), 0, NULL },
	{ ATTR_BASE_BYTES, PLAIN, sizeof(uint64_t), 0, NULL },
};

uint32_t counter_index(const struct object *counter)
{
	return index_of(counter);
}

/* The counter of a CPU; not of an earlier library's map. */
static struct softsai_counter *counter_of(int cpu, uint32_t index)
{
	return &plane_counters()[(size_t)cpu * plane_entries() + index];
}

/* Adds up the counter of each CPU in a map of an earlier library. */
static sai_status_t read_earlier(uint32_t index, struct softsai_counter *sum)
{
	struct softsai_counter *each = calloc(plane_cpus(), sizeof(*each));
	int err = each ? bpf_map_lookup_elem(plane_map(MAP_COUNTERS), &index, each) : -ENOMEM;

	for (int i = 0; !err && i < plane_cpus(); i++) {
		sum->packets += each[i].packets;
		sum->bytes += each[i].bytes;
	}
	free(each);
	return err ? SAI_STATUS_FAILURE : SAI_STATUS_SUCCESS;
}

static sai_status_t read_counter(const struct object *o, struct softsai_counter *sum)
{
	uint32_t index = index_of(o);

	memset(sum, 0, sizeof(*sum));
	if (!plane_counters())
		return read_earlier(index, sum);
	for (int i = 0; i < plane_counter_cpus(); i++) {
		sum->packets += __atomic_load_n(&counter_of(i, index)->packets, __ATOMIC_RELAXED);
		sum->bytes += __atomic_load_n(&counter_of(i, index)->bytes, __ATOMIC_RELAXED);
	}
	return SAI_STATUS_SUCCESS;
}

static sai_status_t clear_earlier(uint32_t index)
{
	struct softsai_counter *each = calloc(plane_cpus(), sizeof(*each));
	int err = each ? bpf_map_update_elem(plane_map(MAP_COUNTERS), &index, each, BPF_ANY) : -ENOMEM;

	free(each);
	return err ? SAI_STATUS_FAILURE : SAI_STATUS_SUCCESS;
}

/* Clears a counter that no entry has. */
static sai_status_t clear_counter(uint32_t index)
{
	if (!plane_counters())
		return clear_earlier(index);
	for (int i = 0; i < plane_counter_cpus(); i++)
		*counter_of(i, index) = (struct softsai_counter){};
	return SAI_STATUS_SUCCESS;
}

/* CPUs count on while a counter is set, so their counts stay, and a base is kept beside them. */
static sai_status_t counter_set(struct object *o, sai_attr_id_t id)
{
	sai_attribute_t base = { .id = id == SAI_ACL_COUNTER_ATTR_PACKETS ? ATTR_BASE_PACKETS : ATTR_BASE_BYTES };
	struct softsai_counter sum;
	sai_status_t status = read_counter(o, &sum);

	if (status)
		return status;
	base.value.u64 = (id == SAI_ACL_COUNTER_ATTR_PACKETS ? sum.packets : sum.bytes) - object_value(o, id)->u64;
	return object_store(o, &base);
}

static sai_status_t counter_create(struct object *o, bool adopted)
{
	sai_status_t status = index_take(o, POOL_COUNTERS, 0, plane_entries(), adopted);

	if (status || adopted)
		return status;
	status = clear_counter(index_of(o));
	if (!status && object_value(o, SAI_ACL_COUNTER_ATTR_PACKETS))
		status = counter_set(o, SAI_ACL_COUNTER_ATTR_PACKETS);
	if (!status && object_value(o, SAI_ACL_COUNTER_ATTR_BYTES))
		status = counter_set(o, SAI_ACL_COUNTER_ATTR_BYTES);
	return status;
}

static sai_status_t counter_remove(struct object *o)
{
	index_release(o, POOL_COUNTERS);
	return SAI_STATUS_SUCCESS;
}

static bool counts(const struct object *o, sai_attr_id_t enable)
{
	const sai_attribute_value_t *v = object_value(o, enable);

	return v && v->booldata;
}

static uint64_t base_of(const struct object *o, sai_attr_id_t id)
{
	const sai_attribute_value_t *v = object_value(o, id);

	return v ? v->u64 : 0;
}

/* The values that the ASIC read last. */
struct counter_state {
	struct softsai_counter last;
	uint64_t at; /* ns; 0: none was read */
};

static sai_status_t read_cached(const struct object *o, struct softsai_counter *sum)
{
	struct counter_state *s = o->state;
	sai_status_t status = SAI_STATUS_SUCCESS;
	struct timespec t;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = t.tv_sec * 1000000000ULL + t.tv_nsec;
	if (!s->at || now - s->at >= asic_counter_age()) {
		s->at = now;
		status = read_counter(o, &s->last);
	}
	*sum = s->last;
	return status;
}

static sai_status_t counter_get(struct object *o, sai_attribute_t *attr)
{
	bool packets = attr->id == SAI_ACL_COUNTER_ATTR_PACKETS;
	struct softsai_counter sum;
	sai_status_t status;

	if (!packets && attr->id != SAI_ACL_COUNTER_ATTR_BYTES)
		return SAI_STATUS_ITEM_NOT_FOUND;
	status = read_cached(o, &sum);
	if (status)
		return status;
	attr->value.u64 = 0;
	if (packets && counts(o, SAI_ACL_COUNTER_ATTR_ENABLE_PACKET_COUNT))
		attr->value.u64 = sum.packets - base_of(o, ATTR_BASE_PACKETS);
	if (!packets && counts(o, SAI_ACL_COUNTER_ATTR_ENABLE_BYTE_COUNT))
		attr->value.u64 = sum.bytes - base_of(o, ATTR_BASE_BYTES);
	return SAI_STATUS_SUCCESS;
}

const struct type acl_counter_type = {
	.type = SAI_OBJECT_TYPE_ACL_COUNTER,
	.name = "ACL counter",
	.attributes = counter_attributes,
	.count = sizeof(counter_attributes) / sizeof(counter_attributes[0]),
	.room = sizeof(struct counter_state),
	.create = counter_create,
	.set = counter_set,
	.get = counter_get,
	.remove = counter_remove,
};
