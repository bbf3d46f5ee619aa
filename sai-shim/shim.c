/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "shim.h"

#include "arrival.h"
#include "profile.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MAX_ATTRIBUTES 32
#define LIST_ROOM 4096
#define RING 4096 /* a power of 2 */

/* The APIs that are used. */
enum {
	SWITCH,
	PORT,
	QUEUE,
	ROUTER_INTERFACE,
	NEXT_HOP,
	NEXT_HOP_GROUP,
	ACL,
	HASH,
	UDF,
	MIRROR,
	POLICER,
	SCHEDULER,
	QOS_MAP,
	HOSTIF,
	SAMPLEPACKET,
	APIS
};

static const sai_api_t api_ids[APIS] = {
	[SWITCH] = SAI_API_SWITCH,     [PORT] = SAI_API_PORT,
	[QUEUE] = SAI_API_QUEUE,       [ROUTER_INTERFACE] = SAI_API_ROUTER_INTERFACE,
	[NEXT_HOP] = SAI_API_NEXT_HOP, [NEXT_HOP_GROUP] = SAI_API_NEXT_HOP_GROUP,
	[ACL] = SAI_API_ACL,	       [HASH] = SAI_API_HASH,
	[UDF] = SAI_API_UDF,	       [MIRROR] = SAI_API_MIRROR,
	[POLICER] = SAI_API_POLICER,   [SCHEDULER] = SAI_API_SCHEDULER,
	[HOSTIF] = SAI_API_HOSTIF,     [SAMPLEPACKET] = SAI_API_SAMPLEPACKET,
	[QOS_MAP] = SAI_API_QOS_MAP,
};

struct shim {
	void *handle;
	void *api[APIS];		/* method tables; NULL: not implemented */
	const sai_sluice_api_t *sluice; /* NULL: the library does not have the extension's API */
	const sai_sluice_api_t *audits; /* the same; NULL: it does not audit */
	uint32_t extension;		/* version */
	sai_status_t (*query)(sai_api_t, void **);
	sai_status_t (*uninitialize)(void);
	sai_status_t (*query_version)(sai_api_version_t *);
	sai_status_t (*query_capability)(sai_object_id_t, sai_object_type_t, sai_attr_id_t, sai_attr_capability_t *);
	sai_status_t (*query_enum)(sai_object_id_t, sai_object_type_t, sai_attr_id_t, sai_s32_list_t *);
	sai_status_t (*object_keys)(sai_object_id_t, sai_object_type_t, uint32_t *, sai_object_key_t *);
	__typeof__(sai_bulk_object_get_stats) *bulk_stats;
	sai_object_id_t switch_id;

	sai_attribute_t attributes[MAX_ATTRIBUTES];
	uint32_t count;
	bool overflow;
	_Alignas(8) uint8_t lists[LIST_ROOM];
	size_t used;

	struct profile *profile;

	int event; /* eventfd */
	atomic_uint_fast64_t lost;
	/* Who holds delivery writes head, the reader tail. */
	_Alignas(64) atomic_uint_fast32_t head;
	_Alignas(64) atomic_uint_fast32_t tail;
	struct shim_packet ring[RING];

	int flow_event; /* eventfd */
	atomic_uint_fast64_t flow_lost;
	_Alignas(64) atomic_uint_fast32_t flow_head;
	_Alignas(64) atomic_uint_fast32_t flow_tail;
	sai_sluice_flow_event_t flow_ring[RING];
};

/* SAI's callbacks lack a pointer. */
static struct shim *open_shim;

/*
 * Each is held while something is put into its ring: a library may call from several
 * threads, and from some that outlive shim_close. The readers never wait for them,
 * and events of flows never for packets.
 */
static pthread_mutex_t delivery = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t flow_delivery = PTHREAD_MUTEX_INITIALIZER;

static void deliver_to(struct shim *s)
{
	pthread_mutex_lock(&delivery);
	pthread_mutex_lock(&flow_delivery);
	open_shim = s;
	pthread_mutex_unlock(&flow_delivery);
	pthread_mutex_unlock(&delivery);
	profile_serve(s ? s->profile : NULL);
}

