/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The layout of the maps that the egress programs and the library share: flows in queues, and
 * holds. Host order.
 */
#ifndef SOFTSAI_BPF_FLOWS_H
#define SOFTSAI_BPF_FLOWS_H

#include <linux/types.h>

#include "arrival.h"
#include "queues.h"

#define SOFTSAI_LINES 1024			      /* ports with queues */
#define SOFTSAI_SLOTS 131072			      /* flows that have octets in queues at once; a power of 2 */
#define SOFTSAI_PROBES 12			      /* places where a flow's slot may be */
#define SOFTSAI_HOLDS 256			      /* at most: queues of one TAP */
#define SOFTSAI_HOLD_TAP 0			      /* places of the netdevs of holds: where packets wait */
#define SOFTSAI_HOLD_GUARD 1			      /* one that is there as long as the process lives */
#define SOFTSAI_HOLD_RING 4096			      /* packets that a queue of the TAP holds */
#define SOFTSAI_HOLD_PACKETS (SOFTSAI_HOLD_RING - 64) /* that wait in a hold: two CPUs may add one at once */
#define SOFTSAI_HOLD_FROZEN_MS 100 /* after which the thread of holds counts as frozen: nothing new waits */
#define SOFTSAI_EVENT_HEAD 498 /* octets of a packet in an event: with the Ethernet header the headroom of headers */
#define SOFTSAI_REPEAT 2000000 /* ns after which the event of a flow above its high mark is raised again */

struct softsai_marks {
	__u32 high; /* octets; 0: flows are not monitored */
	__u32 alarm;
	__u32 low;
	__u32 zero;
};

/* A port at egress. */
struct softsai_line {
	/* Written by the library. */
	__u32 ifindex; /* 0: none */
	__u32 watch;   /* flows have slots */
	__u32 stages;  /* where holds match: 1 << stage */
	__u32 cleared; /* is added to epoch: the library saw that the port is empty */
	__u32 started; /* 0: flows have slots from now on; the first packet sets it */
	__u32 limit;   /* octets that each queue holds; 0: unknown */
	struct softsai_marks marks[SOFTSAI_QUEUES];
	__u64 since[SOFTSAI_QUEUES]; /* line.in when flows began to have slots: packets that waited then are in none */
	/* Written under the lock of the port's qdisc. */
	__u32 epoch;		   /* times that the port was empty: earlier counts of a slot are void */
	__u32 uneven;		   /* calls were missed, so that in and out of a queue may differ though it is empty */
	__u32 requeues;		   /* packets that the netdev had refused and that came out again */
	__u64 moved;		   /* packets in and out */
	__u64 backlog;		   /* octets in all queues, as far as calls were seen */
	__u64 missed;		   /* times that the qdisc's backlog was another, since calls were missed */
	__u64 in[SOFTSAI_QUEUES];  /* octets that ever went into the queue */
	__u64 out[SOFTSAI_QUEUES]; /* octets that ever left it */
};

/* A flow in a queue of a port: a cache line. */
struct softsai_slot {
	__u64 digest;	/* 0: never used */
	__u64 octets;	/* in the queue */
	__u64 held;	/* octets that wait in a hold queue */
	__u64 departed; /* octets that left since the flow was backlogged */
	__u64 position; /* line.in[queue] after the flow's last packet: it has left when line.out reaches this */
	__u64 told;	/* when its last event was raised, in ns of CLOCK_MONOTONIC */
	__u32 epoch;
	__u32 in_port; /* ifindex; 0: unknown */
	__u16 line;
	__u8 queue;
	__u8 above; /* marks that were passed upwards: SOFTSAI_ABOVE_* */
	__u32 zero;
};

#define SOFTSAI_ABOVE_ALARM 1
#define SOFTSAI_ABOVE_HIGH 2

_Static_assert(sizeof(struct softsai_slot) == 64, "a slot is a cache line");

/* The place of a flow's slot, by probe. */
static inline __attribute__((always_inline)) __u32 softsai_place(__u64 digest, __u32 probe)
{
	return ((__u32)digest + probe * ((__u32)(digest >> 32) | 1)) & (SOFTSAI_SLOTS - 1);
}

/* An event: a flow passed a mark, or a port received a PFC frame. */
struct softsai_event {
	__u64 digest;
	__u64 octets;
	__u64 at; /* ns of CLOCK_MONOTONIC */
	__u32 ifindex;
	__u32 in_port;
	__u32 packet; /* octets of the packet from its IP header on */
	__u16 length; /* octets of head */
	__u8 queue;
	__u8 mark; /* enum sai_sluice_flow_mark */
	struct softsai_arrival arrival;
	__u8 head[SOFTSAI_EVENT_HEAD];
};

/* A PFC frame (IEEE 802.1Qbb, 802.3 annex 31D). */
struct softsai_pause {
	__u32 ifindex;
	__u32 enabled;		      /* classes that the frame is about, as bits */
	__u16 quanta[SOFTSAI_QUEUES]; /* of 512 bit times */
};

/*
 * The order in which a packet meets holds: by kind (enum sai_sluice_match), and of one kind
 * those of its port before those of any port. A packet that one stage releases meets the
 * stages after it.
 */
#define SOFTSAI_STAGES 12
#define SOFTSAI_STAGE(kind, any) (2 * (kind) + (any))

/* Match of a hold. A STREAM has addresses, or 0 for those of any. */
struct softsai_match {
	__u32 ifindex; /* 0: any port */
	__u16 kind;    /* enum sai_sluice_match */
	__u16 ipv6;    /* the addresses are; else they fill the first 4 octets */
	__u32 value;
	__u32 protocol;	 /* of a TUPLE */
	__u64 source[2]; /* network order */
	__u64 destination[2];
};

/*
 * Target of a match: the number of its hold, and the hold's generation, which changes before
 * the number is another's. A program that found the number of a hold that was forgotten meanwhile
 * sees that by it.
 */
#define SOFTSAI_HOLD_NUMBER(found) ((found) & (SOFTSAI_HOLDS - 1))
#define SOFTSAI_HOLD_GENERATION(found) ((found) / SOFTSAI_HOLDS)
#define SOFTSAI_HOLD_GENERATIONS (1U << 24)
#define SOFTSAI_HOLD_FOUND(number, generation) ((number) + (generation)*SOFTSAI_HOLDS)

/* A hold and its queue, by its number. */
struct softsai_hold {
	/* Written by the library. */
	__u64 until; /* ns of CLOCK_MONOTONIC; 0: it was released, as there is room */
	__u64 rate;  /* bit/s; 0: nothing passes; ~0: all passes and is counted */
	__u64 generation;
	/* Written at egress. */
	__u64 octets, packets;	     /* that matched */
	__u64 octets_in, packets_in; /* that went into a hold queue */
	__u64 dropped; /* packets that found the hold queue full, or the queue where the hold only counts */
	/* Written by the thread of holds. */
	__u64 octets_out, packets_out __attribute__((aligned(8)));
	__u64 zero[6];
};

_Static_assert(sizeof(struct softsai_hold) == 128, "holds do not share cache lines");

/* Counters that the next process reads. */
struct softsai_counts {
	__u64 events, events_lost;
	__u64 unmonitored;	/* packets without a slot */
	__u64 hold_queue_in;	/* packets */
	__u64 hold_queue_out;	/* packets; written by the thread of holds */
	__u64 hold_queue_full;	/* packets */
	__u64 hold_queue_lost;	/* packets; written by the library */
	__u64 hold_queue_stale; /* packets that waited while the thread of holds was frozen */
};

#endif
