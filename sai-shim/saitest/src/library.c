/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A SAI library for tests, whose ASIC is a list of objects. It writes each call
 * that goes well to a file, a line each, and is directed by the profile: see the Go package
 * beside it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls.h"
#include "flows.h"
#include "owner.h"

#define EXPORT __attribute__((visibility("default")))
#define MAX_QUEUES 32 /* of a port */

static sai_object_id_t the_switch, trap; /* trap: the last user-defined one */

/* Packets to the CPU. */
static sai_packet_event_notification_fn event;
static pthread_t thread;
static bool running;
static uint32_t sequence;

/*
 * Raises packets by PACKETS, COUNT and SIZE: each has its number in front, in
 * network byte order, and then octets that count up from that.
 */
static void *raise_packets(void *port)
{
	sai_attribute_t attributes[2] = {
		{ .id = SAI_HOSTIF_PACKET_ATTR_INGRESS_PORT, .value.oid = *(sai_object_id_t *)port },
		{ .id = SAI_HOSTIF_PACKET_ATTR_HOSTIF_TRAP_ID, .value.oid = trap },
	};
	static uint8_t packet[65536];
	unsigned count = 0, size = 4;

	sscanf(profile("PACKETS"), "%u %u", &count, &size);
	for (unsigned n = 0; n < count && size >= 4 && size <= sizeof(packet); n++, sequence++) {
		for (unsigned i = 0; i < size; i++)
			packet[i] = i < 4 ? sequence >> (24 - 8 * i) : sequence + i;
		event(the_switch, size, packet, trap ? 2 : 1, attributes);
	}
	return NULL;
}

static void finish_packets(void)
{
	if (running)
		pthread_join(thread, NULL);
	running = false;
}

/* Binding an ACL to a port begins to trap packets there. */
static void start_packets(sai_object_id_t port)
{
	static sai_object_id_t from;

	finish_packets();
	from = port;
	running = event && profile("PACKETS") && pthread_create(&thread, NULL, raise_packets, &from) == 0;
}

/* Makes maps of the profile's QOS, and gives them to a port, or to the switch. */
static void make_maps(sai_object_id_t to, sai_attr_id_t dscp, sai_attr_id_t queue)
{
	sai_attribute_t a = { .id = dscp, .value.oid = store_add(SAI_OBJECT_TYPE_QOS_MAP) };

	store_put(to, &a);
	a = (sai_attribute_t){ .id = queue, .value.oid = store_add(SAI_OBJECT_TYPE_QOS_MAP) };
	store_put(to, &a);
}

/* The pairs of a map, of which QOS has those of DSCP before a ";" and those of classes behind. */
static sai_status_t get_qos_map_attribute(sai_object_id_t id, uint32_t n, sai_attribute_t *list)
{
	const char *at = profile("QOS");
	sai_qos_map_t *pairs = (void *)list->value.u8list.list;
	bool queues = number_of(id) % 2 == 0;
	uint32_t count = 0;
	sai_status_t status = failing("get", "qos_map");

	record("get", SAI_OBJECT_TYPE_QOS_MAP, id, 0, NULL);
	if (status != SAI_STATUS_SUCCESS)
		return status;
	if (n != 1 || list->id != SAI_QOS_MAP_ATTR_MAP_TO_VALUE_LIST || !at || type_of(id) != SAI_OBJECT_TYPE_QOS_MAP ||
	    !store_has(id))
		return SAI_STATUS_INVALID_PARAMETER;
	if (queues && strchr(at, ';'))
		at = strchr(at, ';') + 1;
	while (*at && *at != ';') {
		char *end;
		unsigned from = strtoul(at, &end, 0), to = strtoul(end + 1, &end, 0);

		if (count < list->value.u8list.count) {
			pairs[count] = (sai_qos_map_t){ 0 };
			*(queues ? &pairs[count].key.tc : &pairs[count].key.dscp) = from;
			*(queues ? &pairs[count].value.queue_index : &pairs[count].value.tc) = to;
		}
		count++;
		at = *end == ' ' ? end + 1 : end;
	}
	status = count > list->value.u8list.count ? SAI_STATUS_BUFFER_OVERFLOW : SAI_STATUS_SUCCESS;
	list->value.u8list.count = count;
	return status;
}

