// SPDX-License-Identifier: Apache-2.0
/* The method tables. Without a method here an API answers as NULL does: not implemented. */
#include "api.h"

#include <pthread.h>

#include "acl.h"
#include "audit.h"
#include "commit.h"
#include "counter.h"
#include "hash.h"
#include "mirror.h"
#include "object.h"
#include "policer.h"
#include "port.h"
#include "queue_object.h"
#include "route.h"
#include "scheduler.h"
#include "sluice.h"
#include "switch.h"
#include "trap.h"
#include "udf.h"

pthread_mutex_t api_lock = PTHREAD_MUTEX_INITIALIZER;
struct profile api_profile;

/* Each type after those whose objects it refers to: so objects are restored. */
static const struct type *const types[] = {
	&switch_type,	 &port_type,	       &queue_type,
	&udf_match_type, &udf_group_type,      &udf_type,
	&scheduler_type, &policer_type,	       &trap_group_type,
	&trap_type,	 &samplepacket_type,   &mirror_type,
	&hash_type,	 &virtual_router_type, &router_interface_type,
	&next_hop_type,	 &next_hop_group_type, &next_hop_group_member_type,
	&acl_table_type, &acl_counter_type,    &acl_entry_type,
};

static sai_status_t audit_locked(sai_object_id_t switch_id, uint32_t *piece, uint32_t *n, sai_sluice_drift_t *drifts)
{
	struct drift_list l = { .out = drifts, .room = drifts && n ? *n : 0 };
	uint32_t next = piece ? *piece : 0;
	sai_status_t status;

	if (!n || !piece)
		return SAI_STATUS_INVALID_PARAMETER;
	pthread_mutex_lock(&api_lock);
	status = object_switch() && object_switch()->id == switch_id ? audit(&next, &l) : SAI_STATUS_INVALID_OBJECT_ID;
	pthread_mutex_unlock(&api_lock);
	*n = l.count;
	if (!status && l.count > l.room)
		return SAI_STATUS_BUFFER_OVERFLOW;
	if (!status)
		*piece = next;
	return status;
}

static sai_status_t mend_locked(sai_object_id_t switch_id, const sai_sluice_drift_t *drift)
{
	sai_status_t status, committed = SAI_STATUS_SUCCESS;

	if (!drift)
		return SAI_STATUS_INVALID_PARAMETER;
	pthread_mutex_lock(&api_lock);
	status = object_switch() && object_switch()->id == switch_id ? audit_mend(drift) : SAI_STATUS_INVALID_OBJECT_ID;
	if (!status)
		committed = commit();
	pthread_mutex_unlock(&api_lock);
	return status ? status : committed;
}

void api_open(void)
{
	sluice_api.audit = audit_locked;
	sluice_api.mend = mend_locked;
	type_register(types, sizeof(types) / sizeof(types[0]));
	object_commit_by(commit);
}

#define LOCKED(call) \
	do { \
		sai_status_t status; \
		pthread_mutex_lock(&api_lock); \
		status = call; \
		pthread_mutex_unlock(&api_lock); \
		return status; \
	} while (0)

static sai_status_t create(const struct type *type, sai_object_id_t *id, sai_object_id_t switch_id, uint32_t n,
			   const sai_attribute_t *list)
{
	if (!object_switch() || object_switch()->id != switch_id)
		return SAI_STATUS_INVALID_OBJECT_ID;
	if (!id || (n && !list))
		return SAI_STATUS_INVALID_PARAMETER;
	return object_create(type, n, list, id);
}

