/*
 * Drives a SAI library by lines on stdin, for tests. Each line is answered by
 * one line that begins with the status. Objects are named by their ids.
 *
 *   switch KEY=VALUE ...           create the switch with that profile
 *   profile KEY=VALUE ...          another profile, for what reads it again: ok
 *   remove-switch                  release it
 *   create TYPE ATTR ...           ok ID
 *   set TYPE ID ATTR               ok
 *   get TYPE ID NAME               ok VALUE ...
 *   remove TYPE ID                 ok
 *   capability TYPE NAME           ok create set get
 *   values TYPE NAME               ok VALUE ...
 *   stat port|queue|policer ID STAT ...  ok VALUE ...
 *   clear ID STAT ...              clears statistics of a queue: ok
 *   packets N                      waits until N packets reached the CPU: ok PORT:TRAP:HEX:EGRESS ...
 *   events N                       waits until N events of flows: ok QUEUE|PORT|FLOW|OCTETS|MARK|ARRIVAL|SESSION|HEX ...
 *   hold PORT KIND VALUE SRC DST US RATE   sets a hold, KIND as a number, addresses or "-": ok
 *   get-hold PORT KIND VALUE SRC DST       ok REMAINING RATE OCTETS PACKETS WAITING-OCTETS WAITING-PACKETS DROPPED
 *   flow QUEUE FLOW                ok OCTETS DEPARTED
 *   flows QUEUE                    ok FLOW:OCTETS ...
 *   flow-stats                     ok EVENTS LOST UNMONITORED HELD FULL LOST-IN-QUEUES
 *
 * ATTR is NAME=VALUE, NAME an attribute's name in SAI without SAI_TYPE_ATTR_, VALUE a number or the
 * last part of a value's name in SAI. A field is VALUE or VALUE/MASK, a list has commas between its
 * elements; addresses and octets are hexadecimal. An action "off" is disabled.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sai_abi.h"
#include "sai_sluice_ext.h"

#define MAX 64

static void *lib;
static sai_object_id_t the_switch;
static char *profile[MAX];
static sai_attribute_t attrs[MAX];
static uint64_t room[MAX][2][64]; /* of lists: elements fit into it */

static const char *profile_get(sai_switch_profile_id_t id, const char *key)
{
	(void)id;
	for (int i = 0; i < MAX && profile[i]; i++)
		if (strncmp(profile[i], key, strlen(key)) == 0 && profile[i][strlen(key)] == '=')
			return profile[i] + strlen(key) + 1;
	return NULL;
}

static int profile_next(sai_switch_profile_id_t id, const char **key, const char **value)
{
	static char text[256];
	static int at;

	(void)id;
	if (!value) {
		at = 0;
		return 0;
	}
	if (at >= MAX || !profile[at])
		return -1;
	snprintf(text, sizeof(text), "%s", profile[at++]);
	*value = "";
	*key = strtok(text, "=");
	return 0;
}

static void *symbol(const char *name)
{
	void *s = dlsym(lib, name);

	if (!s) {
		fprintf(stderr, "driver: %s\n", dlerror());
		exit(2);
	}
	return s;
}

static void *table(sai_api_t api)
{
	sai_status_t (*query)(sai_api_t, void **) = symbol("sai_api_query");
	void *t = NULL;

	query(api, &t);
	if (!t) {
		fprintf(stderr, "driver: no API %d\n", api);
		exit(2);
	}
	return t;
}

typedef sai_status_t (*create_fn)(sai_object_id_t *, sai_object_id_t, uint32_t, const sai_attribute_t *);
typedef sai_status_t (*remove_fn)(sai_object_id_t);
typedef sai_status_t (*set_fn)(sai_object_id_t, const sai_attribute_t *);
typedef sai_status_t (*get_fn)(sai_object_id_t, uint32_t, sai_attribute_t *);

/* The four methods of a type follow each other in its table. */
static const struct {
	const char *name;
	sai_api_t api;
	int first;
	sai_object_type_t type;
} types[] = {
	{ "switch", SAI_API_SWITCH, 0, SAI_OBJECT_TYPE_SWITCH },
	{ "port", SAI_API_PORT, 0, SAI_OBJECT_TYPE_PORT },
	{ "interface", SAI_API_ROUTER_INTERFACE, 0, SAI_OBJECT_TYPE_ROUTER_INTERFACE },
	{ "next-hop", SAI_API_NEXT_HOP, 0, SAI_OBJECT_TYPE_NEXT_HOP },
	{ "hop-group", SAI_API_NEXT_HOP_GROUP, 0, SAI_OBJECT_TYPE_NEXT_HOP_GROUP },
	{ "hop-member", SAI_API_NEXT_HOP_GROUP, 4, SAI_OBJECT_TYPE_NEXT_HOP_GROUP_MEMBER },
	{ "queue", SAI_API_QUEUE, 0, SAI_OBJECT_TYPE_QUEUE },
	{ "table", SAI_API_ACL, 0, SAI_OBJECT_TYPE_ACL_TABLE },
	{ "entry", SAI_API_ACL, 4, SAI_OBJECT_TYPE_ACL_ENTRY },
	{ "counter", SAI_API_ACL, 8, SAI_OBJECT_TYPE_ACL_COUNTER },
	{ "hash", SAI_API_HASH, 0, SAI_OBJECT_TYPE_HASH },
	{ "udf", SAI_API_UDF, 0, SAI_OBJECT_TYPE_UDF },
	{ "udf-match", SAI_API_UDF, 4, SAI_OBJECT_TYPE_UDF_MATCH },
	{ "udf-group", SAI_API_UDF, 8, SAI_OBJECT_TYPE_UDF_GROUP },
	{ "policer", SAI_API_POLICER, 0, SAI_OBJECT_TYPE_POLICER },
	{ "scheduler", SAI_API_SCHEDULER, 0, SAI_OBJECT_TYPE_SCHEDULER },
	{ "mirror", SAI_API_MIRROR, 0, SAI_OBJECT_TYPE_MIRROR_SESSION },
	{ "samplepacket", SAI_API_SAMPLEPACKET, 0, SAI_OBJECT_TYPE_SAMPLEPACKET },
	{ "trap-group", SAI_API_HOSTIF, 8, SAI_OBJECT_TYPE_HOSTIF_TRAP_GROUP },
	{ "trap", SAI_API_HOSTIF, 16, SAI_OBJECT_TYPE_HOSTIF_USER_DEFINED_TRAP },
};