/* Makes ports of PORTS: words of lanes with commas between. */
static void make_ports(void)
{
	const char *at = profile("PORTS");
	sai_attribute_t list = { .id = SAI_SWITCH_ATTR_PORT_LIST };
	sai_object_id_t ports[512];
	const char *text = profile("QUEUES");
	unsigned nqueues = text ? strtoul(text, NULL, 0) : 8;

	if (nqueues > MAX_QUEUES)
		nqueues = MAX_QUEUES;
	list.value.objlist.list = ports;
	while (at && *at && list.value.objlist.count < 512) {
		uint32_t lanes[16];
		sai_object_id_t queues[MAX_QUEUES], port = store_add(SAI_OBJECT_TYPE_PORT);
		sai_attribute_t lane = { .id = SAI_PORT_ATTR_HW_LANE_LIST };
		sai_attribute_t queue = { .id = SAI_PORT_ATTR_QOS_QUEUE_LIST };
		sai_attribute_t speed = { .id = SAI_PORT_ATTR_SPEED, .value.u32 = 100000 };
		char *end;

		lane.value.u32list.list = lanes;
		for (;; at = end + 1) {
			lanes[lane.value.u32list.count++] = strtoul(at, &end, 0);
			if (*end != ',' || lane.value.u32list.count == 16)
				break;
		}
		at = *end ? end + 1 : end;
		for (unsigned i = 0; i < nqueues; i++)
			queues[i] = store_add(SAI_OBJECT_TYPE_QUEUE);
		queue.value.objlist.count = nqueues;
		queue.value.objlist.list = queues;
		store_put(port, &lane);
		store_put(port, &queue);
		store_put(port, &speed);
		if (profile("QOS") && list.value.objlist.count == 0)
			make_maps(port, SAI_PORT_ATTR_QOS_DSCP_TO_TC_MAP, SAI_PORT_ATTR_QOS_TC_TO_QUEUE_MAP);
		ports[list.value.objlist.count++] = port;
	}
	store_put(the_switch, &list);
	list = (sai_attribute_t){ .id = SAI_SWITCH_ATTR_DEFAULT_VIRTUAL_ROUTER_ID };
	list.value.oid = store_add(SAI_OBJECT_TYPE_VIRTUAL_ROUTER);
	store_put(the_switch, &list);
}

/* The one switch; of an earlier process it may be there already. */
static sai_status_t create_switch(sai_object_id_t *id, uint32_t count, const sai_attribute_t *list)
{
	sai_status_t status = failing("create", "switch");

	if (status != SAI_STATUS_SUCCESS)
		return false_id(status, id);
	the_switch = (uint64_t)SAI_OBJECT_TYPE_SWITCH << 48 | 1;
	owner_enter();
	if (!store_has(the_switch)) {
		store_add(SAI_OBJECT_TYPE_SWITCH);
		make_ports();
	}
	owner_leave();
	*id = the_switch;
	record("create", SAI_OBJECT_TYPE_SWITCH, *id, count, list);
	return SAI_STATUS_SUCCESS;
}

static sai_status_t remove_switch(sai_object_id_t id)
{
	if (id != the_switch)
		return SAI_STATUS_INVALID_OBJECT_ID;
	record("remove", SAI_OBJECT_TYPE_SWITCH, id, 0, NULL);
	return SAI_STATUS_SUCCESS;
}

