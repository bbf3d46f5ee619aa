/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * PFC frames that a port receives (IEEE 802.1Qbb; 802.3, annex 31D). A switch's MAC obeys
 * them and keeps them to itself: the library's thread holds the classes.
 */
#ifndef SOFTSAI_PAUSE_H
#define SOFTSAI_PAUSE_H

#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "flows.h"
#include "wire.h"

#define PFC_OPCODE 0x0101

/* Contents after the Ethernet header. */
struct pfc {
	__be16 opcode;
	__be16 enabled; /* classes, as bits */
	__be16 quanta[SOFTSAI_QUEUES];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 10);
} soft_pause SEC(".maps");

static __always_inline int pause_frame(struct __sk_buff *skb)
{
	struct softsai_pause p = { .ifindex = skb->ifindex };
	struct pfc pfc;

	if (bpf_skb_load_bytes(skb, ETH_HLEN, &pfc, sizeof(pfc)) || pfc.opcode != bpf_htons(PFC_OPCODE))
		return TC_ACT_SHOT; /* other MAC control frames */
	p.enabled = bpf_ntohs(pfc.enabled) & 0xff;
	for (int i = 0; i < SOFTSAI_QUEUES; i++)
		p.quanta[i] = bpf_ntohs(pfc.quanta[i]);
	bpf_ringbuf_output(&soft_pause, &p, sizeof(p), 0);
	return TC_ACT_SHOT;
}

#endif
