// SPDX-License-Identifier: Apache-2.0
#include "switch.h"

#include <stdlib.h>
#include <string.h>

#include "acl.h"
#include "asic.h"
#include "commit.h"
#include "flows.h"
#include "hash.h"
#include "hide.h"
#include "hotplug.h"
#include "index.h"
#include "hold_queue.h"
#include "log.h"
#include "multipath.h"
#include "plane.h"
#include "policer.h"
#include "port.h"
#include "qdisc.h"
#include "queue.h"
#include "queue_object.h"
#include "restore.h"
#include "route.h"
#include "slots.h"
#include "trap.h"
#include "value.h"

#define SWITCH_NUMBER 1

#define OID sizeof(sai_object_id_t)

static const struct attribute switch_attributes[] = {
	{ SAI_SWITCH_ATTR_INIT_SWITCH, PLAIN, sizeof(bool), CREATE | MUST, NULL },
	{ SAI_SWITCH_ATTR_SWITCH_PROFILE_ID, PLAIN, sizeof(uint32_t), CREATE, NULL },
	{ SAI_SWITCH_ATTR_SWITCH_HARDWARE_INFO, LIST, sizeof(int8_t), CREATE, NULL },
	{ SAI_SWITCH_ATTR_PACKET_EVENT_NOTIFY, PLAIN, sizeof(void *), CREATE | SET | VOLATILE, NULL },
	{ SAI_SWITCH_ATTR_SLUICE_EXTENSION, PLAIN, sizeof(uint64_t), 0, "extension" },
	{ SAI_SWITCH_ATTR_FLOW_EVENT_NOTIFY, PLAIN, sizeof(void *), CREATE | SET | VOLATILE, "flows" },
	{ SAI_SWITCH_ATTR_FLOW_KEY, PLAIN, sizeof(int32_t), CREATE | SET, "flows" },
	{ SAI_SWITCH_ATTR_STREAM_SEED, PLAIN, sizeof(uint32_t), CREATE | SET, "flows" },
	{ SAI_SWITCH_ATTR_RELOAD_PORTS, PLAIN, sizeof(bool), SET | VOLATILE, "reload" },
	{ SAI_SWITCH_ATTR_NUMBER_OF_ACTIVE_PORTS, PLAIN, sizeof(uint32_t), 0, NULL },
	{ SAI_SWITCH_ATTR_PORT_LIST, LIST, OID, 0, NULL },
	{ SAI_SWITCH_ATTR_CPU_PORT, PLAIN, OID, 0, NULL },
	{ SAI_SWITCH_ATTR_NUMBER_OF_UNICAST_QUEUES, PLAIN, sizeof(uint32_t), 0, NULL },
	{ SAI_SWITCH_ATTR_ACL_ENTRY_MINIMUM_PRIORITY, PLAIN, sizeof(uint32_t), 0, NULL },
	{ SAI_SWITCH_ATTR_ACL_ENTRY_MAXIMUM_PRIORITY, PLAIN, sizeof(uint32_t), 0, NULL },
	{ SAI_SWITCH_ATTR_ACL_STAGE_INGRESS, PLAIN, sizeof(sai_acl_capability_t), 0, NULL },
	{ SAI_SWITCH_ATTR_DEFAULT_VIRTUAL_ROUTER_ID, PLAIN, OID, 0, "redirect" },
	{ SAI_SWITCH_ATTR_ECMP_HASH, PLAIN, OID, 0, NULL },
	{ SAI_SWITCH_ATTR_ECMP_DEFAULT_HASH_SEED, PLAIN, sizeof(uint32_t), SET, NULL },
	{ SAI_SWITCH_ATTR_ECMP_HASH_IPV4, PLAIN, OID, SET | REFERENCE, NULL },
	{ SAI_SWITCH_ATTR_ECMP_HASH_IPV6, PLAIN, OID, SET | REFERENCE, NULL },
	{ SAI_SWITCH_ATTR_ECMP_HASH_IPV4_RDMA, PLAIN, OID, SET | REFERENCE, "hash" },
	{ SAI_SWITCH_ATTR_ECMP_HASH_IPV6_RDMA, PLAIN, OID, SET | REFERENCE, "hash" },
	{ ATTR_SYSCTLS, LIST, sizeof(int32_t), 0, NULL },
};

