/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shim LIBRARY RECORD: uses every function of the shim on the recording library,
 * to its limits and beyond. It is built with the sanitizers; it prints what is
 * not as it should be.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

#define SURPLUS "4100 600" /* packets: more than the ring holds, and longer than its room */

static int wrong;

#define CHECK(what) \
	do { \
		if (!(what)) { \
			printf("line %d: not %s\n", __LINE__, #what); \
			wrong = 1; \
		} \
	} while (0)

/* One attribute of each kind. Their ids are no matter: the first that the library does not know is 3. */
static void gather_all(struct shim *s)
{
	static const uint8_t octets[16] = { 1, 2, 3, 4 };
	static const uint64_t oids[3] = { 1, 2, 3 };
	static const int32_t numbers[3] = { 1, 2, 3 };

	shim_u32(s, 1, 0xffffffff);
	shim_bool(s, 2, true);
	shim_u16(s, 3, 0xffff);
	shim_s32(s, 5, -1);
	shim_u64(s, 6, ~0ULL);
	shim_oid(s, 7, 1);
	shim_oids(s, 9, oids, 3);
	shim_u8s(s, 10, octets, 3);
	shim_s32s(s, 11, numbers, 3);
	shim_field_u16(s, 13, 1, 0xffff);
	shim_field_u32(s, 14, 1, 0xffffffff);
	shim_field_ip6(s, 16, octets, octets);
	shim_field_octets(s, 18, octets, octets, 5);
	shim_action_u32(s, 20, 1);
	shim_action_s32(s, 21, -1);
	shim_action_oid(s, 22, 1);
	shim_oids(s, 24, NULL, 0);
}

static uint64_t create_table(struct shim *s)
{
	uint64_t id = 0;

	shim_s32(s, SAI_ACL_TABLE_ATTR_ACL_STAGE, SAI_ACL_STAGE_INGRESS);
	CHECK(shim_create(s, SAI_OBJECT_TYPE_ACL_TABLE, &id) == SAI_STATUS_SUCCESS);
	return id;
}

static void test_attributes(struct shim *s)
{
	static int32_t field[1024];
	uint64_t id;

	gather_all(s);
	CHECK(shim_create(s, SAI_OBJECT_TYPE_ACL_ENTRY, &id) == SAI_STATUS_UNKNOWN_ATTRIBUTE_0 - 2);
	for (int i = 0; i < 32; i++)
		shim_u32(s, SAI_ACL_TABLE_ATTR_SIZE, i);
	CHECK(shim_create(s, SAI_OBJECT_TYPE_ACL_TABLE, &id) == SAI_STATUS_SUCCESS);
	CHECK(shim_remove(s, SAI_OBJECT_TYPE_ACL_TABLE, id) == SAI_STATUS_SUCCESS);
	for (int i = 0; i < 33; i++)
		shim_u32(s, SAI_ACL_TABLE_ATTR_SIZE, i);
	CHECK(shim_create(s, SAI_OBJECT_TYPE_ACL_TABLE, &id) == SAI_STATUS_INSUFFICIENT_RESOURCES);
	for (int i = 0; i < 100; i++)
		gather_all(s);
	CHECK(shim_set(s, SAI_OBJECT_TYPE_PORT, 1) == SAI_STATUS_INVALID_PARAMETER);
	shim_s32s(s, SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST, field, 1024);
	CHECK(shim_create(s, SAI_OBJECT_TYPE_HASH, &id) == SAI_STATUS_SUCCESS);
	shim_s32s(s, SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST, field, 1024);
	shim_s32s(s, SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST, field, 1);
	CHECK(shim_create(s, SAI_OBJECT_TYPE_HASH, &id) == SAI_STATUS_INSUFFICIENT_RESOURCES);
	CHECK(shim_set(s, SAI_OBJECT_TYPE_PORT, 1) == SAI_STATUS_INVALID_PARAMETER); /* nothing was gathered */
	gather_all(s);
	shim_forget(s);
}

static void test_reads(struct shim *s, uint64_t sw, uint64_t table)
{
	sai_attr_capability_t capability = { 0 };
	sai_attribute_value_t value;
	uint64_t ports[3], counters[2];
	int32_t fields[8];
	uint32_t n = 2, ids[2] = { SAI_PORT_STAT_IF_IN_OCTETS, SAI_PORT_STAT_IF_OUT_OCTETS };

	CHECK(shim_get_list(s, SAI_OBJECT_TYPE_SWITCH, sw, SAI_SWITCH_ATTR_PORT_LIST, ports, &n) ==
	      SAI_STATUS_BUFFER_OVERFLOW);
	CHECK(n == 3);
	CHECK(shim_get_list(s, SAI_OBJECT_TYPE_SWITCH, sw, SAI_SWITCH_ATTR_PORT_LIST, ports, &n) == SAI_STATUS_SUCCESS);
	shim_oid(s, SAI_PORT_ATTR_INGRESS_ACL, table);
	CHECK(shim_set(s, SAI_OBJECT_TYPE_PORT, ports[1]) == SAI_STATUS_SUCCESS);
	CHECK(shim_get(s, SAI_OBJECT_TYPE_PORT, ports[1], SAI_PORT_ATTR_INGRESS_ACL, &value) == SAI_STATUS_SUCCESS);
	CHECK(value.oid == table);
	CHECK(shim_stats(s, SAI_OBJECT_TYPE_PORT, ports[1], ids, 2, counters) == SAI_STATUS_SUCCESS);
	CHECK(counters[0] == 2000 && counters[1] == 2009);
	n = 1;
	CHECK(shim_enum_values(s, SAI_OBJECT_TYPE_HASH, SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST, fields, &n) ==
	      SAI_STATUS_BUFFER_OVERFLOW);
	CHECK(n == 8);
	CHECK(shim_enum_values(s, SAI_OBJECT_TYPE_HASH, SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST, fields, &n) ==
	      SAI_STATUS_SUCCESS);
	CHECK(shim_capability(s, SAI_OBJECT_TYPE_ACL_ENTRY, SAI_ACL_ENTRY_ATTR_PRIORITY, &capability) ==
	      SAI_STATUS_SUCCESS);
	CHECK(capability.create_implemented);
}

/* Methods that no table has, and types that no API has. */
static void test_missing(struct shim *s, uint64_t table)
{
	sai_attribute_value_t value;
	uint64_t id, counter;
	uint32_t n = 1, stat = 0;

	CHECK(shim_create(s, SAI_OBJECT_TYPE_PORT, &id) == SAI_STATUS_NOT_IMPLEMENTED);
	shim_u32(s, SAI_HOSTIF_TRAP_GROUP_ATTR_QUEUE, 1);
	CHECK(shim_set(s, SAI_OBJECT_TYPE_HOSTIF_TRAP_GROUP, 1) == SAI_STATUS_NOT_IMPLEMENTED);
	CHECK(shim_remove(s, 1000, 1) == SAI_STATUS_NOT_IMPLEMENTED);
	CHECK(shim_set(s, -1, 1) == SAI_STATUS_NOT_IMPLEMENTED);
	CHECK(shim_get(s, 1000, 1, 1, &value) == SAI_STATUS_NOT_IMPLEMENTED);
	CHECK(shim_get_list(s, 1000, 1, 1, &id, &n) == SAI_STATUS_NOT_IMPLEMENTED);
	CHECK(shim_stats(s, SAI_OBJECT_TYPE_ACL_TABLE, table, &stat, 1, &counter) == SAI_STATUS_NOT_IMPLEMENTED);
}

/* The port that test_reads bound sends; what is not taken is in the ring, or on its way there, when the library closes. */
static void test_packets(struct shim *s)
{
	static struct shim_packet burst[64];
	struct pollfd p = { shim_packets_fd(s), POLLIN, 0 };
	int taken = 0;

	CHECK(poll(&p, 1, 60000) == 1);
	while (taken < 1000) {
		int n = shim_packets_take(s, burst, 64);

		for (int i = 0; i < n; i++)
			CHECK(burst[i].captured == SHIM_PACKET_ROOM && burst[i].length == 600);
		taken += n;
	}
}

/* The ring of flow events, filled by the library's thread while it is read; what waits when the library closes is dropped. */
static void test_flows(struct shim *s, uint64_t sw)
{
	struct shim_match match = {
		.type = SAI_SLUICE_MATCH_PAIR, .ipv6 = true, .source = { 1, 2 }, .destination = { 3, 4 }
	};
	static sai_sluice_flow_event_t burst[7];
	static sai_sluice_flow_t flows[100];
	uint64_t port, queue, lost = 0;
	uint32_t n = 99;
	struct pollfd p = { 0, POLLIN, 0 };
	uint64_t ports[3], queues[8];
	uint32_t count = 3;

	CHECK(shim_extension(s) == SAI_SLUICE_VERSION_SESSIONS);
	CHECK(shim_watch_flows(s, &p.fd) == SAI_STATUS_SUCCESS);
	CHECK(shim_get_list(s, SAI_OBJECT_TYPE_SWITCH, sw, SAI_SWITCH_ATTR_PORT_LIST, ports, &count) ==
	      SAI_STATUS_SUCCESS);
	port = ports[0];
	count = 8;
	CHECK(shim_get_list(s, SAI_OBJECT_TYPE_PORT, port, SAI_PORT_ATTR_QOS_QUEUE_LIST, queues, &count) ==
	      SAI_STATUS_SUCCESS);
	queue = queues[0];
	CHECK(shim_set_hold(s, port, match, 1, 2) == SAI_STATUS_SUCCESS);
	CHECK(shim_get_hold(s, port, match).hold.rate == 2);
	CHECK(shim_get_flow(s, queue, 5).flow.flow == 5);
	CHECK(shim_get_flows(s, queue, flows, &n) == SAI_STATUS_BUFFER_OVERFLOW && n == 100);
	CHECK(shim_get_flows(s, queue, flows, &n) == SAI_STATUS_SUCCESS && flows[99].flow == 100);
	CHECK(shim_get_flow_stats(s).stats.hold_queue_lost == 6);
	CHECK(shim_get_flow_stats(s).stats.hold_queue_stale == 7);
	CHECK(shim_get_flow_stats(s).stats.hold_queue_passed == 8);
	shim_u32(s, SAI_QUEUE_ATTR_FLOW_MONITOR_HIGH, 1);
	CHECK(shim_set(s, SAI_OBJECT_TYPE_QUEUE, queue) == SAI_STATUS_SUCCESS);
	for (uint64_t taken = 0; taken + lost < 1000;) {
		int k;

		CHECK(poll(&p, 1, 60000) == 1);
		k = shim_flow_events_take(s, burst, 7, &lost);
		for (int i = 0; i < k; i++)
			CHECK(burst[i].flow > taken && burst[i].head[1] == (uint8_t)burst[i].flow);
		taken += k;
	}
}

static void test_no_library(void)
{
	struct shim *s = NULL;
	char *error = shim_open("/nosuch.so", NULL, NULL, 0, &s);

	CHECK(error && !s);
	free(error);
	error = shim_open("libc.so.6", NULL, NULL, 0, &s);
	CHECK(error && !s);
	free(error);
}

static void test_library(const char *path, const char *record)
{
	const char *const keys[] = { "PACKETS", "PORTS", "RECORD", "EVENTS" };
	const char *const values[] = { SURPLUS, "0,1,2,3 4 8", record, "5000" };
	struct shim *s = NULL, *second = NULL;
	char *error = shim_open(path, keys, values, 4, &s);
	uint64_t sw = 0, table;

	CHECK(!error);
	if (error)
		goto out;
	error = shim_open(path, keys, values, 4, &second);
	CHECK(error && !second);
	CHECK(shim_version(s) == 11800);
	CHECK(shim_create(s, SAI_OBJECT_TYPE_ACL_TABLE, &table) == SAI_STATUS_INVALID_OBJECT_ID); /* no switch yet */
	shim_bool(s, SAI_SWITCH_ATTR_INIT_SWITCH, true);
	CHECK(shim_create_switch(s, &sw) == SAI_STATUS_SUCCESS);
	CHECK(shim_watch_packets(s) == SAI_STATUS_SUCCESS);
	table = create_table(s);
	test_attributes(s);
	test_reads(s, sw, table);
	test_missing(s, table);
	test_packets(s);
	test_flows(s, sw);
	CHECK(shim_remove_switch(s) == SAI_STATUS_SUCCESS);
	gather_all(s);
	shim_close(s);
out:
	free(error);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	test_no_library();
	test_library(argv[1], argv[2]);
	test_library(argv[1], argv[2]); /* what was closed can be opened again */
	return wrong;
}
