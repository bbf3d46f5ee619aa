/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The outermost header of packets as they arrive. The kernel's SRv6 and tunnels change it
 * before a packet leaves, and tc_index has room for a place in this table alone. Each CPU has
 * places of its own, used in turn: it takes a packet from ingress to the queue together with
 * those of one poll at most. One that waits in between, as for the address of its neighbor,
 * finds a place of another turn: its arrival is unknown then. (The address of the sk_buff
 * says nothing: a packet that a socket reads, too, goes on as a clone.)
 */
#ifndef SOFTSAI_ARRIVAL_H
#define SOFTSAI_ARRIVAL_H

#include <linux/types.h>

#define SOFTSAI_ARRIVALS 2048 /* places of a CPU; the first has the next turn */
#define SOFTSAI_POLL 64	      /* packets in a poll at most (NAPI_POLL_WEIGHT) */

struct softsai_arrival {
	__u64 source[2], destination[2]; /* network order; IPv4: the first 4 octets */
	__u32 first;			 /* host order: version, traffic class, flow label */
	__u32 in_port;			 /* ifindex */
	__u32 turn;
	__u32 known; /* in an event; 0: the rest is void */
};

#endif
