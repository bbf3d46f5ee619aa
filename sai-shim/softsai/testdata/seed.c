/*
 * Prints the seed of the digests of a port's ACL entries, word by word in hex; with "missed", how
 * often the kernel had left calls of the port's tracepoints out.
 * Usage: seed PORT [missed], in the port's network namespace.
 */
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/flows.h"
#include "bpf/softsai.h"

static int program_on(unsigned int ifindex, enum bpf_tc_attach_point at)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = 1, .priority = 0x51c);
	struct bpf_tc_hook hook = { .sz = sizeof(hook), .ifindex = ifindex, .attach_point = at };
	int err = bpf_tc_query(&hook, &opts);

	return err ? err : bpf_prog_get_fd_by_id(opts.prog_id);
}

/* The map of this name that the program holds. */
static int map_of(int program, const char *name)
{
	__u32 ids[64], size = sizeof(struct bpf_prog_info);
	struct bpf_prog_info info = { .nr_map_ids = 64, .map_ids = (uintptr_t)ids };

	if (bpf_obj_get_info_by_fd(program, &info, &size))
		return -1;
	for (__u32 i = 0; i < info.nr_map_ids; i++) {
		int fd = bpf_map_get_fd_by_id(ids[i]);
		struct bpf_map_info map = {};

		size = sizeof(map);
		if (fd < 0)
			continue;
		if (bpf_obj_get_info_by_fd(fd, &map, &size) == 0 && strcmp(map.name, name) == 0)
			return fd;
		close(fd);
	}
	return -1;
}

static int print_missed(unsigned int ifindex)
{
	int map = map_of(program_on(ifindex, BPF_TC_EGRESS), "soft_lines");
	static union {
		struct softsai_line line;
		char page[65536];
	} value;

	for (__u32 n = 0; map >= 0 && n < SOFTSAI_LINES && bpf_map_lookup_elem(map, &n, &value) == 0; n++) {
		if (value.line.ifindex != ifindex)
			continue;
		printf("%llu\n", (unsigned long long)value.line.missed);
		return 0;
	}
	fprintf(stderr, "seed: no flows are watched there\n");
	return 1;
}

int main(int argc, char **argv)
{
	uint64_t head[SOFTSAI_META_CHUNK / sizeof(uint64_t)];
	struct softsai_meta_key key = {};
	unsigned int ifindex = argc > 1 ? if_nametoindex(argv[1]) : 0;
	int program;

	if (argc == 3 && strcmp(argv[2], "missed") == 0)
		return print_missed(ifindex);
	program = program_on(ifindex, BPF_TC_INGRESS);
	if (argc != 2 || program < 0 || bpf_map_lookup_elem(map_of(program, "soft_meta"), &key, head)) {
		fprintf(stderr, "seed: no records\n");
		return 1;
	}
	for (size_t n = 0; n < SOFTSAI_SEED_WORDS; n++)
		printf("%016llx\n", (unsigned long long)head[2 + n]);
	return 0;
}