#define A(type, object, name, kind) type, #name, SAI_##object##_ATTR_##name, kind

/*
 * The attributes. A kind is bool, u8, u16, u32, s32, u64, oid, and these with "list-", "field-" or
 * "action-" before; or ip, field-ip6, field-list-u8, action-list-oid.
 */
static const struct attribute {
	const char *type, *name;
	uint32_t id;
	const char *kind;
} attributes[] = {
	{ A("switch", SWITCH, ECMP_HASH_IPV6, "oid") },
	{ A("switch", SWITCH, ECMP_HASH_IPV6_RDMA, "oid") },
	{ A("switch", SWITCH, ECMP_DEFAULT_HASH_SEED, "u32") },
	{ A("switch", SWITCH, SLUICE_EXTENSION, "u64") },
	{ A("switch", SWITCH, FLOW_KEY, "s32") },
	{ A("switch", SWITCH, STREAM_SEED, "u32") },
	{ A("switch", SWITCH, RELOAD_PORTS, "bool") },
	{ A("switch", SWITCH, PORT_LIST, "list-oid") },
	{ A("switch", SWITCH, CPU_PORT, "oid") },
	{ A("switch", SWITCH, DEFAULT_VIRTUAL_ROUTER_ID, "oid") },
	{ A("interface", ROUTER_INTERFACE, VIRTUAL_ROUTER_ID, "oid") },
	{ A("interface", ROUTER_INTERFACE, TYPE, "s32") },
	{ A("interface", ROUTER_INTERFACE, PORT_ID, "oid") },
	{ A("next-hop", NEXT_HOP, TYPE, "s32") },
	{ A("next-hop", NEXT_HOP, IP, "ip") },
	{ A("next-hop", NEXT_HOP, ROUTER_INTERFACE_ID, "oid") },
	{ A("hop-group", NEXT_HOP_GROUP, TYPE, "s32") },
	{ A("hop-group", NEXT_HOP_GROUP, SET_SWITCHOVER, "bool") },
	{ A("hop-member", NEXT_HOP_GROUP_MEMBER, NEXT_HOP_GROUP_ID, "oid") },
	{ A("hop-member", NEXT_HOP_GROUP_MEMBER, NEXT_HOP_ID, "oid") },
	{ A("hop-member", NEXT_HOP_GROUP_MEMBER, CONFIGURED_ROLE, "s32") },
	{ A("port", PORT, QOS_NUMBER_OF_QUEUES, "u32") },
	{ A("port", PORT, QOS_QUEUE_LIST, "list-oid") },
	{ A("port", PORT, INGRESS_ACL, "oid") },
	{ A("port", PORT, EGRESS_ACL, "oid") },
	{ A("queue", QUEUE, TYPE, "s32") },
	{ A("queue", QUEUE, PORT, "oid") },
	{ A("queue", QUEUE, INDEX, "u8") },
	{ A("queue", QUEUE, SCHEDULER_PROFILE_ID, "oid") },
	{ A("queue", QUEUE, FLOW_MONITOR_HIGH, "u32") },
	{ A("queue", QUEUE, FLOW_MONITOR_LOW, "u32") },
	{ A("table", ACL_TABLE, ACL_STAGE, "s32") },
	{ A("table", ACL_TABLE, ACL_BIND_POINT_TYPE_LIST, "list-s32") },
	{ A("table", ACL_TABLE, FIELD_SRC_IPV6, "bool") },
	{ A("table", ACL_TABLE, FIELD_DST_IPV6, "bool") },
	{ A("table", ACL_TABLE, FIELD_SRC_IP, "bool") },
	{ A("table", ACL_TABLE, FIELD_DST_IP, "bool") },
	{ "table", "FIELD_IN_PORTS", SAI_ACL_ENTRY_ATTR_FIELD_IN_PORTS, "bool" }, /* the same number */
	{ A("table", ACL_TABLE, FIELD_IN_PORT, "bool") },
	{ A("table", ACL_TABLE, FIELD_L4_SRC_PORT, "bool") },
	{ A("table", ACL_TABLE, FIELD_L4_DST_PORT, "bool") },
	{ A("table", ACL_TABLE, FIELD_INNER_L4_DST_PORT, "bool") },
	{ A("table", ACL_TABLE, FIELD_IP_PROTOCOL, "bool") },
	{ A("table", ACL_TABLE, FIELD_DSCP, "bool") },
	{ A("table", ACL_TABLE, FIELD_ACL_IP_TYPE, "bool") },
	{ A("table", ACL_TABLE, FIELD_IPV6_FLOW_LABEL, "bool") },
	{ A("table", ACL_TABLE, FIELD_ICMP_TYPE, "bool") },
	{ A("table", ACL_TABLE, FIELD_ICMPV6_TYPE, "bool") },
	{ A("table", ACL_TABLE, FIELD_BTH_OPCODE, "bool") },
	{ A("table", ACL_TABLE, FIELD_AETH_SYNDROME, "bool") },
	{ A("table", ACL_TABLE, USER_DEFINED_FIELD_GROUP_MIN, "oid") },
	{ A("table", ACL_TABLE, FIELD_IPV6_NEXT_HEADER, "bool") },
	{ A("table", ACL_TABLE, ENTRY_LIST, "list-oid") },
	{ A("table", ACL_TABLE, AVAILABLE_ACL_ENTRY, "u32") },
	{ A("entry", ACL_ENTRY, TABLE_ID, "oid") },
	{ A("entry", ACL_ENTRY, PRIORITY, "u32") },
	{ A("entry", ACL_ENTRY, ADMIN_STATE, "bool") },
	{ A("entry", ACL_ENTRY, FIELD_SRC_IPV6, "field-ip6") },
	{ A("entry", ACL_ENTRY, FIELD_DST_IPV6, "field-ip6") },
	{ A("entry", ACL_ENTRY, FIELD_IN_PORT, "field-oid") },
	{ A("entry", ACL_ENTRY, FIELD_L4_SRC_PORT, "field-u16") },
	{ A("entry", ACL_ENTRY, FIELD_L4_DST_PORT, "field-u16") },
	{ A("entry", ACL_ENTRY, FIELD_INNER_L4_DST_PORT, "field-u16") },
	{ A("entry", ACL_ENTRY, FIELD_DSCP, "field-u8") },
	{ A("entry", ACL_ENTRY, FIELD_IPV6_FLOW_LABEL, "field-u32") },
	{ A("entry", ACL_ENTRY, FIELD_BTH_OPCODE, "field-u8") },
	{ A("entry", ACL_ENTRY, FIELD_AETH_SYNDROME, "field-u8") },
	{ A("entry", ACL_ENTRY, USER_DEFINED_FIELD_GROUP_MIN, "field-list-u8") },
	{ A("entry", ACL_ENTRY, FIELD_IPV6_NEXT_HEADER, "field-u8") },
	{ A("entry", ACL_ENTRY, ACTION_REDIRECT, "action-oid") },
	{ A("entry", ACL_ENTRY, ACTION_PACKET_ACTION, "action-s32") },
	{ A("entry", ACL_ENTRY, ACTION_COUNTER, "action-oid") },
	{ A("entry", ACL_ENTRY, ACTION_MIRROR_INGRESS, "action-list-oid") },
	{ A("entry", ACL_ENTRY, ACTION_SET_POLICER, "action-oid") },
	{ A("entry", ACL_ENTRY, ACTION_SET_TC, "action-u8") },
	{ A("entry", ACL_ENTRY, ACTION_SET_DSCP, "action-u8") },
	{ A("entry", ACL_ENTRY, ACTION_SET_ECN, "action-u32") },
	{ A("entry", ACL_ENTRY, ACTION_INGRESS_SAMPLEPACKET_ENABLE, "action-oid") },
	{ A("entry", ACL_ENTRY, ACTION_SET_USER_TRAP_ID, "action-oid") },
	{ A("entry", ACL_ENTRY, ACTION_SET_ECMP_HASH_ID, "action-oid") },
	{ A("entry", ACL_ENTRY, ACTION_SET_IPV6_FLOW_LABEL, "action-u32") },
	{ A("entry", ACL_ENTRY, ACTION_COMPUTE_IPV6_FLOW_LABEL, "action-s32") },
	{ A("counter", ACL_COUNTER, TABLE_ID, "oid") },
	{ A("counter", ACL_COUNTER, ENABLE_PACKET_COUNT, "bool") },
	{ A("counter", ACL_COUNTER, ENABLE_BYTE_COUNT, "bool") },
	{ A("counter", ACL_COUNTER, PACKETS, "u64") },
	{ A("counter", ACL_COUNTER, BYTES, "u64") },
	{ A("hash", HASH, NATIVE_HASH_FIELD_LIST, "list-s32") },
	{ A("hash", HASH, UDF_GROUP_LIST, "list-oid") },
	{ A("udf", UDF, MATCH_ID, "oid") },
	{ A("udf", UDF, GROUP_ID, "oid") },
	{ A("udf", UDF, BASE, "s32") },
	{ A("udf", UDF, OFFSET, "u16") },
	{ A("udf", UDF, HASH_MASK, "list-u8") },
	{ A("udf-match", UDF_MATCH, L4_DST_PORT_TYPE, "field-u16") },
	{ A("udf-group", UDF_GROUP, TYPE, "s32") },
	{ A("udf-group", UDF_GROUP, LENGTH, "u16") },
	{ A("policer", POLICER, METER_TYPE, "s32") },
	{ A("policer", POLICER, MODE, "s32") },
	{ A("policer", POLICER, CBS, "u64") },
	{ A("policer", POLICER, CIR, "u64") },
	{ A("policer", POLICER, RED_PACKET_ACTION, "s32") },
	{ A("scheduler", SCHEDULER, SCHEDULING_TYPE, "s32") },
	{ A("scheduler", SCHEDULER, SCHEDULING_WEIGHT, "u8") },
	{ A("scheduler", SCHEDULER, METER_TYPE, "s32") },
	{ A("scheduler", SCHEDULER, MIN_BANDWIDTH_RATE, "u64") },
	{ A("scheduler", SCHEDULER, MAX_BANDWIDTH_RATE, "u64") },
	{ A("mirror", MIRROR_SESSION, TYPE, "s32") },
	{ A("mirror", MIRROR_SESSION, MONITOR_PORT, "oid") },
	{ A("mirror", MIRROR_SESSION, TRUNCATE_SIZE, "u16") },
	{ A("samplepacket", SAMPLEPACKET, SAMPLE_RATE, "u32") },
	{ A("trap-group", HOSTIF_TRAP_GROUP, POLICER, "oid") },
	{ A("trap", HOSTIF_USER_DEFINED_TRAP, TYPE, "s32") },
};