/* The actions of ACL entries, by their numbers of sai_acl_action_type_t. */
static sai_status_t actions(sai_acl_capability_t *c)
{
	int32_t list[32];
	uint32_t n = acl_action_types(list, 32);

	c->is_action_list_mandatory = false;
	return value_fill(&c->action_list, list, n, sizeof(list[0]));
}

static sai_status_t switch_get(struct object *o, sai_attribute_t *attr)
{
	(void)o;
	switch (attr->id) {
	case SAI_SWITCH_ATTR_NUMBER_OF_ACTIVE_PORTS:
		attr->value.u32 = port_count();
		return SAI_STATUS_SUCCESS;
	case SAI_SWITCH_ATTR_PORT_LIST:
		return port_list(&attr->value.objlist);
	case SAI_SWITCH_ATTR_NUMBER_OF_UNICAST_QUEUES:
		attr->value.u32 = queue_count(0);
		return SAI_STATUS_SUCCESS;
	case SAI_SWITCH_ATTR_CPU_PORT: /* a port that lacks a netdev */
		attr->value.oid = object_id(SAI_OBJECT_TYPE_PORT, 0);
		return SAI_STATUS_SUCCESS;
	case SAI_SWITCH_ATTR_ACL_ENTRY_MAXIMUM_PRIORITY:
		attr->value.u32 = INT32_MAX;
		return SAI_STATUS_SUCCESS;
	case SAI_SWITCH_ATTR_ACL_STAGE_INGRESS:
		return actions(&attr->value.aclcapability);
	case SAI_SWITCH_ATTR_SLUICE_EXTENSION:
		attr->value.u64 = SAI_SLUICE_MAGIC << 32 | SAI_SLUICE_AUDITS |
				  (hidden("flows") ? SAI_SLUICE_VERSION_LABELS : SAI_SLUICE_VERSION_SESSIONS);
		return SAI_STATUS_SUCCESS;
	case SAI_SWITCH_ATTR_DEFAULT_VIRTUAL_ROUTER_ID:
		attr->value.oid = route_default();
		return SAI_STATUS_SUCCESS;
	case SAI_SWITCH_ATTR_ECMP_HASH:
		attr->value.oid = hash_default();
		return SAI_STATUS_SUCCESS;
	case SAI_SWITCH_ATTR_ECMP_DEFAULT_HASH_SEED:
		return multipath_seed(&attr->value.u32);
	}
	return SAI_STATUS_ITEM_NOT_FOUND;
}

/* Gives the programs the switch's attributes of flows. */
static sai_status_t apply_flows(const struct object *o)
{
	const sai_attribute_value_t *notify = object_value(o, SAI_SWITCH_ATTR_FLOW_EVENT_NOTIFY);
	const sai_attribute_value_t *key = object_value(o, SAI_SWITCH_ATTR_FLOW_KEY);
	const sai_attribute_value_t *seed = object_value(o, SAI_SWITCH_ATTR_STREAM_SEED);

	if (key && key->s32 != SAI_SLUICE_FLOW_KEY_FLOW_LABEL && key->s32 != SAI_SLUICE_FLOW_KEY_FIVE_TUPLE)
		return SAI_STATUS_INVALID_ATTR_VALUE_0;
	flows_set_keys(key && key->s32 == SAI_SLUICE_FLOW_KEY_FIVE_TUPLE, seed ? seed->u32 : 0);
	return flows_notify(notify ? notify->ptr : NULL);
}

/* The profile of the switch; queues keep it, too. */
static struct profile with;

static sai_status_t switch_set(struct object *o, sai_attr_id_t id)
{
	const sai_attribute_value_t *v = object_value(o, id);

	if (id == SAI_SWITCH_ATTR_RELOAD_PORTS)
		return v->booldata ? hotplug(with.get("SLUICE_PORTS")) : SAI_STATUS_SUCCESS;

	if (id == SAI_SWITCH_ATTR_PACKET_EVENT_NOTIFY) {
		trap_notify(v->ptr);
		return SAI_STATUS_SUCCESS;
	}
	if (id == SAI_SWITCH_ATTR_FLOW_EVENT_NOTIFY || id == SAI_SWITCH_ATTR_FLOW_KEY ||
	    id == SAI_SWITCH_ATTR_STREAM_SEED)
		return apply_flows(o);
	if (id == SAI_SWITCH_ATTR_ECMP_DEFAULT_HASH_SEED)
		return multipath_set_seed(v->u32);
	if (v->oid != SAI_NULL_OBJECT_ID && !object_find_of(v->oid, SAI_OBJECT_TYPE_HASH))
		return SAI_STATUS_INVALID_ATTR_VALUE_0;
	hash_change();
	return SAI_STATUS_SUCCESS;
}