__attribute__((format(printf, 1, 2))) static char *message(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return text ? text : strdup("out of memory");
}

sai_status_t shim_set_profile(struct shim *s, const char *key, const char *value)
{
	return profile_set(s->profile, key, value);
}

static void free_shim(struct shim *s)
{
	profile_free(s->profile);
	if (s->event >= 0)
		close(s->event);
	if (s->flow_event >= 0)
		close(s->flow_event);
	if (s->handle)
		dlclose(s->handle);
	free(s);
}

char *shim_open(const char *path, const char *const *keys, const char *const *values, int n, struct shim **out)
{
	sai_status_t (*initialize)(uint64_t, const sai_service_method_table_t *);
	struct shim *s;
	sai_status_t status;
	char *error = NULL;

	if (open_shim)
		return strdup("a SAI library is open already: one a process");
	s = aligned_alloc(_Alignof(struct shim), sizeof(*s));
	if (!s)
		return strdup("out of memory");
	memset(s, 0, sizeof(*s));
	s->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	s->flow_event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	s->profile = profile_new(keys, values, n);
	if (s->event < 0 || s->flow_event < 0 || !s->profile) {
		error = message("%s: out of memory or of descriptors", path);
		goto fail;
	}
	s->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!s->handle) {
		error = message("load the SAI library: %s", dlerror());
		goto fail;
	}
	*(void **)&initialize = dlsym(s->handle, "sai_api_initialize");
	*(void **)&s->query = dlsym(s->handle, "sai_api_query");
	*(void **)&s->uninitialize = dlsym(s->handle, "sai_api_uninitialize");
	*(void **)&s->query_version = dlsym(s->handle, "sai_query_api_version");
	*(void **)&s->query_capability = dlsym(s->handle, "sai_query_attribute_capability");
	*(void **)&s->query_enum = dlsym(s->handle, "sai_query_attribute_enum_values_capability");
	*(void **)&s->object_keys = dlsym(s->handle, "sai_get_object_key");
	*(void **)&s->bulk_stats = dlsym(s->handle, "sai_bulk_object_get_stats");
	if (!initialize || !s->query) {
		error = message("%s is no SAI library: it has no symbol %s", path,
				initialize ? "sai_api_query" : "sai_api_initialize");
		goto fail;
	}
	deliver_to(s);
	status = initialize(0, &profile_services);
	if (status != SAI_STATUS_SUCCESS) {
		error = message("%s: sai_api_initialize answers %d", path, status);
		goto fail;
	}
	for (int i = 0; i < APIS; i++)
		if (s->query(api_ids[i], &s->api[i]) != SAI_STATUS_SUCCESS)
			s->api[i] = NULL;
	if (!s->api[SWITCH]) {
		error = message("%s: sai_api_query knows no switch API", path);
		if (s->uninitialize)
			s->uninitialize();
		goto fail;
	}
	*out = s;
	return NULL;
fail:
	deliver_to(NULL);
	free_shim(s);
	return error;
}

void shim_close(struct shim *s)
{
	if (s->uninitialize)
		s->uninitialize();
	else
		s->handle = NULL; /* it stays loaded: its threads still run */
	deliver_to(NULL);
	free_shim(s);
}

uint64_t shim_version(struct shim *s)
{
	sai_api_version_t version = 0;

	if (!s->query_version || s->query_version(&version) != SAI_STATUS_SUCCESS)
		return 0;
	return version;
}

/* The next attribute, or an unused one when there are too many. */
static sai_attribute_value_t *next(struct shim *s, uint32_t id)
{
	static sai_attribute_t surplus;
	sai_attribute_t *a = &surplus;

	if (s->count < MAX_ATTRIBUTES)
		a = &s->attributes[s->count++];
	else
		s->overflow = true;
	memset(a, 0, sizeof(*a));
	a->id = id;
	return &a->value;
}

static void *keep(struct shim *s, const void *elements, size_t size)
{
	void *at = s->lists + s->used;

	if (size > LIST_ROOM - s->used) {
		s->overflow = true;
		return NULL;
	}
	if (size) /* an empty list may have no elements to point to */
		memcpy(at, elements, size);
	s->used += (size + 7) & ~(size_t)7;
	return at;
}