static const struct {
	const char *name;
	uint32_t value;
} value_names[] = {
	{ "INGRESS", SAI_ACL_STAGE_INGRESS },
	{ "PORT", SAI_ACL_BIND_POINT_TYPE_PORT },
	{ "DROP", SAI_PACKET_ACTION_DROP },
	{ "COPY", SAI_PACKET_ACTION_COPY },
	{ "TRAP", SAI_PACKET_ACTION_TRAP },
	{ "PACKETS", SAI_METER_TYPE_PACKETS },
	{ "BYTES", SAI_METER_TYPE_BYTES },
	{ "SR_TCM", SAI_POLICER_MODE_SR_TCM },
	{ "STRICT", SAI_SCHEDULING_TYPE_STRICT },
	{ "WRR", SAI_SCHEDULING_TYPE_WRR },
	{ "LOCAL", SAI_MIRROR_SESSION_TYPE_LOCAL },
	{ "ACL", SAI_HOSTIF_USER_DEFINED_TRAP_TYPE_ACL },
	{ "L4", SAI_UDF_BASE_L4 },
	{ "HASH", SAI_UDF_GROUP_TYPE_HASH },
	{ "SRC_IP", SAI_NATIVE_HASH_FIELD_SRC_IP },
	{ "DST_IP", SAI_NATIVE_HASH_FIELD_DST_IP },
	{ "IP_PROTOCOL", SAI_NATIVE_HASH_FIELD_IP_PROTOCOL },
	{ "L4_SRC_PORT", SAI_NATIVE_HASH_FIELD_L4_SRC_PORT },
	{ "L4_DST_PORT", SAI_NATIVE_HASH_FIELD_L4_DST_PORT },
	{ "IPV6_FLOW_LABEL", SAI_NATIVE_HASH_FIELD_IPV6_FLOW_LABEL },
	{ "RDMA_BTH_OPCODE", SAI_NATIVE_HASH_FIELD_RDMA_BTH_OPCODE },
	{ "RDMA_BTH_DEST_QP", SAI_NATIVE_HASH_FIELD_RDMA_BTH_DEST_QP },
};