const struct type switch_type = {
	.type = SAI_OBJECT_TYPE_SWITCH,
	.name = "switch",
	.attributes = switch_attributes,
	.count = sizeof(switch_attributes) / sizeof(switch_attributes[0]),
	.built_in = true,
	.set = switch_set,
	.get = switch_get,
};

/* Ends all work beside forwarding: held packets have left then. */
static void stop(void)
{
	trap_stop();
	flows_close();
	hold_queues_close();
}

static void let_go(void)
{
	stop();
	slots_close();
	object_forget();
	index_forget();
	queue_forget();
	port_forget();
	plane_close();
}

/* Reads the profile of queues. Without it there are none, and those of an earlier process are removed. */
static bool queue_profile(const struct profile *profile, struct queue_options *options, bool *asked)
{
	const char *text = profile->get("SLUICE_QUEUES");

	*asked = profile_is_set(profile, "SLUICE_QUEUES");
	if (*asked && strcmp(text, "8") != 0) {
		fail("SLUICE_QUEUES is \"%s\"; 0 and %d are allowed", text, SOFTSAI_QUEUES);
		return false;
	}
	if (!profile_check_ports(profile, "SLUICE_QUEUE_RATE", 1000000) ||
	    !profile_check_ports(profile, "SLUICE_QUEUE_BYTES", 1 << 30) ||
	    !profile_number(profile, "SLUICE_LANES", 0, SOFTSAI_HOLDS, SOFTSAI_HOLDS, &options->holds) ||
	    !profile_number(profile, "SLUICE_HOLDS", 0, SOFTSAI_HOLDS, options->holds, &options->holds) ||
	    !profile_number(profile, "SLUICE_LANE_BYTES", 65536, 1 << 30, 4 << 20, &options->hold_octets) ||
	    !profile_number(profile, "SLUICE_HOLD_BYTES", 65536, 1 << 30, options->hold_octets,
			    &options->hold_octets) ||
	    !profile_number(profile, "SLUICE_HOLD_FROZEN_MS", 50, 60000, SOFTSAI_HOLD_FROZEN_MS,
			    &options->hold_frozen_ms) ||
	    !profile_number(profile, "SLUICE_REALTIME", 0, 99, 10, &options->realtime))
		return false;
	options->profile = profile;
	if (hidden("queues"))
		*asked = false;
	else if (!*asked)
		hide_also("queues");
	if (!*asked || hidden("extension"))
		hide_also("flows");
	return true;
}

static sai_status_t open_plane(const struct profile *profile, bool *adopted)
{
	struct plane_options options = {};
	struct queue_options queues;
	uint32_t *ports, *others;
	uint64_t entries;
	sai_status_t status;

	if (!profile_number(profile, "SLUICE_ACL_ENTRIES", 1, 1 << 24, SOFTSAI_ENTRIES, &entries) ||
	    !queue_profile(profile, &queues, &options.queues))
		return SAI_STATUS_INVALID_PARAMETER;
	options.entries = entries;
	options.asic = asic_limits();
	status = port_find(profile->get("SLUICE_PORTS"));
	if (status)
		return status;
	options.ifindexes = ports = port_indexes(&options.ports);
	options.others = others = port_others(&options.other_count);
	if (!ports || !others || plane_open(&options, adopted))
		status = SAI_STATUS_FAILURE;
	if (!status)
		slots_remember(ports, options.ports);
	if (!status && options.queues)
		queue_open(&queues, ports, options.ports);
	else if (!status)
		status = queue_release(ports, options.ports);
	if (!status)
		queue_release(others, options.other_count); /* the ports are there all the same */
	free(ports);
	free(others);
	return status;
}

static sai_status_t make_switch(uint32_t count, const sai_attribute_t *list, sai_object_id_t *id)
{
	sai_status_t status;

	*id = object_id(SAI_OBJECT_TYPE_SWITCH, SWITCH_NUMBER);
	status = object_build(&switch_type, *id, count, list);
	if (!status)
		status = port_make();
	if (!status)
		status = queue_make();
	if (!status)
		status = hash_make_default();
	if (!status)
		status = route_make_default();
	return status;
}

