/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Data that the BPF programs on a packet's path hand over beside the packet. This is its only
 * definition.
 *
 *   tc_index   ingress → egress; routing does not change it. In a hold's
 *              netdev: egress → steering program, the number of the hold.
 *   cb         egress → tracepoints of the port's qdiscs
 *   mark       the thread of holds → egress: that the packet was held already. Ingress leaves it
 *              to the kernel's policies.
 *   hold head  egress → the thread of holds, in front of the frame
 */
#ifndef SOFTSAI_BPF_HANDOVER_H
#define SOFTSAI_BPF_HANDOVER_H

#include <linux/types.h>

/*
 * tc_index at ingress: either that the packet is a mirrored copy, and how long that may
 * be; or its traffic class plus 1, and the place of its struct softsai_arrival. 0: nothing.
 */
#define SOFTSAI_COPY_OF 0x8000u
#define SOFTSAI_MAX_COPY 0x7fffu
#define SOFTSAI_TC_MASK 0xfu
#define SOFTSAI_ARRIVAL_SHIFT 4
#define SOFTSAI_ARRIVAL_MASK 0x7ffu

/* cb: as __sk_buff calls it, in sk_buff after the 8 octets that belong to qdiscs. */
struct softsai_handed {
	__u32 length; /* that qdiscs count; the kernel's */
	__u32 kernel;
	__u64 digest; /* of the flow; 0: not monitored */
	__u32 flags;
};

/* flags: the queue in the low 4 bits, the place of the arrival above them, and these. */
#define SOFTSAI_HANDED_RELEASED 0x10000u /* came out of a hold queue */

/*
 * mark of a packet out of a hold queue, from the socket of holds: queue, and the
 * stage that held it, below this octet. From any other socket it has no meaning.
 */
#define SOFTSAI_RELEASED 0x5c000000u
#define SOFTSAI_RELEASED_MASK 0xff000000u
#define SOFTSAI_RELEASED_STAGE_SHIFT 8

/* Before a frame in a hold queue: an Ethernet header for programs that read it. Host order but for type. */
struct softsai_hold_head {
	__u32 ifindex; /* of the port that it leaves by */
	__u32 slot;    /* of its flow; SOFTSAI_SLOTS: none */
	__u8 queue;
	__u8 stage;
	__be16 zero;
	__be16 type; /* SOFTSAI_HOLD_TYPE */
} __attribute__((packed));

#define SOFTSAI_HOLD_TYPE 0x88b5 /* IEEE 802: local experiments */

_Static_assert(sizeof(struct softsai_hold_head) == 14, "it is as long as an Ethernet header");

#endif
