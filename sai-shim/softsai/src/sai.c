// SPDX-License-Identifier: Apache-2.0
/* The exports of a SAI library. */
#include <stdio.h>
#include <string.h>

#include "acl.h"
#include "api.h"
#include "hash.h"
#include "log.h"
#include "object.h"
#include "switch.h"
#include "value.h"

#define EXPORT __attribute__((visibility("default")))
#define VERSION 11800 /* SAI 1.18, whose numbers sai_abi.h has */

static sai_service_method_table_t services;

static const char *get_value(const char *key)
{
	return services.profile_get_value ? services.profile_get_value(0, key) : NULL;
}

/* By SAI *variable NULL begins again; by SONiC's syncd value NULL does, and gives no pair. */
static const char *next_key(bool restart)
{
	const char *key = NULL, *value = NULL;

	if (!services.profile_get_next_value)
		return NULL;
	if (restart)
		services.profile_get_next_value(0, NULL, NULL);
	key = restart ? NULL : "";
	return services.profile_get_next_value(0, &key, &value) == 0 ? key : NULL;
}

EXPORT sai_status_t sai_api_initialize(uint64_t flags, const sai_service_method_table_t *table)
{
	sai_status_t status = SAI_STATUS_SUCCESS;

	if (flags)
		return SAI_STATUS_INVALID_PARAMETER;
	pthread_mutex_lock(&api_lock);
	if (api_profile.get) {
		status = SAI_STATUS_FAILURE; /* once only */
	} else {
		api_open();
		services = table ? *table : (sai_service_method_table_t){};
		api_profile.get = get_value;
		api_profile.next = next_key;
	}
	pthread_mutex_unlock(&api_lock);
	return status;
}

EXPORT sai_status_t sai_api_query(sai_api_t api, void **table)
{
	if (!table)
		return SAI_STATUS_INVALID_PARAMETER;
	if (!api_profile.get)
		return SAI_STATUS_UNINITIALIZED;
	*table = api_table(api);
	return *table ? SAI_STATUS_SUCCESS : SAI_STATUS_NOT_IMPLEMENTED;
}

/* Releases the switch, which goes on forwarding as programmed. */
EXPORT sai_status_t sai_api_uninitialize(void)
{
	pthread_mutex_lock(&api_lock);
	if (object_switch())
		switch_remove(object_switch()->id);
	api_profile.get = NULL;
	pthread_mutex_unlock(&api_lock);
	return SAI_STATUS_SUCCESS;
}

EXPORT sai_status_t sai_query_api_version(sai_api_version_t *version)
{
	*version = VERSION;
	return SAI_STATUS_SUCCESS;
}

/* One level for all APIs. */
EXPORT sai_status_t sai_log_set(sai_api_t api, sai_log_level_t level)
{
	(void)api;
	if (level > SAI_LOG_LEVEL_CRITICAL)
		return SAI_STATUS_INVALID_PARAMETER;
	log_set_level((enum log_level)level);
	return SAI_STATUS_SUCCESS;
}

EXPORT sai_object_type_t sai_object_type_query(sai_object_id_t id)
{
	sai_object_type_t type;

	pthread_mutex_lock(&api_lock);
	type = object_find(id) ? object_type(id) : SAI_OBJECT_TYPE_NULL;
	pthread_mutex_unlock(&api_lock);
	return type;
}

EXPORT sai_object_id_t sai_switch_id_query(sai_object_id_t id)
{
	sai_object_id_t found;

	pthread_mutex_lock(&api_lock);
	found = object_switch() && object_find(id) ? object_switch()->id : SAI_NULL_OBJECT_ID;
	pthread_mutex_unlock(&api_lock);
	return found;
}

struct keys {
	sai_object_key_t *list;
	uint32_t room, count;
};

static void add_key(struct object *o, void *arg)
{
	struct keys *k = arg;

	if (k->count < k->room)
		k->list[k->count].key.object_id = o->id;
	k->count++;
}

EXPORT sai_status_t sai_get_object_key(sai_object_id_t switch_id, sai_object_type_t object_type, uint32_t *count,
				       sai_object_key_t *keys)
{
	struct keys k = { .list = keys, .room = keys && count ? *count : 0 };
	sai_status_t status = SAI_STATUS_SUCCESS;

	pthread_mutex_lock(&api_lock);
	if (!count || object_type == SAI_OBJECT_TYPE_NULL || !object_switch() || object_switch()->id != switch_id) {
		status = SAI_STATUS_INVALID_PARAMETER;
	} else {
		object_each(object_type, add_key, &k);
		*count = k.count;
		if (k.count > k.room)
			status = SAI_STATUS_BUFFER_OVERFLOW;
	}
	pthread_mutex_unlock(&api_lock);
	return status;
}