void shim_forget(struct shim *s)
{
	s->count = 0;
	s->used = 0;
	s->overflow = false;
}

#define SCALAR(name, type, member) \
	void shim_##name(struct shim *s, uint32_t id, type v) \
	{ \
		next(s, id)->member = v; \
	}
SCALAR(bool, bool, booldata)
SCALAR(u16, uint16_t, u16)
SCALAR(u32, uint32_t, u32)
SCALAR(s32, int32_t, s32)
SCALAR(u64, uint64_t, u64)
SCALAR(oid, uint64_t, oid)

#define LIST(name, type, member) \
	void shim_##name(struct shim *s, uint32_t id, const type *v, uint32_t n) \
	{ \
		sai_attribute_value_t *a = next(s, id); \
		a->member.count = n; \
		a->member.list = keep(s, v, n * sizeof(*v)); \
	}
LIST(oids, uint64_t, objlist)
LIST(u8s, uint8_t, u8list)
LIST(s32s, int32_t, s32list)

#define FIELD(name, type) \
	void shim_field_##name(struct shim *s, uint32_t id, type data, type mask) \
	{ \
		sai_acl_field_data_t *f = &next(s, id)->aclfield; \
		f->enable = true; \
		f->data.name = data; \
		f->mask.name = mask; \
	}
FIELD(u8, uint8_t)
FIELD(u16, uint16_t)
FIELD(u32, uint32_t)

void shim_field_ip6(struct shim *s, uint32_t id, const uint8_t *data, const uint8_t *mask)
{
	sai_acl_field_data_t *f = &next(s, id)->aclfield;

	f->enable = true;
	memcpy(&f->data.ip6, data, sizeof(f->data.ip6));
	memcpy(&f->mask.ip6, mask, sizeof(f->mask.ip6));
}

void shim_field_ip4(struct shim *s, uint32_t id, uint32_t data, uint32_t mask)
{
	sai_acl_field_data_t *f = &next(s, id)->aclfield;

	f->enable = true;
	f->data.ip4 = data;
	f->mask.ip4 = mask;
}

void shim_ip(struct shim *s, uint32_t id, bool v6, const uint8_t *octets)
{
	sai_ip_address_t *a = &next(s, id)->ipaddr;

	a->addr_family = v6;
	memcpy(&a->addr, octets, v6 ? sizeof(a->addr.ip6) : sizeof(a->addr.ip4));
}

void shim_field_octets(struct shim *s, uint32_t id, const uint8_t *data, const uint8_t *mask, uint32_t n)
{
	sai_acl_field_data_t *f = &next(s, id)->aclfield;

	f->enable = true;
	f->data.u8list.count = n;
	f->data.u8list.list = keep(s, data, n);
	f->mask.u8list.count = n;
	f->mask.u8list.list = keep(s, mask, n);
}

#define ACTION(name, type) \
	void shim_action_##name(struct shim *s, uint32_t id, type v) \
	{ \
		sai_acl_action_data_t *a = &next(s, id)->aclaction; \
		a->enable = true; \
		a->parameter.name = v; \
	}
ACTION(u32, uint32_t)
ACTION(s32, int32_t)
ACTION(oid, uint64_t)

void shim_action_off(struct shim *s, uint32_t id)
{
	next(s, id)->aclaction.enable = false;
}