static const struct {
	const char *type, *name;
	sai_stat_id_t id;
} stat_names[] = {
	{ "port", "IF_IN_OCTETS", SAI_PORT_STAT_IF_IN_OCTETS },
	{ "port", "IF_OUT_DISCARDS", SAI_PORT_STAT_IF_OUT_DISCARDS },
	{ "queue", "PACKETS", SAI_QUEUE_STAT_PACKETS },
	{ "queue", "BYTES", SAI_QUEUE_STAT_BYTES },
	{ "queue", "DROPPED_PACKETS", SAI_QUEUE_STAT_DROPPED_PACKETS },
	{ "queue", "CURR_OCCUPANCY_BYTES", SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES },
	{ "queue", "WATERMARK_BYTES", SAI_QUEUE_STAT_WATERMARK_BYTES },
	{ "policer", "PACKETS", SAI_POLICER_STAT_PACKETS },
	{ "policer", "GREEN_PACKETS", SAI_POLICER_STAT_GREEN_PACKETS },
	{ "policer", "RED_PACKETS", SAI_POLICER_STAT_RED_PACKETS },
	{ "policer", "RED_BYTES", SAI_POLICER_STAT_RED_BYTES },
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void __attribute__((noreturn)) unknown(const char *what, const char *type, const char *name)
{
	fprintf(stderr, "driver: no %s %s %s\n", what, type, name ? name : "");
	exit(2);
}

static const struct attribute *attribute_of(const char *type, const char *name)
{
	for (size_t i = 0; i < COUNT(attributes); i++)
		if (name && strcmp(attributes[i].type, type) == 0 && strcmp(attributes[i].name, name) == 0)
			return &attributes[i];
	unknown("attribute", type, name);
}

static sai_stat_id_t stat_of(const char *type, const char *name)
{
	for (size_t i = 0; i < COUNT(stat_names); i++)
		if (strcmp(stat_names[i].type, type) == 0 && strcmp(stat_names[i].name, name) == 0)
			return stat_names[i].id;
	unknown("statistic", type, name);
}

static int type_of(const char *name)
{
	for (size_t i = 0; i < COUNT(types); i++)
		if (name && strcmp(types[i].name, name) == 0)
			return i;
	unknown("type", "", name);
}

static void *method(int type, int nth)
{
	return ((void **)table(types[type].api))[types[type].first + nth];
}

/* Packets */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static char packets[1 << 16];
static int packet_count;

static void on_packet(sai_object_id_t sw, sai_size_t size, const void *data, uint32_t n, const sai_attribute_t *list)
{
	sai_object_id_t port = 0, trap = 0, egress = 0;
	size_t at;

	(void)sw;
	for (uint32_t i = 0; i < n; i++) {
		if (list[i].id == SAI_HOSTIF_PACKET_ATTR_INGRESS_PORT)
			port = list[i].value.oid;
		if (list[i].id == SAI_HOSTIF_PACKET_ATTR_HOSTIF_TRAP_ID)
			trap = list[i].value.oid;
		if (list[i].id == SAI_HOSTIF_PACKET_ATTR_EGRESS_PORT_OR_LAG)
			egress = list[i].value.oid;
	}
	pthread_mutex_lock(&lock);
	at = strlen(packets);
	if (at + 64 + 2 * size < sizeof(packets)) {
		at += sprintf(packets + at, " %llx:%llx:", (unsigned long long)port, (unsigned long long)trap);
		for (size_t i = 0; i < size; i++)
			at += sprintf(packets + at, "%02x", ((const uint8_t *)data)[i]);
		sprintf(packets + at, ":%llx", (unsigned long long)egress);
	}
	packet_count++;
	pthread_cond_signal(&arrived);
	pthread_mutex_unlock(&lock);
}

static char *events;
static size_t events_length, events_room;
static int event_count;

static const char *text_of(const sai_ip_address_t *a, char *text)
{
	return inet_ntop(a->addr_family ? AF_INET6 : AF_INET, &a->addr, text, INET6_ADDRSTRLEN);
}

/* "-|", or SRC>DST,LABEL,CLASS| */
static int print_arrival(char *to, const sai_sluice_arrival_t *a)
{
	char from[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];

	if (!a->known)
		return sprintf(to, "-|");
	return sprintf(to, "%s>%s,%#x,%#x|", text_of(&a->source, from), text_of(&a->destination, dst), a->flow_label,
		       a->traffic_class);
}

/* SRC>DST,PROTOCOL,SPORT,DPORT and for RoCEv2 DESTQP,SRCQP,PKEY,OCTET */
static int print_session(char *to, const sai_sluice_session_t *s)
{
	char from[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
	int n = sprintf(to, "%s>%s,%u,%u,%u", text_of(&s->source, from), text_of(&s->destination, dst), s->protocol,
			s->source_port, s->destination_port);

	if (s->rocev2)
		n += sprintf(to + n, ",%#x,%#x,%#x,%#x", s->destination_qp, s->source_qp, s->partition_key,
			     s->bth_octet);
	return n + sprintf(to + n, "|");
}

static void on_event(sai_object_id_t sw, uint32_t count, const sai_sluice_flow_event_t *list)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < count && sw == the_switch; i++) {
		const sai_sluice_flow_event_t *e = &list[i];

		if (events_room - events_length < 1024) {
			events_room = 2 * events_room + 4096;
			events = realloc(events, events_room);
		}
		events_length += sprintf(events + events_length, " 0x%llx|0x%llx|0x%llx|%llu|%d|",
					 (unsigned long long)e->queue_id, (unsigned long long)e->in_port_id,
					 (unsigned long long)e->flow, (unsigned long long)e->octets, e->mark);
		events_length += print_arrival(events + events_length, &e->arrival);
		events_length += print_session(events + events_length, &e->session);
		for (int k = 0; k < e->length; k++)
			events_length += sprintf(events + events_length, "%02x", e->head[k]);
		event_count++;
	}
	pthread_cond_signal(&arrived);
	pthread_mutex_unlock(&lock);
}

