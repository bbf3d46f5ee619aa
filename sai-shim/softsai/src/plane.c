// SPDX-License-Identifier: Apache-2.0
#include "plane.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "filter.h"
#include "ingress.skel.h"
#include "log.h"
#include "tables.h"

static const char *const map_names[MAPS] = {
	[MAP_PORTS] = "soft_ports",	  [MAP_VIEWS] = "soft_views",	    [MAP_ENTRIES] = "soft_entries",
	[MAP_COUNTERS] = "soft_counters", [MAP_POLICERS] = "soft_policers", [MAP_META] = "soft_meta",
	[MAP_LOST] = "soft_lost",	  [MAP_CPU] = "soft_cpu",	    [MAP_PAUSE] = "soft_pause",
	[MAP_HOPS] = "soft_hops",	  [MAP_ARRIVALS] = "soft_arrivals",
};
static const char program_name[] = "softsai_ingress";

static struct {
	struct ingress_bpf *skel;
	uint32_t *ifindexes;
	size_t ports;
	struct softsai_counter *counters;
} plane;

int plane_map(enum plane_map map)
{
	return bpf_map__fd(bpf_object__find_map_by_name(plane.skel->obj, map_names[map]));
}

int plane_program(void)
{
	return bpf_program__fd(plane.skel->progs.softsai_ingress);
}

int plane_cpus(void)
{
	return libbpf_num_possible_cpus();
}

uint32_t plane_entries(void)
{
	return bpf_map__max_entries(plane.skel->maps.soft_entries);
}

struct softsai_counter *plane_counters(void)
{
	return plane.counters;
}

int plane_counter_cpus(void)
{
	return bpf_map__max_entries(plane.skel->maps.soft_counters) / plane_entries();
}

const uint64_t *plane_seed(void)
{
	return (const uint64_t *)plane.skel->rodata->softsai_seed;
}

void plane_watch(bool watch)
{
	if (plane.skel)
		__atomic_store_n(&plane.skel->bss->softsai_watching, watch, __ATOMIC_RELEASE);
}

/* The program of softsai on a port, by its name, as a file descriptor. */
static int program_on(uint32_t ifindex)
{
	return filter_find(ifindex, BPF_TC_INGRESS, program_name);
}

/* Reports whether the maps are all there and of a layout that this library reads. */
static bool fits(const int fds[MAP_ADOPTED])
{
	struct softsai_meta_key key = {};
	uint32_t head[SOFTSAI_META_CHUNK / sizeof(uint32_t)];

	for (int m = 0; m < MAP_ADOPTED; m++)
		if (fds[m] < 0)
			return false;
	return bpf_map_lookup_elem(fds[MAP_META], &key, head) == 0 && head[0] >= SOFTSAI_LAYOUT_OLDEST &&
	       head[0] <= SOFTSAI_LAYOUT;
}

/* Takes the maps over that the filter of a netdev holds. */
static bool adopt_from(uint32_t ifindex)
{
	int fds[MAP_ADOPTED], program = program_on(ifindex);
	bool done;

	if (program < 0)
		return false;
	for (int m = 0; m < MAP_ADOPTED; m++)
		fds[m] = filter_map(program, map_names[m]);
	done = fits(fds);
	if (!done)
		warn("netdev with index %u has a switch of another version, which is replaced", ifindex);
	for (int m = 0; m < MAP_ADOPTED; m++) {
		if (done && bpf_map__reuse_fd(bpf_object__find_map_by_name(plane.skel->obj, map_names[m]), fds[m]))
			done = false;
		if (fds[m] >= 0)
			close(fds[m]);
	}
	close(program);
	return done;
}

static bool adopt(const struct plane_options *options)
{
	for (size_t i = 0; i < options->ports; i++)
		if (adopt_from(options->ifindexes[i]))
			return true;
	for (size_t i = 0; i < options->other_count; i++)
		if (adopt_from(options->others[i]))
			return true;
	return false;
}

/* The first record, by which the maps are known as softsai's. */
struct head {
	uint64_t layout;
	uint64_t number; /* of objects: meta_next */
	uint64_t seed[SOFTSAI_SEED_WORDS];
	uint8_t rest[SOFTSAI_META_CHUNK - (2 + SOFTSAI_SEED_WORDS) * sizeof(uint64_t)];
};

/* Signs maps with this library's layout; adopted maps keep their numbers of objects. */
static int sign(bool adopted)
{
	struct head head = {};
	struct softsai_meta_key key = {};
	int err = adopted ? bpf_map_lookup_elem(plane_map(MAP_META), &key, &head) : 0;

	if (err)
		return err;
	head.layout = SOFTSAI_LAYOUT;
	memcpy(head.seed, plane.skel->rodata->softsai_seed, sizeof(head.seed));
	return bpf_map_update_elem(plane_map(MAP_META), &key, &head, BPF_ANY);
}