/* The offset of an object type's methods in its API's table. */
static const struct methods {
	sai_object_type_t type;
	int api;
	size_t create, remove, set, get, stats;
} methods[] = {
#define NO ((size_t)-1)
#define QUAD(object, api, table, name) \
	SAI_OBJECT_TYPE_##object, api, offsetof(table, create_##name), offsetof(table, remove_##name), \
		offsetof(table, set_##name##_attribute), offsetof(table, get_##name##_attribute), NO
	{ SAI_OBJECT_TYPE_SWITCH, SWITCH, NO, NO, offsetof(sai_switch_api_t, set_switch_attribute),
	  offsetof(sai_switch_api_t, get_switch_attribute), NO },
	{ SAI_OBJECT_TYPE_PORT, PORT, NO, NO, offsetof(sai_port_api_t, set_port_attribute),
	  offsetof(sai_port_api_t, get_port_attribute), offsetof(sai_port_api_t, get_port_stats) },
	{ SAI_OBJECT_TYPE_QUEUE, QUEUE, NO, NO, offsetof(sai_queue_api_t, set_queue_attribute),
	  offsetof(sai_queue_api_t, get_queue_attribute), offsetof(sai_queue_api_t, get_queue_stats) },
	{ SAI_OBJECT_TYPE_POLICER, POLICER, offsetof(sai_policer_api_t, create_policer),
	  offsetof(sai_policer_api_t, remove_policer), offsetof(sai_policer_api_t, set_policer_attribute),
	  offsetof(sai_policer_api_t, get_policer_attribute), offsetof(sai_policer_api_t, get_policer_stats) },
	{ QUAD(ROUTER_INTERFACE, ROUTER_INTERFACE, sai_router_interface_api_t, router_interface) },
	{ QUAD(NEXT_HOP, NEXT_HOP, sai_next_hop_api_t, next_hop) },
	{ QUAD(NEXT_HOP_GROUP, NEXT_HOP_GROUP, sai_next_hop_group_api_t, next_hop_group) },
	{ QUAD(NEXT_HOP_GROUP_MEMBER, NEXT_HOP_GROUP, sai_next_hop_group_api_t, next_hop_group_member) },
	{ QUAD(ACL_TABLE, ACL, sai_acl_api_t, acl_table) },
	{ QUAD(ACL_ENTRY, ACL, sai_acl_api_t, acl_entry) },
	{ QUAD(ACL_COUNTER, ACL, sai_acl_api_t, acl_counter) },
	{ QUAD(ACL_TABLE_GROUP, ACL, sai_acl_api_t, acl_table_group) },
	{ QUAD(ACL_TABLE_GROUP_MEMBER, ACL, sai_acl_api_t, acl_table_group_member) },
	{ QUAD(HASH, HASH, sai_hash_api_t, hash) },
	{ QUAD(UDF, UDF, sai_udf_api_t, udf) },
	{ QUAD(UDF_MATCH, UDF, sai_udf_api_t, udf_match) },
	{ QUAD(UDF_GROUP, UDF, sai_udf_api_t, udf_group) },
	{ QUAD(MIRROR_SESSION, MIRROR, sai_mirror_api_t, mirror_session) },
	{ QUAD(SCHEDULER, SCHEDULER, sai_scheduler_api_t, scheduler) },
	{ QUAD(QOS_MAP, QOS_MAP, sai_qos_map_api_t, qos_map) },
	{ QUAD(SAMPLEPACKET, SAMPLEPACKET, sai_samplepacket_api_t, samplepacket) },
	{ QUAD(HOSTIF_TRAP_GROUP, HOSTIF, sai_hostif_api_t, hostif_trap_group) },
	{ QUAD(HOSTIF_TABLE_ENTRY, HOSTIF, sai_hostif_api_t, hostif_table_entry) },
	{ QUAD(HOSTIF_USER_DEFINED_TRAP, HOSTIF, sai_hostif_api_t, hostif_user_defined_trap) },
};

#define METHOD(kind, fn, s, object_type) (*(fn *)method(s, object_type, offsetof(struct methods, kind)))

/* Points to the method's slot in the table; to a slot that holds NULL where the table lacks it. */
static void *method(struct shim *s, sai_object_type_t type, size_t kind)
{
	static void *none;

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		const struct methods *m = &methods[i];
		size_t at = *(const size_t *)((const char *)m + kind);

		if (m->type == type)
			return at == NO || !s->api[m->api] ? (void *)&none : (char *)s->api[m->api] + at;
	}
	return &none;
}

static void packet_event(sai_object_id_t switch_id, sai_size_t size, const void *buffer, uint32_t count,
			 const sai_attribute_t *list);

sai_status_t shim_create_switch(struct shim *s, uint64_t *id)
{
	sai_switch_api_t *api = s->api[SWITCH];
	sai_status_t status = SAI_STATUS_INSUFFICIENT_RESOURCES;

	if (!api->create_switch)
		status = SAI_STATUS_NOT_IMPLEMENTED;
	else if (!s->overflow)
		status = api->create_switch(&s->switch_id, s->count, s->attributes);
	shim_forget(s);
	if (status != SAI_STATUS_SUCCESS)
		return status;
	*id = s->switch_id;
	return SAI_STATUS_SUCCESS;
}

