/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A SAI library of another maker, for tests: it writes each call to the file that
 * the profile names as FOREIGN_LOG, a line each, and remembers what it must to
 * answer. It computes flow labels under an id of its own, FOREIGN_COMPUTE of the
 * profile; without that it has no action for labels. FOREIGN_FULL=N lets it have
 * room for N ACL entries. All attributes of its objects read as 0. Its ports have the lanes 0, 4, 8, 12, 16.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sai_abi.h"
#include "sai_sluice_ext.h"

#define EXPORT __attribute__((visibility("default")))
#define PORTS 5
#define SWITCH_ID 0x2100000000000000ULL

static sai_service_method_table_t services;
static FILE *out;
static uint64_t last, acl[PORTS], hashes[512];
static int entries;

static const char *profile(const char *key)
{
	return services.profile_get_value ? services.profile_get_value(0, key) : NULL;
}

static void attribute(const sai_attribute_t *a)
{
	uint64_t words[5];

	memcpy(words, &a->value, sizeof(words));
	fprintf(out, " %#x=%#llx/%#llx/%#llx", a->id, (unsigned long long)words[0], (unsigned long long)words[1],
		(unsigned long long)words[3]);
}

static void line(const char *call, const char *object, uint64_t id, uint32_t n, const sai_attribute_t *list)
{
	fprintf(out, "%s %s %#llx", call, object, (unsigned long long)id);
	for (uint32_t i = 0; i < n; i++)
		attribute(&list[i]);
	fputc('\n', out);
	fflush(out);
}