static void wait_events(int n)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	pthread_mutex_lock(&lock);
	while (event_count < n && pthread_cond_timedwait(&arrived, &lock, &until) == 0)
		;
	printf("%d%s\n", event_count >= n ? 0 : -1, events_length ? events : "");
	events_length = 0;
	event_count = 0;
	pthread_mutex_unlock(&lock);
}

static void wait_packets(int n)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 20;
	pthread_mutex_lock(&lock);
	while (packet_count < n && pthread_cond_timedwait(&arrived, &lock, &until) == 0)
		;
	printf("%d%s\n", packet_count >= n ? 0 : -1, packets);
	packets[0] = 0;
	packet_count = 0;
	pthread_mutex_unlock(&lock);
}

/* Values */

static const char *strip(const char *kind, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(kind, prefix, n) == 0 ? kind + n : NULL;
}

static size_t hex(const char *text, const char **end, uint8_t *to)
{
	size_t n = 0;
	unsigned int octet;

	for (; sscanf(text, "%2x", &octet) == 1; text += 2)
		to[n++] = octet;
	*end = text;
	return n;
}

static int size_of(const char *kind)
{
	static const struct {
		const char *kind;
		int size;
	} sizes[] = { { "bool", 1 }, { "u8", 1 }, { "u16", 2 }, { "u32", 4 }, { "s32", 4 }, { "u64", 8 }, { "oid", 8 } };

	for (size_t i = 0; i < COUNT(sizes); i++)
		if (strcmp(kind, sizes[i].kind) == 0)
			return sizes[i].size;
	fprintf(stderr, "driver: no kind %s\n", kind);
	exit(2);
}

/* A number, or the name of a value. */
static const char *read_number(const char *kind, const char *text, void *to)
{
	char *end;
	uint64_t v = strtoull(text, &end, 0);
	size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	if (end == text) {
		size_t i = 0;

		while (i < COUNT(value_names) &&
		       (strlen(value_names[i].name) != n || strncmp(value_names[i].name, text, n) != 0))
			i++;
		if (i == COUNT(value_names))
			unknown("value", kind, text);
		v = value_names[i].value;
		end = (char *)text + n;
	}
	memcpy(to, &v, size_of(kind));
	return end;
}