#define SET_AND_GET(name) \
	static sai_status_t name##_set(sai_object_id_t id, const sai_attribute_t *attr) \
	{ \
		LOCKED(attr ? object_set(&name##_type, id, attr) : SAI_STATUS_INVALID_PARAMETER); \
	} \
	static sai_status_t name##_get(sai_object_id_t id, uint32_t n, sai_attribute_t *list) \
	{ \
		LOCKED(list ? object_get(&name##_type, id, n, list) : SAI_STATUS_INVALID_PARAMETER); \
	}

#define QUAD(name) \
	static sai_status_t name##_create(sai_object_id_t *id, sai_object_id_t sw, uint32_t n, \
					  const sai_attribute_t *list) \
	{ \
		LOCKED(create(&name##_type, id, sw, n, list)); \
	} \
	static sai_status_t name##_remove(sai_object_id_t id) \
	{ \
		LOCKED(object_remove(&name##_type, id)); \
	} \
	SET_AND_GET(name)

QUAD(router_interface)
QUAD(next_hop)
QUAD(next_hop_group)
QUAD(next_hop_group_member)
QUAD(acl_table)
QUAD(acl_entry)
QUAD(acl_counter)
QUAD(hash)
QUAD(udf)
QUAD(udf_match)
QUAD(udf_group)
QUAD(policer)
QUAD(trap)
QUAD(trap_group)
QUAD(samplepacket)
QUAD(mirror)
QUAD(scheduler)
SET_AND_GET(switch)
SET_AND_GET(port)
SET_AND_GET(queue)

static sai_status_t create_switch(sai_object_id_t *id, uint32_t n, const sai_attribute_t *list)
{
	LOCKED(id && (list || !n) ? switch_create(&api_profile, n, list, id) : SAI_STATUS_INVALID_PARAMETER);
}

static sai_status_t remove_switch(sai_object_id_t id)
{
	LOCKED(switch_remove(id));
}

static sai_status_t get_port_stats(sai_object_id_t id, uint32_t n, const sai_stat_id_t *ids, uint64_t *values)
{
	LOCKED(port_stats(id, n, ids, values));
}

static sai_status_t get_port_stats_ext(sai_object_id_t id, uint32_t n, const sai_stat_id_t *ids, sai_stats_mode_t mode,
				       uint64_t *values)
{
	LOCKED(mode == SAI_STATS_MODE_READ ? port_stats(id, n, ids, values) : SAI_STATUS_NOT_SUPPORTED);
}

static sai_status_t get_policer_stats(sai_object_id_t id, uint32_t n, const sai_stat_id_t *ids, uint64_t *values)
{
	LOCKED(policer_stats(id, n, ids, values));
}

static sai_status_t clear_policer_stats(sai_object_id_t id, uint32_t n, const sai_stat_id_t *ids)
{
	(void)n;
	(void)ids; /* a policer's statistics are cleared together */
	LOCKED(policer_clear(id));
}

static sai_status_t get_queue_stats(sai_object_id_t id, uint32_t n, const sai_stat_id_t *ids, uint64_t *values)
{
	LOCKED(queue_stats(id, n, ids, values));
}

static sai_status_t get_queue_stats_ext(sai_object_id_t id, uint32_t n, const sai_stat_id_t *ids, sai_stats_mode_t mode,
					uint64_t *values)
{
	LOCKED(mode == SAI_STATS_MODE_READ ? queue_stats(id, n, ids, values) : SAI_STATUS_NOT_SUPPORTED);
}

static sai_status_t clear_queue_stats(sai_object_id_t id, uint32_t n, const sai_stat_id_t *ids)
{
	LOCKED(queue_clear(id, n, ids));
}

static sai_switch_api_t switch_api = {
	.create_switch = create_switch,
	.remove_switch = remove_switch,
	.set_switch_attribute = switch_set,
	.get_switch_attribute = switch_get,
};

static sai_port_api_t port_api = {
	.set_port_attribute = port_set,
	.get_port_attribute = port_get,
	.get_port_stats = get_port_stats,
	.get_port_stats_ext = get_port_stats_ext,
};

static sai_queue_api_t queue_api = {
	.set_queue_attribute = queue_set,
	.get_queue_attribute = queue_get,
	.get_queue_stats = get_queue_stats,
	.get_queue_stats_ext = get_queue_stats_ext,
	.clear_queue_stats = clear_queue_stats,
};

static sai_scheduler_api_t scheduler_api = {
	.create_scheduler = scheduler_create,
	.remove_scheduler = scheduler_remove,
	.set_scheduler_attribute = scheduler_set,
	.get_scheduler_attribute = scheduler_get,
};

static sai_router_interface_api_t router_interface_api = {
	.create_router_interface = router_interface_create,
	.remove_router_interface = router_interface_remove,
	.set_router_interface_attribute = router_interface_set,
	.get_router_interface_attribute = router_interface_get,
};

static sai_next_hop_api_t next_hop_api = {
	.create_next_hop = next_hop_create,
	.remove_next_hop = next_hop_remove,
	.set_next_hop_attribute = next_hop_set,
	.get_next_hop_attribute = next_hop_get,
};

static sai_next_hop_group_api_t next_hop_group_api = {
	.create_next_hop_group = next_hop_group_create,
	.remove_next_hop_group = next_hop_group_remove,
	.set_next_hop_group_attribute = next_hop_group_set,
	.get_next_hop_group_attribute = next_hop_group_get,
	.create_next_hop_group_member = next_hop_group_member_create,
	.remove_next_hop_group_member = next_hop_group_member_remove,
	.set_next_hop_group_member_attribute = next_hop_group_member_set,
	.get_next_hop_group_member_attribute = next_hop_group_member_get,
};

static sai_acl_api_t acl_api = {
	.create_acl_table = acl_table_create,
	.remove_acl_table = acl_table_remove,
	.set_acl_table_attribute = acl_table_set,
	.get_acl_table_attribute = acl_table_get,
	.create_acl_entry = acl_entry_create,
	.remove_acl_entry = acl_entry_remove,
	.set_acl_entry_attribute = acl_entry_set,
	.get_acl_entry_attribute = acl_entry_get,
	.create_acl_counter = acl_counter_create,
	.remove_acl_counter = acl_counter_remove,
	.set_acl_counter_attribute = acl_counter_set,
	.get_acl_counter_attribute = acl_counter_get,
};

static sai_hash_api_t hash_api = {
	.create_hash = hash_create,
	.remove_hash = hash_remove,
	.set_hash_attribute = hash_set,
	.get_hash_attribute = hash_get,
};

static sai_udf_api_t udf_api = {
	.create_udf = udf_create,
	.remove_udf = udf_remove,
	.set_udf_attribute = udf_set,
	.get_udf_attribute = udf_get,
	.create_udf_match = udf_match_create,
	.remove_udf_match = udf_match_remove,
	.set_udf_match_attribute = udf_match_set,
	.get_udf_match_attribute = udf_match_get,
	.create_udf_group = udf_group_create,
	.remove_udf_group = udf_group_remove,
	.set_udf_group_attribute = udf_group_set,
	.get_udf_group_attribute = udf_group_get,
};

static sai_policer_api_t policer_api = {
	.create_policer = policer_create,
	.remove_policer = policer_remove,
	.set_policer_attribute = policer_set,
	.get_policer_attribute = policer_get,
	.get_policer_stats = get_policer_stats,
	.clear_policer_stats = clear_policer_stats,
};

static sai_hostif_api_t hostif_api = {
	.create_hostif_trap_group = trap_group_create,
	.remove_hostif_trap_group = trap_group_remove,
	.set_hostif_trap_group_attribute = trap_group_set,
	.get_hostif_trap_group_attribute = trap_group_get,
	.create_hostif_user_defined_trap = trap_create,
	.remove_hostif_user_defined_trap = trap_remove,
	.set_hostif_user_defined_trap_attribute = trap_set,
	.get_hostif_user_defined_trap_attribute = trap_get,
};

static sai_samplepacket_api_t samplepacket_api = {
	.create_samplepacket = samplepacket_create,
	.remove_samplepacket = samplepacket_remove,
	.set_samplepacket_attribute = samplepacket_set,
	.get_samplepacket_attribute = samplepacket_get,
};

static sai_mirror_api_t mirror_api = {
	.create_mirror_session = mirror_create,
	.remove_mirror_session = mirror_remove,
	.set_mirror_session_attribute = mirror_set,
	.get_mirror_session_attribute = mirror_get,
};

static const struct {
	sai_api_t api;
	void *table;
} tables[] = {
	{ SAI_API_SWITCH, &switch_api },
	{ SAI_API_PORT, &port_api },
	{ SAI_API_QUEUE, &queue_api },
	{ SAI_API_ACL, &acl_api },
	{ SAI_API_HASH, &hash_api },
	{ SAI_API_UDF, &udf_api },
	{ SAI_API_POLICER, &policer_api },
	{ SAI_API_HOSTIF, &hostif_api },
	{ SAI_API_MIRROR, &mirror_api },
	{ SAI_API_SAMPLEPACKET, &samplepacket_api },
	{ SAI_API_SCHEDULER, &scheduler_api },
	{ SAI_API_SLUICE, &sluice_api },
	{ SAI_API_ROUTER_INTERFACE, &router_interface_api },
	{ SAI_API_NEXT_HOP, &next_hop_api },
	{ SAI_API_NEXT_HOP_GROUP, &next_hop_group_api },
};

void *api_table(sai_api_t api)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (tables[i].api == api)
			return tables[i].table;
	return NULL;
}
