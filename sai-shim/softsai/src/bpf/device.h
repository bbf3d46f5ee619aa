/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The kernel's netdevs, as programs read them. */
#ifndef SOFTSAI_DEVICE_H
#define SOFTSAI_DEVICE_H

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define CORE __attribute__((preserve_access_index))

/* The members of the kernel's that are read here. */
struct net {
	__u64 net_cookie;
} CORE;

typedef struct {
	struct net *net;
} CORE possible_net_t;

struct net_device {
	unsigned long state;
	int ifindex;
	possible_net_t nd_net;
} CORE;

struct bpf_dtab_netdev {
	struct net_device *dev;
	struct bpf_devmap_val val;
} CORE;

#define LINK_STATE_START 1UL /* 1 << __LINK_STATE_START: cleared before a netdev that is set down drops packets */

/* Whether a netdev is up, by the value of its element in a device map. */
static __always_inline bool is_up(const __u32 *value)
{
	const struct bpf_dtab_netdev *element = (const void *)value -
						bpf_core_field_offset(struct bpf_dtab_netdev, val);

	return BPF_CORE_READ(element, dev, state) & LINK_STATE_START;
}

#endif
