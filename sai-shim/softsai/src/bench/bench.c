// SPDX-License-Identifier: Apache-2.0
/*
 * The cost of the ingress program for each packet, by BPF_PROG_TEST_RUN, and the time to make
 * ACL entries of flows: prints one JSON object. Usage: softsai-bench LIBRARY, in a network
 * namespace of
 * its own that has a netdev beside lo; programs a switch on all netdevs there,
 * and removes it.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "sai_abi.h"
#include "sai_sluice_ext.h"

#define REPEAT 500000
#define ROUNDS 5
#define FLOWS 10000
#define ROCE_PORT 4791

static void die(const char *what)
{
	fprintf(stderr, "softsai-bench: %s\n", what);
	exit(1);
}

/* An empty program: the cost of a test run by itself. */
static int empty_program(void)
{
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = -1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "empty", "GPL", insns, 2, NULL);
}

static int program_on(int ifindex)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = 1, .priority = 0x51c);
	struct bpf_tc_hook hook = { .sz = sizeof(hook), .ifindex = ifindex, .attach_point = BPF_TC_INGRESS };

	return bpf_tc_query(&hook, &opts) ? -1 : bpf_prog_get_fd_by_id(opts.prog_id);
}

struct frame {
	unsigned char octets[154];
};

/* A SEND_ONLY of 64 octets to a queue pair, unlabelled. */
static struct frame roce(uint32_t qp, uint16_t port)
{
	struct frame f = { .octets = { [12] = 0x86,
				       [13] = 0xdd,
				       [14] = 0x60,
				       [19] = 100,
				       [20] = 17,
				       [21] = 64,
				       [22] = 0x20,
				       [23] = 1,
				       [37] = 1,
				       [38] = 0x20,
				       [39] = 1,
				       [53] = 2,
				       [54] = 0xc0,
				       [59] = 100,
				       [62] = 4 } };

	f.octets[56] = port >> 8;
	f.octets[57] = port;
	f.octets[67] = qp >> 16;
	f.octets[68] = qp >> 8;
	f.octets[69] = qp;
	return f;
}

/* The median of some rounds. */
static unsigned int measure(int program, int ifindex, struct frame f)
{
	unsigned int ns[ROUNDS], kept;
	struct __sk_buff skb = { .ifindex = ifindex };

	for (int i = 0; i < ROUNDS; i++) {
		unsigned char out[2048];
		DECLARE_LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = &f, .data_size_in = sizeof(f), .data_out = out,
				    .data_size_out = sizeof(out), .ctx_in = &skb, .ctx_size_in = sizeof(skb),
				    .repeat = REPEAT);

		if (bpf_prog_test_run_opts(program, &opts))
			die("bpf_prog_test_run_opts failed");
		ns[i] = opts.duration;
	}
	for (int i = 1; i < ROUNDS; i++)
		for (int k = i; k > 0 && ns[k] < ns[k - 1]; k--) {
			kept = ns[k];
			ns[k] = ns[k - 1];
			ns[k - 1] = kept;
		}
	return ns[ROUNDS / 2];
}

static void check(sai_status_t status, const char *what)
{
	if (status) {
		fprintf(stderr, "softsai-bench: %s: status %d\n", what, status);
		exit(1);
	}
}

static const char *no_profile(sai_switch_profile_id_t id, const char *key)
{
	(void)id;
	return strcmp(key, "SLUICE_COLD") == 0 ? "1" : NULL;
}

static sai_switch_api_t *switches;
static sai_port_api_t *ports;
static sai_acl_api_t *acl;
static sai_udf_api_t *udfs;
static sai_object_id_t sw, table, counter;

static void open_library(const char *path)
{
	static const sai_service_method_table_t services = { .profile_get_value = no_profile };
	sai_status_t (*initialize)(uint64_t, const sai_service_method_table_t *);
	sai_status_t (*query)(sai_api_t, void **);
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		die(dlerror());
	initialize = dlsym(lib, "sai_api_initialize");
	query = dlsym(lib, "sai_api_query");
	check(initialize(0, &services), "sai_api_initialize");
	check(query(SAI_API_SWITCH, (void **)&switches), "switch API");
	check(query(SAI_API_PORT, (void **)&ports), "port API");
	check(query(SAI_API_ACL, (void **)&acl), "ACL API");
	check(query(SAI_API_UDF, (void **)&udfs), "UDF API");
}