sai_status_t shim_watch_packets(struct shim *s)
{
	sai_set_fn set = METHOD(set, sai_set_fn, s, SAI_OBJECT_TYPE_SWITCH);
	sai_attribute_t notify = { .id = SAI_SWITCH_ATTR_PACKET_EVENT_NOTIFY };

	*(sai_packet_event_notification_fn *)&notify.value.ptr = packet_event;
	return set ? set(s->switch_id, &notify) : SAI_STATUS_NOT_IMPLEMENTED;
}

sai_status_t shim_remove_switch(struct shim *s)
{
	sai_switch_api_t *api = s->api[SWITCH];

	return api->remove_switch ? api->remove_switch(s->switch_id) : SAI_STATUS_NOT_IMPLEMENTED;
}

sai_status_t shim_create(struct shim *s, int32_t type, uint64_t *id)
{
	sai_create_fn create = METHOD(create, sai_create_fn, s, type);
	sai_status_t status = SAI_STATUS_INSUFFICIENT_RESOURCES;

	if (!create)
		status = SAI_STATUS_NOT_IMPLEMENTED;
	else if (!s->overflow)
		status = create(id, s->switch_id, s->count, s->attributes);
	shim_forget(s);
	return status;
}

sai_status_t shim_remove(struct shim *s, int32_t type, uint64_t id)
{
	sai_remove_fn remove = METHOD(remove, sai_remove_fn, s, type);

	return remove ? remove(id) : SAI_STATUS_NOT_IMPLEMENTED;
}

sai_status_t shim_set(struct shim *s, int32_t type, uint64_t id)
{
	sai_set_fn set = METHOD(set, sai_set_fn, s, type);
	sai_status_t status = SAI_STATUS_INVALID_PARAMETER;

	if (!set)
		status = SAI_STATUS_NOT_IMPLEMENTED;
	else if (s->count == 1 && !s->overflow)
		status = set(id, &s->attributes[0]);
	shim_forget(s);
	return status;
}

sai_status_t shim_get(struct shim *s, int32_t type, uint64_t id, uint32_t attribute, sai_attribute_value_t *value)
{
	sai_get_fn get = METHOD(get, sai_get_fn, s, type);
	sai_attribute_t a = { .id = attribute };
	sai_status_t status;

	if (!get)
		return SAI_STATUS_NOT_IMPLEMENTED;
	status = get(id, 1, &a);
	*value = a.value;
	return status;
}

sai_status_t shim_get_list(struct shim *s, int32_t type, uint64_t id, uint32_t attribute, void *elements,
			   uint32_t *count)
{
	sai_get_fn get = METHOD(get, sai_get_fn, s, type);
	sai_attribute_t a = { .id = attribute };
	sai_status_t status;

	if (!get)
		return SAI_STATUS_NOT_IMPLEMENTED;
	a.value.u8list.count = *count; /* all lists are laid out alike */
	a.value.u8list.list = elements;
	status = get(id, 1, &a);
	*count = a.value.u8list.count;
	return status;
}

sai_status_t shim_stats(struct shim *s, int32_t type, uint64_t id, const uint32_t *ids, uint32_t n, uint64_t *values)
{
	sai_stats_fn stats = METHOD(stats, sai_stats_fn, s, type);

	return stats ? stats(id, n, ids, values) : SAI_STATUS_NOT_IMPLEMENTED;
}

sai_status_t shim_bulk_stats(struct shim *s, int32_t type, const uint64_t *objects, uint32_t count, const uint32_t *ids,
			     uint32_t n, sai_status_t *statuses, uint64_t *values)
{
	sai_object_key_t *keys;
	sai_status_t status;

	if (!s->bulk_stats)
		return SAI_STATUS_NOT_IMPLEMENTED;
	keys = calloc(count, sizeof(*keys));
	if (!keys)
		return SAI_STATUS_NO_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		keys[i].key.object_id = objects[i];
	status = s->bulk_stats(s->switch_id, type, count, keys, n, ids, SAI_STATS_MODE_BULK_READ, statuses, values);
	free(keys);
	return status;
}