/* Takes queues and programs off the ports. */
static sai_status_t detach(void)
{
	size_t n;
	uint32_t *all = port_indexes(&n);
	sai_status_t status = all ? queue_release(all, n) : SAI_STATUS_NO_MEMORY;

	free(all);
	if (plane_detach())
		status = SAI_STATUS_FAILURE;
	return status;
}

/*
 * Removes the remains of an earlier process: program, maps, changed sysctls. One without
 * objects left only queues, which are taken over with their packets.
 */
static sai_status_t wipe(const struct profile *profile, uint32_t count, const sai_attribute_t *list)
{
	bool adopted = false;
	sai_object_id_t id;
	sai_status_t status = open_plane(profile, &adopted);

	if (!status)
		status = make_switch(count, list, &id);
	/* Only the former sysctls are needed; errors of other records are harmless. */
	if (!status && adopted && restore_objects() == SAI_STATUS_SUCCESS && object_made() == 0 && !hash_managed()) {
		let_go();
		return SAI_STATUS_SUCCESS;
	}
	if (!status)
		status = hash_reset();
	if (!status)
		status = detach();
	let_go();
	return status;
}

/* Flows in queues and holds, as far as this machine can. */
static sai_status_t start_flows(const struct queue_options *options)
{
	sai_status_t status = hidden("flows") ? SAI_STATUS_NOT_SUPPORTED : slots_open();

	if (!status)
		status = hold_queues_open(hidden("hold") ? 0 : options->holds, options->realtime);
	if (!status || (status == SAI_STATUS_NOT_SUPPORTED && slots_lines()))
		status = flows_open(object_switch()->id, options->realtime);
	if (status == SAI_STATUS_NOT_SUPPORTED && !hidden("flows"))
		hide_also("flows");
	return status == SAI_STATUS_NOT_SUPPORTED ? SAI_STATUS_SUCCESS : status;
}

static sai_status_t start(const struct profile *profile, bool adopted)
{
	struct queue_options options;
	uint64_t rate, burst;
	sai_status_t status;
	bool asked;

	if (!profile_number(profile, "SLUICE_CPU_RATE", 1, 100000000, 10000, &rate) ||
	    !profile_number(profile, "SLUICE_CPU_BURST", 1, 100000000, 1000, &burst))
		return SAI_STATUS_INVALID_PARAMETER;
	status = policer_guard_cpu(rate, burst);
	if (!status && adopted)
		status = restore_objects();
	if (!status)
		status = commit_all();
	if (!status && queue_profile(profile, &options, &asked))
		status = start_flows(&options);
	if (!status && !hidden("flows"))
		status = queue_apply_marks();
	if (!status && !hidden("flows"))
		status = apply_flows(object_switch());
	if (!status)
		status = trap_start(object_switch()->id);
	return status;
}

sai_status_t switch_create(const struct profile *given, uint32_t count, const sai_attribute_t *list,
			   sai_object_id_t *id)
{
	const struct profile *profile = &with;
	const sai_attribute_value_t *notify;
	sai_status_t status = SAI_STATUS_SUCCESS;
	bool adopted = false;

	if (object_switch())
		return SAI_STATUS_ITEM_ALREADY_EXISTS;
	if (!asic_open(given, &with))
		return SAI_STATUS_INVALID_PARAMETER;
	hide(profile->get("SLUICE_HIDE"));
	profile_warn_unknown(profile);
	if (profile_is_set(profile, "SLUICE_COLD"))
		status = wipe(profile, count, list);
	if (!status)
		status = open_plane(profile, &adopted);
	if (!status)
		status = make_switch(count, list, id);
	if (!status)
		status = start(profile, adopted);
	if (status) {
		if (adopted)
			fail("the switch of an earlier process cannot be taken over; SLUICE_COLD=1 begins without it");
		let_go();
		return status;
	}
	notify = object_value(object_switch(), SAI_SWITCH_ATTR_PACKET_EVENT_NOTIFY);
	trap_notify(notify ? notify->ptr : NULL);
	return SAI_STATUS_SUCCESS;
}

sai_status_t switch_remove(sai_object_id_t id)
{
	sai_status_t status = SAI_STATUS_SUCCESS;

	if (!object_switch() || object_switch()->id != id)
		return SAI_STATUS_INVALID_OBJECT_ID;
	stop();
	if (object_made() == 0 && !hash_managed())
		status = detach();
	let_go();
	return status;
}