static void read_list(const char *kind, const char *text, void *to, void *elements)
{
	sai_object_list_t *list = to;
	const char *end;

	list->list = elements;
	list->count = 0;
	for (; *text; text = *end ? end + 1 : end) {
		end = read_number(kind, text, (char *)elements + list->count * size_of(kind));
		list->count++;
	}
}

static void read_octets(const char *text, const char **end, sai_u8_list_t *list, void *elements)
{
	list->list = elements;
	list->count = hex(text, end, elements);
}

static void read_field(const char *kind, const char *text, sai_acl_field_data_t *f, uint64_t (*elements)[64])
{
	f->enable = true;
	if (strcmp(kind, "ip4") == 0 || strcmp(kind, "ip6") == 0) {
		hex(text, &text, (uint8_t *)&f->data);
		hex(text + 1, &text, (uint8_t *)&f->mask);
	} else if (strcmp(kind, "list-u8") == 0) {
		read_octets(text, &text, &f->data.u8list, elements[0]);
		read_octets(text + 1, &text, &f->mask.u8list, elements[1]);
	} else {
		text = read_number(kind, text, &f->data);
		memset(&f->mask, 0xff, size_of(kind));
		if (*text == '/')
			read_number(kind, text + 1, &f->mask);
	}
}

/* NAME=VALUE */
static void read_attr(const char *type, char *text, int i)
{
	char *value = strchr(text, '=');
	sai_attribute_t *a = &attrs[i];
	const struct attribute *named;
	const char *kind;

	if (!value)
		unknown("value of", type, text);
	*value++ = 0;
	named = attribute_of(type, text);
	memset(a, 0, sizeof(*a));
	a->id = named->id;
	if ((kind = strip(named->kind, "field-"))) {
		read_field(kind, value, &a->value.aclfield, room[i]);
	} else if ((kind = strip(named->kind, "action-list-"))) {
		a->value.aclaction.enable = true;
		read_list(kind, value, &a->value.aclaction.parameter.objlist, room[i][0]);
	} else if ((kind = strip(named->kind, "action-"))) {
		a->value.aclaction.enable = strcmp(value, "off") != 0;
		if (a->value.aclaction.enable)
			read_number(kind, value, &a->value.aclaction.parameter);
	} else if ((kind = strip(named->kind, "list-"))) {
		read_list(kind, value, &a->value, room[i][0]);
	} else if (strcmp(named->kind, "ip") == 0) {
		const char *end;

		a->value.ipaddr.addr_family = hex(value, &end, (uint8_t *)&a->value.ipaddr.addr) > sizeof(sai_ip4_t);
	} else {
		read_number(named->kind, value, &a->value);
	}
}

static void print_number(const char *kind, const void *from)
{
	uint64_t v = 0;

	memcpy(&v, from, size_of(kind));
	if (strcmp(kind, "s32") == 0)
		printf(" %d", (int)v);
	else
		printf(strcmp(kind, "oid") == 0 ? " 0x%llx" : " %llu", (unsigned long long)v);
}

static void get(int type, sai_object_id_t id, const char *name)
{
	const struct attribute *named = attribute_of(types[type].name, name);
	const char *kind = strip(named->kind, "list-");
	sai_attribute_t a = { .id = named->id };
	sai_status_t status;

	if (kind) {
		a.value.objlist.count = 64;
		a.value.objlist.list = (void *)room[0][0];
	}
	status = ((get_fn)method(type, 3))(id, 1, &a);
	printf("%d", status);
	if (kind && !status)
		for (uint32_t i = 0; i < a.value.objlist.count; i++)
			print_number(kind, (char *)room[0][0] + i * size_of(kind));
	else if ((kind = strip(named->kind, "action-")) && !status)
		print_number(kind, &a.value.aclaction.parameter);
	else if ((kind = strip(named->kind, "field-")) && !status)
		print_number(kind, &a.value.aclfield.data);
	else if (!status)
		print_number(named->kind, &a.value);
	printf("\n");
}

static sai_status_t ask_capability(sai_object_type_t type, uint32_t id, sai_attr_capability_t *c)
{
	sai_status_t (*query)(sai_object_id_t, sai_object_type_t, sai_attr_id_t,
			      sai_attr_capability_t *) = symbol("sai_query_attribute_capability");

	return query(the_switch, type, id, c);
}

static void set_profile(char **words, int n)
{
	for (int i = 0; i < MAX; i++) {
		free(profile[i]);
		profile[i] = i < n ? strdup(words[i]) : NULL;
	}
	for (int i = 0; i < n; i++)
		for (char *c = profile[i]; *c; c++)
			if (*c == '+')
				*c = ' '; /* words of a value */
}