sai_status_t shim_capability(struct shim *s, int32_t type, uint32_t attribute, sai_attr_capability_t *capability)
{
	if (!s->query_capability)
		return SAI_STATUS_NOT_IMPLEMENTED;
	return s->query_capability(s->switch_id, type, attribute, capability);
}

sai_status_t shim_enum_values(struct shim *s, int32_t type, uint32_t attribute, int32_t *values, uint32_t *count)
{
	sai_s32_list_t list = { .count = *count, .list = values };
	sai_status_t status;

	if (!s->query_enum)
		return SAI_STATUS_NOT_IMPLEMENTED;
	status = s->query_enum(s->switch_id, type, attribute, &list);
	*count = list.count;
	return status;
}

sai_status_t shim_objects(struct shim *s, int32_t type, uint64_t *ids, uint32_t *count)
{
	uint32_t room = *count;
	sai_object_key_t *keys;
	sai_status_t status;

	if (!s->object_keys)
		return SAI_STATUS_NOT_IMPLEMENTED;
	keys = calloc(room, sizeof(*keys));
	if (!keys)
		return SAI_STATUS_NO_MEMORY;
	status = s->object_keys(s->switch_id, type, count, keys);
	for (uint32_t i = 0; i < room && i < *count && status == SAI_STATUS_SUCCESS; i++)
		ids[i] = keys[i].key.object_id;
	free(keys);
	return status;
}

/* The library's threads call this. */
static void packet_event(sai_object_id_t switch_id, sai_size_t size, const void *buffer, uint32_t count,
			 const sai_attribute_t *list)
{
	uint32_t head, tail;
	struct shim_packet *p;
	struct shim *s;

	(void)switch_id;
	pthread_mutex_lock(&delivery);
	s = open_shim;
	if (!s)
		goto out;
	head = atomic_load_explicit(&s->head, memory_order_relaxed);
	tail = atomic_load_explicit(&s->tail, memory_order_acquire);
	if ((uint32_t)(head - tail) == RING) {
		atomic_fetch_add_explicit(&s->lost, 1, memory_order_relaxed);
		goto out;
	}
	p = &s->ring[head % RING];
	p->port = p->egress = p->trap = SAI_NULL_OBJECT_ID;
	p->at = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (list[i].id == SAI_HOSTIF_PACKET_ATTR_INGRESS_PORT)
			p->port = list[i].value.oid;
		else if (list[i].id == SAI_HOSTIF_PACKET_ATTR_EGRESS_PORT_OR_LAG)
			p->egress = list[i].value.oid;
		else if (list[i].id == SAI_HOSTIF_PACKET_ATTR_HOSTIF_TRAP_ID)
			p->trap = list[i].value.oid;
		else if (list[i].id == SAI_HOSTIF_PACKET_ATTR_TIMESTAMP)
			p->at = list[i].value.timespec.tv_sec * 1000000000ull + list[i].value.timespec.tv_nsec;
	}
	p->length = size;
	p->captured = size < SHIM_PACKET_ROOM ? size : SHIM_PACKET_ROOM;
	memcpy(p->data, buffer, p->captured);
	atomic_store_explicit(&s->head, head + 1, memory_order_seq_cst);
	/* The reader looks at head again after it has seen an empty ring. */
	if (atomic_load_explicit(&s->tail, memory_order_seq_cst) == head)
		eventfd_write(s->event, 1);
out:
	pthread_mutex_unlock(&delivery);
}

int shim_packets_fd(struct shim *s)
{
	return s->event;
}

int shim_packets_take(struct shim *s, struct shim_packet *out, int n)
{
	uint32_t tail = atomic_load_explicit(&s->tail, memory_order_relaxed);
	uint32_t head = atomic_load_explicit(&s->head, memory_order_seq_cst);
	int taken = 0;

	for (; taken < n && tail != head; taken++, tail++) {
		struct shim_packet *p = &s->ring[tail % RING];

		memcpy(&out[taken], p, offsetof(struct shim_packet, data) + p->captured);
	}
	atomic_store_explicit(&s->tail, tail, memory_order_seq_cst);
	return taken;
}