/* The seed that entries of maps that were taken over lie by, or a new one. */
static int set_seed(bool adopted)
{
	struct head head = {};
	struct softsai_meta_key key = {};
	int err = 0;

	if (adopted)
		err = bpf_map_lookup_elem(plane_map(MAP_META), &key, &head);
	else if (getrandom(head.seed, sizeof(head.seed), 0) != sizeof(head.seed))
		err = -errno;
	memcpy((void *)plane.skel->rodata->softsai_seed, head.seed, sizeof(head.seed));
	return err;
}

static bool has_capability(int bit)
{
	unsigned long long set = 0;
	char line[128];
	FILE *f = fopen("/proc/thread-self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &set) == 1)
			break;
	if (f)
		fclose(f);
	return set >> bit & 1;
}

/* Logs the failed step, its netdev if not 0, and the missing capability. */
static int explain(const char *what, uint32_t ifindex, int err)
{
	char name[64] = "", verb[128];

	if (ifindex && !if_indextoname(ifindex, name))
		snprintf(name, sizeof(name), "netdev with index %u", ifindex);
	snprintf(verb, sizeof(verb), "%s%s%s", what, ifindex ? " " : "", name);
	if (err == -EPERM && !has_capability(12))
		fail("cannot %s: CAP_NET_ADMIN is missing", verb);
	else if (err == -EPERM && !has_capability(21))
		fail("cannot %s: CAP_SYS_ADMIN is missing", verb);
	else
		fail("cannot %s: %s%s%s", verb, strerror(-err), *log_libbpf_reason() ? ": " : "", log_libbpf_reason());
	return err;
}

/* The record that the port's clsact qdisc was made for this filter. */
static struct softsai_meta_key clsact_key(uint32_t ifindex)
{
	return (struct softsai_meta_key){ .object = 0, .chunk = ifindex };
}

/* The qdisc itself. */
static struct bpf_tc_hook clsact_of(uint32_t ifindex)
{
	return (struct bpf_tc_hook){ .sz = sizeof(struct bpf_tc_hook),
				     .ifindex = ifindex,
				     .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS };
}

static int attach(uint32_t ifindex)
{
	uint8_t record[SOFTSAI_META_CHUNK] = { 1 };
	struct softsai_meta_key key = clsact_key(ifindex);
	struct bpf_tc_hook hook = clsact_of(ifindex);
	int err;

	err = bpf_tc_hook_create(&hook);
	if (!err)
		err = bpf_map_update_elem(plane_map(MAP_META), &key, record, BPF_ANY);
	if (err && err != -EEXIST)
		return err;
	return filter_attach(ifindex, BPF_TC_INGRESS, plane_program());
}

static int detach(uint32_t ifindex)
{
	int program = program_on(ifindex);
	struct softsai_meta_key key = clsact_key(ifindex);
	struct bpf_tc_hook hook = clsact_of(ifindex);
	uint8_t record[SOFTSAI_META_CHUNK];

	if (program < 0)
		return 0;
	close(program);
	if (bpf_map_lookup_elem(plane_map(MAP_META), &key, record))
		return filter_detach(ifindex, BPF_TC_INGRESS);
	bpf_map_delete_elem(plane_map(MAP_META), &key);
	return bpf_tc_hook_destroy(&hook);
}

/* Takes the program off a former port; the ports work in any case. */
static void leave(uint32_t ifindex)
{
	int err;

	log_libbpf_clear();
	err = detach(ifindex);
	if (err)
		explain("remove the BPF program from the former port", ifindex, err);
}

int plane_detach(void)
{
	int err = 0, e;

	for (size_t i = 0; i < plane.ports; i++) {
		log_libbpf_clear();
		e = detach(plane.ifindexes[i]);
		if (e)
			err = explain("remove the BPF program from", plane.ifindexes[i], e);
	}
	return err;
}

int plane_join(uint32_t ifindex)
{
	uint32_t *more = realloc(plane.ifindexes, (plane.ports + 1) * sizeof(*more));
	int err;

	if (!more)
		return -ENOMEM;
	plane.ifindexes = more;
	log_libbpf_clear();
	err = attach(ifindex);
	if (err)
		return explain("attach the BPF program to", ifindex, err);
	plane.ifindexes[plane.ports++] = ifindex;
	return 0;
}

int plane_mend(uint32_t ifindex)
{
	log_libbpf_clear();
	return attach(ifindex);
}

void plane_leave(uint32_t ifindex)
{
	struct softsai_meta_key key = clsact_key(ifindex);
	size_t kept = 0;

	for (size_t i = 0; i < plane.ports; i++)
		if (plane.ifindexes[i] != ifindex)
			plane.ifindexes[kept++] = plane.ifindexes[i];
	plane.ports = kept;
	leave(ifindex);
	bpf_map_delete_elem(plane_map(MAP_META), &key); /* the netdev may have gone */
}

void *map_memory(const struct bpf_map *map, size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, (size + page - 1) / page * page, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return at == MAP_FAILED ? NULL : at;
}

void unmap_memory(void *at, size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE);

	if (at)
		munmap(at, (size + page - 1) / page * page);
}