static sai_object_id_t make_udf_group(void)
{
	sai_attribute_t match[] = { { .id = SAI_UDF_MATCH_ATTR_L4_DST_PORT_TYPE } };
	sai_attribute_t group[] = { { .id = SAI_UDF_GROUP_ATTR_LENGTH, .value.u16 = 4 } };
	sai_attribute_t udf[] = { { .id = SAI_UDF_ATTR_MATCH_ID },
				  { .id = SAI_UDF_ATTR_GROUP_ID },
				  { .id = SAI_UDF_ATTR_BASE, .value.s32 = SAI_UDF_BASE_L4 },
				  { .id = SAI_UDF_ATTR_OFFSET, .value.u16 = 12 } };
	sai_object_id_t id, match_id, group_id;

	match[0].value.aclfield.enable = true;
	match[0].value.aclfield.data.u16 = ROCE_PORT;
	match[0].value.aclfield.mask.u16 = 0xffff;
	check(udfs->create_udf_match(&match_id, sw, 1, match), "UDF match");
	check(udfs->create_udf_group(&group_id, sw, 1, group), "UDF group");
	udf[0].value.oid = match_id;
	udf[1].value.oid = group_id;
	check(udfs->create_udf(&id, sw, 4, udf), "UDF");
	return group_id;
}

static void make_table(int ifindex)
{
	sai_attribute_t attrs[] = { { .id = SAI_ACL_TABLE_ATTR_ACL_STAGE, .value.s32 = SAI_ACL_STAGE_INGRESS },
				    { .id = SAI_ACL_TABLE_ATTR_FIELD_SRC_IPV6, .value.booldata = true },
				    { .id = SAI_ACL_TABLE_ATTR_FIELD_DST_IPV6, .value.booldata = true },
				    { .id = SAI_ACL_TABLE_ATTR_FIELD_L4_DST_PORT, .value.booldata = true },
				    { .id = SAI_ACL_TABLE_ATTR_FIELD_IPV6_NEXT_HEADER, .value.booldata = true },
				    { .id = SAI_ACL_TABLE_ATTR_USER_DEFINED_FIELD_GROUP_MIN } };
	sai_attribute_t of_counter[] = { { .id = SAI_ACL_COUNTER_ATTR_TABLE_ID },
					 { .id = SAI_ACL_COUNTER_ATTR_ENABLE_PACKET_COUNT, .value.booldata = true } };
	sai_attribute_t bind = { .id = SAI_PORT_ATTR_INGRESS_ACL };
	sai_attribute_t list = { .id = SAI_SWITCH_ATTR_PORT_LIST };
	sai_object_id_t ids[64];

	attrs[5].value.oid = make_udf_group();
	check(acl->create_acl_table(&table, sw, 6, attrs), "ACL table");
	of_counter[0].value.oid = table;
	check(acl->create_acl_counter(&counter, sw, 2, of_counter), "ACL counter");
	list.value.objlist.count = 64;
	list.value.objlist.list = ids;
	check(switches->get_switch_attribute(sw, 1, &list), "port list");
	bind.value.oid = table;
	for (uint32_t i = 0; i < list.value.objlist.count; i++)
		if ((ids[i] & 0xffffffff) == (unsigned int)ifindex)
			check(ports->set_port_attribute(ids[i], &bind), "bind the table");
}

static sai_attribute_t enable(sai_attr_id_t id)
{
	sai_attribute_t a = { .id = id };

	a.value.aclfield.enable = true; /* that of an action is at the same place */
	return a;
}

static sai_object_id_t make_compute_entry(void)
{
	sai_attribute_t attrs[] = { { .id = SAI_ACL_ENTRY_ATTR_TABLE_ID, .value.oid = table },
				    enable(SAI_ACL_ENTRY_ATTR_FIELD_L4_DST_PORT),
				    enable(SAI_ACL_ENTRY_ATTR_FIELD_IPV6_NEXT_HEADER),
				    enable(SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL),
				    enable(SAI_ACL_ENTRY_ATTR_ACTION_COUNTER) };
	sai_object_id_t id;

	attrs[1].value.aclfield.data.u16 = ROCE_PORT;
	attrs[1].value.aclfield.mask.u16 = 0xffff;
	attrs[2].value.aclfield.data.u8 = 17;
	attrs[2].value.aclfield.mask.u8 = 0xff;
	attrs[4].value.aclaction.parameter.oid = counter;
	check(acl->create_acl_entry(&id, sw, 5, attrs), "ACL entry");
	return id;
}

