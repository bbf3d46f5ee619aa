// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Chooses the queue of a packet at clsact egress, before HTB sees it: that of the
 * traffic class which the ingress program wrote into tc_index, else that of the
 * packet's DSCP. Cuts copies that a mirror session makes short. HTB takes a priority that is the handle of one of its
 * classes for the packet's class. The kernel writes the priority of routed packets
 * again, so it is set here and not at ingress; tc_index it leaves alone.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "queues.h"

/* Ports have queues. */
const volatile __u32 softsai_queues;

/* The queue by DSCP; what is not IP goes into queue 0. */
static __always_inline __u32 by_dscp(struct __sk_buff *skb)
{
	__u8 ip[2];

	if (skb->protocol != bpf_htons(ETH_P_IP) && skb->protocol != bpf_htons(ETH_P_IPV6))
		return 0;
	if (bpf_skb_load_bytes_relative(skb, 0, ip, sizeof(ip), BPF_HDR_START_NET))
		return 0;
	if (skb->protocol == bpf_htons(ETH_P_IP))
		return SOFTSAI_QUEUE_OF(ip[1] >> 2);
	return SOFTSAI_QUEUE_OF((ip[0] & 0xf) << 2 | ip[1] >> 6);
}

SEC("tc")
int softsai_egress(struct __sk_buff *skb)
{
	__u32 mark = skb->tc_index, queue;

	if (mark & SOFTSAI_COPY_OF) {
		if (skb->len > (mark & SOFTSAI_MAX_COPY))
			bpf_skb_change_tail(skb, mark & SOFTSAI_MAX_COPY, 0);
		mark = skb->tc_index = 0;
	}
	if (!softsai_queues)
		return TC_ACT_UNSPEC;
	queue = (mark & SOFTSAI_TC_MASK) - 1;
	if (queue >= SOFTSAI_QUEUES)
		queue = by_dscp(skb);
	skb->priority = SOFTSAI_CLASS(queue);
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "GPL";