/* The highest number of a possible CPU, by a list such as 0-3,8-11; negative: an error. */
static int highest_cpu(void)
{
	FILE *list = fopen("/sys/devices/system/cpu/possible", "re");
	int number = -ENODATA;

	if (!list)
		return -errno;
	while (fscanf(list, "%d%*c", &number) == 1)
		;
	fclose(list);
	return number;
}

/* Makes room for the counters of all CPUs: they count by their numbers, which may have gaps. */
static int size_counters(void)
{
	int highest = highest_cpu();
	uint32_t most;

	if (highest < 0)
		return explain("get the numbers of the CPUs", 0, highest);
	most = UINT32_MAX / (highest + 1);
	if (plane_entries() > most) {
		fail("SLUICE_ACL_ENTRIES is at most %u on this machine, whose CPUs have numbers up to %d", most,
		     highest);
		return -E2BIG;
	}
	return bpf_map__set_max_entries(plane.skel->maps.soft_counters, plane_entries() * (highest + 1));
}

/* Counters of an earlier library's layout are per CPU. */
static bool counters_per_cpu(void)
{
	return bpf_map__type(plane.skel->maps.soft_counters) == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static size_t counters_size(void)
{
	return bpf_map__max_entries(plane.skel->maps.soft_counters) * sizeof(*plane.counters);
}

int plane_open(const struct plane_options *options, bool *adopted)
{
	int err;

	log_libbpf();
	log_libbpf_clear();
	*adopted = false;
	plane.ports = options->ports;
	plane.ifindexes = malloc(options->ports * sizeof(*plane.ifindexes));
	plane.skel = ingress_bpf__open();
	if (!plane.ifindexes || !plane.skel) {
		err = -ENOMEM;
		goto out;
	}
	memcpy(plane.ifindexes, options->ifindexes, options->ports * sizeof(*plane.ifindexes));
	if (options->entries) {
		bpf_map__set_max_entries(plane.skel->maps.soft_entries, options->entries);
		bpf_map__set_max_entries(plane.skel->maps.soft_meta, 4 * options->entries);
	}
	err = size_counters();
	if (err)
		goto out;
	plane.skel->rodata->softsai_queues = options->queues;
	plane.skel->rodata->softsai_asic = options->asic;
	tables_fill((void *)plane.skel->rodata->softsai_crc, (void *)plane.skel->rodata->softsai_bth_len);
	*adopted = adopt(options);
	plane.skel->rodata->softsai_counters = counters_per_cpu() ? 0 : plane_entries();
	log_libbpf_clear();
	err = set_seed(*adopted);
	if (err) {
		explain("get the seed of digests", 0, err);
		goto out;
	}
	err = ingress_bpf__load(plane.skel);
	if (err) {
		explain("load the BPF program", 0, err);
		goto out;
	}
	if (!counters_per_cpu()) {
		plane.counters = map_memory(plane.skel->maps.soft_counters, counters_size());
		if (!plane.counters) {
			err = explain("map the counters into memory", 0, -errno);
			goto out;
		}
	}
	err = bpf_prog_bind_map(plane_program(), plane_map(MAP_META), NULL);
	if (!err && !*adopted)
		err = sign(false);
	if (err) {
		explain("keep records in a BPF map", 0, err);
		goto out;
	}
	for (size_t i = 0; i < plane.ports; i++) {
		log_libbpf_clear();
		err = attach(plane.ifindexes[i]);
		if (err) {
			explain("attach the BPF program to", plane.ifindexes[i], err);
			if (!*adopted)
				plane_detach();
			goto out;
		}
	}
	/* Only now: an earlier library finds its switch as it was if this one cannot attach. */
	if (*adopted) {
		err = sign(true);
		if (err) {
			explain("keep records in a BPF map", 0, err);
			goto out;
		}
	}
	for (size_t i = 0; i < options->other_count; i++)
		leave(options->others[i]);
out:
	if (err)
		plane_close();
	return err;
}

void plane_close(void)
{
	if (plane.counters)
		unmap_memory(plane.counters, counters_size());
	if (plane.skel)
		ingress_bpf__destroy(plane.skel);
	free(plane.ifindexes);
	memset(&plane, 0, sizeof(plane));
}