static void make_switch(char **words, int n)
{
	static const sai_service_method_table_t services = { profile_get, profile_next };
	sai_status_t (*initialize)(uint64_t, const sai_service_method_table_t *) = symbol("sai_api_initialize");
	sai_attribute_t list[2] = { { .id = SAI_SWITCH_ATTR_INIT_SWITCH, .value.booldata = true },
				    { .id = SAI_SWITCH_ATTR_PACKET_EVENT_NOTIFY, .value.ptr = on_packet } };
	static bool initialized;
	sai_attribute_t notify = { .id = SAI_SWITCH_ATTR_FLOW_EVENT_NOTIFY };
	sai_attr_capability_t c = {};
	sai_status_t status;

	set_profile(words, n);
	if (!initialized && initialize(0, &services)) {
		fprintf(stderr, "driver: sai_api_initialize\n");
		exit(2);
	}
	initialized = true;
	status = ((sai_switch_api_t *)table(SAI_API_SWITCH))->create_switch(&the_switch, 2, list);
	*(sai_sluice_flow_event_notification_fn *)&notify.value.ptr = on_event;
	if (!status)
		ask_capability(SAI_OBJECT_TYPE_SWITCH, notify.id, &c);
	if (c.set_implemented)
		status = ((sai_switch_api_t *)table(SAI_API_SWITCH))->set_switch_attribute(the_switch, &notify);
	printf("%d 0x%llx\n", status, (unsigned long long)the_switch);
}

static void stats(char **words, int n)
{
	sai_object_id_t id = strtoull(words[1], NULL, 0);
	sai_stat_id_t ids[MAX];
	uint64_t values[MAX];
	sai_status_t status;

	for (int i = 2; i < n; i++)
		ids[i - 2] = stat_of(words[0], words[i]);
	if (strcmp(words[0], "port") == 0)
		status = ((sai_port_api_t *)table(SAI_API_PORT))->get_port_stats(id, n - 2, ids, values);
	else if (strcmp(words[0], "queue") == 0)
		status = ((sai_queue_api_t *)table(SAI_API_QUEUE))->get_queue_stats(id, n - 2, ids, values);
	else
		status = ((sai_policer_api_t *)table(SAI_API_POLICER))->get_policer_stats(id, n - 2, ids, values);
	printf("%d", status);
	for (int i = 0; i < n - 2 && !status; i++)
		printf(" %llu", (unsigned long long)values[i]);
	printf("\n");
}

static void clear(char **words, int n)
{
	sai_stat_id_t ids[MAX];

	for (int i = 1; i < n; i++)
		ids[i - 1] = stat_of("queue", words[i]);
	printf("%d\n",
	       ((sai_queue_api_t *)table(SAI_API_QUEUE))->clear_queue_stats(strtoull(words[0], NULL, 0), n - 1, ids));
}

static void values(int type, uint32_t id)
{
	sai_status_t (*query)(sai_object_id_t, sai_object_type_t, sai_attr_id_t,
			      sai_s32_list_t *) = symbol("sai_query_attribute_enum_values_capability");
	int32_t numbers[MAX];
	sai_s32_list_t list = { .count = MAX, .list = numbers };
	sai_status_t status = query(the_switch, types[type].type, id, &list);

	printf("%d", status);
	for (uint32_t i = 0; !status && i < list.count; i++)
		printf(" %d", numbers[i]);
	printf("\n");
}

static void capability(int type, uint32_t id)
{
	sai_attr_capability_t c = {};
	sai_status_t status = ask_capability(types[type].type, id, &c);

	printf("%d %d %d %d\n", status, c.create_implemented, c.set_implemented, c.get_implemented);
}

static const sai_sluice_api_t *sluice(void)
{
	return table(SAI_API_SLUICE);
}

static void read_address(const char *text, sai_ip_address_t *a)
{
	if (inet_pton(AF_INET6, text, a->addr.ip6) == 1)
		a->addr_family = 1;
	else
		inet_pton(AF_INET, text, &a->addr.ip4);
}

/* KIND VALUE[/PROTOCOL] SRC DST */
static sai_sluice_match_t read_match(char **w)
{
	char *end;
	sai_sluice_match_t m = { .type = strtoul(w[0], NULL, 0), .value = strtoul(w[1], &end, 0) };

	m.protocol = *end == '/' ? strtoul(end + 1, NULL, 0) : 17;

	read_address(w[2], &m.source);
	read_address(w[3], &m.destination);
	return m;
}

static void get_hold(char **w)
{
	sai_sluice_match_t m = read_match(w + 1);
	sai_sluice_hold_t h = {};
	sai_status_t status = sluice()->get_hold(the_switch, strtoull(w[0], NULL, 0), &m, &h);

	printf("%d %llu %llu %llu %llu %llu %llu %llu\n", status, (unsigned long long)h.remaining_us,
	       (unsigned long long)h.rate, (unsigned long long)h.octets, (unsigned long long)h.packets,
	       (unsigned long long)h.waiting_octets, (unsigned long long)h.waiting_packets,
	       (unsigned long long)h.dropped_packets);
}

static void get_flow(char **w)
{
	sai_sluice_flow_t f = {};
	sai_status_t status = sluice()->get_flow(strtoull(w[0], NULL, 0), strtoull(w[1], NULL, 0), &f);

	printf("%d %llu %llu\n", status, (unsigned long long)f.octets, (unsigned long long)f.departed);
}

static void get_flows(char **w)
{
	uint32_t n = 100000;
	sai_sluice_flow_t *all = calloc(n, sizeof(*all));
	sai_status_t status = sluice()->get_flows(strtoull(w[0], NULL, 0), &n, all);

	printf("%d", status);
	for (uint32_t i = 0; !status && i < n; i++)
		printf(" 0x%llx:%llu", (unsigned long long)all[i].flow, (unsigned long long)all[i].octets);
	printf("\n");
	free(all);
}

static void flow_stats(void)
{
	sai_sluice_flow_stats_t s = {};
	sai_status_t status = sluice()->get_flow_stats(the_switch, &s);

	printf("%d %llu %llu %llu %llu %llu %llu %llu %llu\n", status, (unsigned long long)s.events,
	       (unsigned long long)s.events_lost, (unsigned long long)s.unmonitored, (unsigned long long)s.held_packets,
	       (unsigned long long)s.hold_queue_full, (unsigned long long)s.hold_queue_lost,
	       (unsigned long long)s.hold_queue_stale, (unsigned long long)s.hold_queue_passed);
}

