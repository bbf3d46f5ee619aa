// SPDX-License-Identifier: Apache-2.0
/*
 * Traffic control on netdevs, of every owner, in the calling thread's network namespace. All calls
 * return 0 or -errno, and only read.
 */
#ifndef SOFTSAI_TC_VIEW_H
#define SOFTSAI_TC_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/libbpf.h>

#define TC_KIND 16
#define TC_PROGRAM 48

/* The qdiscs of a netdev. */
struct tc_qdiscs {
	uint32_t ifindex;
	bool clsact;
	uint32_t root; /* handle; 0: the kernel's default */
	char kind[TC_KIND];
	uint32_t fifos; /* queues of softsai that are there, as bits */
};

/* A filter of a clsact qdisc. */
struct tc_filter {
	uint32_t preference, handle;
	uint32_t program; /* id; 0: it is no BPF filter */
	char kind[TC_KIND], name[TC_PROGRAM];
};

/* Fills in the qdiscs of n netdevs, whose indexes rise. */
int tc_view_qdiscs(struct tc_qdiscs *netdevs, size_t n);

/* The first filters of a netdev, up to room, in the order in which packets meet them; *n: how many there are. */
int tc_view_filters(uint32_t ifindex, enum bpf_tc_attach_point point, struct tc_filter *filters, size_t room,
		    size_t *n);

#endif