uint64_t shim_packets_lost(struct shim *s)
{
	return atomic_load_explicit(&s->lost, memory_order_relaxed);
}

int shim_extension(struct shim *s)
{
	sai_attribute_value_t value;
	sai_status_t status;
	void *table = NULL;
	uint32_t version;

	status = shim_get(s, SAI_OBJECT_TYPE_SWITCH, s->switch_id, SAI_SWITCH_ATTR_SLUICE_EXTENSION, &value);
	if (status != SAI_STATUS_SUCCESS || value.u64 >> 32 != SAI_SLUICE_MAGIC)
		return 0;
	version = (uint32_t)value.u64;
	if (version & SAI_SLUICE_AUDITS && version < 2 * SAI_SLUICE_AUDITS) {
		version -= SAI_SLUICE_AUDITS;
		if (s->query(SAI_API_SLUICE, &table) == SAI_STATUS_SUCCESS && table)
			s->audits = table;
		table = NULL;
	}
	/* A library that claims the API and leaves the pointer unset has its former value. */
	if (version >= SAI_SLUICE_VERSION_FLOWS && s->query(SAI_API_SLUICE, &table) == SAI_STATUS_SUCCESS && table)
		s->sluice = table;
	if (!s->sluice && version >= SAI_SLUICE_VERSION_FLOWS)
		version = SAI_SLUICE_VERSION_LABELS;
	s->extension = version;
	return version <= INT32_MAX ? (int)version : INT32_MAX;
}

/* The library's thread calls this. */
static void flow_event(sai_object_id_t switch_id, uint32_t count, const sai_sluice_flow_event_t *events)
{
	uint32_t head, tail;
	struct shim *s;

	(void)switch_id;
	pthread_mutex_lock(&flow_delivery);
	s = open_shim;
	for (uint32_t i = 0; s && i < count; i++) {
		head = atomic_load_explicit(&s->flow_head, memory_order_relaxed);
		tail = atomic_load_explicit(&s->flow_tail, memory_order_acquire);
		if ((uint32_t)(head - tail) == RING) {
			atomic_fetch_add_explicit(&s->flow_lost, 1, memory_order_relaxed);
			continue;
		}
		s->flow_ring[head % RING] = events[i];
		atomic_store_explicit(&s->flow_head, head + 1, memory_order_release);
	}
	if (s && count)
		eventfd_write(s->flow_event, 1);
	pthread_mutex_unlock(&flow_delivery);
}

/* The thread of a library of version 2 calls this. Its sessions are read from heads by who takes them. */
static void flow_event2(sai_object_id_t switch_id, uint32_t count, const sai_sluice_flow_event2_t *events)
{
	for (uint32_t i = 0; i < count; i++) {
		const sai_sluice_flow_event2_t *from = &events[i];
		sai_sluice_flow_event_t e = { .queue_id = from->queue_id,
					      .in_port_id = from->in_port_id,
					      .flow = from->flow,
					      .octets = from->octets,
					      .at_ns = from->at_ns,
					      .arrival = arrival_by_head(from),
					      .mark = from->mark,
					      .length = from->length };

		memcpy(e.head, from->head, sizeof(e.head));
		flow_event(switch_id, 1, &e);
	}
}

sai_status_t shim_watch_flows(struct shim *s, int *fd)
{
	sai_set_fn set = METHOD(set, sai_set_fn, s, SAI_OBJECT_TYPE_SWITCH);
	sai_attribute_t notify = { .id = SAI_SWITCH_ATTR_FLOW_EVENT_NOTIFY };

	*fd = s->flow_event;
	if (!s->sluice || !set)
		return SAI_STATUS_NOT_IMPLEMENTED;
	*(sai_sluice_flow_event_notification_fn *)&notify.value.ptr = flow_event;
	if (s->extension < SAI_SLUICE_VERSION_SESSIONS) {
		notify.id = SAI_SWITCH_ATTR_FLOW_EVENT2_NOTIFY;
		*(sai_sluice_flow_event2_notification_fn *)&notify.value.ptr = flow_event2;
	}
	return set(s->switch_id, &notify);
}