static sai_status_t set_switch_attribute(sai_object_id_t id, const sai_attribute_t *a)
{
	if (a->id == SAI_SWITCH_ATTR_PACKET_EVENT_NOTIFY) {
		sai_status_t status = failing("set", "switch.PACKET_EVENT_NOTIFY");

		if (status != SAI_STATUS_SUCCESS)
			return status;
		event = *(const sai_packet_event_notification_fn *)&a->value.ptr;
		record("set", SAI_OBJECT_TYPE_SWITCH, id, 1, a);
		return SAI_STATUS_SUCCESS;
	}
	if (a->id == SAI_SWITCH_ATTR_FLOW_EVENT_NOTIFY && extension_version() >= SAI_SLUICE_VERSION_SESSIONS)
		flows_notify(a->value.ptr);
	if (a->id == SAI_SWITCH_ATTR_FLOW_EVENT2_NOTIFY && extension_version() < SAI_SLUICE_VERSION_SESSIONS)
		flows_notify2(a->value.ptr);
	return set_object(SAI_OBJECT_TYPE_SWITCH, id, a);
}

static sai_status_t set_queue_attribute(sai_object_id_t id, const sai_attribute_t *a)
{
	sai_status_t status = set_object(SAI_OBJECT_TYPE_QUEUE, id, a);

	if (status == SAI_STATUS_SUCCESS && a->id == SAI_QUEUE_ATTR_FLOW_MONITOR_HIGH && a->value.u32)
		flows_monitor(the_switch, id);
	return status;
}

static sai_status_t set_port_attribute(sai_object_id_t id, const sai_attribute_t *a)
{
	sai_status_t status = SAI_STATUS_INVALID_PARAMETER;

	if (!profile("GROUPED") || a->id != SAI_PORT_ATTR_INGRESS_ACL ||
	    type_of(a->value.oid) != SAI_OBJECT_TYPE_ACL_TABLE)
		status = set_object(SAI_OBJECT_TYPE_PORT, id, a);
	if (status == SAI_STATUS_SUCCESS && a->id == SAI_PORT_ATTR_INGRESS_ACL)
		start_packets(id);
	return status;
}