#define QUAD(name, number) \
	static sai_status_t create_##name(sai_object_id_t *id, sai_object_id_t sw, uint32_t n, \
					  const sai_attribute_t *list) \
	{ \
		(void)sw; \
		if (number == SAI_OBJECT_TYPE_ACL_ENTRY && profile("FOREIGN_FULL") && \
		    entries++ >= atoi(profile("FOREIGN_FULL"))) \
			return SAI_STATUS_TABLE_FULL; \
		*id = (uint64_t)number << 48 | ++last; \
		line("create", #name, *id, n, list); \
		return SAI_STATUS_SUCCESS; \
	} \
	static sai_status_t remove_##name(sai_object_id_t id) \
	{ \
		line("remove", #name, id, 0, NULL); \
		return SAI_STATUS_SUCCESS; \
	} \
	static sai_status_t get_##name(sai_object_id_t id, uint32_t n, sai_attribute_t *list) \
	{ \
		(void)n; \
		memset(&list->value, 0, sizeof(list->value)); \
		return id >> 48 == number && (id & 0xffffffff) <= last ? SAI_STATUS_SUCCESS \
								       : SAI_STATUS_ITEM_NOT_FOUND; \
	}

QUAD(acl_table, SAI_OBJECT_TYPE_ACL_TABLE)
QUAD(acl_entry, SAI_OBJECT_TYPE_ACL_ENTRY)
QUAD(acl_counter, SAI_OBJECT_TYPE_ACL_COUNTER)
QUAD(hash, SAI_OBJECT_TYPE_HASH)

static sai_status_t create_switch(sai_object_id_t *id, uint32_t n, const sai_attribute_t *list)
{
	*id = SWITCH_ID;
	line("create", "switch", *id, n, list);
	return SAI_STATUS_SUCCESS;
}

static sai_status_t set_switch(sai_object_id_t id, const sai_attribute_t *a)
{
	if (a->id == SAI_SWITCH_ATTR_PACKET_EVENT_NOTIFY)
		return SAI_STATUS_SUCCESS;
	if (a->id < 512)
		hashes[a->id] = a->value.oid;
	line("set", "switch", id, 1, a);
	return SAI_STATUS_SUCCESS;
}

static sai_status_t get_switch(sai_object_id_t id, uint32_t n, sai_attribute_t *a)
{
	(void)id;
	(void)n;
	if (a->id == SAI_SWITCH_ATTR_PORT_LIST) {
		uint32_t room = a->value.objlist.count;

		a->value.objlist.count = PORTS;
		if (room < PORTS)
			return SAI_STATUS_BUFFER_OVERFLOW;
		for (uint64_t i = 0; i < PORTS; i++)
			a->value.objlist.list[i] = 1ULL << 48 | i;
		return SAI_STATUS_SUCCESS;
	}
	if (a->id == SAI_SWITCH_ATTR_SLUICE_EXTENSION && profile("FOREIGN_COMPUTE")) {
		a->value.u64 = SAI_SLUICE_MAGIC << 32 | SAI_SLUICE_VERSION_LABELS;
		return SAI_STATUS_SUCCESS;
	}
	if (a->id >= 512)
		return SAI_STATUS_ATTR_NOT_SUPPORTED_0;
	a->value.oid = hashes[a->id];
	return SAI_STATUS_SUCCESS;
}

static sai_status_t set_port(sai_object_id_t id, const sai_attribute_t *a)
{
	acl[id & 7] = a->value.oid;
	line("set", "port", id, 1, a);
	return SAI_STATUS_SUCCESS;
}

static sai_status_t get_port(sai_object_id_t id, uint32_t n, sai_attribute_t *a)
{
	(void)n;
	if (a->id == SAI_PORT_ATTR_HW_LANE_LIST) {
		a->value.u32list.count = 1;
		a->value.u32list.list[0] = 4 * (id & 7);
		return SAI_STATUS_SUCCESS;
	}
	if (a->id != SAI_PORT_ATTR_INGRESS_ACL)
		return SAI_STATUS_ATTR_NOT_SUPPORTED_0;
	a->value.oid = acl[id & 7];
	return SAI_STATUS_SUCCESS;
}

static sai_switch_api_t switch_api = {
	.create_switch = create_switch,
	.set_switch_attribute = set_switch,
	.get_switch_attribute = get_switch,
};
static sai_port_api_t port_api = { .set_port_attribute = set_port, .get_port_attribute = get_port };
static sai_acl_api_t acl_api = {
	.create_acl_table = create_acl_table,
	.remove_acl_table = remove_acl_table,
	.get_acl_table_attribute = get_acl_table,
	.create_acl_entry = create_acl_entry,
	.remove_acl_entry = remove_acl_entry,
	.get_acl_entry_attribute = get_acl_entry,
	.create_acl_counter = create_acl_counter,
	.remove_acl_counter = remove_acl_counter,
	.get_acl_counter_attribute = get_acl_counter,
};
static sai_hash_api_t hash_api = { .create_hash = create_hash,
				   .remove_hash = remove_hash,
				   .get_hash_attribute = get_hash };

EXPORT sai_status_t sai_api_initialize(uint64_t flags, const sai_service_method_table_t *table)
{
	(void)flags;
	services = *table;
	out = profile("FOREIGN_LOG") ? fopen(profile("FOREIGN_LOG"), "a") : NULL;
	return out ? SAI_STATUS_SUCCESS : SAI_STATUS_FAILURE;
}

EXPORT sai_status_t sai_api_query(sai_api_t api, void **table)
{
	*table = api == SAI_API_SWITCH ? (void *)&switch_api
		 : api == SAI_API_PORT ? (void *)&port_api
		 : api == SAI_API_ACL  ? (void *)&acl_api
		 : api == SAI_API_HASH ? (void *)&hash_api
				       : NULL;
	return *table ? SAI_STATUS_SUCCESS : SAI_STATUS_NOT_IMPLEMENTED;
}

EXPORT sai_status_t sai_api_uninitialize(void)
{
	fclose(out);
	return SAI_STATUS_SUCCESS;
}

EXPORT sai_status_t sai_query_attribute_capability(sai_object_id_t sw, sai_object_type_t type, sai_attr_id_t id,
						   sai_attr_capability_t *c)
{
	const char *compute = profile("FOREIGN_COMPUTE");
	bool has = type == SAI_OBJECT_TYPE_SWITCH ||
		   (type == SAI_OBJECT_TYPE_ACL_ENTRY && compute && id == strtoul(compute, NULL, 0));

	(void)sw;
	*c = (sai_attr_capability_t){ has, has, has };
	return SAI_STATUS_SUCCESS;
}

EXPORT sai_status_t sai_query_attribute_enum_values_capability(sai_object_id_t sw, sai_object_type_t type,
							       sai_attr_id_t id, sai_s32_list_t *list)
{
	(void)sw;
	if (type != SAI_OBJECT_TYPE_HASH || id != SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST)
		return SAI_STATUS_NOT_SUPPORTED;
	list->count = 1;
	list->list[0] = SAI_NATIVE_HASH_FIELD_RDMA_BTH_DEST_QP;
	return SAI_STATUS_SUCCESS;
}
