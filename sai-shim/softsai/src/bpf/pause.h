/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * PFC frames that a port receives (IEEE 802.1Qbb; 802.3, annex 31D). A switch's MAC obeys
 * them and keeps them to itself: the library's thread holds the classes.
 */
#ifndef SOFTSAI_PAUSE_H
#define SOFTSAI_PAUSE_H

#define ETH_TYPE_CONTROL 0x8808
#define PFC_OPCODE 0x0101
#define PFC_LEN 20 /* opcode, class-enable vector, 8 times */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 10);
} soft_pause SEC(".maps");

static __always_inline int pause_frame(struct __sk_buff *skb)
{
	struct softsai_pause p = { .ifindex = skb->ifindex };
	__be16 words[PFC_LEN / 2];

	if (bpf_skb_load_bytes(skb, 14, words, sizeof(words)) || words[0] != bpf_htons(PFC_OPCODE))
		return TC_ACT_SHOT; /* other MAC control frames */
	p.enabled = bpf_ntohs(words[1]) & 0xff;
	for (int i = 0; i < SOFTSAI_QUEUES; i++)
		p.quanta[i] = bpf_ntohs(words[2 + i]);
	bpf_ringbuf_output(&soft_pause, &p, sizeof(p), 0);
	return TC_ACT_SHOT;
}

#endif