/* Prints "part|place|mendable|fault" of each drift, with ~ for blanks; mend: puts those back that can be. */
static void audit(bool mend)
{
	sai_sluice_drift_t drifts[64] = {};
	uint32_t n = 0, piece = 0, more;
	sai_status_t status;

	do {
		more = 64 - n;
		status = sluice()->audit(the_switch, &piece, &more, drifts + n);
		n += status ? 0 : more;
	} while (!status && piece);

	for (uint32_t i = 0; !status && mend && i < n; i++)
		if (drifts[i].mendable)
			status = sluice()->mend(the_switch, &drifts[i]);
	printf("%d", status);
	for (uint32_t i = 0; i < n && !status; i++) {
		char line[256];

		snprintf(line, sizeof(line), "%s|%s|%u|%s", drifts[i].part, drifts[i].place, drifts[i].mendable,
			 drifts[i].fault);
		for (char *c = line; *c; c++)
			if (*c == ' ')
				*c = '~';
		printf(" %s", line);
	}
	printf("\n");
}

/* Prints the piece that follows a piece of an audit, and the number of drifts, for which it has so much room. */
static void audit_piece(uint32_t piece, uint32_t room)
{
	sai_sluice_drift_t drifts[64] = {};
	sai_status_t status = sluice()->audit(the_switch, &piece, &room, drifts);

	printf("%d %u %u\n", status, piece, room);
}

/* Calls of the extension's API; false: none of them. */
static bool run_sluice(char **w)
{
	if (strcmp(w[0], "events") == 0) {
		wait_events(atoi(w[1]));
	} else if (strcmp(w[0], "audit") == 0 || strcmp(w[0], "mend") == 0) {
		audit(*w[0] == 'm');
	} else if (strcmp(w[0], "piece") == 0) {
		audit_piece(atoi(w[1]), atoi(w[2]));
	} else if (strcmp(w[0], "hold") == 0) {
		sai_sluice_match_t m = read_match(w + 2);

		printf("%d\n", sluice()->set_hold(the_switch, strtoull(w[1], NULL, 0), &m, strtoull(w[6], NULL, 0),
						  strtoull(w[7], NULL, 0)));
	} else if (strcmp(w[0], "get-hold") == 0) {
		get_hold(w + 1);
	} else if (strcmp(w[0], "flow") == 0) {
		get_flow(w + 1);
	} else if (strcmp(w[0], "flows") == 0) {
		get_flows(w + 1);
	} else if (strcmp(w[0], "flow-stats") == 0) {
		flow_stats();
	} else {
		return false;
	}
	return true;
}

static void run(char **w, int n)
{
	sai_object_id_t id = 0;
	sai_status_t status;
	int type;

	if (strcmp(w[0], "switch") == 0) {
		make_switch(w + 1, n - 1);
		return;
	}
	if (strcmp(w[0], "packets") == 0) {
		wait_packets(atoi(w[1]));
		return;
	}
	if (run_sluice(w))
		return;
	if (strcmp(w[0], "stat") == 0) {
		stats(w + 1, n - 1);
		return;
	}
	if (strcmp(w[0], "clear") == 0) {
		clear(w + 1, n - 1);
		return;
	}
	if (strcmp(w[0], "profile") == 0) {
		set_profile(w + 1, n - 1);
		printf("0\n");
		return;
	}
	if (strcmp(w[0], "remove-switch") == 0) {
		printf("%d\n", ((sai_switch_api_t *)table(SAI_API_SWITCH))->remove_switch(the_switch));
		return;
	}
	type = type_of(w[1]);
	if (strcmp(w[0], "create") == 0) {
		for (int i = 2; i < n; i++)
			read_attr(w[1], w[i], i - 2);
		status = ((create_fn)method(type, 0))(&id, the_switch, n - 2, attrs);
		printf("%d 0x%llx\n", status, (unsigned long long)id);
	} else if (strcmp(w[0], "remove") == 0) {
		printf("%d\n", ((remove_fn)method(type, 1))(strtoull(w[2], NULL, 0)));
	} else if (strcmp(w[0], "set") == 0) {
		read_attr(w[1], w[3], 0);
		printf("%d\n", ((set_fn)method(type, 2))(strtoull(w[2], NULL, 0), attrs));
	} else if (strcmp(w[0], "get") == 0) {
		get(type, strtoull(w[2], NULL, 0), w[3]);
	} else if (strcmp(w[0], "capability") == 0) {
		capability(type, attribute_of(w[1], w[2])->id);
	} else if (strcmp(w[0], "values") == 0) {
		values(type, attribute_of(w[1], w[2])->id);
	} else {
		fprintf(stderr, "driver: no command %s\n", w[0]);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	char line[1 << 16], *words[MAX + 4], *next;
	int n;

	lib = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!lib) {
		fprintf(stderr, "driver: %s\n", argc == 2 ? dlerror() : "usage: driver LIBRARY");
		return 2;
	}
	while (fgets(line, sizeof(line), stdin)) {
		n = 0;
		for (char *w = strtok_r(line, " \n", &next); w && n < MAX; w = strtok_r(NULL, " \n", &next))
			words[n++] = w;
		if (n)
			run(words, n);
		fflush(stdout);
	}
	return 0;
}