#define SET(name, TYPE) \
	static sai_status_t set_##name##_attribute(sai_object_id_t id, const sai_attribute_t *a) \
	{ \
		return set_object(SAI_OBJECT_TYPE_##TYPE, id, a); \
	}
#define GET(name, TYPE) \
	static sai_status_t get_##name##_attribute(sai_object_id_t id, uint32_t n, sai_attribute_t *list) \
	{ \
		return get_object(SAI_OBJECT_TYPE_##TYPE, id, n, list); \
	}
#define STATS(name, TYPE) \
	static sai_status_t get_##name##_stats(sai_object_id_t id, uint32_t n, const sai_stat_id_t *ids, uint64_t *v) \
	{ \
		return stats_of(SAI_OBJECT_TYPE_##TYPE, id, n, ids, v); \
	}
#define TRIO(name, TYPE) \
	static sai_status_t create_##name(sai_object_id_t *id, sai_object_id_t sw, uint32_t n, \
					  const sai_attribute_t *list) \
	{ \
		sai_status_t status = SAI_STATUS_INVALID_OBJECT_ID; \
\
		if (sw && sw == the_switch) \
			status = create_object(SAI_OBJECT_TYPE_##TYPE, id, n, list); \
		if (status == SAI_STATUS_SUCCESS && \
		    SAI_OBJECT_TYPE_##TYPE == SAI_OBJECT_TYPE_HOSTIF_USER_DEFINED_TRAP) \
			trap = *id; \
		return status; \
	} \
	static sai_status_t remove_##name(sai_object_id_t id) \
	{ \
		return remove_object(SAI_OBJECT_TYPE_##TYPE, id); \
	} \
	GET(name, TYPE)
#define QUAD(name, TYPE) \
	TRIO(name, TYPE) \
	SET(name, TYPE)

GET(switch, SWITCH)
GET(port, PORT)
STATS(port, PORT)
GET(queue, QUEUE)
STATS(queue, QUEUE)
STATS(policer, POLICER)
QUAD(acl_table, ACL_TABLE)
QUAD(acl_entry, ACL_ENTRY)
QUAD(acl_counter, ACL_COUNTER)
QUAD(acl_table_group, ACL_TABLE_GROUP)
QUAD(acl_table_group_member, ACL_TABLE_GROUP_MEMBER)
QUAD(router_interface, ROUTER_INTERFACE)
QUAD(next_hop, NEXT_HOP)
QUAD(next_hop_group, NEXT_HOP_GROUP)
QUAD(next_hop_group_member, NEXT_HOP_GROUP_MEMBER)
QUAD(hash, HASH)
QUAD(udf, UDF)
QUAD(udf_match, UDF_MATCH)
QUAD(udf_group, UDF_GROUP)
QUAD(mirror_session, MIRROR_SESSION)
QUAD(samplepacket, SAMPLEPACKET)
QUAD(policer, POLICER)
QUAD(scheduler, SCHEDULER)
TRIO(hostif_trap_group, HOSTIF_TRAP_GROUP)
QUAD(hostif_table_entry, HOSTIF_TABLE_ENTRY)
QUAD(hostif_user_defined_trap, HOSTIF_USER_DEFINED_TRAP)

#define FOUR(name) create_##name, remove_##name, set_##name##_attribute, get_##name##_attribute

static sai_switch_api_t switch_api = { FOUR(switch), .get_switch_stats = NULL };
static sai_port_api_t port_api = { .set_port_attribute = set_port_attribute,
				   .get_port_attribute = get_port_attribute,
				   .get_port_stats = get_port_stats };
static sai_queue_api_t queue_api = { .set_queue_attribute = set_queue_attribute,
				     .get_queue_attribute = get_queue_attribute,
				     .get_queue_stats = get_queue_stats };
static const sai_acl_api_t acl_api = { FOUR(acl_table),
				       FOUR(acl_entry),
				       FOUR(acl_counter),
				       .create_acl_table_group = create_acl_table_group,
				       .remove_acl_table_group = remove_acl_table_group,
				       .set_acl_table_group_attribute = set_acl_table_group_attribute,
				       .get_acl_table_group_attribute = get_acl_table_group_attribute,
				       .create_acl_table_group_member = create_acl_table_group_member,
				       .remove_acl_table_group_member = remove_acl_table_group_member,
				       .set_acl_table_group_member_attribute = set_acl_table_group_member_attribute,
				       .get_acl_table_group_member_attribute = get_acl_table_group_member_attribute };
static sai_router_interface_api_t router_interface_api = { FOUR(router_interface), .get_router_interface_stats = NULL };
static sai_next_hop_api_t next_hop_api = { FOUR(next_hop), .create_next_hops = NULL };
static sai_next_hop_group_api_t next_hop_group_api = { FOUR(next_hop_group), FOUR(next_hop_group_member) };
static sai_hash_api_t hash_api = { FOUR(hash), .create_fine_grained_hash_field = NULL };
static sai_udf_api_t udf_api = { FOUR(udf), FOUR(udf_match), FOUR(udf_group) };
static sai_mirror_api_t mirror_api = { FOUR(mirror_session) };
static sai_samplepacket_api_t samplepacket_api = { FOUR(samplepacket) };
static sai_policer_api_t policer_api = { FOUR(policer), .get_policer_stats = get_policer_stats };
static sai_scheduler_api_t scheduler_api = { FOUR(scheduler) };
static sai_qos_map_api_t qos_map_api = { .get_qos_map_attribute = get_qos_map_attribute };
static sai_hostif_api_t hostif_api = { .create_hostif_table_entry = create_hostif_table_entry,
				       .remove_hostif_table_entry = remove_hostif_table_entry,
				       .set_hostif_table_entry_attribute = set_hostif_table_entry_attribute,
				       .get_hostif_table_entry_attribute = get_hostif_table_entry_attribute,
				       .create_hostif_trap_group = create_hostif_trap_group,
				       .remove_hostif_trap_group = remove_hostif_trap_group,
				       .get_hostif_trap_group_attribute = get_hostif_trap_group_attribute,
				       .create_hostif_user_defined_trap = create_hostif_user_defined_trap,
				       .remove_hostif_user_defined_trap = remove_hostif_user_defined_trap,
				       .set_hostif_user_defined_trap_attribute = set_hostif_user_defined_trap_attribute,
				       .get_hostif_user_defined_trap_attribute =
					       get_hostif_user_defined_trap_attribute };

/*
 * An ACL table as short as an old library's: without the methods after those of groups.
 * An unreadable page follows it.
 */
static char *pages;

static void *short_acl_table(void)
{
	size_t page = sysconf(_SC_PAGESIZE), size = offsetof(sai_acl_api_t, create_acl_table_chain_group);

	if (!pages) {
		pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE))
			abort();
		memcpy(pages + page - size, &acl_api, size);
	}
	return pages + page - size;
}

/*
 * Reads the whole profile as SONiC's virtual switch does since 202505: value NULL begins again, and
 * *variable is NULL before each call. Returns 0, or -1 where that never ends.
 */
static int read_profile(const sai_service_method_table_t *services)
{
	const char *variable, *value = NULL;
	int pairs = 0;

	services->profile_get_next_value(0, NULL, NULL);
	for (;; pairs++) {
		variable = NULL;
		if (services->profile_get_next_value(0, &variable, &value))
			return 0;
		if (pairs > 1000)
			return -1;
	}
}

EXPORT sai_status_t sai_api_initialize(uint64_t flags, const sai_service_method_table_t *services)
{
	sai_status_t status;

	(void)flags;
	if (calls_open(services))
		return SAI_STATUS_FAILURE;
	status = failing("initialize", "api");
	if (profile("ITERATOR") && read_profile(services))
		status = SAI_STATUS_FAILURE;
	if (status != SAI_STATUS_SUCCESS)
		calls_close();
	return status;
}

EXPORT sai_status_t sai_api_uninitialize(void)
{
	finish_packets();
	flows_close();
	calls_close();
	the_switch = trap = SAI_NULL_OBJECT_ID;
	event = NULL;
	if (pages)
		munmap(pages, 2 * sysconf(_SC_PAGESIZE));
	pages = NULL;
	return SAI_STATUS_SUCCESS;
}

EXPORT sai_status_t sai_api_query(sai_api_t api, void **table)
{
	static const struct {
		sai_api_t api;
		const char *name;
		void *table;
	} apis[] = {
		{ SAI_API_SWITCH, "switch", &switch_api },
		{ SAI_API_PORT, "port", &port_api },
		{ SAI_API_QUEUE, "queue", &queue_api },
		{ SAI_API_ACL, "acl", NULL },
		{ SAI_API_ROUTER_INTERFACE, "router_interface", &router_interface_api },
		{ SAI_API_NEXT_HOP, "next_hop", &next_hop_api },
		{ SAI_API_NEXT_HOP_GROUP, "next_hop_group", &next_hop_group_api },
		{ SAI_API_HASH, "hash", &hash_api },
		{ SAI_API_UDF, "udf", &udf_api },
		{ SAI_API_MIRROR, "mirror", &mirror_api },
		{ SAI_API_SAMPLEPACKET, "samplepacket", &samplepacket_api },
		{ SAI_API_POLICER, "policer", &policer_api },
		{ SAI_API_SCHEDULER, "scheduler", &scheduler_api },
		{ SAI_API_QOS_MAP, "qos_map", &qos_map_api },
		{ SAI_API_HOSTIF, "hostif", &hostif_api },
	};

	for (size_t i = 0; i < sizeof(apis) / sizeof(apis[0]); i++) {
		if (apis[i].api != api)
			continue;
		*table = apis[i].table ? apis[i].table : short_acl_table();
		return failing("query", apis[i].name);
	}
	if (api == SAI_API_SLUICE && extension_version() >= SAI_SLUICE_VERSION_FLOWS) {
		*table = (void *)&sluice_api;
		return failing("query", "sluice");
	}
	return SAI_STATUS_NOT_IMPLEMENTED;
}

EXPORT sai_status_t sai_query_api_version(sai_api_version_t *version)
{
	const char *text = profile("VERSION");

	*version = text ? strtoul(text, NULL, 0) : 11800;
	return SAI_STATUS_SUCCESS;
}

EXPORT sai_status_t sai_query_attribute_capability(sai_object_id_t sw, sai_object_type_t type, sai_attr_id_t id,
						   sai_attr_capability_t *c)
{
	bool can = !hidden(type, id);

	if (sw != the_switch)
		return SAI_STATUS_INVALID_OBJECT_ID;
	*c = (sai_attr_capability_t){ can, can, can };
	return failing_at("capability", type, id, 0);
}

EXPORT sai_status_t sai_query_attribute_enum_values_capability(sai_object_id_t sw, sai_object_type_t type,
							       sai_attr_id_t id, sai_s32_list_t *values)
{
	uint32_t n = 0, room = values->count;

	sai_status_t status = failing_at("values", type, id, 0);

	if (status != SAI_STATUS_SUCCESS)
		return false_count(status, &values->count);
	if (sw != the_switch || type != SAI_OBJECT_TYPE_HASH || id != SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST)
		return SAI_STATUS_NOT_SUPPORTED;
	for (int32_t field = 0; field < 64; field++) {
		if (!hash_field(field))
			continue;
		if (n < room)
			values->list[n] = field;
		n++;
	}
	values->count = n;
	return n > room ? SAI_STATUS_BUFFER_OVERFLOW : SAI_STATUS_SUCCESS;
}

EXPORT sai_status_t sai_get_object_key(sai_object_id_t sw, sai_object_type_t type, uint32_t *count,
				       sai_object_key_t *keys)
{
	uint32_t room = *count;
	sai_status_t status = failing("list", type_name(type));

	if (sw != the_switch)
		return SAI_STATUS_INVALID_OBJECT_ID;
	if (status != SAI_STATUS_SUCCESS)
		return false_count(status, count);
	owner_enter();
	*count = store_objects(type, keys, room);
	owner_leave();
	if (*count < room && profile("COUNTLESS"))
		*count = room;
	return *count > room ? SAI_STATUS_BUFFER_OVERFLOW : SAI_STATUS_SUCCESS;
}

EXPORT sai_status_t sai_bulk_object_get_stats(sai_object_id_t sw, sai_object_type_t type, uint32_t count,
					      const sai_object_key_t *keys, uint32_t n, const sai_stat_id_t *ids,
					      sai_stats_mode_t mode, sai_status_t *statuses, uint64_t *counters)
{
	sai_status_t status = failing("bulk", type_name(type));

	if (sw != the_switch)
		return SAI_STATUS_INVALID_OBJECT_ID;
	if (mode != SAI_STATS_MODE_BULK_READ || !profile("BULK"))
		return SAI_STATUS_NOT_IMPLEMENTED;
	if (status != SAI_STATUS_SUCCESS)
		return status;
	if (strcmp(profile("BULK"), "silent") == 0)
		return SAI_STATUS_SUCCESS;
	stats_delay();
	for (uint32_t i = 0; i < count; i++) {
		statuses[i] = read_stats(type, keys[i].key.object_id, n, ids, counters + (size_t)i * n);
		if (statuses[i] != SAI_STATUS_SUCCESS)
			status = SAI_STATUS_FAILURE;
	}
	record("bulk", type, keys[0].key.object_id, 0, NULL);
	return status;
}
