/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library of queues, schedulers, policers and mirror sessions that writes each
 * call to the file that the profile names, attributes as number=value, and
 * answers with numbers that tell where they come from. Queue 404 is not there,
 * and of the schedulers the rate is read-only.
 */
#include <inttypes.h>
#include <stdio.h>

#include "sai_abi.h"

static FILE *out;
static sai_object_id_t last = 100;

static void list(uint32_t count, const sai_attribute_t *attrs)
{
	for (uint32_t i = 0; i < count; i++)
		fprintf(out, " %u=%" PRIu64, attrs[i].id, attrs[i].value.u64);
	fprintf(out, "\n");
	fflush(out);
}

#define QUAD(name)                                                                                            \
	static sai_status_t create_##name(sai_object_id_t *id, sai_object_id_t sw, uint32_t n,                \
					  const sai_attribute_t *attrs)                                       \
	{                                                                                                     \
		fprintf(out, "create " #name " of %" PRIu64 ":", sw);                                         \
		list(n, attrs);                                                                               \
		*id = ++last;                                                                                 \
		return SAI_STATUS_SUCCESS;                                                                    \
	}                                                                                                     \
	static sai_status_t remove_##name(sai_object_id_t id)                                                 \
	{                                                                                                     \
		fprintf(out, "remove " #name " %" PRIu64 "\n", id);                                           \
		fflush(out);                                                                                  \
		return SAI_STATUS_SUCCESS;                                                                    \
	}
QUAD(scheduler)
QUAD(policer)
QUAD(mirror_session)

static sai_status_t create_acl_entry(sai_object_id_t *id, sai_object_id_t sw, uint32_t n, const sai_attribute_t *attrs)
{
	fprintf(out, "create acl_entry of %" PRIu64 ":", sw);
	for (uint32_t i = 0; i < n; i++) {
		const sai_acl_action_data_t *a = &attrs[i].value.aclaction;

		if (attrs[i].id == SAI_ACL_ENTRY_ATTR_ACTION_SET_TC)
			fprintf(out, " tc=%d,%u", a->enable, a->parameter.u8);
		if (attrs[i].id == SAI_ACL_ENTRY_ATTR_ACTION_MIRROR_INGRESS)
			fprintf(out, " mirror=%d,%u,%" PRIu64, a->enable, a->parameter.objlist.count,
				a->parameter.objlist.list[0]);
	}
	list(0, NULL);
	*id = ++last;
	return SAI_STATUS_SUCCESS;
}

static sai_status_t set_queue(sai_object_id_t id, const sai_attribute_t *attr)
{
	fprintf(out, "set queue %" PRIu64 ":", id);
	list(1, attr);
	return id == 404 ? SAI_STATUS_ITEM_NOT_FOUND : SAI_STATUS_SUCCESS;
}

static sai_status_t set_scheduler(sai_object_id_t id, const sai_attribute_t *attr)
{
	fprintf(out, "set scheduler %" PRIu64 ":", id);
	list(1, attr);
	return SAI_STATUS_ATTR_NOT_SUPPORTED_0;
}

/* 70 queues: more than the reader tries first. */
static sai_status_t get_port(sai_object_id_t id, uint32_t count, sai_attribute_t *attrs)
{
	sai_object_list_t *queues = &attrs[0].value.objlist;
	uint32_t room = queues->count;

	if (count != 1 || attrs[0].id != SAI_PORT_ATTR_QOS_QUEUE_LIST)
		return SAI_STATUS_FAILURE;
	queues->count = 70;
	if (room < 70)
		return SAI_STATUS_BUFFER_OVERFLOW;
	for (uint32_t i = 0; i < 70; i++)
		queues->list[i] = id * 100 + i;
	return SAI_STATUS_SUCCESS;
}

static sai_status_t stats(sai_object_id_t id, uint32_t count, const sai_stat_id_t *ids, uint64_t *counters)
{
	if (id == 404)
		return SAI_STATUS_ITEM_NOT_FOUND;
	for (uint32_t i = 0; i < count; i++)
		counters[i] = id * 1000 + ids[i];
	return SAI_STATUS_SUCCESS;
}

static sai_status_t create_switch(sai_object_id_t *id, uint32_t count, const sai_attribute_t *attrs)
{
	fprintf(out, "create switch:");
	list(count, attrs);
	*id = 7;
	return SAI_STATUS_SUCCESS;
}

sai_status_t sai_api_initialize(uint64_t flags, const sai_service_method_table_t *services)
{
	const char *path = services->profile_get_value(0, "CALLS");

	(void)flags;
	out = path ? fopen(path, "w") : NULL;
	return out ? SAI_STATUS_SUCCESS : SAI_STATUS_FAILURE;
}

sai_status_t sai_api_uninitialize(void)
{
	fclose(out);
	return SAI_STATUS_SUCCESS;
}

sai_status_t sai_api_query(sai_api_t api, void **method_table)
{
	static sai_switch_api_t switches = { .create_switch = create_switch };
	static sai_port_api_t ports = { .get_port_attribute = get_port };
	static sai_queue_api_t queues = { .set_queue_attribute = set_queue, .get_queue_stats = stats };
	static sai_scheduler_api_t schedulers = { .create_scheduler = create_scheduler,
						  .remove_scheduler = remove_scheduler,
						  .set_scheduler_attribute = set_scheduler };
	static sai_policer_api_t policers = { .create_policer = create_policer,
					      .remove_policer = remove_policer,
					      .get_policer_stats = stats };
	static sai_mirror_api_t mirrors = { .create_mirror_session = create_mirror_session,
					    .remove_mirror_session = remove_mirror_session };
	static sai_acl_api_t acls = { .create_acl_entry = create_acl_entry };

	switch (api) {
	case SAI_API_SWITCH: *method_table = &switches; return SAI_STATUS_SUCCESS;
	case SAI_API_PORT: *method_table = &ports; return SAI_STATUS_SUCCESS;
	case SAI_API_QUEUE: *method_table = &queues; return SAI_STATUS_SUCCESS;
	case SAI_API_SCHEDULER: *method_table = &schedulers; return SAI_STATUS_SUCCESS;
	case SAI_API_POLICER: *method_table = &policers; return SAI_STATUS_SUCCESS;
	case SAI_API_MIRROR: *method_table = &mirrors; return SAI_STATUS_SUCCESS;
	case SAI_API_ACL: *method_table = &acls; return SAI_STATUS_SUCCESS;
	}
	return SAI_STATUS_NOT_SUPPORTED;
}