static void make_flow_entry(uint32_t qp)
{
	static uint8_t mask[4] = { 0, 0xff, 0xff, 0xff };
	uint8_t data[4] = { 0, qp >> 16, qp >> 8, qp };
	struct frame f = roce(qp, ROCE_PORT);
	sai_attribute_t attrs[] = { { .id = SAI_ACL_ENTRY_ATTR_TABLE_ID, .value.oid = table },
				    enable(SAI_ACL_ENTRY_ATTR_FIELD_SRC_IPV6),
				    enable(SAI_ACL_ENTRY_ATTR_FIELD_DST_IPV6),
				    enable(SAI_ACL_ENTRY_ATTR_USER_DEFINED_FIELD_GROUP_MIN),
				    enable(SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL),
				    enable(SAI_ACL_ENTRY_ATTR_ACTION_COUNTER) };
	sai_object_id_t id;

	memcpy(&attrs[1].value.aclfield.data, f.octets + 22, 16);
	memset(&attrs[1].value.aclfield.mask, 0xff, 16);
	memcpy(&attrs[2].value.aclfield.data, f.octets + 38, 16);
	memset(&attrs[2].value.aclfield.mask, 0xff, 16);
	attrs[3].value.aclfield.data.u8list = (sai_u8_list_t){ 4, data };
	attrs[3].value.aclfield.mask.u8list = (sai_u8_list_t){ 4, mask };
	attrs[4].value.aclaction.parameter.u32 = qp & 0xfffff;
	attrs[5].value.aclaction.parameter.oid = counter;
	check(acl->create_acl_entry(&id, sw, 6, attrs), "ACL entry");
}

static int first_netdev(void)
{
	struct if_nameindex *all = if_nameindex();
	int found = 0;

	for (int i = 0; all && all[i].if_index; i++)
		if (strcmp(all[i].if_name, "lo") != 0 && !found)
			found = all[i].if_index;
	if_freenameindex(all);
	if (!found)
		die("no netdev but lo in this network namespace");
	return found;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	sai_attribute_t init = { .id = SAI_SWITCH_ATTR_INIT_SWITCH, .value.booldata = true };
	unsigned int empty, unbound, compute, other, flows;
	int ifindex = first_netdev(), program, nothing;
	sai_object_id_t entry;
	double begin, made;

	if (argc != 2)
		die("usage: softsai-bench LIBRARY");
	open_library(argv[1]);
	check(switches->create_switch(&sw, 1, &init), "create the switch");
	program = program_on(ifindex);
	nothing = empty_program();
	if (program < 0 || nothing < 0)
		die("no program");
	empty = measure(nothing, ifindex, roce(1, ROCE_PORT));
	unbound = measure(program, ifindex, roce(1, ROCE_PORT));
	make_table(ifindex);
	entry = make_compute_entry();
	compute = measure(program, ifindex, roce(1, ROCE_PORT));
	other = measure(program, ifindex, roce(1, ROCE_PORT + 1));
	acl->remove_acl_entry(entry);
	begin = now_ms();
	for (int i = 0; i < FLOWS; i++)
		make_flow_entry(i);
	made = now_ms() - begin;
	flows = measure(program, ifindex, roce(FLOWS / 2, ROCE_PORT));
	printf("{\"empty_ns\": %u, \"unbound_ns\": %u, \"compute_ns\": %u, \"not_roce_ns\": %u, \"flows\": %d, \"flow_ns\": %u, \"flows_made_ms\": %.1f}\n",
	       empty, unbound, compute, other, FLOWS, flows, made);
	switches->remove_switch(sw);

	/* Everything off the ports again, as a cold switch without objects leaves them. */
	check(switches->create_switch(&sw, 1, &init), "create the switch");
	check(switches->remove_switch(sw), "remove the switch");
	return 0;
}
