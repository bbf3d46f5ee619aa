/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The maps. Sizes that a profile sets are set before they are made. */
#ifndef SOFTSAI_MAPS_H
#define SOFTSAI_MAPS_H

#include <bpf/bpf_helpers.h>

#include "softsai.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SOFTSAI_PORTS);
	__type(key, __u32);
	__type(value, struct softsai_port);
} soft_ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SOFTSAI_VIEWS);
	__type(key, __u32);
	__type(value, struct softsai_view);
} soft_views SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SOFTSAI_ENTRIES);
	__type(key, __u64); /* digest of the cell's id and key */
	__type(value, struct softsai_cell);
} soft_entries SEC(".maps");

/*
 * Counters of each CPU, by its number, one CPU's behind those of the CPU before: a map that is per CPU is made
 * element by element, which takes 50 ms. Such a map, of a library before layout 4, stays when it is adopted.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SOFTSAI_ENTRIES); /* of one CPU */
	__type(key, __u32);
	__type(value, struct softsai_counter);
} soft_counters SEC(".maps");

/* Next hops of REDIRECT. Each process writes those of its objects. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SOFTSAI_HOPS);
	__type(key, __u32);
	__type(value, struct softsai_hop);
} soft_hops SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} soft_cpu SEC(".maps");

/* Copies lost, by enum softsai_lost. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SOFTSAI_LOST_REASONS);
	__type(key, __u32);
	__type(value, __u64);
} soft_lost SEC(".maps");

/* Read and written by the library only; bound to the program, so it lives as long. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4 * SOFTSAI_ENTRIES);
	__uint(key_size, sizeof(struct softsai_meta_key));
	__uint(value_size, SOFTSAI_META_CHUNK);
} soft_meta SEC(".maps");

#endif