int shim_flow_events_take(struct shim *s, sai_sluice_flow_event_t *out, int n, uint64_t *lost)
{
	uint32_t tail = atomic_load_explicit(&s->flow_tail, memory_order_relaxed), head;
	eventfd_t count;
	int taken = 0;

	/* Later packets make it readable again. */
	eventfd_read(s->flow_event, &count);
	head = atomic_load_explicit(&s->flow_head, memory_order_acquire);
	for (; taken < n && tail != head; taken++, tail++)
		out[taken] = s->flow_ring[tail % RING];
	atomic_store_explicit(&s->flow_tail, tail, memory_order_release);
	if (tail != head)
		eventfd_write(s->flow_event, 1);
	*lost = atomic_load_explicit(&s->flow_lost, memory_order_relaxed);
	return taken;
}

static sai_ip_address_t address(bool ipv6, const uint64_t octets[2])
{
	sai_ip_address_t a = { .addr_family = ipv6 };

	memcpy(&a.addr, octets, ipv6 ? sizeof(sai_ip6_t) : sizeof(sai_ip4_t));
	return a;
}

static sai_sluice_match_t match_of(const struct shim_match *m)
{
	return (sai_sluice_match_t){ .type = m->type,
				     .value = m->value,
				     .source = address(m->ipv6, m->source),
				     .destination = address(m->ipv6, m->destination),
				     .protocol = m->protocol };
}

sai_status_t shim_set_hold(struct shim *s, uint64_t port, struct shim_match match, uint64_t duration_us, uint64_t rate)
{
	sai_sluice_match_t m = match_of(&match);

	if (!s->sluice || !s->sluice->set_hold)
		return SAI_STATUS_NOT_IMPLEMENTED;
	/* A library of version 2 would hold UDP. */
	if (s->extension < SAI_SLUICE_VERSION_SESSIONS && m.type == SAI_SLUICE_MATCH_TUPLE && m.protocol != 17)
		return SAI_STATUS_NOT_SUPPORTED;
	return s->sluice->set_hold(s->switch_id, port, &m, duration_us, rate);
}

struct shim_hold shim_get_hold(struct shim *s, uint64_t port, struct shim_match match)
{
	struct shim_hold h = { .status = SAI_STATUS_NOT_IMPLEMENTED };
	sai_sluice_match_t m = match_of(&match);

	if (s->sluice && s->sluice->get_hold)
		h.status = s->sluice->get_hold(s->switch_id, port, &m, &h.hold);
	return h;
}

struct shim_flow shim_get_flow(struct shim *s, uint64_t queue, uint64_t flow)
{
	struct shim_flow f = { .status = SAI_STATUS_NOT_IMPLEMENTED };

	if (s->sluice && s->sluice->get_flow)
		f.status = s->sluice->get_flow(queue, flow, &f.flow);
	return f;
}

sai_status_t shim_audit(struct shim *s, uint32_t *piece, uint32_t *count, sai_sluice_drift_t *drifts)
{
	return s->audits && s->audits->audit ? s->audits->audit(s->switch_id, piece, count, drifts)
					     : SAI_STATUS_NOT_IMPLEMENTED;
}

sai_status_t shim_mend(struct shim *s, const sai_sluice_drift_t *drift)
{
	return s->audits && s->audits->mend ? s->audits->mend(s->switch_id, drift) : SAI_STATUS_NOT_IMPLEMENTED;
}

struct shim_flow_stats shim_get_flow_stats(struct shim *s)
{
	struct shim_flow_stats f = { .status = SAI_STATUS_NOT_IMPLEMENTED };

	if (s->sluice && s->sluice->get_flow_stats)
		f.status = s->sluice->get_flow_stats(s->switch_id, &f.stats);
	return f;
}

sai_status_t shim_get_flows(struct shim *s, uint64_t queue, sai_sluice_flow_t *flows, uint32_t *count)
{
	if (!s->sluice || !s->sluice->get_flows)
		return SAI_STATUS_NOT_IMPLEMENTED;
	return s->sluice->get_flows(queue, count, flows);
}