EXPORT sai_status_t sai_query_attribute_capability(sai_object_id_t switch_id, sai_object_type_t object_type,
						   sai_attr_id_t id, sai_attr_capability_t *capability)
{
	const struct type *type;
	const struct attribute *a;

	(void)switch_id;
	pthread_mutex_lock(&api_lock);
	type = type_find(object_type);
	a = type ? type_attribute(type, id) : NULL;
	capability->create_implemented = a && (a->access & CREATE);
	capability->set_implemented = a && (a->access & SET);
	capability->get_implemented = a;
	pthread_mutex_unlock(&api_lock);
	return SAI_STATUS_SUCCESS;
}

static const int32_t packet_actions[] = { SAI_PACKET_ACTION_DROP, SAI_PACKET_ACTION_FORWARD, SAI_PACKET_ACTION_COPY,
					  SAI_PACKET_ACTION_TRAP, SAI_PACKET_ACTION_LOG,     SAI_PACKET_ACTION_DENY };
static const int32_t stages[] = { SAI_ACL_STAGE_INGRESS };
static const int32_t bind_points[] = { SAI_ACL_BIND_POINT_TYPE_PORT };
static const int32_t modes[] = { SAI_POLICER_MODE_SR_TCM };
static const int32_t meters[] = { SAI_METER_TYPE_PACKETS, SAI_METER_TYPE_BYTES };
static const int32_t schedulings[] = { SAI_SCHEDULING_TYPE_STRICT, SAI_SCHEDULING_TYPE_WRR, SAI_SCHEDULING_TYPE_DWRR };
static const int32_t rates[] = { SAI_METER_TYPE_BYTES };
static const int32_t mirrors[] = { SAI_MIRROR_SESSION_TYPE_LOCAL };
static const int32_t traps[] = { SAI_HOSTIF_USER_DEFINED_TRAP_TYPE_ACL };
static const int32_t bases[] = { SAI_UDF_BASE_L4 };

#define VALUES(type, id, list) SAI_OBJECT_TYPE_##type, id, list, sizeof(list) / sizeof(list[0])

static const struct {
	sai_object_type_t type;
	sai_attr_id_t id;
	const int32_t *values;
	uint32_t count;
} enums[] = {
	{ VALUES(ACL_TABLE, SAI_ACL_TABLE_ATTR_ACL_STAGE, stages) },
	{ VALUES(ACL_TABLE, SAI_ACL_TABLE_ATTR_ACL_BIND_POINT_TYPE_LIST, bind_points) },
	{ VALUES(ACL_ENTRY, SAI_ACL_ENTRY_ATTR_ACTION_PACKET_ACTION, packet_actions) },
	{ VALUES(POLICER, SAI_POLICER_ATTR_MODE, modes) },
	{ VALUES(POLICER, SAI_POLICER_ATTR_METER_TYPE, meters) },
	{ VALUES(POLICER, SAI_POLICER_ATTR_RED_PACKET_ACTION, packet_actions) },
	{ VALUES(SCHEDULER, SAI_SCHEDULER_ATTR_SCHEDULING_TYPE, schedulings) },
	{ VALUES(SCHEDULER, SAI_SCHEDULER_ATTR_METER_TYPE, rates) },
	{ VALUES(MIRROR_SESSION, SAI_MIRROR_SESSION_ATTR_TYPE, mirrors) },
	{ VALUES(HOSTIF_USER_DEFINED_TRAP, SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TYPE, traps) },
	{ VALUES(UDF, SAI_UDF_ATTR_BASE, bases) },
};

static sai_status_t enum_values(sai_object_type_t object_type, sai_attr_id_t id, sai_s32_list_t *list)
{
	const struct type *type = type_find(object_type);
	int32_t values[64];

	if (!type || !type_attribute(type, id))
		return SAI_STATUS_NOT_SUPPORTED;
	if (object_type == SAI_OBJECT_TYPE_HASH && id == SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST)
		return value_fill(list, values, hash_fields(values, 64), sizeof(values[0]));
	if (object_type == SAI_OBJECT_TYPE_ACL_TABLE && id == SAI_ACL_TABLE_ATTR_ACL_ACTION_TYPE_LIST)
		return value_fill(list, values, acl_action_types(values, 64), sizeof(values[0]));
	for (size_t i = 0; i < sizeof(enums) / sizeof(enums[0]); i++)
		if (enums[i].type == object_type && enums[i].id == id)
			return value_fill(list, enums[i].values, enums[i].count, sizeof(enums[i].values[0]));
	return SAI_STATUS_NOT_IMPLEMENTED;
}

EXPORT sai_status_t sai_query_attribute_enum_values_capability(sai_object_id_t switch_id, sai_object_type_t object_type,
							       sai_attr_id_t id, sai_s32_list_t *list)
{
	sai_status_t status;

	(void)switch_id;
	pthread_mutex_lock(&api_lock);
	status = enum_values(object_type, id, list);
	pthread_mutex_unlock(&api_lock);
	return status;
}
