/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The outermost header of packets as they arrive. The kernel's SRv6 and tunnels change it
 * before a packet leaves, and tc_index has room for a place in this table alone. Each CPU has
 * places of its own, used in turn: it takes a packet from ingress to the queue together with
 * those of one poll at most. One that waits in between, as for the address of its neighbor,
 * finds another packet at its place, or is on another CPU: its arrival is unknown then.
 */
#ifndef SOFTSAI_ARRIVAL_H
#define SOFTSAI_ARRIVAL_H

#include <linux/types.h>

#define SOFTSAI_ARRIVALS 256 /* places of a CPU, more than packets in a poll; the first has the turn */

struct softsai_arrival {
	__u64 source[2], destination[2]; /* network order; IPv4: the first 4 octets */
	__u32 first;			 /* host order: version, traffic class, flow label */
	__u32 in_port;			 /* ifindex */
	__u64 packet; /* where the kernel has it, which no other packet has as long as it is there; 0 in an event: unknown */
};

#endif
