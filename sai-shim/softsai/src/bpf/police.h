/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Token buckets: single rate, three colors (RFC 2697, color-blind). */
#ifndef SOFTSAI_POLICE_H
#define SOFTSAI_POLICE_H

#include <stdbool.h>

#include "maps.h"

#define SECOND 1000000000ULL
#define LONG (SECOND / 16) /* of which products stay below 2^64 up to 290 GB/s */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SOFTSAI_POLICERS);
	__type(key, __u32);
	__type(value, struct softsai_policer);
} soft_policers SEC(".maps");

/* The actions for a packet of this many octets; 0 where there is no policer. */
static __always_inline __u32 police_actions(__u32 index, __u32 octets)
{
	struct softsai_policer *b = bpf_map_lookup_elem(&soft_policers, &index);
	__u64 now = bpf_ktime_get_ns(), cost, fill, room;
	__u32 color = 2, action;

	if (!b || !b->rate)
		return 0;
	bpf_spin_lock(&b->lock);
	cost = b->packets ? 1 : octets;
	fill = now > b->filled ? now - b->filled : 0;
	if (fill >= LONG) {
		fill = (fill < SECOND << 16 ? fill : SECOND << 16) / LONG * b->rate / 16;
		b->filled = now;
	} else {
		fill = fill * b->rate / SECOND;
		b->filled += fill * SECOND / b->rate;
	}
	room = b->burst - b->tokens;
	if (fill > room) {
		b->tokens = b->burst;
		fill -= room;
		room = b->excess - b->spare;
		b->spare += fill < room ? fill : room;
		b->filled = now;
	} else {
		b->tokens += fill;
	}
	if (b->tokens >= cost) {
		b->tokens -= cost;
		color = 0;
	} else if (b->spare >= cost) {
		b->spare -= cost;
		color = 1;
	}
	b->count[color]++;
	b->bytes[color] += octets;
	action = b->action[color];
	bpf_spin_unlock(&b->lock);
	return action;
}

/* Reports whether a policer that drops red packets lets the packet pass. */
static __always_inline bool police(__u32 index, __u32 octets)
{
	return !(police_actions(index, octets) & SOFTSAI_DROP);
}

static __always_inline void lose(__u32 reason)
{
	__u64 *n = bpf_map_lookup_elem(&soft_lost, &reason);

	if (n)
		++*n;
}

/* The change of the device's checksum of the packet by a change of one word. */
static __always_inline __wsum csum_of_change(__u32 before, __u32 after)
{
	__u64 sum = (__u64)(__u32)~before + after;

	return (sum & 0xffffffff) + (sum >> 32);
}

#endif
