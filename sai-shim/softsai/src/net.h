// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel's netdevs and multipath settings; all of the
 * calling thread's network namespace. All calls return 0 or -errno.
 */
#ifndef SOFTSAI_NET_H
#define SOFTSAI_NET_H

#include <stdbool.h>
#include <stdint.h>

#define NET_NAME 16

struct net_link {
	uint32_t ifindex;
	char name[NET_NAME];
	bool up; /* carrier and administratively */
	bool admin_up;
	uint32_t mtu;
	uint64_t rx_packets, rx_bytes, rx_errors, rx_dropped, rx_multicast;
	uint64_t tx_packets, tx_bytes, tx_errors, tx_dropped;
};

/* The netdev of a name, or with name NULL of an index. */
int net_link(const char *name, uint32_t ifindex, struct net_link *link);

/* Every netdev but loopback, by rising index; the caller frees *links. */
int net_links(struct net_link **links, int *n);

/* Speed in Mbit/s; 0: unknown. */
uint32_t net_speed(const char *name);

/* Reads or writes a number below /proc/sys/net. */
int net_sysctl_get(const char *name, long *value);
int net_sysctl_set(const char *name, long value);

#endif
