/*
 * Makes the switch of an earlier process out of its recorded maps, without the library: loads
 * the ingress program with the recorded seed, fills its maps, and attaches it to the ports
 * that it names. Usage: replay PORT... <LINES, in the ports' network namespace; a line is the
 * name of a map, a key and a value, in hex. A value that is short ends with zeros; that of a
 * per-CPU map is the first CPU's.
 */
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/softsai.h"
#include "ingress.skel.h"

#define MAX 8192 /* octets of a value, on all CPUs */

struct line {
	char map[32];
	uint8_t key[32], value[MAX];
};

static bool octets(const char *hex, uint8_t *to, size_t room)
{
	size_t n = strlen(hex) / 2;

	memset(to, 0, room);
	for (size_t i = 0; i < n && i < room; i++)
		if (sscanf(hex + 2 * i, "%2hhx", &to[i]) != 1)
			return false;
	return n <= room;
}

/* Reads the next line; false: there is no other, or it is none. */
static bool next(FILE *from, struct line *l)
{
	static char key[2 * sizeof(l->key) + 1], value[2 * MAX + 1];

	return fscanf(from, "%31s %64s %16384s", l->map, key, value) == 3 && octets(key, l->key, sizeof(l->key)) &&
	       octets(value, l->value, sizeof(l->value));
}

/* Fills the maps, or, before they are there, takes the seed out of the first record. */
static int fill(struct ingress_bpf *skel, FILE *from, bool loaded)
{
	static const uint8_t head[sizeof(struct softsai_meta_key)];
	struct line l;
	int err = 0;

	rewind(from);
	while (!err && next(from, &l)) {
		const struct bpf_map *map = bpf_object__find_map_by_name(skel->obj, l.map);

		if (!map)
			return -1;
		if (loaded)
			err = bpf_map_update_elem(bpf_map__fd(map), l.key, l.value, BPF_ANY);
		else if (strcmp(l.map, "soft_meta") == 0 && memcmp(l.key, head, sizeof(head)) == 0)
			memcpy((void *)skel->rodata->softsai_seed, l.value + 2 * sizeof(uint64_t),
			       sizeof(skel->rodata->softsai_seed));
	}
	return err;
}

static int attach(const char *port, int program)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts, .handle = 1, .priority = 0x51c, .prog_fd = program);
	struct bpf_tc_hook hook = { .sz = sizeof(hook),
				    .ifindex = if_nametoindex(port),
				    .attach_point = BPF_TC_INGRESS };

	bpf_tc_hook_create(&hook);
	return bpf_tc_attach(&hook, &opts);
}

int main(int argc, char **argv)
{
	struct ingress_bpf *skel = ingress_bpf__open();
	char text[4096];
	FILE *lines = tmpfile();
	int err = !skel || !lines;

	for (size_t n; !err && (n = fread(text, 1, sizeof(text), stdin));)
		err = fwrite(text, 1, n, lines) != n;
	if (!err)
		err = bpf_map__set_type(skel->maps.soft_counters, BPF_MAP_TYPE_PERCPU_ARRAY) ||
		      bpf_map__set_map_flags(skel->maps.soft_counters, 0); /* before layout 4 */
	if (!err)
		err = fill(skel, lines, false);
	if (!err)
		err = ingress_bpf__load(skel);
	if (!err)
		err = bpf_prog_bind_map(bpf_program__fd(skel->progs.softsai_ingress), bpf_map__fd(skel->maps.soft_meta),
					NULL);
	if (!err)
		err = fill(skel, lines, true);
	for (int i = 1; !err && i < argc; i++)
		err = attach(argv[i], bpf_program__fd(skel->progs.softsai_ingress));
	if (err)
		fprintf(stderr, "replay: %d\n", err);
	if (lines)
		fclose(lines);
	ingress_bpf__destroy(skel);
	return err != 0;
}
