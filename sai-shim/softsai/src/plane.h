// SPDX-License-Identifier: Apache-2.0
/*
 * The data plane: the BPF program, its maps, and the filters that hold them.
 *
 * Nothing is pinned. Each port's clsact ingress filter holds the program, and
 * the program holds all maps, the library's records among them: so the switch
 * lives as long as a port of it does, in the port's network namespace, with or
 * without a process, and is found again through the filter.
 *
 * All calls return 0 or -errno, and come from one thread at a time.
 */
#ifndef SOFTSAI_PLANE_H
#define SOFTSAI_PLANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/softsai.h"

struct bpf_map;

enum plane_map {
	MAP_PORTS,
	MAP_VIEWS,
	MAP_ENTRIES,
	MAP_COUNTERS,
	MAP_POLICERS,
	MAP_META,
	MAP_LOST,
	MAP_ADOPTED, /* number of the maps above, which outlive the process */
	MAP_CPU = MAP_ADOPTED,
	MAP_PAUSE,
	MAP_HOPS,
	MAP_ARRIVALS,
	MAPS,
};

struct plane_options {
	const uint32_t *ifindexes; /* of the ports */
	size_t ports;
	const uint32_t *others; /* of the namespace's other netdevs, which may have been ports */
	size_t other_count;
	uint32_t entries; /* size of the entry map; 0: SOFTSAI_ENTRIES */
	bool asic;	  /* all next hops are looked up by the program */
	bool queues;	  /* packets are marked with their traffic class */
};

/*
 * Loads the program and attaches it to every port. Where a netdev has it already,
 * its maps are taken over, and the program is replaced without a packet lost;
 * *adopted is true then. It is detached from former ports. Logs missing features.
 */
int plane_open(const struct plane_options *options, bool *adopted);

/* A netdev becomes a port, or is none any more, while the plane is open. */
int plane_join(uint32_t ifindex);
void plane_leave(uint32_t ifindex);

/* Attaches the program of a port again, and makes its qdisc, where they were taken away. */
int plane_mend(uint32_t ifindex);

/* Releases everything; forwarding goes on as programmed. */
void plane_close(void);

/* Removes the filters from the ports, and each clsact qdisc that was made for them. */
int plane_detach(void);

/* The file descriptor of a map, or of the program. */
int plane_map(enum plane_map map);
int plane_program(void);

/* The number of CPUs whose values a per-CPU map has. */
int plane_cpus(void);

/*
 * The counters, plane_entries() of each CPU, one CPU's behind those of the CPU before; NULL:
 * MAP_COUNTERS is an earlier library's, and per CPU.
 */
struct softsai_counter *plane_counters(void);

/* How many CPUs plane_counters() has, numbered from 0; some of the numbers may be no CPU's. */
int plane_counter_cpus(void);

/* The memory of a map that is made for it, or NULL with errno set; and its end. Sizes are in octets. */
void *map_memory(const struct bpf_map *map, size_t size);
void unmap_memory(void *at, size_t size);

/* The secret by which digests of keys are made: SOFTSAI_SEED_WORDS words. It stays as long as the maps. */
const uint64_t *plane_seed(void);

/* Notes for the programs at egress where packets come from, or does not. */
void plane_watch(bool watch);

/* Size of the entry map. */
uint32_t plane_entries(void);

#endif
