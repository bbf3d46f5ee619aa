/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The outermost header of packets as they arrive. The kernel's SRv6 and tunnels change it
 * before a packet leaves, and what tc_index has room for is no more than a place in this
 * table: its places are found by the content, so that the packets of a flow share one, on
 * whichever CPU they are, and it stays theirs while they wait for a program at egress.
 */
#ifndef SOFTSAI_ARRIVAL_H
#define SOFTSAI_ARRIVAL_H

#include <linux/types.h>

#include "digest.h"

#define SOFTSAI_ARRIVALS 2048 /* places; the first is for packets that have none */

struct softsai_arrival {
	__u64 source[2], destination[2]; /* network order; IPv4: the first 4 octets */
	__u32 first;			 /* host order: version, traffic class, flow label */
	__u32 in_port;			 /* ifindex */
	__u64 digest;			 /* of the above: one that two CPUs write at once has another */
};

_Static_assert(sizeof(struct softsai_arrival) == 48, "it is compared in words");

static inline __attribute__((always_inline)) __u64 softsai_arrival_digest(const struct softsai_arrival *a,
									  const volatile __u64 *seed)
{
	__u64 digest = softsai_digest(a->source[0], seed[0]) + softsai_digest(a->source[1], seed[1]) +
		       softsai_digest(a->destination[0], seed[2]) + softsai_digest(a->destination[1], seed[3]) +
		       softsai_digest((__u64)a->in_port << 32 | a->first, seed[4]);

	return (digest ^ digest >> 29) * 0xbf58476d1ce4e5b9ULL;
}

static inline __attribute__((always_inline)) __u32 softsai_arrival_place(__u64 digest)
{
	__u32 place = digest >> 53;

	return place ? place : 1;
}

_Static_assert(SOFTSAI_ARRIVALS == 1 << (64 - 53), "a place is the upper bits of the digest");

#endif
